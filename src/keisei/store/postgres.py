"""The PostgreSQL driver: one statement a step, each its own transaction, on a connection that comes back when lost.

Statements name their parameters `:name`, as SQLite's do, so that one text can serve both stores.
"""

import os
import re
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8Dumper

from keisei.records.error import IllegalMove, KeiseiError, OperatorError, WorldFault
from keisei.store import migrate
from keisei.store.clock import Clock, SystemClock, microseconds
from keisei.store.step import SERVER_US

DEADLINE_S = 10.0
"""The longest wait for another thread's statement."""
TRIES = 9
"""How often a statement is tried again that others stood in the way of."""
PARAMETER = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")

CONNECTION: Mapping[str, Any] = {
    "application_name": "keisei",
    "client_encoding": "utf8",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
# A plan made while a table was small would read the whole of it when it has grown, and `jit` compiles what runs once.
SETTINGS = f"""
SELECT {SERVER_US}, set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false),
    set_config('statement_timeout', '30s', false), set_config('lock_timeout', '10s', false),
    set_config('idle_in_transaction_session_timeout', '60s', false), set_config('synchronous_commit', 'on', false)
"""

# The lock is the database's own, so that any number of processes may open a fresh one at once.
LOCK = b"SELECT pg_advisory_xact_lock(7305790097514097011)"
EXISTS = b"SELECT to_regclass('schema_migrations') IS NOT NULL"
RECORD = b"INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)"

Row = tuple[Any, ...]
Connection = psycopg.Connection[Row]


class Line:
    """One connection, opened when first used and again after it was lost. Any number of threads take turns."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Connection | None = None
        self._begin()
        self.offset_us = 0
        """How far the server's clock is ahead of this machine's, in microseconds, as last heard."""

    def execute(self, sql: str, params: Mapping[str, Any]) -> list[Row]:
        """Run one statement and return its rows.

        Raises WorldFault, retryable, where the connection was lost: the statement may have been done all the same.
        """
        if self._pid != os.getpid():
            self._leave_to_parent()
        if not self._lock.acquire(timeout=DEADLINE_S):
            raise WorldFault("another thread waits for the database server", retryable=True)
        try:
            return self._execute_again(sql, params)
        except psycopg.Error as error:
            raise translated(error) from error
        finally:
            self._lock.release()

    def migrate(self) -> None:
        """Bring the database up to date. Most openings find everything done; the others do it one at a time."""
        try:
            _migrate(self._opened())
        except psycopg.Error as error:
            self.close()
            raise translated(error) from error
        except OperatorError:
            self.close()
            raise

    def close(self) -> None:
        """Give it back. Safe to say twice."""
        if self._pid == os.getpid() and self._connection is not None:
            self._connection.close()
        self._connection = None

    def _execute_again(self, sql: str, params: Mapping[str, Any]) -> list[Row]:
        """Statements that stood in each other's way were taken back by the server, and one of them goes first now."""
        query, names = _numbered(sql)
        for _ in range(TRIES):
            with suppress(errors.DeadlockDetected, errors.SerializationFailure):
                return self._execute(query, names, params)
        return self._execute(query, names, params)

    def _execute(self, query: bytes, names: tuple[str, ...], params: Mapping[str, Any]) -> list[Row]:
        connection = self._opened()
        try:
            cursor = connection.execute(query, [_sent(params[name]) for name in names] or None)
            # `description` would build an object for each column
            return cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else []
        except BaseException:
            if connection.pgconn.transaction_status != TransactionStatus.IDLE:
                self.close()
            raise

    def _opened(self) -> Connection:
        if self._connection is None:
            self._connection, self.offset_us = connected(self._url)
        return self._connection

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()

    def _leave_to_parent(self) -> None:
        """In the child of a fork: the parent speaks on this connection, so it is neither used nor closed here."""
        if self._connection is not None:
            _left_to_parent.append(self._connection)
        self._connection = None
        self._begin()


class Postgres:
    """One database of a server. Heartbeats have a connection of their own, so that no statement is in their way."""

    def __init__(self, url: str, clock: Clock | None) -> None:
        """Connect and bring it up to date. Raises OperatorError or WorldFault, in one sentence."""
        self.url = _with_settings(url)
        self.clock = clock
        self._system = SystemClock()
        self._line, self._beats = Line(self.url), Line(self.url)
        self._line.migrate()

    def now_us(self) -> int:
        """The clock that was handed in, else this machine's corrected by what is known of the server's."""
        if self.clock is not None:
            return microseconds(self.clock.now())
        return microseconds(self._system.now()) + self._line.offset_us

    def execute(self, sql: str, params: Mapping[str, Any] | None = None) -> list[Row]:
        """Run one statement, with `:now` for `NOW` filled in, and return its rows. Raises as `Line.execute` does."""
        return self._line.execute(sql, {"now": self._given_us(), **(params or {})})

    def read(self, sql: str, params: Mapping[str, Any] | None = None) -> list[Row]:
        """As `execute`, for a statement that writes nothing: asked once more where the connection was lost."""
        try:
            return self.execute(sql, params)
        except WorldFault as error:
            if not error.retryable:
                raise
            return self.execute(sql, params)

    def execute_beat(self, sql: str, params: Mapping[str, Any]) -> list[Row]:
        """As `execute`, on the connection of heartbeats."""
        return self._beats.execute(sql, {"now": self._given_us(), **params})

    def hear(self, server_us: int) -> None:
        """The server's clock stood there a moment ago."""
        self._line.offset_us = server_us - time.time_ns() // 1000

    def connect(self) -> Connection:
        """A connection of one's own, in autocommit mode, for LISTEN. Raises WorldFault or OperatorError."""
        try:
            return connected(self.url)[0]
        except psycopg.Error as error:
            raise translated(error) from error

    def close(self) -> None:
        """Give back the connections. Safe to say twice."""
        self._line.close()
        self._beats.close()

    def _given_us(self) -> int | None:
        return None if self.clock is None else microseconds(self.clock.now())


_left_to_parent: list[Connection] = []


def connected(url: str) -> tuple[Connection, int]:
    """A connection with our settings, and how far the server's clock is ahead of ours. Raises psycopg.Error."""
    connection: Connection = psycopg.Connection.connect(
        url, autocommit=True, prepare_threshold=2, cursor_factory=psycopg.RawCursor
    )
    # every int is a bigint: otherwise one statement is prepared anew for each size of each number
    connection.adapters.register_dumper(int, Int8Dumper)
    before = time.time_ns()
    row = connection.execute(SETTINGS.encode()).fetchone()
    return connection, int(row[0]) - (before + time.time_ns()) // 2000 if row else 0


def translated(error: psycopg.Error) -> KeiseiError:
    """The driver's error in our words, by who can do something about it."""
    said = (error.diag.message_primary or str(error).strip().partition("\n")[0]) or type(error).__name__
    if isinstance(error, psycopg.IntegrityError):
        return IllegalMove(f"the database refuses this: {said}")
    if isinstance(
        error, errors.InsufficientPrivilege | errors.InvalidCatalogName | errors.InvalidAuthorizationSpecification
    ):
        return OperatorError(f"PostgreSQL refuses us: {said}", "check KEISEI_DATABASE_URL and the rights of its user")
    if isinstance(error, errors.DuplicateTable | errors.DuplicateObject | errors.DuplicateFunction):
        return OperatorError(f"the database holds something of another program: {said}", "give keisei its own database")
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | errors.ReadOnlySqlTransaction):
        return WorldFault(
            f"PostgreSQL did not do it: {said}", "is the server there, and is it the primary?", retryable=True
        )
    if isinstance(error, psycopg.DataError):
        return OperatorError(f"PostgreSQL cannot keep this: {said}")
    return WorldFault(f"PostgreSQL failed: {said}")


def _with_settings(url: str) -> str:
    try:
        given = conninfo_to_dict(url)
        return make_conninfo(url, **{name: value for name, value in CONNECTION.items() if name not in given})
    except psycopg.Error as error:
        raise OperatorError("the address of the database is not understood", "postgresql://user@host/name") from error


def _sent(value: object) -> object:
    """A list as the text of an array: the driver would take longer to write it than the server to read it."""
    return f"{{{','.join(map(_item, value))}}}" if isinstance(value, list) else value


def _item(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, bytes):
        return f'"\\\\x{value.hex()}"'
    return "NULL" if value is None else str(value)


@lru_cache(maxsize=512)
def _numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """The statement with numbers for its parameters, as the server wants them, and their names in that order."""
    names = tuple(dict.fromkeys(PARAMETER.findall(sql)))
    return PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", sql).encode(), names


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
