"""The cache of transforms: what pure functions answered, in a file that may be deleted at any time.

Whatever is wrong with it is a miss: no call fails for it, and none waits long for it.
"""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec

from keisei.records.pipe_run import CacheHit, CacheKey

T = TypeVar("T")

LARGEST = 1024 * 1024
"""Bytes of one output; a larger one is not kept."""
MOST = 256 * 1024 * 1024
"""Bytes of all of them; then those go that were not used for the longest time."""
OVERHEAD = 512
"""Bytes that a row takes beside its output."""
LEFT = 0.9
"""How much of `MOST` stays when something must go, so that it need not go with every call."""
BUSY_MS = 200
FRESH_US = 60_000_000
"""A use is written down again only after this long."""
OURS = 0x6B656963
"""`application_id`: a database without it is another program's, and left alone."""
VERSION = 1

TABLES = f"""
PRAGMA application_id = {OURS};
PRAGMA user_version = {VERSION};
CREATE TABLE results (
    atom TEXT NOT NULL, input_sha TEXT NOT NULL, version TEXT NOT NULL, spec_sha TEXT NOT NULL, code_sha TEXT NOT NULL,
    output BLOB NOT NULL, kept_at INTEGER NOT NULL, used_at INTEGER NOT NULL, size INTEGER NOT NULL,
    UNIQUE (atom, input_sha, version, spec_sha, code_sha)
) STRICT;
CREATE INDEX results_used ON results (used_at);
CREATE TABLE total (bytes INTEGER NOT NULL) STRICT;
INSERT INTO total (bytes) VALUES (0);
CREATE TRIGGER results_added AFTER INSERT ON results BEGIN UPDATE total SET bytes = bytes + NEW.size; END;
CREATE TRIGGER results_removed AFTER DELETE ON results BEGIN UPDATE total SET bytes = bytes - OLD.size; END;
"""  # noqa: S608 - constants
SETTINGS = f"""
PRAGMA busy_timeout = {BUSY_MS};
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
PRAGMA recursive_triggers = ON;
PRAGMA trusted_schema = OFF;
PRAGMA journal_size_limit = 16777216;
"""
FIND = """
SELECT rowid, output, kept_at, used_at FROM results
WHERE atom = ? AND input_sha = ? AND version = ? AND spec_sha = ? AND code_sha = ?
"""
NEAREST = """
SELECT version, spec_sha, code_sha, kept_at FROM results WHERE atom = ? AND input_sha = ? ORDER BY kept_at DESC LIMIT 1
"""
KNOWN = "SELECT 1 FROM results WHERE atom = ? LIMIT 1"
USED = "UPDATE results SET used_at = ? WHERE rowid = ?"
KEEP = """
INSERT OR REPLACE INTO results (atom, input_sha, version, spec_sha, code_sha, output, kept_at, used_at, size)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
OLDEST = "DELETE FROM results WHERE rowid IN (SELECT rowid FROM results ORDER BY used_at LIMIT 64)"
COUNTED = "UPDATE total SET bytes = (SELECT coalesce(sum(size), 0) FROM results)"


def _now_us() -> int:
    return time.time_ns() // 1000


class SqliteTransformCache:
    """The TransformCache port on a file of its own. Any number of threads and processes may use it."""

    def __init__(self, path: Path, *, most: int = MOST, now_us: Callable[[], int] = _now_us) -> None:
        """Nothing is opened yet, and nothing is raised, now or later."""
        self._path = path
        self._most = most
        self._now_us = now_us
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None

    def find(self, key: CacheKey) -> CacheHit:
        """The kept output, or why there is none, in words."""
        found = self._tried(lambda db: self._found(db, key))
        return found or CacheHit(found=False, why="the cache cannot be read")

    def keep(self, key: CacheKey, output: Any) -> None:  # noqa: ANN401 - any JSON
        """Keep a validated output, unless it is too large."""
        with suppress(ValueError, TypeError, RecursionError, OverflowError):
            data = msgspec.json.encode(output)
            if len(data) <= LARGEST:
                self._tried(lambda db: self._kept(db, key, data))

    def close(self) -> None:
        """Give the file back. Safe to say twice; whoever uses it after that opens it again."""
        with self._lock:
            self._drop()

    def _tried(self, action: Callable[[apsw.Connection], T]) -> T | None:
        """What the action returns; None where the file does not do it. A broken one is made anew for the next time."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = self._opened()
                return action(self._connection)
            except (apsw.CorruptError, apsw.NotADBError):
                self._drop()
                _removed(self._path)
            except (apsw.BusyError, apsw.LockedError):
                return None
            except (apsw.Error, OSError, ValueError, ArithmeticError, LookupError, RecursionError):
                self._drop()
            return None

    def _opened(self) -> apsw.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # made here, so that nobody else can read what is kept; never through a link
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        connection = apsw.Connection(str(self._path), flags=flags)
        try:
            _check_ours(connection)
            connection.execute(SETTINGS).fetchall()
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(apsw.Error):
                connection.close()

    def _found(self, db: apsw.Connection, key: CacheKey) -> CacheHit:
        rows = _rows(db, FIND, _parts(key))
        if not rows:
            return CacheHit(found=False, why=_why(db, key))
        row_id, output, kept_at, used_at = rows[0]
        if self._now_us() - used_at > FRESH_US:
            db.execute(USED, (self._now_us(), row_id))
        return CacheHit(found=True, output=msgspec.json.decode(output), why=f"kept from {_told(kept_at)}")

    def _kept(self, db: apsw.Connection, key: CacheKey, data: bytes) -> None:
        now = self._now_us()
        with db:
            db.execute(KEEP, (*_parts(key), data, now, now, len(data) + OVERHEAD))
            if _total(db) > self._most:
                db.execute(COUNTED)  # somebody may have changed it, and rows that are not there cannot be removed
                while _total(db) > self._most * LEFT:
                    db.execute(OLDEST)
                    if not db.changes():
                        break


def _check_ours(db: apsw.Connection) -> None:
    """Raises ValueError for another program's file, before anything is done to it."""
    if db.pragma("application_id") != OURS and _rows(db, "SELECT 1 FROM sqlite_schema LIMIT 1"):
        raise ValueError("a database of another program")


def _prepare(db: apsw.Connection) -> None:
    """The tables, where the file is empty or one of another version. Several may do it at once."""
    if db.pragma("user_version") == VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        if db.pragma("user_version") != VERSION:
            db.execute("DROP TABLE IF EXISTS results; DROP TABLE IF EXISTS total").fetchall()
            db.execute(TABLES).fetchall()
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def _rows(db: apsw.Connection, sql: str, values: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
    return db.execute(sql, values).fetchall()


def _removed(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        with suppress(OSError):
            path.with_name(name).unlink()


def _parts(key: CacheKey) -> tuple[str, ...]:
    return key.atom, key.input_sha, key.version, key.spec_sha, key.code_sha


def _total(db: apsw.Connection) -> int:
    return int(_rows(db, "SELECT bytes FROM total")[0][0])


def _why(db: apsw.Connection, key: CacheKey) -> str:
    """Beside what was kept last for the same input, and what of it is another now."""
    rows = _rows(db, NEAREST, (key.atom, key.input_sha))
    if not rows:
        return "never called with this input" if _rows(db, KNOWN, (key.atom,)) else "never called"
    version, spec_sha, _, kept_at = rows[0]
    if version != key.version:
        return f"another version: it was {version} on {_told(kept_at)}"
    if spec_sha != key.spec_sha:
        return f"the schema or page changed since {_told(kept_at)}"
    return f"the code changed since {_told(kept_at)}"


def _told(us: int) -> str:
    return datetime.fromtimestamp(us / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M")
