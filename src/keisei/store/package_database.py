"""Databases of packages: made, and brought up to date by the package's own migrations. Forward only.

One process at a time runs them, by a lock on a file beside the database; each runs in one transaction together with the
row that tells of it, so that a kill or a full disk leaves it done or not done. A migration works on this one database:
what would leave the transaction, the file or the rules of the connection is refused.
"""

import os
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

from keisei.records.error import KeiseiError, OperatorError, WorldFault
from keisei.store.link import Link, check_library
from keisei.store.migrate import Migration
from keisei.store.package_migration import missing_steps
from keisei.store.place import create, prepared
from keisei.store.turn import Turn

MIGRATIONS: Final = "keisei_migrations"
CALLS: Final = "keisei_calls"
TABLES: Final = (
    "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
)
APPLIED: Final = f"SELECT version, name, checksum FROM {MIGRATIONS} WHERE package = ? ORDER BY version"  # noqa: S608
RECORD: Final = f"INSERT INTO {MIGRATIONS} VALUES (?, ?, ?, ?, ?)"  # noqa: S608
OURS: Final = f"""
CREATE TABLE IF NOT EXISTS {MIGRATIONS} (
  package TEXT NOT NULL,
  version INTEGER NOT NULL,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL,
  applied_at TEXT NOT NULL,
  PRIMARY KEY (package, version)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS {CALLS} (
  invocation_id TEXT PRIMARY KEY,
  output TEXT NOT NULL,
  called_at TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS {CALLS}_by_time ON {CALLS} (called_at);
"""
DEADLINE_S: Final = 60.0
"""The longest wait for another process that brings the same database up to date."""
LONGEST_S: Final = 60.0
"""The longest one migration may take."""
LARGEST: Final = 64 * 1024 * 1024
"""Bytes of one value, or one row, that a migration may work with: it runs in a process of ours."""
STEPS: Final = 100_000
"""How many steps of SQLite's machine lie between two looks at the time, and at Ctrl-C."""

LEAVES: Final = {
    apsw.SQLITE_ATTACH: "ATTACH",
    apsw.SQLITE_DETACH: "DETACH",
    apsw.SQLITE_TRANSACTION: "BEGIN, COMMIT or ROLLBACK",
    apsw.SQLITE_SAVEPOINT: "SAVEPOINT",
}
"""What a migration must not say: it would leave its transaction or its file."""
PRAGMAS: Final = frozenset({"user_version", "application_id", "foreign_keys", "defer_foreign_keys", "data_version"})
"""What a migration may say; the third means nothing inside a transaction, and the last is what FTS5 says itself."""
WRITES: Final = frozenset(
    {
        *(apsw.SQLITE_INSERT, apsw.SQLITE_UPDATE, apsw.SQLITE_DELETE, apsw.SQLITE_DROP_TABLE, apsw.SQLITE_DROP_VIEW),
        *(apsw.SQLITE_CREATE_TABLE, apsw.SQLITE_CREATE_VIEW, apsw.SQLITE_CREATE_VTABLE),
        *(apsw.SQLITE_CREATE_TEMP_TABLE, apsw.SQLITE_CREATE_TEMP_VIEW),
    }
)
"""What changes a table that SQLite names first."""
HOOKS: Final = frozenset(
    {
        apsw.SQLITE_ALTER_TABLE,
        *(apsw.SQLITE_CREATE_TRIGGER, apsw.SQLITE_CREATE_TEMP_TRIGGER, apsw.SQLITE_DROP_TRIGGER),
        *(apsw.SQLITE_DROP_TEMP_TRIGGER, apsw.SQLITE_CREATE_INDEX, apsw.SQLITE_DROP_INDEX),
    }
)
"""What changes a table, or hangs on it, that SQLite names second."""
WORLD: Final = (
    *(apsw.FullError, apsw.IOError, apsw.NoMemError, apsw.CorruptError, apsw.NotADBError, apsw.BusyError),
    *(apsw.LockedError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.ProtocolError, apsw.PermissionsError),
)
"""Errors that are not the migration's."""


class Tables(NamedTuple):
    """Whose tables a database holds."""

    owner: str
    """The package whose migrations make them."""
    steps: tuple[Migration, ...]
    """Those migrations, in order."""
    variable: str | None = None
    """The variable that names the database, for hints."""


class DatabaseState(NamedTuple):
    """How far a database has come."""

    path: Path
    """Where it is, or would be."""
    exists: bool
    """Whether it is there."""
    applied: tuple[Migration, ...]
    """Migrations that ran."""
    missing: tuple[Migration, ...]
    """Migrations that are still to run."""
    is_current: bool
    """Nothing is to be done."""


def database_state(path: Path, tables: Tables) -> DatabaseState:
    """How far it has come. Makes and changes nothing. Raises OperatorError, WorldFault."""
    check_library()
    if not os.path.lexists(path):  # whatever the name, it raises nothing
        return DatabaseState(path, exists=False, applied=(), missing=tables.steps, is_current=False)
    link = Link(prepared(path), only_reads=True)
    try:
        found = _missing(link.opened(), link.path, tables)
    except apsw.Error as error:
        raise link.failed(error) from error
    finally:
        link.close()
    missing = tables.steps if found is None else found
    applied = tables.steps[: len(tables.steps) - len(missing)]
    return DatabaseState(link.path, exists=True, applied=applied, missing=missing, is_current=found == ())


def bring_up(path: Path, tables: Tables, now: Callable[[], datetime]) -> tuple[Migration, ...]:
    """Make the database, run what is missing, and tell what ran here. Raises OperatorError, WorldFault.

    Where one migration fails, those before it stay, and nothing of it does. Asked again, it goes on from there.
    """
    check_library()
    place = prepared(path)
    if place.exists() and _is_current(place, tables):
        return ()
    turn = Turn(place.with_name(f"{place.name}.lock"))
    try:
        turn.take(DEADLINE_S)
        create(place)
        return _brought_up(place, tables, now)
    finally:
        turn.close()


def _is_current(place: Path, tables: Tables) -> bool:
    """Whether there is nothing to do; waits for nobody, so a database that is busy just now is not."""
    try:
        return database_state(place, tables).is_current
    except WorldFault:
        return False


def _brought_up(place: Path, tables: Tables, now: Callable[[], datetime]) -> tuple[Migration, ...]:
    link = Link(place, only_reads=False)
    try:
        cursor = link.opened()
        steps = _missing(cursor, place, tables)
        # said outside of transactions, where alone they count; a table that is rebuilt is dropped for a moment
        cursor.execute("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF").fetchall()
        if steps is None:
            cursor.execute(f"BEGIN IMMEDIATE; {OURS} COMMIT").fetchall()
            steps = _missing(cursor, place, tables) or ()
        for step in steps:
            _run(link, cursor, tables.owner, step, now)
    except apsw.Error as error:
        link.take_back()
        raise link.failed(error) from error
    finally:
        link.close()
    return tuple(steps)


def _run(link: Link, cursor: apsw.Cursor, owner: str, step: Migration, now: Callable[[], datetime]) -> None:
    """One migration with its row: both or neither."""
    cursor.execute("BEGIN IMMEDIATE")
    try:
        _execute(cursor, f"{step.version:04}_{step.name} of `{owner}`", step.sql)
        cursor.execute(RECORD, (owner, step.version, step.name, step.checksum, now().isoformat()))
        cursor.execute("COMMIT")
    finally:
        link.take_back()


def _execute(cursor: apsw.Cursor, name: str, sql: str) -> None:
    """Run a migration's statements, watched. Raises OperatorError for what it must not say or cannot do."""
    connection = cursor.connection
    watch = _Watch(time.monotonic() + LONGEST_S)
    connection.authorizer = watch.judge
    connection.set_progress_handler(watch.is_late, STEPS)
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, LARGEST)
    try:
        for _ in cursor.execute(sql):  # rows that nobody wants are not kept
            pass
    except WORLD:
        raise
    except apsw.Error as error:
        reason = watch.refused or (f"it took longer than {LONGEST_S:g} s" if watch.late else str(error))
        raise OperatorError(f"the migration {name} cannot run: {reason}", "nothing of it was kept") from error
    finally:
        connection.set_progress_handler(None)
        connection.authorizer = None
    if not connection.in_transaction:
        raise OperatorError(f"the migration {name} ended its own transaction", "leave that out")
    broken = cursor.execute("PRAGMA foreign_key_check").fetchall()
    if broken:
        message = f"the migration {name} leaves a row of `{broken[0][0]}` that refers to nothing"
        raise OperatorError(message, "nothing of it was kept")


class _Watch:
    """What a migration may say, and how long it may take."""

    def __init__(self, deadline: float) -> None:
        self.refused: str | None = None
        self.late = False
        self._deadline = deadline

    def judge(self, operation: int, one: str | None, two: str | None, *_: str | None) -> int:
        """SQLite's question about one part of a statement."""
        self.refused = self.refused or self._reason(operation, one, two)
        return apsw.SQLITE_OK if self.refused is None else apsw.SQLITE_DENY

    def _reason(self, operation: int, one: str | None, two: str | None) -> str | None:
        if operation in LEAVES:
            return f"{LEAVES[operation]} is not allowed: keisei runs each migration in one transaction of its own"
        if operation == apsw.SQLITE_PRAGMA and (one or "").lower() not in PRAGMAS:
            return f"PRAGMA {one} is not allowed"
        if operation == apsw.SQLITE_FUNCTION and (two or "").lower() == "load_extension":
            return "load_extension is not allowed"
        if _is_ours(operation, one, two):
            return f"the tables {MIGRATIONS} and {CALLS} are keisei's own"
        return None

    def is_late(self) -> bool:
        """SQLite's question whether to stop."""
        self.late = time.monotonic() > self._deadline
        return self.late


def _is_ours(operation: int, one: str | None, two: str | None) -> bool:
    named = one if operation in WRITES else two if operation in HOOKS else None
    return (named or "").lower() in {MIGRATIONS, CALLS}


def _missing(cursor: apsw.Cursor, path: Path, tables: Tables) -> tuple[Migration, ...] | None:
    """What is still to run; None where the database is new. Raises OperatorError for another program's."""
    names = [str(name) for (name,) in cursor.execute(TABLES)]
    if not names:
        return None
    if MIGRATIONS not in names:
        raise _foreign(path, names, tables)
    if CALLS not in names:
        return None
    applied: list[tuple[Any, ...]] = cursor.execute(APPLIED, (tables.owner,)).fetchall()
    return missing_steps(tables.owner, tables.steps, applied, path)


def _foreign(path: Path, names: Sequence[str], tables: Tables) -> KeiseiError:
    some = ", ".join(f"`{name[:40]}`" for name in sorted(names)[:4])
    message = f"{path} is no database of `{tables.owner}`: it has tables ({some}) and no record of migrations"
    where = f"set {tables.variable} to a place for a new one" if tables.variable else "name a place for a new one"
    return OperatorError(message, f"{where}; this one is left as it is")
