"""One SQLite connection: its settings, and what an error of the library means."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from keisei.records.error import IllegalMove, KeiseiError, OperatorError, WorldFault

OLDEST = (3, 51, 3)
"""Older ones can corrupt a database that two connections write (the WAL reset bug)."""
BUSY_MS = 2000
"""The longest wait for programs that do not take turns."""
FLAGS = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
ONLY_READS = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW

SETTINGS = """
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA trusted_schema = OFF;
PRAGMA recursive_triggers = ON;
PRAGMA cell_size_check = ON;
PRAGMA temp_store = MEMORY;
PRAGMA mmap_size = 0;
PRAGMA cache_size = -16000;
PRAGMA journal_size_limit = 67108864;
"""

LASTING = (apsw.ConstraintError, apsw.BusyError, apsw.LockedError, apsw.SQLError)
"""Errors that say nothing bad of the connection."""

_left_to_parent: list[apsw.Cursor] = []
"""Connections of a parent process: never used, and never closed, which would write to the parent's database."""


class Link:
    """One connection, opened when first used and again after a bad error. Used by one thread at a time."""

    def __init__(self, path: Path, *, only_reads: bool) -> None:
        self.path = path
        self._name = os.fspath(path)
        self._only_reads = only_reads
        self._cursor: apsw.Cursor | None = None
        self._inode = 0

    def opened(self) -> apsw.Cursor:
        """The cursor on the file that stands at the path now: rows written to a removed one would be lost."""
        try:
            inode = os.stat(self._name).st_ino  # noqa: PTH116 - asked with every transaction, and four times as quick
        except OSError as error:
            self.close()
            raise WorldFault(f"the database {self.path} cannot be reached: {error.strerror}") from error
        if inode != self._inode:
            self.close()
        if self._cursor is None:
            self._cursor, self._inode = self._connected(), inode
        return self._cursor

    def read(self, sql: str, params: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of one statement. Raises the library's error."""
        return self.opened().execute(sql, params).fetchall()

    def commit(self) -> None:
        """End the transaction that was begun."""
        if self._cursor is None:
            raise WorldFault(f"the database {self.path} was closed in the middle of a transaction", retryable=True)
        self._cursor.execute("COMMIT")

    def take_back(self) -> None:
        """End a transaction that was not committed."""
        if self._cursor is None or not self._cursor.connection.in_transaction:
            return
        try:
            self._cursor.execute("ROLLBACK")
        except apsw.Error:
            self.close()

    def failed(self, error: apsw.Error) -> KeiseiError:
        """The library's error in our words. After a bad one the connection is closed; the next use opens another."""
        if not isinstance(error, LASTING):
            self.close()
        return _translated(error, self.path)

    def close(self) -> None:
        """Give it back. Safe to say twice."""
        if self._cursor is not None:
            connection, self._cursor = self._cursor.connection, None
            connection.close(True)  # noqa: FBT003 - apsw's name for "whatever its cursors do"

    def leave_to_parent(self) -> None:
        """In the child of a fork: begin anew, and leave alone what the parent has."""
        if self._cursor is not None:
            _left_to_parent.append(self._cursor)
            self._cursor = None

    def _connection(self) -> apsw.Connection:
        return apsw.Connection(self._name, flags=FLAGS)

    def _connected(self) -> apsw.Cursor:
        connection = self._connection()
        connection.set_busy_timeout(BUSY_MS)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        cursor = connection.cursor()
        cursor.execute(f"{SETTINGS} PRAGMA query_only = {self._only_reads}").fetchall()
        return cursor


class Still(Link):
    """A connection that only reads, where nothing can be written: a mount that is only read, or somebody else's folder.

    A database with a log is read through it, as the library does. One without a log is not written by anybody at this
    moment, and the library has to be told so, because it would make one. Whoever writes makes a log first and changes
    the file later: what was read in between is not told.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, only_reads=True)
        self._log, self._shared = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
        self._seen: tuple[int, int, int] | None = None

    def read(self, sql: str, params: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of one statement. Raises the library's error, and WorldFault where somebody wrote meanwhile."""
        if self._seen is not None and self._seen != self._looks():
            self.close()
        rows = super().read(sql, params)
        if self._seen is not None and self._seen != self._looks():
            self.close()
            raise WorldFault(f"the database {self.path} was written while it was read", "try again", retryable=True)
        return rows

    def failed(self, error: apsw.Error) -> KeiseiError:
        """The library's error in our words."""
        found = super().failed(error)
        if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError):
            message = f"the database {self.path} cannot be read where nothing can be written: {error}"
            return OperatorError(message, "copy its folder to a place where you may write, and look at it there")
        return found

    def _connection(self) -> apsw.Connection:
        self._seen = self._looks()
        if self._seen is None:
            return apsw.Connection(self._name, flags=ONLY_READS)
        name = f"file:{quote(self._name)}?immutable=1"
        return apsw.Connection(name, flags=ONLY_READS | apsw.SQLITE_OPEN_URI)

    def _looks(self) -> tuple[int, int, int] | None:
        """What tells that nobody has written to a database without a log; None where there is a log."""
        if self._log.exists() and (self._log.stat().st_size or self._shared.exists()):
            return None
        status = self.path.stat()
        return status.st_ino, status.st_size, status.st_mtime_ns


def check_library() -> None:
    """Raises OperatorError where the SQLite that is linked can lose data."""
    version = apsw.sqlite_lib_version()
    if tuple(map(int, version.split("."))) < OLDEST:
        message = f"SQLite {version} can corrupt a database that several processes write"
        raise OperatorError(message, "install apsw 3.51.3 or newer, which brings its own SQLite")


def _translated(error: apsw.Error, path: Path) -> KeiseiError:
    """The library's error in our words, by who can do something about it."""
    if isinstance(error, apsw.ConstraintError):
        return IllegalMove(f"the database refuses this: {error}")
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        message = f"the database {path} is locked by a program that does not take turns"
        return WorldFault(message, "end it, or wait for it", retryable=True)
    if isinstance(error, apsw.FullError):
        return WorldFault(f"the disk is full: {path} cannot grow", "make room", retryable=True)
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        hint = "move it away with the files beside it, or bring back a copy"
        return OperatorError(f"{path} is not a whole SQLite database: {error}", hint)
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError):
        hint = "the file and its folder must be writable"
        return OperatorError(f"the database {path} cannot be opened for writing: {error}", hint)
    return WorldFault(f"the database {path} failed: {error}", retryable=isinstance(error, apsw.IOError))
