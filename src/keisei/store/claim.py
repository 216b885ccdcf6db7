"""Claim: the best tasks that are due, each with an open attempt, one higher fence and its event, in one transaction.

The open attempt is the lease: an index allows one a task, and its fence is what settling asks for.
"""

from datetime import datetime
from functools import cache

from keisei.records.attempt import TaskAttempt
from keisei.records.id import AttemptId, RunnerId
from keisei.records.move import Claimed, ClaimOrder
from keisei.rules.budget import UNRESOLVED
from keisei.store.ask import known
from keisei.store.clock import moment
from keisei.store.row import TASK, TASK_WIDTH, Row, json, name, task_of
from keisei.store.sqlite import Sqlite, fetched
from keisei.store.step import CLOCK, Executor, chain

MAY = """SELECT 1 FROM runners WHERE runner_id = :runner AND state = 'active'
    AND NOT EXISTS (SELECT 1 FROM pauses WHERE scope IN ('all', :runner))"""
"""Whether a runner may claim at all."""
TAKE = "status = 'running', ready = 2, attempt_count = t.attempt_count + 1, fence = t.fence + 1"
TAKEN = f"{TASK}, t.fence, t.postponed, t.depth, t.rank, t.seq"
"""What `claimed` is made of; the table is called t."""

# That a claimable task has a try left is a CHECK of the table, so it is no condition here. How many stands in the text:
# SQLite would compile the statement anew for every value it is given there, and PostgreSQL plans for it.
_SQLITE = f"""
UPDATE tasks AS t SET {TAKE}, started_at = COALESCE(started_at, :now), updated_at = max(updated_at, :now)
WHERE seq IN (
    SELECT seq FROM tasks %s WHERE ready = 1 %s ORDER BY rank, seq LIMIT %d
) RETURNING {TAKEN.replace("t.", "")}
"""  # noqa: S608 - constants
_SQLITE_WITHOUT = "AND (breaker_id IS NULL OR breaker_id NOT IN (SELECT value FROM json_each(:without)))"
# A few tasks by name are found by their names, and not by walking along everything that is ready.
_SQLITE_READY = "INDEXED BY tasks_ready"
_SQLITE_ONLY = "AND task_id IN (SELECT value FROM json_each(:only))"
_ATTEMPT = """
INSERT INTO attempts (attempt_id, task_id, runner_id, fence, started_at, adapter_id) VALUES (?, ?, ?, ?, ?, ?)
"""
_EVENT = "INSERT INTO events (event_type, task_id, attempt_id, detail, created_at) VALUES ('task_claimed', ?, ?, ?, ?)"

# The rows are updated by an array and not by a join, so that no plan reads the whole table.
_FOUND = f"""found AS MATERIALIZED (
    SELECT t.seq FROM tasks t WHERE t.ready = 1 AND EXISTS ({MAY}) %s
    ORDER BY t.rank, t.seq LIMIT %d FOR UPDATE SKIP LOCKED
)"""  # noqa: S608 - constants
_POSTGRES_WITHOUT = "AND (t.breaker_id IS NULL OR t.breaker_id <> ALL(:without::text[]))"
_POSTGRES_ONLY = "AND t.task_id = ANY(:only::text[])"
_MOVED = f"""moved AS (
    UPDATE tasks t
    SET {TAKE}, started_at = COALESCE(t.started_at, clock.us), updated_at = greatest(t.updated_at, clock.us)
    FROM clock WHERE t.seq = ANY(ARRAY(SELECT seq FROM found)) RETURNING {TAKEN}, clock.us
), taken AS (
    SELECT moved.*, (:attempts::text[])[row_number() OVER (ORDER BY rank, seq)] AS attempt_id FROM moved
), tried AS (
    INSERT INTO attempts (attempt_id, task_id, runner_id, fence, started_at, adapter_id)
    SELECT attempt_id, task_id, :runner, fence, us, COALESCE(adapter_id, 'unresolved') FROM taken ORDER BY rank, seq
), told AS (
    INSERT INTO events (event_type, task_id, attempt_id, detail, created_at)
    SELECT 'task_claimed', task_id, attempt_id,
        json_build_object('runner_id', :runner::text, 'fence', fence, 'attempt', attempt_count)::text, us
    FROM taken ORDER BY rank, seq
)"""  # noqa: S608 - constants


def claim_sqlite(db: Sqlite, order: ClaimOrder) -> list[Claimed]:
    """Take as many as there are attempt ids, best first. Nothing where the runner is not active, or paused."""
    statement = sqlite_statement(len(order.attempt_ids), bool(order.without_adapters), order.only is not None)
    with db.write() as cursor:
        now_us = db.now_us()  # in our turn, so that a claim is never older than what made its task claimable
        params = {
            "now": now_us,
            "without": json(list(map(known, order.without_adapters))),
            "only": json(list(map(known, order.only or ()))),
        }
        if not fetched(cursor, MAY, {"runner": known(order.runner_id)}):
            return []
        rows = fetched(cursor, statement, params)
        rows.sort(key=_place)
        taken = list(zip(order.attempt_ids, rows, strict=False))
        for attempt_id, row in taken:
            cursor.execute(_ATTEMPT, _attempt_row(attempt_id, row, order.runner_id, now_us))
            cursor.execute(_EVENT, (row[0], attempt_id, _detail(row, order.runner_id), now_us))
    return [claimed(row, order, attempt_id, moment(now_us)) for attempt_id, row in taken]


def claim_postgres(db: Executor, order: ClaimOrder) -> list[Claimed]:
    """As `claim_sqlite`, in one statement; claims at the same time pass over each other's rows."""
    params = {
        "runner": known(order.runner_id),
        "attempts": list(map(name, order.attempt_ids)),
        "without": list(map(known, order.without_adapters)),
        "only": list(map(known, order.only or ())),
    }
    statement = postgres_statement(len(order.attempt_ids), bool(order.without_adapters), order.only is not None)
    rows = db.execute(statement, params) if order.attempt_ids else []
    return [claimed(row, order, row[-1], moment(row[-2])) for row in rows]


@cache
def sqlite_statement(slots: int, without: bool, only: bool = False) -> str:  # noqa: FBT001, FBT002 - four texts
    """The claim. It reads the index `tasks_ready` from its beginning, and nothing else of the table."""
    conditions = f"{_SQLITE_WITHOUT if without else ''} {_SQLITE_ONLY if only else ''}"
    return _SQLITE % ("" if only else _SQLITE_READY, conditions, slots)


@cache
def postgres_statement(slots: int, without: bool, only: bool = False) -> str:  # noqa: FBT001, FBT002 - four texts
    """The claim, attempts and events included."""
    conditions = f"{_POSTGRES_WITHOUT if without else ''} {_POSTGRES_ONLY if only else ''}"
    found = _FOUND % (conditions, slots)
    return chain(CLOCK, found, _MOVED, result="SELECT * FROM taken ORDER BY rank, seq")


def _place(row: Row) -> tuple[int, int]:
    return row[TASK_WIDTH + 3], row[TASK_WIDTH + 4]


def _attempt_row(attempt_id: AttemptId, row: Row, runner_id: RunnerId, now_us: int) -> Row:
    return name(attempt_id), row[0], runner_id, row[TASK_WIDTH], now_us, row[6] or UNRESOLVED


def _detail(row: Row, runner_id: RunnerId) -> str:
    return json({"runner_id": runner_id, "fence": row[TASK_WIDTH], "attempt": row[9]})


def claimed(row: Row, order: ClaimOrder, attempt_id: AttemptId, now: datetime) -> Claimed:
    """What a runner is given of a task that was taken now."""
    task = task_of(row)
    attempt = TaskAttempt(
        attempt_id=attempt_id,
        task_id=task.task_id,
        adapter_id=task.requested_adapter_id or UNRESOLVED,
        adapter_kind="unresolved",
        model=None,
        runner_id=order.runner_id,
        started_at=now,
        ended_at=None,
        exit_status=None,
        retry_class="none",
        fence=row[TASK_WIDTH],
    )
    return Claimed(task=task, attempt=attempt, postponed=row[TASK_WIDTH + 1], depth=row[TASK_WIDTH + 2])
