"""The PostgreSQL driver: one statement a step, each its own transaction, on connections that come back when lost."""

import os
import queue
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from keisei.records.error import KeiseiError, OperatorError, WorldFault
from keisei.store import migrate
from keisei.store.clock import Clock, SystemClock, microseconds
from keisei.store.line import TRIES, Connection, Line, Row, connected, translated

T = TypeVar("T")

DEADLINE_S = 10.0
"""The longest wait for a connection that another thread uses."""
MOST = 4
"""Connections of one process. Statements of several threads overlap, and the server writes them to disk together."""

CONNECTION: Mapping[str, Any] = {
    "application_name": "keisei",
    "client_encoding": "utf8",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

# The lock is the database's own, so that any number of processes may open a fresh one at once.
LOCK = b"SELECT pg_advisory_xact_lock(7305790097514097011)"
# Read as a table: `to_regclass` answers from a cache that a wait for the lock does not renew, so whoever had looked
# before it waited would not see what the others made meanwhile.
EXISTS = b"""SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class
    WHERE relname = 'schema_migrations' AND pg_catalog.pg_table_is_visible(oid))"""
RECORD = b"INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)"


class Lines:
    """Some connections, opened as threads need them. Any number of threads share them."""

    def __init__(self, url: str, most: int) -> None:
        self._url = url
        self._most = most
        self._generation = 0
        """How often a connection was lost."""
        self.offset_us = 0
        """How far the server's clock is ahead of this machine's, in microseconds, as last heard."""
        self._begin()

    def execute(self, sql: str, params: Mapping[str, Any]) -> list[Row]:
        """Run one statement and return its rows.

        Raises WorldFault, retryable, where the connection was lost: the statement may have been done all the same.
        """
        with self.borrowed() as line:
            return line.execute(sql, params)

    def execute_again(self, sql: str, params: Mapping[str, Any]) -> list[Row]:
        """As `execute`, for a statement that may be done twice: said once more where the connection was lost."""
        generation = self._generation
        try:
            return self.execute(sql, params)
        except WorldFault:
            if self._generation == generation:
                raise
            return self.execute(sql, params)

    @contextmanager
    def borrowed(self) -> Iterator[Line]:
        """One connection for the block. The driver's errors leave as ours."""
        if self._pid != os.getpid():
            self._leave_to_parent()
        try:
            line = self._free.get(timeout=DEADLINE_S)
        except queue.Empty:
            raise WorldFault("other threads wait for the database server", retryable=True) from None
        try:
            yield self._current(line)
        except psycopg.Error as error:
            self._generation += not line.is_open
            raise translated(error) from error
        finally:
            self._free.put(line)

    def close(self) -> None:
        """Give back what nobody uses now. Safe to say twice."""
        if self._pid == os.getpid():
            with suppress(queue.Empty):
                for _ in self._lines:
                    self._free.get_nowait().close()
            self._begin()

    def _current(self, line: Line) -> Line:
        """Where one connection was lost the others were too: whoever finds out first is the only one to be told."""
        if line.generation != self._generation:
            line.close()
        if not line.is_open:
            line.generation = self._generation
            line.opened()
            self.offset_us = line.offset_us
        return line

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lines = [Line(self._url) for _ in range(self._most)]
        # the one that was used last is used first: it knows the statements
        self._free: queue.LifoQueue[Line] = queue.LifoQueue()
        for line in self._lines:
            self._free.put(line)

    def _leave_to_parent(self) -> None:
        """In the child of a fork: the parent speaks on its connections, so they are neither used nor closed here."""
        _left_to_parent.extend(self._lines)
        self._begin()


_left_to_parent: list[Line] = []


class Postgres:
    """One database of a server. Heartbeats have a connection of their own, so that no statement is in their way."""

    def __init__(self, url: str, clock: Clock | None) -> None:
        """Connect and bring it up to date. Raises OperatorError or WorldFault, in one sentence."""
        self.url = _with_settings(url)
        self.clock = clock
        self._system = SystemClock()
        self._lines, self._beats = Lines(self.url, MOST), Lines(self.url, 1)
        try:
            with self._lines.borrowed() as line:
                _migrate(line.opened())
        except KeiseiError:
            self.close()
            raise

    def now_us(self) -> int:
        """The clock that was handed in, else this machine's corrected by what is known of the server's."""
        if self.clock is not None:
            return microseconds(self.clock.now())
        return microseconds(self._system.now()) + self._lines.offset_us

    def execute(self, sql: str, params: Mapping[str, Any] | None = None) -> list[Row]:
        """Run one statement, with `:now` for `NOW` filled in, and return its rows. Raises as `Lines.execute` does."""
        return self._lines.execute(sql, {"now": self._given_us(), **(params or {})})

    def read(self, sql: str, params: Mapping[str, Any] | None = None) -> list[Row]:
        """As `execute`, for a statement that writes nothing: a lost connection is not noticed."""
        return self._lines.execute_again(sql, {"now": self._given_us(), **(params or {})})

    def execute_beat(self, sql: str, params: Mapping[str, Any]) -> list[Row]:
        """As `read`, on the connection of heartbeats, which may be said twice."""
        return self._beats.execute_again(sql, {"now": self._given_us(), **params})

    def transaction(self, action: Callable[[Line], T]) -> T:
        """Several statements: committed where the action returns, taken back where it raises.

        It is begun again where others stood in its way, so the action does nothing but its statements. Raises as
        `Lines.execute` does: where the connection was lost it may have been committed all the same.
        """
        with self._lines.borrowed() as line:
            for _ in range(TRIES):
                with suppress(errors.DeadlockDetected, errors.SerializationFailure):
                    return line.transaction(action)
            return line.transaction(action)

    def hear(self, server_us: int) -> None:
        """The server's clock stood there a moment ago."""
        self._lines.offset_us = server_us - time.time_ns() // 1000

    def connect(self) -> Connection:
        """A connection of one's own, in autocommit mode, for LISTEN. Raises WorldFault or OperatorError."""
        try:
            return connected(self.url)[0]
        except psycopg.Error as error:
            raise translated(error) from error

    def close(self) -> None:
        """Give back the connections. Safe to say twice."""
        self._lines.close()
        self._beats.close()

    def _given_us(self) -> int | None:
        return None if self.clock is None else microseconds(self.clock.now())


def _with_settings(url: str) -> str:
    try:
        given = conninfo_to_dict(url)
        return make_conninfo(url, **{name: value for name, value in CONNECTION.items() if name not in given})
    except psycopg.Error as error:
        raise OperatorError("the address of the database is not understood", "postgresql://user@host/name") from error


def _migrate(connection: Connection) -> None:
    if not migrate.missing("postgres", _applied(connection)):
        return
    with connection.transaction():
        connection.execute(LOCK)
        for step in migrate.missing("postgres", _applied(connection)):
            connection.execute(step.sql.encode())
            now_us = microseconds(SystemClock().now())
            connection.execute(RECORD, [step.version, step.name, step.checksum, now_us])


def _applied(connection: Connection) -> list[Row]:
    found = connection.execute(EXISTS).fetchone()
    return connection.execute(migrate.APPLIED.encode()).fetchall() if found and found[0] else []
