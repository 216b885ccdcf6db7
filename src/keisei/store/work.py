"""Work: one transaction, in the same words for both stores.

Moves that are made often are one statement each, written for its store. Those that are made now and then are written
once, as steps of a transaction: the first step writes the row that everybody who makes the same move must write, so
that they wait for each other there; it answers with no row where the move does not apply.

Statements are plain SQL of both stores with parameters named `:name`; numbers are whole or real, never boolean.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import apsw

from keisei.records.beside import Beside
from keisei.records.move import Enqueued, NewEntry, NewEvent, NewTask
from keisei.store import ledger
from keisei.store.approval import write_approvals
from keisei.store.enqueue import ADDED, insert, task_params, task_rows
from keisei.store.note import write_events
from keisei.store.outbox import write_outbox
from keisei.store.row import Row
from keisei.store.sqlite import fetched
from keisei.store.step import ALWAYS, CLOCK, EVENTS, LEDGER, chain, event_params, ledger_params

if TYPE_CHECKING:
    from keisei.store.line import Line

_TASKS = chain(CLOCK, ALWAYS, ADDED, result="SELECT task_id FROM added")
_EVENTS = chain(CLOCK, ALWAYS, EVENTS)
_LEDGER = chain(ALWAYS, LEDGER)
_KNOWN = "SELECT task_id FROM tasks WHERE idempotency_key = :key"
_ALONE = "SELECT pg_advisory_xact_lock(7305790097514097017)"


class Work(Protocol):
    """A transaction that is under way."""

    now_us: int
    """The store's time, as the tables keep it; the same throughout."""

    def run(self, sql: str, params: Mapping[str, Any]) -> list[Row]:
        """One statement, and its rows."""

    def alone(self) -> None:
        """Wait until nobody else who says so is at work; they wait until this one is done."""

    def add_tasks(self, tasks: Sequence[NewTask]) -> list[Enqueued]:
        """Queue tasks, each with its event. A known key or id writes nothing."""

    def add_events(self, events: Sequence[NewEvent]) -> None:
        """Write events."""

    def add_ledger(self, entries: Sequence[NewEntry]) -> None:
        """Write ledger rows."""


class SqliteWork:
    """A transaction of SQLite."""

    def __init__(self, cursor: apsw.Cursor, now_us: int) -> None:
        self._cursor = cursor
        self.now_us = now_us

    def run(self, sql: str, params: Mapping[str, Any]) -> list[Row]:
        """One statement, and its rows."""
        return fetched(self._cursor, sql, params)

    def alone(self) -> None:
        """Who writes is alone here."""

    def add_tasks(self, tasks: Sequence[NewTask]) -> list[Enqueued]:
        """Queue tasks, each with its event."""
        return insert(self._cursor, task_rows(tasks, self.now_us), self.now_us)

    def add_events(self, events: Sequence[NewEvent]) -> None:
        """Write events."""
        write_events(self._cursor, events, self.now_us)

    def add_ledger(self, entries: Sequence[NewEntry]) -> None:
        """Write ledger rows."""
        ledger.insert(self._cursor, entries, self.now_us)


class PostgresWork:
    """A transaction of PostgreSQL."""

    def __init__(self, line: "Line", now_us: int) -> None:
        self._line = line
        self.now_us = now_us

    def run(self, sql: str, params: Mapping[str, Any]) -> list[Row]:
        """One statement, and its rows."""
        return self._line.execute_inside(sql, params)

    def alone(self) -> None:
        """A lock of the database's own, given back with the transaction."""
        self.run(_ALONE, {})

    def add_tasks(self, tasks: Sequence[NewTask]) -> list[Enqueued]:
        """Queue tasks, each with its event. One statement a task: a key that is known is looked up at once."""
        return [self._add_task(task) for task in tasks]

    def add_events(self, events: Sequence[NewEvent]) -> None:
        """Write events."""
        if events:
            self.run(_EVENTS, {"now": self.now_us, **event_params(events)})

    def add_ledger(self, entries: Sequence[NewEntry]) -> None:
        """Write ledger rows; they are sealed later."""
        if entries:
            self.run(_LEDGER, ledger_params(entries, self.now_us))

    def _add_task(self, task: NewTask) -> Enqueued:
        rows = task_rows([task], self.now_us)
        if self.run(_TASKS, {"now": self.now_us, **task_params(rows)}):
            return Enqueued(task_id=task.task.task_id, created=True)
        key = task.task.idempotency_key
        known = self.run(_KNOWN, {"key": key}) if key is not None else []
        return Enqueued(task_id=known[0][0] if known else task.task.task_id, created=False)


def requeue(work: Work, task: NewTask, beside: Beside) -> Enqueued:
    """Queue one task with what is written beside it. A known key or id writes nothing of either."""
    (done,) = work.add_tasks([task])
    if done.created:
        write_beside(work, beside)
    return done


def write_beside(work: Work, beside: Beside) -> list[Enqueued]:
    """Everything that holds exactly if the move does; what became of its tasks."""
    added = work.add_tasks(beside.tasks) if beside.tasks else []
    write_outbox(work, beside.outbox)
    write_approvals(work, beside.approvals)
    work.add_events(beside.events)
    work.add_ledger(beside.ledger)
    return added
