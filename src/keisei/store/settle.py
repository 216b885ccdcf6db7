"""Settle: an attempt ends and its task moves, with everything that belongs to it, in one transaction or not at all.

The fence decides: it stands in the task and in its one open attempt, and grows whenever the attempt changes hands.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import apsw
from msgspec.structs import replace

from keisei.records.error import IllegalMove
from keisei.records.move import Settled, Settlement
from keisei.records.task import TERMINAL
from keisei.rules.budget import used
from keisei.store import ledger
from keisei.store.approval import RAISED, WAITING, Run, raise_approvals, raised_params, resolve
from keisei.store.breaker import LEARNT, breaker_params, learn
from keisei.store.clock import maybe_microseconds, microseconds
from keisei.store.column import MOVED, moved_params
from keisei.store.landing import OFFERED, check_offered, offer, offered_params
from keisei.store.note import write_events
from keisei.store.order import actor_of
from keisei.store.outbox import ASKED, ask, ask_params
from keisei.store.row import Row, json, maybe_text, rest_of, text
from keisei.store.sqlite import Sqlite, fetched
from keisei.store.step import CLOCK, EVENTS, LEDGER, chain, event_params, ledger_params

if TYPE_CHECKING:
    from keisei.store.line import Line
    from keisei.store.postgres import Postgres

_CLOSED = """ended_at = :ended_at, exit_status = :exit_status, retry_class = :retry_class, adapter_id = :adapter_id,
    adapter_kind = :adapter_kind, model = :model, bundle_id = :bundle_id, cost_usd = :cost_usd, tokens = :tokens,
    record = :record"""
_OPEN = "attempt_id = :attempt_id AND task_id = :task_id AND fence = :fence AND ended_at IS NULL"
_WANTED = "(cancel_at IS NULL OR :status = 'operator_canceled')"
_WHY = """
SELECT a.fence, a.ended_at, a.exit_status, t.cancel_at FROM attempts a JOIN tasks t ON t.task_id = a.task_id
WHERE a.attempt_id = :attempt_id
"""
_DECIDES = TERMINAL | {"pending"}
"""Where a task goes on or ends by itself, nobody has to say any more what becomes of it."""

_CLOSE_SQLITE = f"""
UPDATE attempts SET {_CLOSED}
WHERE {_OPEN} AND EXISTS (SELECT 1 FROM tasks WHERE task_id = :task_id AND ready = 2 AND {_WANTED})
"""  # noqa: S608 - constants
_MOVE_SQLITE = f"""
UPDATE tasks SET {MOVED}, postponed = postponed + :postponed WHERE task_id = :task_id
"""  # noqa: S608 - constants
_FINDING = "INSERT INTO findings (finding_id, attempt_id, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_ARTIFACT = """
INSERT INTO artifacts (artifact_id, task_id, record) VALUES (?, ?, ?)
ON CONFLICT (artifact_id) DO UPDATE SET record = excluded.record WHERE excluded.task_id = artifacts.task_id
"""

# The task is the row that is waited for and looked at again: sweep, adopt and cancel write to it too. Its status is
# asked for and not its `ready`, or a plan might read all running tasks to find one. A task about which a person was
# asked is settled in several statements.
_DONE = f"""done AS (
    UPDATE tasks SET {MOVED}, postponed = postponed + :postponed
    WHERE task_id = :task_id AND status = 'running' AND fence = :fence AND {_WANTED}
        AND EXISTS (SELECT 1 FROM attempts WHERE {_OPEN}) %s
    RETURNING 1
), closed AS (UPDATE attempts SET {_CLOSED} FROM done WHERE {_OPEN})"""  # noqa: S608 - constants
_UNASKED = f"AND NOT EXISTS ({WAITING})"
_FINDINGS = """found AS (
    INSERT INTO findings (finding_id, attempt_id, record)
    SELECT f.finding_id, f.attempt_id, f.record
    FROM done, unnest(:finding_ids::text[], :finding_attempts::text[], :findings::text[])
        WITH ORDINALITY AS f (finding_id, attempt_id, record, n)
    ORDER BY f.n ON CONFLICT DO NOTHING
)"""
_ARTIFACTS = """kept AS (
    INSERT INTO artifacts (artifact_id, task_id, record)
    SELECT f.artifact_id, f.task_id, f.record
    FROM done, unnest(:artifact_ids::text[], :artifact_tasks::text[], :artifacts::text[])
        WITH ORDINALITY AS f (artifact_id, task_id, record, n)
    ORDER BY f.n
    ON CONFLICT (artifact_id) DO UPDATE SET record = excluded.record WHERE excluded.task_id = artifacts.task_id
)"""


def settle_sqlite(db: Sqlite, settlement: Settlement) -> Settled:
    """Close the attempt and move its task. Raises IllegalMove for a settlement that ends nothing."""
    now_us = db.now_us()
    params = _params(settlement, now_us)
    with db.write() as cursor:
        cursor.execute(_CLOSE_SQLITE, params)
        if not cursor.connection.changes():
            return _answer(settlement, fetched(cursor, _WHY, params))
        cursor.execute(_MOVE_SQLITE, params)
        _write_rest(cursor, settlement, now_us)
    return "settled"


def settle_postgres(db: "Postgres", settlement: Settlement) -> Settled:
    """As `settle_sqlite`, in one statement; a second one asks why, where nothing was written."""
    now_us = db.now_us()
    params = {
        **_params(settlement, now_us),
        **_finding_params(settlement),
        **ask_params(settlement.outbox),
        **event_params(settlement.events),
        **(raised_params(settlement.approvals) if settlement.approvals else {}),
        **(ledger_params(settlement.ledger, now_us) if settlement.ledger else {}),
        **(breaker_params(settlement.breaker) if settlement.breaker else {}),
        **(offered_params(settlement.landings) if settlement.landings else {}),
    }
    decides = settlement.task.status in _DECIDES
    if db.execute(_statement(settlement, _UNASKED if decides else ""), params):
        return "settled"
    if decides and db.execute(WAITING, params):
        return db.transaction(lambda line: _settle_asked(line, settlement, {"now": now_us, **params}))
    return _answer(settlement, db.execute(_WHY, params))


def _settle_asked(line: "Line", settlement: Settlement, params: dict[str, Any]) -> Settled:
    if not line.execute_inside(_statement(replace(settlement, approvals=()), ""), params):
        return _answer(settlement, line.execute_inside(_WHY, params))
    _resolve(line.execute_inside, settlement, params["now"])
    raise_approvals(line.execute_inside, settlement.approvals)
    return "settled"


def _statement(settlement: Settlement, condition: str) -> str:
    """Only the steps that have something to write."""
    return chain(
        CLOCK,
        _DONE % condition,
        _FINDINGS if settlement.findings else "",
        _ARTIFACTS if settlement.artifacts else "",
        ASKED if settlement.outbox else "",
        EVENTS if settlement.events else "",
        LEDGER if settlement.ledger else "",
        LEARNT if settlement.breaker else "",
        RAISED if settlement.approvals else "",
        OFFERED if settlement.landings else "",
    )


def _resolve(run: Run, settlement: Settlement, now_us: int) -> None:
    if settlement.task.status in _DECIDES:
        resolve(run, settlement.task.task_id, actor_of(settlement.ledger), now_us)


def _write_rest(cursor: apsw.Cursor, settlement: Settlement, now_us: int) -> None:
    if settlement.findings:
        cursor.executemany(_FINDING, [(f.finding_id, f.attempt_id, json(f)) for f in settlement.findings])
    if settlement.artifacts:
        cursor.executemany(_ARTIFACT, [(a.artifact_id, a.task_id, json(a)) for a in settlement.artifacts])
    if settlement.outbox:
        ask(cursor, settlement.outbox)
    if settlement.events:
        write_events(cursor, settlement.events, now_us)
    if settlement.ledger:
        ledger.insert(cursor, settlement.ledger, now_us)
    if settlement.breaker:
        learn(cursor, settlement.breaker)
    run = partial(fetched, cursor)
    _resolve(run, settlement, now_us)
    raise_approvals(run, settlement.approvals)
    offer(run, settlement.landings)


def _answer(settlement: Settlement, found: list[Row]) -> Settled:
    """Why nothing was written: settled before and the answer was lost, an operator was quicker, or it is lost."""
    attempt = settlement.attempt
    for fence, ended_at, exit_status, cancel_at in found:
        if fence != attempt.fence:
            continue
        if (ended_at, exit_status) == (maybe_microseconds(attempt.ended_at), attempt.exit_status):
            return "settled"
        if ended_at is None and cancel_at is not None:
            return "canceled"
    return "lost"


def _params(settlement: Settlement, now_us: int) -> dict[str, Any]:
    task, attempt = settlement.task, settlement.attempt
    if task.status == "running" or attempt.ended_at is None or attempt.task_id != task.task_id:
        raise IllegalMove(f"attempt {attempt.attempt_id} does not end task {task.task_id}, which is {task.status}")
    check_offered(settlement)
    cost = used(attempt.usage)
    return {
        **moved_params(task, now_us),
        "task_id": task.task_id,
        "postponed": int(settlement.postponed),
        "attempt_id": attempt.attempt_id,
        "fence": attempt.fence,
        "ended_at": microseconds(attempt.ended_at),
        "exit_status": attempt.exit_status,
        "retry_class": attempt.retry_class,
        "adapter_id": text(attempt.adapter_id),
        "adapter_kind": text(attempt.adapter_kind),
        "model": maybe_text(attempt.model),
        "bundle_id": attempt.bundle_id,
        "cost_usd": cost.usd,
        "tokens": cost.tokens,
        "record": rest_of(attempt),
    }


def _finding_params(settlement: Settlement) -> dict[str, Any]:
    # an id twice in one statement would be an error
    artifacts = {artifact.artifact_id: artifact for artifact in settlement.artifacts}.values()
    return {
        "finding_ids": [finding.finding_id for finding in settlement.findings],
        "finding_attempts": [finding.attempt_id for finding in settlement.findings],
        "findings": [json(finding) for finding in settlement.findings],
        "artifact_ids": [artifact.artifact_id for artifact in artifacts],
        "artifact_tasks": [artifact.task_id for artifact in artifacts],
        "artifacts": [json(artifact) for artifact in artifacts],
    }
