"""Budgets: what an attempt is charged with, and whether what is left covers another one. Pure.

Limits hold however many attempts run side by side, because each reserves before it begins all that it may spend.
Unknown stays unknown: who does not say what it used is charged with what it had reserved.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from keisei.records.attempt import TaskAttempt, Usage
from keisei.records.budget import Amount, BudgetPolicy, Grant, Hold, Tally
from keisei.records.id import AdapterId, AgentId, TaskId
from keisei.records.intent import Budget
from keisei.records.task import TaskRecord

Unit = Literal["usd", "tokens"]
UNITS: Final[tuple[Unit, ...]] = ("usd", "tokens")
EXACT: Final = 1e-9
"""Amounts that differ by no more are the same: 0.1 and 0.2 fit into 0.3."""
LARGEST: Final = 2**53 - 1
"""An amount above it is nonsense; so many of them can still be added up."""
SOON: Final = timedelta(seconds=60)
"""When a task is looked at again that waits for what others give back."""
FREE_KIND: Final = "script"
"""The kind of adapter that costs nothing."""
UNRESOLVED: Final = AdapterId("unresolved")
"""The adapter of an attempt before one was chosen; it may become any."""


class Spending(Struct, frozen=True, kw_only=True):
    """One attempt, or several that are alike in all but their amounts, as far as budgets are concerned."""

    adapter_kind: str
    """The kind of its adapter."""
    open: bool
    """It has not ended."""
    begun: bool
    """It was given its bundle; otherwise nothing was started that could cost anything."""
    used: Amount
    """What it says it used; None where it does not say. Of several: together, and None where none of them says."""
    reserved: Amount
    """What was reserved for it; None where nothing limited it."""
    attempts: int = 1
    """How many."""


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


def is_amount(value: float | None) -> bool:
    """Whether it is an amount that can be spent or granted; None is one that nobody knows."""
    return value is None or 0 <= value <= LARGEST


def used(usage: Usage | None) -> Amount:
    """What an attempt says it used. Tokens are known where input and output are: not every harness has a cache.

    Who says nonsense has said nothing, and is in nobody's way.
    """
    if usage is None:
        return Amount()
    counted = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
    tokens = sum(count or 0 for count in counted)
    told = None not in counted[:2] and all(map(is_amount, (*counted, tokens)))
    return Amount(usd=usage.cost_usd if is_amount(usage.cost_usd) else None, tokens=tokens if told else None)


def tally(agent: AgentId | None, adapter_id: AdapterId, attempts: Sequence[Spending]) -> Tally:
    """What these attempts cost together."""
    ended = [one for one in attempts if not one.open and one.begun and one.adapter_kind != FREE_KIND]
    return Tally(
        agent=agent,
        adapter_id=adapter_id,
        spent=total(one.used for one in ended),
        reserved=total(one.reserved for one in attempts if one.open),
        unknown=total(_untold(one) for one in ended),
        attempts=sum(one.attempts for one in attempts),
        unpriced=sum(one.attempts for one in ended if one.used.usd is None),
        uncounted=sum(one.attempts for one in ended if one.used.tokens is None),
    )


def ended(cost: Tally, attempt: TaskAttempt) -> Tally:
    """What a task has cost once its open attempt, as it stands now, has ended."""
    one = Spending(
        adapter_kind=attempt.adapter_kind,
        open=False,
        begun=attempt.bundle_id is not None,
        used=used(attempt.usage),
        reserved=cost.reserved,
    )
    last = tally(cost.agent, cost.adapter_id, [one])
    return replace(
        cost,
        spent=total((cost.spent, last.spent)),
        reserved=last.reserved,
        unknown=total((cost.unknown, last.unknown)),
        unpriced=cost.unpriced + last.unpriced,
        uncounted=cost.uncounted + last.uncounted,
    )


def own_limit(task: TaskRecord, policy: BudgetPolicy) -> Amount:
    """What a task may spend over all its attempts: what it says, else what the project says, in each unit."""
    own = task.budget or Budget()
    return Amount(
        usd=policy.task.usd if own.max_cost_usd is None else own.max_cost_usd,
        tokens=policy.task.tokens if own.max_tokens is None else own.max_tokens,
    )


def allowed(limit: Amount, scope: str, grants: Iterable[Grant]) -> Amount:
    """A limit with what was granted beside it; where there is no limit nothing can be added to it."""
    granted = total(grant.amount for grant in grants if grant.scope == scope)
    return _by_unit(lambda amount, more: None if amount is None else amount + (more or 0), limit, granted)


def charged(tallies: Iterable[Tally]) -> Amount:
    """What counts against a limit: what is spent, what is reserved, and what nobody accounts for."""
    return total(part for one in tallies for part in (one.spent, one.reserved, one.unknown))


def left(limit: Amount, charged: Amount) -> Amount:
    """What may still be spent; below nothing where it is overdrawn, None where there is no limit."""
    return _by_unit(lambda amount, gone: None if amount is None else amount - (gone or 0), limit, charged)


def larger(one: Amount, other: Amount) -> Amount:
    """The larger of both in each unit; what is None is nothing."""
    return _by_unit(lambda *both: max(each or 0 for each in both), one, other)


def share(asked: Budget | None, left: Amount) -> tuple[Budget | None, str | None]:
    """What of the amount that is left a task is given: what it asks for, else half. None where nothing limits it.

    Half, since whoever gives everything away cannot go on. Where it is not enough, a sentence says so instead.
    """
    wanted = Amount() if asked is None else Amount(usd=asked.max_cost_usd, tokens=asked.max_tokens)
    for unit in UNITS:
        has, wants = of(left, unit), of(wanted, unit)
        if has is not None and (has <= EXACT if wants is None else wants > has + EXACT):
            asks = "" if wants is None else f", and is asked for {_said(wants, unit)}"
            return None, f"has {_said(max(0, has), unit)} left{asks}"
    half = Amount(usd=None if left.usd is None else left.usd / 2, tokens=left.tokens and -(-left.tokens // 2))
    given = _by_unit(_first, wanted, half)
    return (None if given == Amount() else Budget(max_cost_usd=given.usd, max_tokens=given.tokens)), None


def lowered(asked: Budget | None, left: Amount) -> Budget | None:
    """What is asked for, and no more than what is left; None where nothing limits it."""
    wanted = Amount() if asked is None else Amount(usd=asked.max_cost_usd, tokens=asked.max_tokens)
    given = _by_unit(lambda *both: min((each for each in both if each is not None), default=None), wanted, left)
    return None if given == Amount() else Budget(max_cost_usd=given.usd, max_tokens=given.tokens)


def untold(left: Amount, spent: Amount) -> Unit | None:
    """The unit that is limited, and of which nobody knows what was spent; None where all is known that must be."""
    return next((unit for unit in UNITS if of(left, unit) is not None and of(spent, unit) is None), None)


def _first(wanted: float | None, otherwise: float | None) -> float | None:
    return otherwise if wanted is None else wanted


def used_up(left: Amount) -> Unit | None:
    """The unit of which nothing is left; None where there is something of each that is limited."""
    return next((unit for unit in UNITS if (amount := of(left, unit)) is not None and amount <= EXACT), None)


def once_more(own: Amount, limit: Amount, left: Amount) -> Amount:
    """What lets a task run once more: its own limit, else the limit that held it, and what that one is overdrawn by."""

    def more(own: float | None, limit: float | None, left: float | None) -> float | None:
        return None if limit is None else (limit if own is None else own) + max(0, -(left or 0))

    return _by_unit(more, own, limit, left)


def total(amounts: Iterable[Amount]) -> Amount:
    """Both units; what is None adds nothing."""
    listed = tuple(amounts)
    return Amount(usd=math.fsum(one.usd or 0.0 for one in listed), tokens=sum(one.tokens or 0 for one in listed))


def of(amount: Amount, unit: Unit) -> float | None:
    """One of the two."""
    return amount.usd if unit == "usd" else amount.tokens


def cover(account: Account, task: TaskRecord, adapter_id: AdapterId | None, cost: Tally) -> Covered | Hold:
    """Whether the task may begin, and what is reserved for it then; otherwise what it waits for.

    `cost` is what its attempts have cost so far. Its own budget names what it wants; where it has none it wants all
    that is left of the tightest limit, and nothing on an adapter that calls no model. An adapter that is not known may
    be any, so every adapter's limit holds.
    """
    if adapter_id in account.policy.free and task.budget is None:
        return Covered(reserve=Amount())
    scope = f"task:{task.task_id}"
    wanted = left(allowed(own_limit(task, account.policy), scope, account.grants), charged([cost]))
    if (unit := used_up(wanted)) is not None:
        return Hold(task_id=task.task_id, scope=scope, reason=_used_up(unit), until=None)
    limits = _limits(account, task, adapter_id)
    holds = [
        hold for unit in UNITS for limit in limits if (hold := _hold(limit, unit, wanted, task.task_id, account.now))
    ]
    if holds:
        return max(holds, key=lambda hold: (hold.until is None, hold.until or account.now))
    return Covered(reserve=_by_unit(_least, wanted, *map(_left, limits)))


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
        amount=allowed(amount, scope, account.grants),
        charged=charged(counted),
        reserved=total(one.reserved for one in counted),
    )


def _hold(limit: Limit, unit: Unit, wanted: Amount, task_id: TaskId, now: datetime) -> Hold | None:
    """What a task waits for at this limit, if anything: what others give back, the next day, or a person.

    What even a whole day does not cover would wait for ever.
    """
    free = of(_left(limit), unit)
    asked = of(wanted, unit)
    need = 2 * EXACT if asked is None else asked
    if free is None or need <= free + EXACT:
        return None
    until: datetime | None = day_of(now) + timedelta(days=1)
    if need > (of(limit.amount, unit) or 0) + EXACT:
        until = None
    elif need <= free + (of(limit.reserved, unit) or 0) + EXACT:
        until = now + SOON
    return Hold(task_id=task_id, scope=limit.scope, reason=_short(limit, unit, asked), until=until)


def _least(*bounds: float | None) -> float | None:
    """Never more than is left, to the last digit, so that tolerances do not add up."""
    known = [bound for bound in bounds if bound is not None]
    return min(*known, LARGEST) if known else None


def _left(limit: Limit) -> Amount:
    return left(limit.amount, limit.charged)


def _untold(one: Spending) -> Amount:
    """What is charged because nobody knows."""
    return Amount(
        usd=one.reserved.usd if one.used.usd is None else None,
        tokens=one.reserved.tokens if one.used.tokens is None else None,
    )


def _by_unit(rule: Callable[..., float | None], *amounts: Amount) -> Amount:
    """The rule for money, and the rule for tokens."""
    usd, tokens = (rule(*(of(amount, unit) for amount in amounts)) for unit in UNITS)
    return Amount(usd=None if usd is None else float(usd), tokens=None if tokens is None else int(tokens))


def _used_up(unit: Unit) -> str:
    return f"the task has used up its own budget of {'money' if unit == 'usd' else 'tokens'}"


def _short(limit: Limit, unit: Unit, wanted: float | None) -> str:
    """Only what does not change while it waits, so that a wait is told once."""
    said = f"the budget of {_said(of(limit.amount, unit) or 0, unit)} for {limit.scope}"
    return f"{said} is used up" if wanted is None else f"{said} does not cover the {_said(wanted, unit)} it may spend"


def _said(amount: float, unit: Unit) -> str:
    return f"{amount:.10g} USD" if unit == "usd" else f"{int(amount)} tokens"
