"""Budgets: what attempts have reserved and spent, and what was granted beside the limits."""

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

import msgspec

from keisei.records.attempt import Usage
from keisei.records.beside import Beside
from keisei.records.budget import Amount, Grant, Tally
from keisei.records.error import ContractViolation
from keisei.records.id import AdapterId, AgentId, TaskId
from keisei.rules.budget import UNRESOLVED, Spending, tally, used
from keisei.store.approval import Run
from keisei.store.ask import known
from keisei.store.clock import microseconds, moment
from keisei.store.reader import Reader
from keisei.store.row import Row, maybe_name, name, text
from keisei.store.work import Work, write_beside

# The records are read here and not by the databases: what agents write into them is JSON that not both understand.
_COST = f"""SELECT t.agent, CASE WHEN a.adapter_id = '{UNRESOLVED}' THEN COALESCE(t.breaker_id, a.adapter_id)
    ELSE a.adapter_id END, a.adapter_kind, a.ended_at, a.bundle_id, a.cost_usd,
    CASE WHEN a.ended_at IS NOT NULL AND a.bundle_id IS NOT NULL THEN a.record END, r.usd, r.tokens
FROM attempts a JOIN tasks t ON t.task_id = a.task_id LEFT JOIN reservations r ON r.attempt_id = a.attempt_id
WHERE """  # noqa: S608 - constants
_OF_DAY = f"{_COST} a.started_at >= :since"
_OF_TASK = f"{_COST} a.task_id = :task_id"
_WHOSE = "SELECT agent, COALESCE(adapter_id, breaker_id) FROM tasks WHERE task_id = :task_id"

_GRANT = """
INSERT INTO grants (grant_id, scope, day, usd, tokens, reason, actor, created_at)
VALUES (:grant_id, :scope, :day, :usd, :tokens, :reason, :actor, :created_at) ON CONFLICT DO NOTHING RETURNING 1
"""
# A task whose moment is another one than that of its hold waits for something else. IS TRUE keeps a plan from reading
# all that is delayed.
_WAKE = """
UPDATE tasks SET ready = 1, available_at = :now, updated_at = CASE WHEN updated_at > :now THEN updated_at ELSE :now END
WHERE (ready = 0) IS TRUE AND (task_id, available_at) IN (SELECT h.task_id, h.until FROM holds h)
"""
_FORGET = """
DELETE FROM holds WHERE NOT EXISTS (SELECT 1 FROM tasks t WHERE t.task_id = holds.task_id AND t.status = 'blocked')
"""
_GRANTS = "SELECT grant_id, scope, day, usd, tokens, reason, actor, created_at FROM grants WHERE %s ORDER BY seq"


class _Accounted(msgspec.Struct):
    """The part of an attempt's record that says what it used."""

    usage: Usage | None = None
    """As in TaskAttempt."""


_accounted = msgspec.json.Decoder(_Accounted).decode


def grant(work: Work, grant: Grant, beside: Beside) -> bool:
    """Allow more, and let tasks that wait for a budget be looked at again. False: its id is known.

    Raises ContractViolation for an amount that is none.
    """
    if not work.run(_GRANT, _grant_params(grant)):
        return False
    work.run(_WAKE, {"now": work.now_us})
    work.run(_FORGET, {})
    write_beside(work, beside)
    return True


def read_tallies(reader: Reader, since: datetime) -> list[Tally]:
    """What attempts that began since then have reserved and spent, by agent and adapter."""
    return tallies_of(reader.read, microseconds(since))


def read_spent_by(reader: Reader, task_id: TaskId) -> Tally:
    """What all attempts of one task have reserved and spent; agent and adapter are the task's."""
    found = reader.read(_WHOSE, {"task_id": known(task_id)})
    agent, adapter_id = found[0] if found else (None, None)
    return cost_of(reader.read, task_id, agent, adapter_id)


def read_grants(reader: Reader, day: str | None, task_id: TaskId | None) -> list[Grant]:
    """What was granted for a day, or for a task; for both where both are named."""
    return grants_of(reader.read, day, task_id)


def tallies_of(run: Run, since_us: int) -> list[Tally]:
    """As `read_tallies`, in a transaction too."""
    found: defaultdict[tuple[AgentId | None, AdapterId], list[Spending]] = defaultdict(list)
    for row in run(_OF_DAY, {"since": since_us}):
        found[row[0], row[1]].append(_spending(row))
    return [tally(agent, adapter_id, attempts) for (agent, adapter_id), attempts in found.items()]


def cost_of(run: Run, task_id: TaskId, agent: AgentId | None, adapter_id: AdapterId | None) -> Tally:
    """What the attempts of a task have cost, in a transaction too."""
    return tally(agent, adapter_id or UNRESOLVED, list(map(_spending, run(_OF_TASK, {"task_id": known(task_id)}))))


def grants_of(run: Run, day: str | None, task_id: TaskId | None) -> list[Grant]:
    """As `read_grants`, in a transaction too."""
    wanted = {} if day is None else {"day": known(day)}
    if task_id is not None:
        wanted["scope"] = known(f"task:{task_id}")
    where = " OR ".join(f"{column} = :{column}" for column in wanted)
    return list(map(_grant_of, run(_GRANTS % where, wanted))) if wanted else []


def _spending(row: Row) -> Spending:
    return Spending(
        adapter_kind=row[2],
        open=row[3] is None,
        begun=row[4] is not None,
        used=Amount(usd=row[5] if _sensible(row[5]) else None, tokens=_tokens(row[6])),
        reserved=Amount(usd=row[7], tokens=row[8]),
    )


def _tokens(record: str | None) -> int | None:
    """What the record says; one that says nonsense says nothing, and is in nobody's way."""
    try:
        return None if record is None else used(_accounted(record).usage).tokens
    except msgspec.DecodeError:
        return None


def _grant_params(grant: Grant) -> dict[str, object]:
    usd, tokens = grant.amount.usd, grant.amount.tokens
    if not all(_sensible(amount) for amount in (usd, tokens)):
        raise ContractViolation("grant", [f"{usd} USD and {tokens} tokens cannot be granted"])
    return {
        "grant_id": name(grant.grant_id),
        "scope": name(grant.scope),
        "day": maybe_name(grant.day),
        "usd": None if usd is None else float(usd),
        "tokens": tokens,
        "reason": text(grant.reason),
        "actor": text(grant.actor),
        "created_at": microseconds(grant.created_at),
    }


def _sensible(amount: float | None) -> bool:
    return amount is None or (math.isfinite(amount) and 0 <= amount < 2**53)


def _grant_of(row: Sequence[object]) -> Grant:
    return msgspec.convert(
        {
            **dict(zip(("grant_id", "scope", "day"), row[:3], strict=True)),
            "amount": {"usd": row[3], "tokens": row[4]},
            "reason": row[5],
            "actor": row[6],
            "created_at": moment(row[7]),  # type: ignore[arg-type] # a bigint
        },
        Grant,
    )
