"""Claims within budgets: what an attempt may spend is reserved in the transaction that opens it.

Claims that reserve come one after the other, so that no two reserve the same. A task that is not covered leaves the
queue for a while, or waits for a person, and the next one is looked at.
"""

from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from keisei.records.approval import ApprovalRecord
from keisei.records.budget import Amount, BudgetPolicy, Hold, Tally
from keisei.records.id import AdapterId, ApprovalId, AttemptId
from keisei.records.move import Claimed, ClaimOrder, NewEvent, TaskMove
from keisei.records.task import TaskRecord
from keisei.rules.approval import asked
from keisei.rules.budget import UNRESOLVED, Account, Covered, cover, day_name, day_of, reserved_too
from keisei.rules.task import park
from keisei.store.ask import known
from keisei.store.budget import cost_of, grants_of, tallies_of
from keisei.store.claim import MAY, TAKE, TAKEN, claimed
from keisei.store.clock import maybe_microseconds, microseconds, moment
from keisei.store.order import MOVE, move_params
from keisei.store.row import TASK, TASK_WIDTH, Row, fits, name, task_of, text
from keisei.store.work import Work, write_beside

MOST_HOLDS = 100
"""Tasks that one claim passes over for want of a budget; whoever claims next goes on behind them."""

_FOUND = f"SELECT {TASK}, t.breaker_id, t.seq FROM tasks t WHERE t.ready = 1 %s ORDER BY t.rank, t.seq LIMIT :limit"  # noqa: S608
_WITHOUT = "AND (t.breaker_id IS NULL OR t.breaker_id NOT IN (%s))"
_ONLY = "AND t.task_id IN (%s)"
_UPDATED = "updated_at = CASE WHEN updated_at > :now THEN updated_at ELSE :now END"
_TAKE = f"""
UPDATE tasks AS t SET {TAKE}, started_at = COALESCE(started_at, :now), {_UPDATED}
WHERE seq = :seq AND ready = 1 RETURNING {TAKEN.replace("t.", "")}
"""  # noqa: S608 - constants
_ATTEMPT = """
INSERT INTO attempts (attempt_id, task_id, runner_id, fence, started_at, adapter_id)
VALUES (:attempt_id, :task_id, :runner, :fence, :now, :adapter_id)
"""
_RESERVE = "INSERT INTO reservations (attempt_id, usd, tokens) VALUES (:attempt_id, :usd, :tokens)"
_RELEASE = "DELETE FROM holds WHERE task_id = :task_id"
_DELAY = f"""
UPDATE tasks SET ready = 0, available_at = :until, last_error = :reason, {_UPDATED}
WHERE seq = :seq AND ready = 1 RETURNING 1
"""  # noqa: S608 - constants
_HELD = "SELECT scope, reason FROM holds WHERE task_id = :task_id"
_HOLD = """
INSERT INTO holds (task_id, scope, reason, until) VALUES (:task_id, :scope, :reason, :until)
ON CONFLICT (task_id) DO UPDATE SET scope = excluded.scope, reason = excluded.reason, until = excluded.until
"""
_ASKED = "SELECT count(*) FROM approvals WHERE task_id = :task_id"


class Candidate(Struct, frozen=True, kw_only=True):
    """A task that could be claimed, if a budget covers it."""

    task: TaskRecord
    """Claimable."""
    adapter_id: AdapterId | None
    """Who would run it, where that is known."""
    cost: Tally
    """What its attempts have cost."""
    seq: int
    """Its row."""


def claim_covered(work: Work, order: ClaimOrder) -> list[Claimed]:
    """Take as many as there are attempt ids and budgets cover, best first. Nothing where the runner may not claim."""
    work.alone()
    if order.budget is None or not work.run(MAY, {"runner": known(order.runner_id)}):
        return []
    found = _found(work, order)
    return _taken(work, order, found, _account(work, order.budget)) if found else []


def _taken(work: Work, order: ClaimOrder, found: list[Row], account: Account) -> list[Claimed]:
    taken: list[Claimed] = []
    holds = 0
    for row in found:
        if len(taken) == len(order.attempt_ids) or holds == MOST_HOLDS:
            break
        one = _candidate(work, row)
        answer = cover(_with_own(work, account, one.task), one.task, one.adapter_id, one.cost)
        if isinstance(answer, Hold):
            holds += 1
            _hold(work, order, account.policy, one, answer)
        elif begun := _begun(work, order, order.attempt_ids[len(taken)], one.seq, answer):
            taken.append(begun)
            account = reserved_too(account, one.task, one.adapter_id, answer.reserve)
    return taken


def _candidate(work: Work, row: Row) -> Candidate:
    task, adapter_id = task_of(row), row[6] or row[TASK_WIDTH]
    cost = cost_of(work.run, task.task_id, task.agent, adapter_id)
    return Candidate(task=task, adapter_id=adapter_id, cost=cost, seq=row[TASK_WIDTH + 1])


def _found(work: Work, order: ClaimOrder) -> list[Row]:
    if order.only == ():
        return []
    without = {f"without_{number}": known(one) for number, one in enumerate(order.without_adapters)}
    only = {f"only_{number}": known(one) for number, one in enumerate(order.only or ())}
    conditions = [
        form % ", ".join(f":{one}" for one in some) for form, some in ((_WITHOUT, without), (_ONLY, only)) if some
    ]
    limit = len(order.attempt_ids) + MOST_HOLDS if order.attempt_ids else 0
    return work.run(_FOUND % " ".join(conditions), {**without, **only, "limit": limit})


def _account(work: Work, policy: BudgetPolicy) -> Account:
    now = moment(work.now_us)
    tallies = tallies_of(work.run, microseconds(day_of(now)))
    grants = grants_of(work.run, day_name(now), None)
    return Account(policy=policy, tallies=tuple(tallies), grants=tuple(grants), now=now)


def _with_own(work: Work, account: Account, task: TaskRecord) -> Account:
    """With what was granted for this task."""
    own = grants_of(work.run, None, task.task_id)
    return replace(account, grants=(*account.grants, *own)) if own else account


def _begun(work: Work, order: ClaimOrder, attempt_id: AttemptId, seq: int, answer: Covered) -> Claimed | None:
    """The task with its open attempt. None: somebody else took or moved it meanwhile."""
    rows = work.run(_TAKE, {"seq": seq, "now": work.now_us})
    if not rows:
        return None
    one = claimed(rows[0], order, attempt_id, moment(work.now_us))
    task_id, fence = one.task.task_id, one.attempt.fence
    adapter_id = one.task.requested_adapter_id or UNRESOLVED
    params = {"attempt_id": name(attempt_id), "task_id": task_id, "runner": order.runner_id, "fence": fence}
    work.run(_ATTEMPT, {**params, "adapter_id": adapter_id, "now": work.now_us})
    work.run(_RESERVE, {"attempt_id": attempt_id, **_amounts(answer.reserve)})
    work.run(_RELEASE, {"task_id": task_id})
    detail = {"runner_id": order.runner_id, "fence": fence, "attempt": one.task.attempt_count}
    work.add_events([NewEvent(event_type="task_claimed", task_id=task_id, attempt_id=attempt_id, detail=detail)])
    return one


def _hold(work: Work, order: ClaimOrder, policy: BudgetPolicy, one: Candidate, hold: Hold) -> None:
    """The task waits for its moment, or for a person."""
    parked = hold.until is None or policy.exhausted == "ask"
    held = replace(hold, reason=text(hold.reason), until=None if parked else hold.until)
    if parked:
        _ask(work, order, one, held)
    elif work.run(_DELAY, {**_held_params(held), "seq": one.seq, "now": work.now_us}):
        known_as = work.run(_HELD, {"task_id": held.task_id})
        _remember(work, held, told=known_as != [(text(held.scope), held.reason)])


def _ask(work: Work, order: ClaimOrder, one: Candidate, hold: Hold) -> None:
    now = moment(work.now_us)
    move = TaskMove(task=park(one.task, hold.reason, now), was=one.task.status)
    if work.run(MOVE, move_params(move, work.now_us)):
        beside = asked(_approval(work, one, hold, now), order.approvals)
        # A name so long that no key can be made of it is not told of; it is asked about all the same.
        write_beside(work, replace(beside, outbox=tuple(each for each in beside.outbox if fits(each.key))))
        _remember(work, hold, told=True)


def _approval(work: Work, one: Candidate, hold: Hold, now: datetime) -> ApprovalRecord:
    """Approvals are never removed, so their number makes an id that was not there before."""
    key = f"budget:{hold.task_id}"
    number = work.run(_ASKED, {"task_id": hold.task_id})[0][0]
    return ApprovalRecord(
        approval_id=ApprovalId(f"{key}:{number}"),
        kind="budget",
        key=key,
        reason=hold.reason,
        task_id=hold.task_id,
        detail={"scope": hold.scope, "spent": _amounts(one.cost.spent), "unknown": _amounts(one.cost.unknown)},
        created_at=now,
        decided_at=None,
    )


def _remember(work: Work, hold: Hold, *, told: bool) -> None:
    """Write the hold; it is told of where it is a new one, not whenever the task is looked at."""
    work.run(_HOLD, _held_params(hold))
    if told:
        detail = {"scope": hold.scope, "reason": hold.reason, "until": hold.until}
        work.add_events([NewEvent(event_type="budget_exhausted", task_id=hold.task_id, detail=detail)])


def _held_params(hold: Hold) -> dict[str, Any]:
    until = maybe_microseconds(hold.until)
    return {"task_id": hold.task_id, "scope": text(hold.scope), "reason": hold.reason, "until": until}


def _amounts(amount: Amount) -> dict[str, Any]:
    return {"usd": amount.usd, "tokens": amount.tokens}
