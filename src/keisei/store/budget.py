"""Budgets: what attempts have reserved and spent, and what was granted beside the limits."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

import msgspec

from keisei.records.beside import Beside
from keisei.records.budget import Amount, Grant, Tally
from keisei.records.error import ContractViolation
from keisei.records.id import AdapterId, AgentId, TaskId
from keisei.rules.budget import UNRESOLVED, Spending, is_amount, tally
from keisei.store.approval import Run
from keisei.store.ask import known
from keisei.store.clock import microseconds, moment
from keisei.store.reader import Reader
from keisei.store.row import Row, maybe_name, name, text
from keisei.store.work import Work, write_beside

# Attempts that the rules charge alike are added up here, so that a claim reads a few rows however long the day was.
# Tokens are added as real numbers, which do not overflow.
_COST = f"""
SELECT t.agent, CASE WHEN a.adapter_id = '{UNRESOLVED}' THEN COALESCE(t.breaker_id, a.adapter_id) ELSE a.adapter_id END,
    a.adapter_kind, CASE WHEN a.ended_at IS NULL THEN 1 ELSE 0 END, CASE WHEN a.bundle_id IS NULL THEN 0 ELSE 1 END,
    SUM(a.cost_usd), SUM(CAST(a.tokens AS double precision)),
    SUM(r.usd), SUM(CAST(r.tokens AS double precision)), COUNT(*)
FROM attempts a JOIN tasks t ON t.task_id = a.task_id LEFT JOIN reservations r ON r.attempt_id = a.attempt_id
WHERE %s GROUP BY 1, 2, 3, 4, 5, a.cost_usd IS NULL, a.tokens IS NULL
"""  # noqa: S608 - constants
_OF_DAY = _COST % "a.started_at >= :since"
_OF_TASK = _COST % "a.task_id = :task_id"
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
        open=bool(row[3]),
        begun=bool(row[4]),
        used=_amount(row[5], row[6]),
        reserved=_amount(row[7], row[8]),
        attempts=row[9],
    )


def _amount(usd: float | None, tokens: float | None) -> Amount:
    return Amount(usd=usd, tokens=None if tokens is None else int(tokens))


def _grant_params(grant: Grant) -> dict[str, object]:
    usd, tokens = grant.amount.usd, grant.amount.tokens
    if not is_amount(usd) or not is_amount(tokens):
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
