"""Claims stay flat: the median of a claim is the same whatever else stands in the table, a thousand rows or a million.

Two databases are measured in turn, claim by claim, so that whatever the machine does hits both. One keeps a thousand
tasks of every state; the other gets a million more of one state after the other. Rows are copies of tasks that the
store itself has brought into that state, so they are what a store leaves.
"""

import statistics
import time
from datetime import timedelta
from typing import Any

import apsw
import psycopg
from place import Ground, Place
from work import chance, claimed_by, fresh, register, settle

from keisei.engine.ports import Store
from keisei.engine.settle import Ended, settlement
from keisei.records.id import RunnerId, TaskId
from keisei.records.outcome import TaskOutcome

FEW = 1000
STATES = ("finished", "blocked", "delayed", "ready")
BLOCKED = TaskOutcome(status="blocked", machine_status="blocked", operator_summary="a person must look at it")
SHIFTED = ("rank", "available_at")
"""Columns that differ from copy to copy, by a microsecond."""


class Table:
    """A database with tasks of every state, and a runner who claims."""

    def __init__(self, place: Place) -> None:
        self.place, self.store = place, place.open()
        self.runner_id = register(self.store)
        for state in STATES:
            _bring(self.store, self.runner_id, state)
            self.add(state, FEW)

    def add(self, state: str, rows: int) -> None:
        """Copy the task of this state so many times."""
        columns = _columns(self.place)
        chosen = ", ".join(f"{name} + n.i" if name in SHIFTED else name for name in columns if name != "task_id")
        others = ", ".join(name for name in columns if name != "task_id")
        mark = f"copy-{state}-{time.monotonic_ns()}-"
        _execute(
            self.place,
            f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) "  # noqa: S608 - ours
            f"INSERT INTO tasks (task_id, {others}) SELECT '{mark}' || n.i, {chosen} "
            f"FROM tasks, n WHERE task_id = 'first-{state}'",
        )
        if self.place.kind == "postgres":
            _execute(self.place, "ANALYZE tasks")

    def claim_us(self) -> float:
        """One claim, timed; then what it took is ended and another task stands there for it."""
        started = time.perf_counter()
        (claimed,) = claimed_by(self.store, self.runner_id, 1)
        taken = (time.perf_counter() - started) * 1e6
        settle(self.store, claimed)
        self.store.enqueue([fresh(self.store)])
        return taken


def measure(ground: Ground, kind: str, rows: int, claims: int) -> list[dict[str, Any]]:
    """For every state: the median claim among few rows and among many of that state, in microseconds."""
    found = []
    with ground.place(kind) as here, ground.place(kind) as there:
        few, many = Table(here), Table(there)
        for state in STATES:
            started = time.monotonic()
            many.add(state, rows)
            loaded_s = time.monotonic() - started
            pairs = [(few.claim_us(), many.claim_us()) for _ in range(claims)]
            low, high = (statistics.median(column) for column in zip(*pairs[claims // 10 :], strict=True))
            found.append({"state": state, "few_us": low, "many_us": high, "ratio": high / low, "loaded_s": loaded_s})
        few.store.close()
        many.store.close()
    return found


def _bring(store: Store, runner_id: RunnerId, state: str) -> None:
    """One task into this state, by the store's own moves. Those that are over leave nothing claimable behind."""
    name = TaskId(f"first-{state}")
    later = {"available_at": store.now() + timedelta(days=1)} if state == "delayed" else {}
    store.enqueue([fresh(store, name, **later)])
    if state in ("ready", "delayed"):
        return
    (claimed,) = claimed_by(store, runner_id, 1)
    if state == "finished":
        settle(store, claimed)
    else:
        ended = Ended(claimed=claimed, exit_status="error", outcome=BLOCKED)
        assert store.settle(settlement(ended, chance(store))) == "settled"


def _columns(place: Place) -> list[str]:
    """Every column that is not made by the database itself."""
    statement = (
        "SELECT name FROM pragma_table_info('tasks') WHERE name <> 'seq'"
        if place.kind == "sqlite"
        else "SELECT column_name FROM information_schema.columns WHERE table_name = 'tasks' AND column_name <> 'seq'"
    )
    return [name for (name,) in _execute(place, statement)]


def _execute(place: Place, sql: str) -> list[tuple[Any, ...]]:
    if place.kind == "postgres":
        with psycopg.connect(place.url, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []
    connection = apsw.Connection(place.path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()
