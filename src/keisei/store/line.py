"""One PostgreSQL connection: its settings, how a statement is sent, and what an error of the driver means.

Statements name their parameters `:name`, as SQLite's do, so that one text can serve both stores.
"""

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8Dumper

from keisei.records.error import IllegalMove, KeiseiError, OperatorError, WorldFault
from keisei.store.step import SERVER_US

TRIES = 9
"""How often a statement is tried again that others stood in the way of."""
DOOR = re.compile(
    r"FATAL: .*(authentication failed|does not exist|no pg_hba.conf entry|permission denied|not permitted)"
)
"""What a server says to those it does not let in; the driver has no code for it."""
PARAMETER = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")

# A plan that was made while a table was small is kept when it has grown: here everything is an index and a nested loop.
# `jit` compiles what runs once.
SETTINGS = f"""
SELECT {SERVER_US}, set_config('jit', 'off', false), set_config('enable_seqscan', 'off', false),
    set_config('enable_bitmapscan', 'off', false), set_config('enable_hashjoin', 'off', false),
    set_config('enable_mergejoin', 'off', false), set_config('statement_timeout', '30s', false),
    set_config('lock_timeout', '10s', false), set_config('idle_in_transaction_session_timeout', '60s', false),
    set_config('synchronous_commit', 'on', false)
"""

T = TypeVar("T")
Row = tuple[Any, ...]
Connection = psycopg.Connection[Row]


class Line:
    """One connection, opened when first used and again after it was lost. Used by one thread at a time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Connection | None = None
        self.offset_us = 0
        """How far the server's clock was ahead of this machine's, in microseconds, when it was opened."""
        self.generation = 0
        """How often connections had been lost when it was opened."""

    @property
    def is_open(self) -> bool:
        """Whether it has a connection."""
        return self._connection is not None

    def execute(self, sql: str, params: Mapping[str, Any]) -> list[Row]:
        """Run one statement and return its rows. Raises psycopg.Error; a lost connection is given back.

        Statements that stood in each other's way were taken back by the server, and are tried again.
        """
        query, names = _numbered(sql)
        for _ in range(TRIES):
            with suppress(errors.DeadlockDetected, errors.SerializationFailure):
                return self._execute(query, names, params)
        return self._execute(query, names, params)

    def execute_inside(self, sql: str, params: Mapping[str, Any]) -> list[Row]:
        """As `execute`, inside a transaction: what stood in its way is told to whoever can begin again."""
        query, names = _numbered(sql)
        return _rows(self.opened().execute(query, [_sent(params[name]) for name in names] or None))

    def opened(self) -> Connection:
        """The connection. Raises psycopg.Error where there is none to be had."""
        if self._connection is None:
            self._connection, self.offset_us = connected(self._url)
        return self._connection

    def transaction(self, action: "Callable[[Line], T]") -> T:
        """The action between BEGIN and COMMIT. Whatever it raises takes back what it did."""
        try:
            self.opened().execute(b"BEGIN")
            result = action(self)
            self.opened().execute(b"COMMIT")
        except BaseException:
            self._take_back()
            raise
        return result

    def _take_back(self) -> None:
        """A connection that cannot even do that is given back."""
        try:
            if self._connection is not None:
                self._connection.execute(b"ROLLBACK")
        except psycopg.Error:
            self.close()

    def close(self) -> None:
        """Give it back. Safe to say twice."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _execute(self, query: bytes, names: tuple[str, ...], params: Mapping[str, Any]) -> list[Row]:
        connection = self.opened()
        try:
            return _rows(connection.execute(query, [_sent(params[name]) for name in names] or None))
        except BaseException:
            if connection.pgconn.transaction_status != TransactionStatus.IDLE:
                self.close()
            raise


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
    if isinstance(error, errors.InsufficientPrivilege) or DOOR.search(said):
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


def _rows(cursor: psycopg.Cursor[Row]) -> list[Row]:
    """The rows, if it has any. `description` would build an object for each column."""
    return cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else []


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
