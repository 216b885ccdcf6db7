"""Enqueue: tasks enter, any number in one commit, each with its event."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import apsw

from keisei.records.error import ContractViolation, IllegalMove
from keisei.records.id import TaskId
from keisei.records.move import Enqueued, NewEntry, NewTask
from keisei.rules.task import rank, ready
from keisei.store import ledger
from keisei.store.clock import microseconds, moment
from keisei.store.row import Row, body_of, json, maybe_name, name
from keisei.store.sqlite import Sqlite, fetched
from keisei.store.step import ALWAYS, CLOCK, Executor, chain, ledger_params

COLUMNS = {
    "task_id": "text",
    "status": "text",
    "ready": "smallint",
    "rank": "bigint",
    "priority": "integer",
    "task_type": "text",
    "source": "text",
    "profile_id": "text",
    "adapter_id": "text",
    "breaker_id": "text",
    "agent": "text",
    "idempotency_key": "text",
    "attempt_count": "bigint",
    "max_attempts": "bigint",
    "depth": "bigint",
    "available_at": "bigint",
    "created_at": "bigint",
    "updated_at": "bigint",
    "body": "text",
}
"""What is written of a task that enters, and PostgreSQL's types for it."""
MOST, LARGEST = 1000, 2**53 - 1
"""What records allow: the highest priority, and the largest number that every reader of JSON keeps exact."""
KEY = tuple(COLUMNS).index("idempotency_key")

_names = ", ".join(COLUMNS)
_INSERT = f"INSERT INTO tasks ({_names}) VALUES ({', '.join('?' * len(COLUMNS))}) ON CONFLICT DO NOTHING"  # noqa: S608
_EVENT = "INSERT INTO events (event_type, task_id, detail, created_at) VALUES ('task_enqueued', ?, ?, ?)"

_lists = ", ".join(f":new_{column}::{kind}[]" for column, kind in COLUMNS.items())
ADDED = f"""added AS (
    INSERT INTO tasks ({_names})
    SELECT {_names} FROM done, unnest({_lists}) WITH ORDINALITY AS new ({_names}, n)
    ORDER BY n ON CONFLICT DO NOTHING RETURNING seq, task_id, task_type, source
), announced AS (
    INSERT INTO events (event_type, task_id, detail, created_at)
    SELECT 'task_enqueued', task_id, json_build_object('task_type', task_type, 'source', source)::text, clock.us
    FROM added, clock ORDER BY seq
)"""  # noqa: S608 - constants
"""The step of PostgreSQL that adds tasks with their events."""
_ENTERED = """entered AS (
    INSERT INTO ledger (kind, subject, content, leaf_hash)
    SELECT e.kind, e.subject, e.content, e.leaf_hash
    FROM added JOIN unnest(
        :entry_tasks::text[], :kinds::text[], :subjects::text[], :contents::bytea[], :leaves::bytea[]
    ) WITH ORDINALITY AS e (task_id, kind, subject, content, leaf_hash, n) ON e.task_id = added.task_id
    ORDER BY e.n RETURNING entry_id
), unsealed_too AS (INSERT INTO unsealed (entry_id) SELECT entry_id FROM entered)"""
# Two batches that share keys in another order would wait for each other: such batches enter one after the other.
_ALONE = "done AS MATERIALIZED (SELECT pg_advisory_xact_lock(7305790097514097013))"

_KNOWN_SQLITE = "SELECT task_id FROM tasks WHERE idempotency_key = ?"
_KNOWN_POSTGRES = "SELECT idempotency_key, task_id FROM tasks WHERE idempotency_key = ANY(:keys::text[])"


def enqueue_sqlite(db: Sqlite, tasks: Sequence[NewTask]) -> list[Enqueued]:
    """Queue tasks in one commit. A known key or id writes nothing. Raises IllegalMove for a task that was tried."""
    now_us = db.now_us()
    rows = task_rows(tasks, now_us)
    if not rows:
        return []
    with db.write() as cursor:
        answers = insert(cursor, rows, now_us)
        created = [new for new, answer in zip(tasks, answers, strict=True) if answer.created]
        ledger.insert(cursor, [entry for new in created for entry in new.ledger], now_us)
        return answers


def enqueue_postgres(db: Executor, tasks: Sequence[NewTask]) -> list[Enqueued]:
    """As `enqueue_sqlite`. What was known is looked up by a second statement, where anything was."""
    now_us = db.now_us()
    rows = task_rows(tasks, now_us)
    keyed = sum(row[KEY] is not None for row in rows)
    entered = _entry_params(tasks, rows, now_us)
    step = _ENTERED if entered else ""
    statement = chain(CLOCK, _ALONE if keyed > 1 else ALWAYS, ADDED, step, result="SELECT task_id FROM added")
    added = {task_id for (task_id,) in db.execute(statement, {**task_params(rows), **entered})}
    keys = [row[KEY] for row in rows if row[0] not in added and row[KEY] is not None]
    known: dict[str, str] = dict(db.execute(_KNOWN_POSTGRES, {"keys": keys})) if keys else {}
    return [_answer(row, added, known) for row in rows]


def _entry_params(tasks: Sequence[NewTask], rows: Sequence[Row], now_us: int) -> dict[str, Any]:
    """What `_ENTERED` writes, in the order of the tasks; of an id that comes twice, the first. Empty: nothing."""
    entries: dict[str, Sequence[NewEntry]] = {}
    for new, row in zip(tasks, rows, strict=True):
        entries.setdefault(row[0], new.ledger)
    told = [(task_id, entry) for task_id, each in entries.items() for entry in each]
    if not told:
        return {}
    return {"entry_tasks": [task_id for task_id, _ in told], **ledger_params([entry for _, entry in told], now_us)}


def task_rows(tasks: Iterable[NewTask], now_us: int) -> list[Row]:
    """What is written of each, in the order of `COLUMNS`."""
    now = moment(now_us)
    return [_row(new, now) for new in tasks]


def task_params(rows: Sequence[Row]) -> dict[str, Any]:
    """What `ADDED` writes."""
    return {f"new_{column}": [row[index] for row in rows] for index, column in enumerate(COLUMNS)}


def insert(cursor: apsw.Cursor, rows: Iterable[Row], now_us: int) -> list[Enqueued]:
    """Write rows with their events inside a transaction of SQLite."""
    answers = []
    for row in rows:
        cursor.execute(_INSERT, row)
        if cursor.connection.changes():
            cursor.execute(_EVENT, (row[0], json({"task_type": row[5], "source": row[6]}), now_us))
            answers.append(Enqueued(task_id=row[0], created=True))
        else:
            found = fetched(cursor, _KNOWN_SQLITE, (row[KEY],))
            answers.append(Enqueued(task_id=found[0][0] if found else row[0], created=False))
    return answers


def _answer(row: Row, added: set[str], known: dict[str, str]) -> Enqueued:
    if row[0] in added:
        added.remove(row[0])
        return Enqueued(task_id=row[0], created=True)
    return Enqueued(task_id=TaskId(known.get(row[KEY]) or row[0]), created=False)


def _row(new: NewTask, now: datetime) -> Row:
    task = new.task
    if task.status != "pending" or task.attempt_count or task.started_at or task.outcome or task.last_error:
        raise IllegalMove(f"task {task.task_id} is {task.status} or was tried: it cannot enter the queue")
    if not (-MOST <= task.priority <= MOST and task.max_attempts <= LARGEST and 0 <= new.depth <= LARGEST):
        raise ContractViolation("task.record", [f"task {task.task_id} has a priority, tries or a depth out of range"])
    return (
        name(task.task_id),
        task.status,
        ready(task, now),
        rank(task.priority, task.available_at),
        task.priority,
        name(task.task_type),
        name(task.source),
        name(task.requested_profile_id),
        maybe_name(task.requested_adapter_id),
        maybe_name(new.breaker_id),
        maybe_name(task.agent),
        maybe_name(task.idempotency_key),
        task.attempt_count,
        task.max_attempts,
        new.depth,
        microseconds(task.available_at),
        microseconds(task.created_at),
        microseconds(task.updated_at),
        body_of(task),
    )
