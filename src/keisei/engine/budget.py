"""Budget: what may be spent, what is left of it today, and what an operator allows beside it."""

from datetime import datetime
from typing import Final, Protocol

from msgspec import Struct

from keisei.engine.ports import Store
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import Beside
from keisei.records.budget import Amount, BudgetPolicy, Grant, Tally
from keisei.records.error import Refused
from keisei.records.id import AdapterId, AgentId, TaskId
from keisei.records.intent import Budget
from keisei.records.move import Claimed, NewEntry, NewEvent
from keisei.records.outbox import OutboxItem, OutboxStatus
from keisei.records.project import ProjectAmount, ProjectBudget
from keisei.records.task import TERMINAL, TaskRecord
from keisei.rules import budget as rules
from keisei.rules.follow_up import ASKED, FOLLOWS

NOTHING: Final = Amount(usd=0.0, tokens=0)
HIGHEST: Final = 100
"""Tasks above one that are looked at."""
ROWS: Final = 10_000
"""Rows of the outbox that are looked at."""


class Purse(Protocol):
    """What one attempt asks of the store."""

    def spent_by(self, task_id: TaskId) -> Tally:
        """What all attempts of one task have reserved and spent."""

    def grants(self, day: str | None, task_id: TaskId | None = None) -> list[Grant]:
        """What was granted for a day, or for a task."""


class Family(Purse, Protocol):
    """What is asked of the store about a task and those below it."""

    def task(self, task_id: TaskId) -> TaskRecord | None:
        """One task."""

    def children(self, task_id: TaskId, limit: int = 1000) -> list[TaskRecord]:
        """Tasks that a task asked for, oldest first."""

    def outbox(self, status: OutboxStatus | None, limit: int) -> list[OutboxItem]:
        """Rows, newest first."""


class Balance(Struct, frozen=True, kw_only=True):
    """One limit and what is left of it, or one spender without a limit. Of one UTC day."""

    scope: str
    """`day`, `agent:<id>` or `adapter:<id>`."""
    limit: Amount
    """What may be spent; None where there is no limit."""
    granted: Amount
    """What was allowed beside it."""
    spent: Amount
    """What is known to be spent; None where attempts ended and none of them said it."""
    reserved: Amount
    """What open attempts may still spend."""
    unknown: Amount
    """What ended attempts have not accounted for, and are charged with."""
    left: Amount
    """What may still be spent; None where there is no limit."""
    attempts: int
    """How many attempts."""
    unpriced: int
    """How many of them ended without saying what they cost: the money spent is more than what is known."""
    uncounted: int
    """How many of them ended without saying how many tokens they used; likewise."""


def policy_of(budget: ProjectBudget | None) -> BudgetPolicy | None:
    """The limits of a project; None where it has none."""
    if budget is None:
        return None
    return BudgetPolicy(
        task=_amount(budget.task),
        day=_amount(budget.day),
        agents={AgentId(name): _amount(each) for name, each in budget.agents.items()},
        adapters={AdapterId(name): _amount(each) for name, each in budget.adapters.items()},
        exhausted=budget.when_exhausted,
    )


def spending(store: Store, policy: BudgetPolicy | None, now: datetime) -> list[Balance]:
    """Today: everything together, every limit, and everybody who spent without one. UTC days."""
    tallies, grants = store.tallies(rules.day_of(now)), store.grants(rules.day_name(now))
    limits = policy or BudgetPolicy()
    agents = dict.fromkeys((*limits.agents, *(each.agent for each in tallies if each.agent is not None)))
    adapters = dict.fromkeys((*limits.adapters, *(each.adapter_id for each in tallies)))
    rows = [_balance("day", limits.day, tallies, grants)]
    for agent in agents:
        own = [each for each in tallies if each.agent == agent]
        rows.append(_balance(f"agent:{agent}", limits.agents.get(agent, Amount()), own, grants))
    for adapter in adapters:
        own = [each for each in tallies if each.adapter_id == adapter]
        rows.append(_balance(f"adapter:{adapter}", limits.adapters.get(adapter, Amount()), own, grants))
    return rows


def grant(  # noqa: PLR0913 - what, for whom, why, who
    store: Store, scope: str, amount: Amount, *, reason: str, actor: str, grant_id: str
) -> Grant:
    """Allow more, for this UTC day or for one task, and let what waits be looked at again.

    The same id twice is the same grant. Raises Refused for an amount of nothing.
    """
    if not (amount.usd or amount.tokens):
        raise Refused("nothing is granted", "name an amount above 0, in dollars or in tokens")
    now = store.now()
    day = None if scope.startswith("task:") else rules.day_name(now)
    made = Grant(grant_id=grant_id, scope=scope, day=day, amount=amount, reason=reason, actor=actor, created_at=now)
    told = {"scope": scope, "day": day, "usd": amount.usd, "tokens": amount.tokens, "reason": reason}
    task_id = TaskId(scope.removeprefix("task:")) if day is None else None
    event = NewEvent(event_type="budget_granted", task_id=task_id, detail=told | {"actor": actor})
    entry = NewEntry(kind="budget_granted", actor=actor, subject=scope, body=told)
    if store.grant(made, Beside(events=(event,), ledger=(entry,))):
        store.ring()
    return made


def grant_again(  # noqa: PLR0913, PLR0917 - an approval, its task, the limits, why, who
    store: Store, approval: ApprovalRecord, task: TaskRecord, policy: BudgetPolicy | None, reason: str, actor: str
) -> None:
    """Allow once more what the task needs, of the limit that held it. Approving twice grants once."""
    scope = str(approval.detail.get("scope") or f"task:{task.task_id}")
    amount = _needed(store, task, policy or BudgetPolicy(), scope)
    if amount.usd or amount.tokens:
        grant(store, scope, amount, reason=reason, actor=actor, grant_id=approval.approval_id)


def overspent(store: Purse, claimed: Claimed, policy: BudgetPolicy | None) -> str | None:
    """Why a task's own budget covers no other try, as the claim would see it; None where it does or needs none."""
    task = claimed.task
    limit = _own(store, task, policy)
    if limit == Amount():
        return None
    cost = rules.ended(store.spent_by(task.task_id), claimed.attempt)
    charged = rules.charged([cost])
    unit = rules.used_up(rules.left(limit, charged))
    if unit is None:
        return None
    guessed = ", not all of it told" if rules.of(cost.unknown, unit) else ""
    if unit == "usd":
        return f"its budget is used up ({charged.usd:.2f} of {limit.usd:.2f} US dollars{guessed})"
    return f"its budget is used up ({charged.tokens:,} of {limit.tokens:,} tokens{guessed})"


def allowance(store: Family, task: TaskRecord, policy: BudgetPolicy | None) -> Budget | None:
    """What one more attempt may spend of its task's own limit, as `remaining` counts; None for no limit."""
    left = remaining(store, task, policy)
    if left == Amount():
        return None
    return Budget(
        max_cost_usd=None if left.usd is None else max(0.0, round(left.usd, 6)),
        max_tokens=None if left.tokens is None else max(1, left.tokens),
    )


def remaining(store: Family, task: TaskRecord, policy: BudgetPolicy | None, spent: Amount = NOTHING) -> Amount:
    """What of a task's own limit is left: None for no limit, below nothing where overdrawn.

    What its ended attempts cost is gone, what the tasks may spend that its attempts have asked for, and what its open
    attempt has `spent` so far. So the open attempt itself may spend what is left without it.
    """
    limit = _own(store, task, policy)
    if limit == Amount():
        return limit
    cost = store.spent_by(task.task_id)
    below = _Kin(store, policy).below(task, whole=is_shared(store, task))
    return rules.left(limit, rules.total([cost.spent, cost.unknown, spent, below]))


def is_shared(store: Family, task: TaskRecord) -> bool:
    """Whether a running attempt asked for it, or for one above it: all it does is paid from that one's budget."""
    found: TaskRecord | None = task
    for _ in range(HIGHEST):
        if found is None or (found.idempotency_key or "").startswith(ASKED):
            return found is not None
        found = None if found.parent_task_id is None else store.task(found.parent_task_id)
    return False


class _Kin:
    """The tasks below one, gone through once."""

    def __init__(self, store: Family, policy: BudgetPolicy | None) -> None:
        self._store, self._policy = store, policy
        self._seen: set[TaskId] = set()

    def below(self, task: TaskRecord, *, whole: bool = True) -> Amount:
        """What the tasks that a task asked for have cost and may still cost, with all that stands below them.

        Follow-ups of an outcome have a budget of their own, unless the task is `whole`: paid by one above it.
        """
        self._seen.add(task.task_id)
        children = [each for each in self._store.children(task.task_id) if each.task_id not in self._seen]
        counted = [each for each in children if whole or FOLLOWS not in (each.idempotency_key or "")]
        over = self._over(counted)
        return rules.total([self._bound(each, over=each.task_id in over) for each in counted])

    def _bound(self, task: TaskRecord, *, over: bool) -> Amount:
        """A task that goes on may spend its limit, which covers what stands below it as far as that fits into it.

        What an operator granted for it is beside its parent's budget, and is used first.
        """
        granted = rules.total(each.amount for each in self._store.grants(None, task.task_id))
        gone = rules.total([rules.charged([self._store.spent_by(task.task_id)]), self.below(task)])
        most = gone if over else rules.larger(_own(self._store, task, self._policy), gone)
        return rules.larger(rules.left(most, granted), NOTHING)

    def _over(self, tasks: list[TaskRecord]) -> set[TaskId]:
        """Those of them that spend nothing more. One that has ended may go on in follow-ups that are not queued yet.

        Looked at after the tasks and before what stands below them, so that a follow-up is seen here or there.
        """
        ended = {each.task_id for each in tasks if each.status in TERMINAL}
        waiting = self._store.outbox("pending", ROWS) if ended else []
        return ended - {each.task_id for each in waiting if each.kind == "follow_up_task"}


def _own(store: Purse, task: TaskRecord, policy: BudgetPolicy | None) -> Amount:
    """What the task may spend over all its attempts, with what was granted for it."""
    limit = rules.own_limit(task, policy or BudgetPolicy())
    granted = [] if limit == Amount() else store.grants(None, task.task_id)
    return rules.allowed(limit, f"task:{task.task_id}", granted)


def _needed(store: Store, task: TaskRecord, policy: BudgetPolicy, scope: str) -> Amount:
    """What one more run may cost, and what the limit that held it is overdrawn by."""
    own = rules.own_limit(task, policy)
    if scope.startswith("task:"):
        left = rules.left(_own(store, task, policy), rules.charged([store.spent_by(task.task_id)]))
        return rules.once_more(own, own, left)
    held = next((each for each in spending(store, policy, store.now()) if each.scope == scope), None)
    if held is None:
        return own
    charged = rules.total([held.spent, held.reserved, held.unknown])
    return rules.once_more(own, held.limit, rules.left(rules.total([held.limit, held.granted]), charged))


def _balance(scope: str, limit: Amount, tallies: list[Tally], grants: list[Grant]) -> Balance:
    spent = rules.total(each.spent for each in tallies)
    unpriced, uncounted = sum(each.unpriced for each in tallies), sum(each.uncounted for each in tallies)
    left = rules.left(rules.allowed(limit, scope, grants), rules.charged(tallies))
    return Balance(
        scope=scope,
        limit=limit,
        granted=rules.total(each.amount for each in grants if each.scope == scope),
        spent=Amount(
            usd=None if unpriced and not spent.usd else spent.usd,
            tokens=None if uncounted and not spent.tokens else spent.tokens,
        ),
        reserved=rules.total(each.reserved for each in tallies),
        unknown=rules.total(each.unknown for each in tallies),
        left=Amount(
            usd=None if left.usd is None else max(0.0, left.usd),
            tokens=None if left.tokens is None else max(0, left.tokens),
        ),
        attempts=sum(each.attempts for each in tallies),
        unpriced=unpriced,
        uncounted=uncounted,
    )


def _amount(given: ProjectAmount | None) -> Amount:
    return Amount() if given is None else Amount(usd=given.max_cost_usd, tokens=given.max_tokens)
