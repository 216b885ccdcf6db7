"""Approvals: a person decides, is asked, is told again.

A task or a landing moves with the decision about it, in one transaction. Any other hold is lifted first, by the order
that an operator would give; what was lifted and not decided is resolved by the next runner that looks.
"""

from collections.abc import Callable

from msgspec.structs import replace

from keisei.engine.budget import grant_again
from keisei.engine.control import RACES, canceling, freeing
from keisei.engine.land import reject as reject_landing
from keisei.engine.lift import blocked_task, landing_of, lift, stands
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.engine.resolve import resolve
from keisei.records.answer import ApprovalQuery, Decision
from keisei.records.approval import ApprovalRecord, ApprovalStatus
from keisei.records.beside import Beside
from keisei.records.breaker import Breaker
from keisei.records.budget import BudgetPolicy
from keisei.records.error import KeiseiError, OperatorError, Refused, WorldFault
from keisei.records.id import ApprovalId, TaskId
from keisei.records.move import TaskMove
from keisei.records.project import ProjectApprovals
from keisei.rules import approval as approvals

DEADLINE = "engine:deadline"
"""Who rejects what nobody has decided in time."""
ENGINE = "engine:approval"
"""Who notes that there is nothing to decide any more."""
MOST = 500
"""Approvals without a deadline, overdue ones and new ones that are looked after at once, so many of each."""


def approve(
    office: Office, approval_id: ApprovalId, reason: str, actor: str, budget: BudgetPolicy | None = None
) -> ApprovalRecord:
    """Lift what it stands for: a task goes on, a loop, an adapter, a schedule or a sensor too, a message is sent again.

    A candidate waits for its turn to land. `budget` are the project's limits. Raises OperatorError for an id nobody
    has, Refused where it was decided before or cannot be lifted now.
    """
    store = office.store
    found = _open(store, approval_id)
    if found.kind not in approvals.OF_TASK:
        return _lifted(office, found, reason, actor)

    def freed(found: ApprovalRecord) -> TaskMove:
        task, why = blocked_task(store, found), reason or "approved"
        if found.kind == "budget":
            grant_again(store, found, task, budget, why, actor)
        return freeing(task, why, actor, store.now())

    return _decided(store, approval_id, "approved", reason, actor, freed)


def reject(
    store: Store, approval_id: ApprovalId, reason: str, actor: str, status: ApprovalStatus = "rejected"
) -> ApprovalRecord:
    """A task that waits is cancelled, and a candidate does not land. Raises as `approve`.

    Anything else stays as it is, and nobody is asked about it any more.
    """
    found = _open(store, approval_id)
    if found.kind == "landing":
        reject_landing(store, landing_of(found), reason or f"{status} by {actor}", actor, status)
        return store.approval(approval_id) or found

    def canceled(found: ApprovalRecord) -> TaskMove | None:
        if found.kind not in approvals.OF_TASK:
            return None
        task = blocked_task(store, found)
        return canceling(task, reason or f"{status} by {actor}", actor, store.now())

    return _decided(store, approval_id, status, reason, actor, canceled)


def answer(store: Store, approval_id: ApprovalId, text: str, actor: str) -> ApprovalRecord:
    """The task goes on, and its next attempt reads the answer. Raises Refused for an answer that nobody could read."""
    said = text.strip()
    if not said or len(said) > approvals.ANSWER:
        raise Refused(f"an answer has 1 to {approvals.ANSWER:,} characters, not {len(said):,}")
    if "\0" in said or said.encode("utf-8", "replace").decode("utf-8") != said:
        raise Refused("this answer is no text: a byte of it is zero, or not UTF-8")

    def freed(found: ApprovalRecord) -> TaskMove:
        if found.kind not in ("task", "question"):
            raise Refused(f"approval {approval_id} is about a {found.kind}: it is not answered", "approve or reject it")
        return freeing(blocked_task(store, found), "answered", actor, store.now())

    return _decided(store, approval_id, "answered", said, actor, freed)


def remind(store: Store, policy: ProjectApprovals) -> int:
    """Look after what is open. How many were overdue; one bad row harms only itself.

    What was raised by a move that knows no policy is announced. What another order has done is resolved. What is
    overdue is told again, once, or rejected where the project says so.
    """
    bare = store.approvals(ApprovalQuery(undated=True, limit=MOST))
    overdue = store.approvals(ApprovalQuery(overdue_at=store.now(), limit=MOST))
    newest = store.approvals(ApprovalQuery(limit=MOST))
    found = {each.approval_id: each for each in (*bare, *overdue, *newest)}
    return sum(_looked_after(store, each, policy) for each in found.values())


def raise_breakers(store: Store, policy: ProjectApprovals, new_id: Callable[[], str]) -> int:
    """An approval for every adapter that waits for a person, once a failure. How many were new.

    The record stays when the adapter recovers: what failed, and for how long, can be read afterwards.
    """
    waiting = [each for each in store.breakers() if each.needs_person]
    return sum(ask(store, _about(each, ApprovalId(new_id())), policy) for each in waiting if not _is_told(store, each))


def answers_of(store: Store, task_id: TaskId) -> tuple[ApprovalRecord, ...]:
    """What attempts at a task asked and a person answered, oldest first."""
    return tuple(reversed(store.approvals(ApprovalQuery(statuses=("answered",), task_id=task_id))))


def ask(store: Store, approval: ApprovalRecord, policy: ProjectApprovals) -> bool:
    """Ask a person, unless the same is open already. Only who was first tells it on the channels."""
    return store.ask(approvals.asked(approval, policy)) > 0


def _lifted(office: Office, found: ApprovalRecord, reason: str, actor: str) -> ApprovalRecord:
    """The order may have closed it, or a runner that saw it done; what is left open is closed here."""
    store = office.store
    lift(office, found, reason, actor)
    if stands(store, found):
        raise Refused(f"what approval {found.approval_id} is about is held again at once", "put right what holds it")
    resolve(store, found.key, reason, actor, "approved")
    store.ring()
    return store.approval(found.approval_id) or found


def _decided(  # noqa: PLR0913, PLR0917 - what, how, why, who, and what follows
    store: Store,
    approval_id: ApprovalId,
    status: ApprovalStatus,
    said: str,
    actor: str,
    follows: Callable[[ApprovalRecord], TaskMove | None],
) -> ApprovalRecord:
    for _ in range(RACES):
        found = _open(store, approval_id)
        move = follows(found)
        after, beside = approvals.decided(found, status, said, actor, store.now())
        if store.decide(Decision(approval=after, move=move, beside=beside)):
            store.ring()
            return after
    raise Refused(f"approval {approval_id} moved under the order {RACES} times", "try again")


def _open(store: Store, approval_id: ApprovalId) -> ApprovalRecord:
    found = store.approval(approval_id)
    if found is None:
        raise OperatorError(f"no approval has the id `{approval_id}`", "`keisei approval list --all` shows all")
    if found.status != "open":
        raise Refused(f"approval {approval_id} was {found.status} by {found.decided_by}: that is final")
    return found


def _looked_after(store: Store, approval: ApprovalRecord, policy: ProjectApprovals) -> int:
    try:
        if not stands(store, approval):  # by its id: what is asked under the same key meanwhile stays open
            after, beside = approvals.decided(approval, "resolved", "", ENGINE, store.now())
            store.decide(Decision(approval=after, beside=beside))
            return 0
        known = approval if approval.deadline is not None else _announce(store, approval, policy)
        return _told_again(store, known, policy)
    except WorldFault:
        raise
    except KeiseiError:
        return 0


def _announce(store: Store, approval: ApprovalRecord, policy: ProjectApprovals) -> ApprovalRecord:
    """Deadline, messages and event of what was raised by a move that knows no policy. The approval as it is then."""
    asked = approvals.asked(approval, policy)
    store.announce(approval.approval_id, approvals.deadline_of(approval, policy), replace(asked, approvals=()))
    return asked.approvals[0]


def _told_again(store: Store, approval: ApprovalRecord, policy: ProjectApprovals) -> int:
    now, deadline = store.now(), approvals.deadline_of(approval, policy)
    if deadline > now or approval.reminded_at is not None:
        return 0
    if policy.on_deadline == "reject":
        reject(store, approval.approval_id, "nobody decided in time", DEADLINE, "expired")
        return 1
    messages = approvals.messages(approval, policy, now, "/overdue")
    event = approvals.event("approval_overdue", approval, deadline=deadline.isoformat())
    return int(store.remind(approval.approval_id, Beside(outbox=messages, events=(event,))))


def _is_told(store: Store, breaker: Breaker) -> bool:
    """Whether somebody is asked about it, or has said since it last failed that it shall stay as it is."""
    about = ApprovalQuery(statuses=("open", "rejected", "expired"), key=f"adapter:{breaker.adapter_id}")
    return any(each.decided_at is None or each.decided_at >= breaker.updated_at for each in store.approvals(about))


def _about(breaker: Breaker, approval_id: ApprovalId) -> ApprovalRecord:
    return ApprovalRecord(
        approval_id=approval_id,
        kind="adapter",
        key=f"adapter:{breaker.adapter_id}",
        reason=f"adapter `{breaker.adapter_id}` is left alone: {breaker.reason or breaker.kind or 'it failed'}",
        detail={"adapter_id": breaker.adapter_id, "error_kind": breaker.kind, "failures": breaker.failures},
        created_at=breaker.updated_at,
        decided_at=None,
    )
