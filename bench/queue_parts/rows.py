"""Our rows beside a peer's own: what it costs a peer to leave the records that keisei leaves.

Two commits a task, as the contract wants them: before the work the task is running and has an open attempt with its
event; after it the attempt is closed, the task is over, and two more events say so. Once in ten tasks somebody looks at
the outbox. The tables are keisei's own, and the tasks stand in them already.
"""

import json
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import apsw
import psycopg

LOOK_EVERY = 10
CONNECTIONS = 10
OPTIONS = {"autocommit": True, "prepare_threshold": 2}
OUTCOME = '{"status":"completed","machine_status":"ok","operator_summary":"done"}'

BEGIN_SQLITE = (
    """
    UPDATE tasks SET status = 'running', ready = 2, attempt_count = attempt_count + 1, fence = fence + 1,
        started_at = :now, updated_at = :now WHERE task_id = :task AND ready = 1
    """,
    """
    INSERT INTO attempts (attempt_id, task_id, runner_id, fence, started_at, adapter_id)
    VALUES (:attempt, :task, :runner, 1, :now, 'unresolved')
    """,
    """
    INSERT INTO events (event_type, task_id, attempt_id, detail, created_at)
    VALUES ('task_claimed', :task, :attempt, :detail, :now)
    """,
)
END_SQLITE = (
    "UPDATE attempts SET ended_at = :now, exit_status = 'ok' WHERE attempt_id = :attempt AND ended_at IS NULL",
    """
    UPDATE tasks SET status = 'completed', ready = 3, finished_at = :now, updated_at = :now, outcome = :outcome
    WHERE task_id = :task AND ready = 2
    """,
    """
    INSERT INTO events (event_type, task_id, attempt_id, detail, created_at)
    VALUES ('task_attempt_finished', :task, :attempt, :detail, :now),
        ('task_finished', :task, :attempt, :detail, :now)
    """,
)
LOOK = "SELECT key, kind, payload FROM outbox WHERE status = 'pending' ORDER BY seq LIMIT 50"

BEGIN_POSTGRES = """
WITH done AS (
    UPDATE tasks SET status = 'running', ready = 2, attempt_count = attempt_count + 1, fence = fence + 1,
        started_at = $1, updated_at = $1 WHERE task_id = $2 AND ready = 1 RETURNING fence
), tried AS (
    INSERT INTO attempts (attempt_id, task_id, runner_id, fence, started_at, adapter_id)
    SELECT $3, $2, $4, fence, $1, 'unresolved' FROM done
)
INSERT INTO events (event_type, task_id, attempt_id, detail, created_at)
SELECT 'task_claimed', $2, $3, $5, $1 FROM done
"""
END_POSTGRES = """
WITH done AS (
    UPDATE tasks SET status = 'completed', ready = 3, finished_at = $1, updated_at = $1, outcome = $4
    WHERE task_id = $2 AND ready = 2 RETURNING 1
), closed AS (
    UPDATE attempts SET ended_at = $1, exit_status = 'ok' FROM done WHERE attempt_id = $3 AND ended_at IS NULL
)
INSERT INTO events (event_type, task_id, attempt_id, detail, created_at)
SELECT kind, $2, $3, $5, $1 FROM done, unnest(ARRAY['task_attempt_finished', 'task_finished']) AS kind
"""
RUNNER = "runner-peer"


def begin_params(task: str) -> tuple[object, ...]:
    """What the PostgreSQL statement before the work is given."""
    return _now_us(), task, f"attempt-{task}", RUNNER, _detail()


def end_params(task: str) -> tuple[object, ...]:
    """What the one after it is given."""
    return _now_us(), task, f"attempt-{task}", OUTCOME, _detail()


class SqliteRows:
    """Rows in a SQLite database, durable as ours, on one connection that threads share in turn."""

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        self._ended = 0
        self._connection = apsw.Connection(path)
        self._connection.set_busy_timeout(10_000)
        self._connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")

    def begin(self, task: str) -> None:
        """Before the work."""
        self._write(BEGIN_SQLITE, task)

    def end(self, task: str) -> None:
        """After it."""
        self._write(END_SQLITE, task)
        self._ended += 1
        if self._ended % LOOK_EVERY == 0:
            with self._lock:
                self._connection.execute(LOOK).fetchall()

    def _write(self, statements: tuple[str, ...], task: str) -> None:
        values = {"now": _now_us(), "task": task, "attempt": f"attempt-{task}", "runner": RUNNER}
        values |= {"outcome": OUTCOME, "detail": _detail()}
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            for statement in statements:
                self._connection.execute(statement, values)
            self._connection.execute("COMMIT")


class PostgresRows:
    """Rows in a PostgreSQL database, one prepared statement a commit, on ten connections that threads share in turn."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._free: queue.SimpleQueue[psycopg.Connection | None] = queue.SimpleQueue()
        self._ended = 0
        for _ in range(CONNECTIONS):
            self._free.put(None)

    def begin(self, task: str) -> None:
        """Before the work."""
        with self._connection() as connection:
            connection.execute(BEGIN_POSTGRES, begin_params(task))

    def end(self, task: str) -> None:
        """After it."""
        with self._connection() as connection:
            connection.execute(END_POSTGRES, end_params(task))
            self._ended += 1
            if self._ended % LOOK_EVERY == 0:
                connection.execute(LOOK).fetchall()

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection]:
        connection = self._free.get() or psycopg.connect(self._url, **OPTIONS, cursor_factory=psycopg.RawCursor)
        try:
            yield connection
        finally:
            self._free.put(connection)


Rows = SqliteRows | PostgresRows


def open_rows(store: str, place: str) -> Rows:
    """The rows of a store."""
    return SqliteRows(place) if store == "sqlite" else PostgresRows(place)


def _now_us() -> int:
    return time.time_ns() // 1000


def _detail() -> str:
    return json.dumps({"runner_id": RUNNER, "fence": 1})
