"""Budgets: what an attempt is charged with, and whether what is left covers another one. Pure.

Limits hold however many attempts run side by side, because each reserves before it begins all that it may spend.
Unknown stays unknown: who does not say what it used is charged with what it had reserved.
"""

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from keisei.records.attempt import Usage
from keisei.records.budget import Amount, BudgetPolicy, Grant, Hold, Tally
from keisei.records.id import AdapterId, AgentId, TaskId
from keisei.records.task import TaskRecord

Unit = Literal["usd", "tokens"]
UNITS: Final[tuple[Unit, ...]] = ("usd", "tokens")
EXACT: Final = 1e-9
"""Amounts that differ by no more are the same: 0.1 and 0.2 fit into 0.3."""
SOON: Final = timedelta(seconds=60)
"""When a task is looked at again that waits for what others give back."""
FREE_KIND: Final = "script"
"""The kind of adapter that costs nothing."""
UNRESOLVED: Final = AdapterId("unresolved")
"""The adapter of an attempt before one was chosen; it may become any."""


class Spending(Struct, frozen=True, kw_only=True):
    """One attempt, as far as budgets are concerned."""

    adapter_kind: str
    """The kind of its adapter."""
    open: bool
    """It has not ended."""
    begun: bool
    """It was given its bundle; otherwise nothing was started that could cost anything."""
    used: Amount
    """What it says it used; None where it does not say."""
    reserved: Amount
    """What was reserved for it; None where nothing limited it."""


class Account(Struct, frozen=True, kw_only=True):
    """What a day allows, and what is spoken for."""

    policy: BudgetPolicy
    """The limits."""
    tallies: tuple[Tally, ...]
    """What the attempts of this UTC day have cost."""
    grants: tuple[Grant, ...]
    """What was granted for this day, and for the task that is looked at."""
    now: datetime
    """When."""


class Covered(Struct, frozen=True, kw_only=True):
    """The task may begin."""

    reserve: Amount
    """What is reserved for it; None where nothing limits it."""


class Limit(Struct, frozen=True, kw_only=True):
    """One limit of a day that a task must keep to."""

    scope: str
    """Which, as in a grant."""
    amount: Amount
    """How much it is, with everything that was granted."""
    charged: Amount
    """What of it is spent, reserved, or unknown."""
    reserved: Amount
    """What of that may be given back."""


def used(usage: Usage | None) -> Amount:
    """What an attempt says it used. Tokens are known where input and output are: not every harness has a cache."""
    if usage is None:
        return Amount()
    counted = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    told = usage.input_tokens is not None and usage.output_tokens is not None
    return Amount(usd=usage.cost_usd, tokens=sum(count or 0 for count in counted) if told else None)


def tally(agent: AgentId | None, adapter_id: AdapterId, attempts: Sequence[Spending]) -> Tally:
    """What these attempts cost together."""
    ended = [one for one in attempts if not one.open and one.begun and one.adapter_kind != FREE_KIND]
    return Tally(
        agent=agent,
        adapter_id=adapter_id,
        spent=_sum(one.used for one in ended),
        reserved=_sum(one.reserved for one in attempts if one.open),
        unknown=_sum(_untold(one) for one in ended),
        attempts=len(attempts),
        unaccounted=sum(one.used.usd is None or one.used.tokens is None for one in ended),
        unpriced=sum(one.used.usd is None for one in ended),
        uncounted=sum(one.used.tokens is None for one in ended),
    )


def cover(account: Account, task: TaskRecord, adapter_id: AdapterId | None, cost: Tally) -> Covered | Hold:
    """Whether the task may begin, and what is reserved for it then; otherwise what it waits for.

    `cost` is what its attempts have cost so far. Its own budget names what it wants; where it has none it wants all
    that is left of the tightest limit, and nothing on an adapter that calls no model. An adapter that is not known may
    be any, so every adapter's limit holds.
    """
    if adapter_id in account.policy.free and task.budget is None:
        return Covered(reserve=Amount())
    wanted = _wanted(account, task, cost)
    for unit in UNITS:
        if (amount := _of(wanted, unit)) is not None and amount <= EXACT:
            return Hold(task_id=task.task_id, scope=f"task:{task.task_id}", reason=_used_up(unit), until=None)
    limits = _limits(account, task, adapter_id)
    holds = [
        hold for unit in UNITS for limit in limits if (hold := _hold(limit, unit, wanted, task.task_id, account.now))
    ]
    if holds:
        return max(holds, key=lambda hold: hold.until or account.now)
    usd, tokens = (_reserved(limits, unit, wanted) for unit in UNITS)
    return Covered(reserve=Amount(usd=usd, tokens=None if tokens is None else int(tokens)))


def day_of(now: datetime) -> datetime:
    """When the UTC day began."""
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def day_name(now: datetime) -> str:
    """The UTC day, as grants name it."""
    return day_of(now).date().isoformat()


def reserved_too(account: Account, task: TaskRecord, adapter_id: AdapterId | None, reserve: Amount) -> Account:
    """The account after one more attempt has begun."""
    begun = Spending(adapter_kind=UNRESOLVED, open=True, begun=False, used=Amount(), reserved=reserve)
    return replace(account, tallies=(*account.tallies, tally(task.agent, adapter_id or UNRESOLVED, [begun])))


def _wanted(account: Account, task: TaskRecord, cost: Tally) -> Amount:
    """What is left of the task's own limit; of the project's for tasks where it names none."""
    own, default = task.budget, account.policy.task
    usd = own.max_cost_usd if own is not None and own.max_cost_usd is not None else default.usd
    tokens = own.max_tokens if own is not None and own.max_tokens is not None else default.tokens
    allowed = _granted(account.grants, f"task:{task.task_id}", Amount(usd=usd, tokens=tokens))
    charged = _sum((cost.spent, cost.reserved, cost.unknown))
    return Amount(
        usd=None if allowed.usd is None else allowed.usd - (charged.usd or 0.0),
        tokens=None if allowed.tokens is None else allowed.tokens - (charged.tokens or 0),
    )


def _limits(account: Account, task: TaskRecord, adapter_id: AdapterId | None) -> list[Limit]:
    policy, tallies = account.policy, account.tallies
    limits = [_limit(account, "day", policy.day, tallies)]
    if task.agent is not None and task.agent in policy.agents:
        of_agent = [one for one in tallies if one.agent == task.agent]
        limits.append(_limit(account, f"agent:{task.agent}", policy.agents[task.agent], of_agent))
    for known, amount in policy.adapters.items():
        if adapter_id in (None, UNRESOLVED, known):
            of_adapter = [one for one in tallies if one.adapter_id in (known, UNRESOLVED)]
            limits.append(_limit(account, f"adapter:{known}", amount, of_adapter))
    return limits


def _limit(account: Account, scope: str, amount: Amount, tallies: Iterable[Tally]) -> Limit:
    counted = tuple(tallies)
    return Limit(
        scope=scope,
        amount=_granted(account.grants, scope, amount),
        charged=_sum(part for one in counted for part in (one.spent, one.reserved, one.unknown)),
        reserved=_sum(one.reserved for one in counted),
    )


def _hold(limit: Limit, unit: Unit, wanted: Amount, task_id: TaskId, now: datetime) -> Hold | None:
    """What a task waits for at this limit, if anything: what others give back, or the next day."""
    left = _left(limit, unit)
    asked = _of(wanted, unit)
    need = 2 * EXACT if asked is None else asked
    if left is None or need <= left + EXACT:
        return None
    later = need <= left + (_of(limit.reserved, unit) or 0) + EXACT
    return Hold(
        task_id=task_id,
        scope=limit.scope,
        reason=_short(limit, unit, asked),
        until=now + SOON if later else day_of(now) + timedelta(days=1),
    )


def _reserved(limits: Iterable[Limit], unit: Unit, wanted: Amount) -> float | None:
    """Never more than is left, to the last digit, so that tolerances do not add up."""
    bounds = [_of(wanted, unit), *(_left(limit, unit) for limit in limits)]
    return min((bound for bound in bounds if bound is not None), default=None)


def _left(limit: Limit, unit: Unit) -> float | None:
    amount = _of(limit.amount, unit)
    return None if amount is None else amount - (_of(limit.charged, unit) or 0)


def _granted(grants: Iterable[Grant], scope: str, amount: Amount) -> Amount:
    """The limit with what was granted; where there is no limit nothing can be added to it."""
    more = _sum(grant.amount for grant in grants if grant.scope == scope)
    return Amount(
        usd=None if amount.usd is None else amount.usd + (more.usd or 0.0),
        tokens=None if amount.tokens is None else amount.tokens + (more.tokens or 0),
    )


def _untold(one: Spending) -> Amount:
    """What is charged because nobody knows."""
    return Amount(
        usd=one.reserved.usd if one.used.usd is None else None,
        tokens=one.reserved.tokens if one.used.tokens is None else None,
    )


def _sum(amounts: Iterable[Amount]) -> Amount:
    """Both units; what is None adds nothing."""
    listed = tuple(amounts)
    return Amount(usd=math.fsum(one.usd or 0.0 for one in listed), tokens=sum(one.tokens or 0 for one in listed))


def _of(amount: Amount, unit: Unit) -> float | None:
    return amount.usd if unit == "usd" else amount.tokens


def _used_up(unit: Unit) -> str:
    return f"the task has used up its own budget of {'money' if unit == 'usd' else 'tokens'}"


def _short(limit: Limit, unit: Unit, wanted: float | None) -> str:
    """Only what does not change while it waits, so that a wait is told once."""
    said = f"the budget of {_said(_of(limit.amount, unit) or 0, unit)} for {limit.scope}"
    return f"{said} is used up" if wanted is None else f"{said} does not cover the {_said(wanted, unit)} it may spend"


def _said(amount: float, unit: Unit) -> str:
    return f"{amount:.10g} USD" if unit == "usd" else f"{int(amount)} tokens"
