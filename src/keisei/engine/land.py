"""Land: a verified candidate waits for a person or for its turn, and moves on. Every move is a row with its reasons.

A landing that fails never edits its task: what is to be tried again is a new task.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from msgspec import Struct

from keisei.engine.control import RACES, renewed
from keisei.engine.ports import Store
from keisei.records.approval import ApprovalRecord, ApprovalStatus
from keisei.records.beside import NOTHING, Beside
from keisei.records.error import OperatorError, Refused
from keisei.records.event import EventType
from keisei.records.finding import FindingRecord
from keisei.records.id import ApprovalId, AttemptId, LandingId, TaskId
from keisei.records.landing import LandingRecord, LandingStatus
from keisei.records.move import LandingMove, NewEntry, NewEvent, NewTask
from keisei.records.project import ProjectApprovals
from keisei.rules import approval as approvals
from keisei.rules.landing import Ruling, moved

EVENTS: Final[Mapping[LandingStatus, EventType]] = {
    "held": "landing_held",
    "queued": "landing_queued",
    "landed": "landing_made",
    "rejected": "landing_rejected",
    "reverted": "landing_reverted",
}
"""What is told of each place a landing comes to; that it is being merged is told by what comes of it."""
MOST_RESPAWNS: Final = 100
NEXT: Final[Mapping[LandingStatus, str]] = {
    "landing": "it is being merged: `keisei land show` says what comes of it, and `keisei land revert` takes it back",
    "landed": "`keisei land revert` takes it back",
    "rejected": "`keisei land reject --respawn` has a new task take over",
    "reverted": "queue its task anew with `keisei task retry`, if it is wanted after all",
}
"""What can be done where there is nothing to decide."""
LOOKED_AT: Final = ("diff.patch", "findings.json", "last-message.txt")
VERIFIED: Final = "landing_verified"
"""The row of a tree that was verified anew on the tip it is about to land on: no event tells of it."""
LINE: Final = 200
"""Characters of a finding's reason in the ledger; the evidence has all of it."""


class Proposal(Struct, frozen=True, kw_only=True):
    """A candidate that is verified, and what is to be done with it."""

    branch: str
    """Where it would land."""
    commit: str
    """The candidate."""
    tree: str
    """The tree that was verified."""
    before: str
    """The commit it was merged with."""
    plan: str
    """What was asked, as a digest."""
    ruling: Ruling
    """Merge or hold."""


def proposed(
    proposal: Proposal, landing_id: LandingId, task_id: TaskId, attempt_id: AttemptId, now: datetime
) -> LandingRecord:
    """The landing of a candidate that was just verified: queued where it may merge, else held."""
    holds = proposal.ruling.decision != "merge"
    return LandingRecord(
        landing_id=landing_id,
        task_id=task_id,
        attempt_id=attempt_id,
        branch=proposal.branch,
        candidate_commit=proposal.commit,
        tree=proposal.tree,
        before_commit=proposal.before,
        plan=proposal.plan,
        after_commit=None,
        status="held" if holds else "queued",
        reason=proposal.ruling.reason if holds else None,
        created_at=now,
        updated_at=now,
    )


def announced(  # noqa: PLR0913, PLR0917 - what has come to a place, who is asked, and what speaks for it
    landing: LandingRecord,
    policy: ProjectApprovals,
    new_id: Callable[[], str],
    actor: str,
    evidence: Mapping[str, str] = MappingProxyType({}),
    findings: Sequence[FindingRecord] = (),
) -> Beside:
    """What is written beside a landing that has come to a place: its event, its ledger row, and who is asked."""
    asked = _asked(landing, policy, new_id) if landing.status == "held" else NOTHING
    kind = EVENTS[landing.status]
    detail = {"landing_id": landing.landing_id, "branch": landing.branch, "reason": landing.reason}
    event = NewEvent(event_type=kind, task_id=landing.task_id, attempt_id=landing.attempt_id, detail=detail)
    return Beside(
        events=(event, *asked.events),
        ledger=(_entry(kind, landing, actor, evidence, findings),),
        outbox=asked.outbox,
        approvals=asked.approvals,
    )


def _entry(
    kind: str, landing: LandingRecord, actor: str, evidence: Mapping[str, str], findings: Sequence[FindingRecord]
) -> NewEntry:
    found = {"findings": facts_of(findings)} if findings else {}
    body = {**_body(landing), **found, "evidence": dict(evidence)}
    return NewEntry(kind=kind, actor=actor, subject=landing.landing_id, body=body)


def facts_of(findings: Sequence[FindingRecord]) -> list[dict[str, Any]]:
    """Findings as a ledger row tells of them."""
    return [
        {
            "capability": each.capability,
            "status": each.status,
            "severity": each.severity,
            "reason": None if each.reason is None else each.reason[:LINE],
            "tree": each.tree,
        }
        for each in findings
    ]


def _asked(landing: LandingRecord, policy: ProjectApprovals, new_id: Callable[[], str]) -> Beside:
    approval = ApprovalRecord(
        approval_id=ApprovalId(new_id()),
        kind="landing",
        key=f"landing:{landing.landing_id}",
        reason=f"a verified candidate waits: {landing.reason or 'somebody decides'}",
        task_id=landing.task_id,
        attempt_id=landing.attempt_id,
        detail={"landing_id": landing.landing_id, "commit": landing.candidate_commit, "branch": landing.branch},
        evidence=LOOKED_AT,
        created_at=landing.updated_at,
        decided_at=None,
    )
    return approvals.asked(approval, policy)


def _body(landing: LandingRecord) -> dict[str, Any]:
    return {
        "task_id": landing.task_id,
        "attempt_id": landing.attempt_id,
        "branch": landing.branch,
        "status": landing.status,
        "candidate": landing.candidate_commit,
        "tree": landing.tree,
        "plan": landing.plan,
        "before": landing.before_commit,
        "after": landing.after_commit,
        "revert": landing.revert_commit,
        "reason": landing.reason,
        "decided_by": landing.decided_by,
    }


# --- what a person orders ---------------------------------------------------------------------------------------------


def approve(store: Store, landing_id: LandingId, reason: str, actor: str) -> LandingRecord:
    """A held landing waits for its turn from now on. Raises OperatorError for an id nobody has, Refused otherwise."""
    return _decided(store, landing_id, "approved", reason, actor)


def reject(
    store: Store, landing_id: LandingId, reason: str, actor: str, status: ApprovalStatus = "rejected"
) -> LandingRecord:
    """A landing that has not begun is off; the candidate is kept. Raises as `approve`."""
    return _decided(store, landing_id, status, reason, actor)


def _decided(store: Store, landing_id: LandingId, said: ApprovalStatus, reason: str, actor: str) -> LandingRecord:
    status: LandingStatus = "queued" if said == "approved" else "rejected"
    wanted = ("held",) if status == "queued" else ("held", "queued")
    for _ in range(RACES):
        landing = known(store, landing_id)
        if said == "approved" and landing.status == "queued":
            return landing  # somebody was quicker, or nobody was to be asked: it lands in its turn
        if landing.status not in wanted:
            message = f"landing {landing_id} is {landing.status}: there is nothing to decide any more"
            raise Refused(message, NEXT.get(landing.status))
        changes: dict[str, Any] = {"decided_by": actor, "approved": status == "queued"}
        changes["approved_tree"] = landing.tree if status == "queued" else landing.approved_tree
        changes["reason"] = None if status == "queued" else _line(reason or f"rejected by {actor}")
        after = moved(landing, status, store.now(), **changes)
        beside = announced(after, ProjectApprovals(), _no_id, actor)
        move = LandingMove(
            landing=after,
            was=landing.status,
            resolves=said,
            said=reason,
            events=beside.events,
            ledger=beside.ledger,
        )
        if store.move_landing(move):
            store.ring()
            return after
    raise Refused(f"landing {landing_id} moved under the order {RACES} times", "try again")


def known(store: Store, landing_id: LandingId) -> LandingRecord:
    """A landing. Raises OperatorError for an id nobody has."""
    found = store.landing(landing_id)
    if found is None:
        raise OperatorError(f"no landing has the id `{landing_id}`", "`keisei land list` shows all")
    return found


# --- what comes of it -------------------------------------------------------------------------------------------------


class Office(Struct, frozen=True, kw_only=True):
    """With what landings are moved."""

    store: Store
    """The rows."""
    policy: ProjectApprovals
    """How a person is asked."""
    new_id: Callable[[], str]
    """Ids nobody has had."""
    actor: str
    """Who moves them."""


def move(  # noqa: PLR0913 - what moves, where to, and what is written with it
    office: Office,
    landing: LandingRecord,
    status: LandingStatus,
    *,
    findings: tuple[FindingRecord, ...] = (),
    tasks: tuple[NewTask, ...] = (),
    evidence: Mapping[str, str] = MappingProxyType({}),
    **changes: object,
) -> LandingRecord | None:
    """Move a landing, with its event and its ledger row; None where it is elsewhere by now."""
    after = moved(landing, status, office.store.now(), **changes)
    if status in EVENTS:
        beside = announced(after, office.policy, office.new_id, office.actor, evidence, findings)
    elif findings:
        beside = Beside(ledger=(_entry(VERIFIED, after, office.actor, evidence, findings),))
    else:
        beside = NOTHING
    order = LandingMove(
        landing=after,
        was=landing.status,
        findings=findings,
        approvals=beside.approvals,
        resolves=None if status in ("held", "landing") else "resolved",
        tasks=tasks,
        outbox=beside.outbox,
        events=beside.events,
        ledger=beside.ledger,
    )
    return after if office.store.move_landing(order) else None


RESPAWN: Final = "respawn:"
"""How the key of a task begins that takes over from a rejected candidate; the landing's id follows."""


def respawned(store: Store, landing: LandingRecord, task_id: TaskId) -> NewTask | None:
    """The task that takes over from a rejected candidate; None where its task is gone."""
    task = store.task(landing.task_id)
    if task is None:
        return None
    fresh = renewed(task, task_id, store.now(), f"{RESPAWN}{landing.landing_id}")
    return NewTask(task=fresh, breaker_id=fresh.requested_adapter_id, depth=store.depth(task.task_id) + 1)


def respawns(store: Store, task_id: TaskId) -> int:
    """How many tasks in a row took over from rejected candidates before this one."""
    found, task = 0, store.task(task_id)
    while task is not None and (task.idempotency_key or "").startswith(RESPAWN) and found < MOST_RESPAWNS:
        found += 1
        task = store.task(task.parent_task_id) if task.parent_task_id is not None else None
    return found


def _line(text: str) -> str:
    return " ".join(text.split())[:200] or "no reason was given"


def _no_id() -> str:
    """Nobody is asked where somebody has just decided."""
    raise AssertionError
