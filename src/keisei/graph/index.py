"""The index of authored files: what was read of each, under the stamp it had then. Disposable.

Any failure means that nothing is kept: a missing, locked, read-only or broken file, or one that is another program's.
A file that does not begin as a database of ours is left alone for ever: nobody can tell whose work it holds, and a list
only takes longer without an index. Whoever removes it has one again. Two processes may use it at once; one that is
killed leaves the file as it was.
"""

import os
import stat
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

FILE = "atoms.db"
"""What it is called in a project's state folder."""
OURS = 0x6B656931
"""The file's application id: who wrote it, and in which layout. Another layout is another number."""
BEGINNING, ID_AT = b"SQLite format 3\0", slice(68, 72)
MOST = 50_000
"""Rows; beyond them it is begun again."""
WAIT_MS = 200
TABLE = "CREATE TABLE files (path TEXT PRIMARY KEY, stamp TEXT NOT NULL, body TEXT NOT NULL) WITHOUT ROWID, STRICT"
SELECT = "SELECT path, stamp, body FROM files WHERE path > ? AND path < ?"  # `0` comes behind `/`
KEEP = "INSERT INTO files (path, stamp, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET stamp = ?2, body = ?3"

_TURN = threading.Lock()
"""Closing any descriptor of a file drops this process's locks on it, so threads take turns."""

Kept = dict[str, tuple[str, str]]
"""Stamp and body by path."""


class Index:
    """One index file. Never raises."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def kept(self, folders: Iterable[str]) -> Kept:
        """What is kept of the files below some folders; empty where nothing can be read."""
        if not self._is_ours():
            return {}
        import apsw  # noqa: PLC0415 - whoever has none does not pay for it

        try:
            with _TURN, _Opened(self.path, apsw.SQLITE_OPEN_READWRITE) as connection:
                found = [connection.execute(SELECT, (f"{each}/", f"{each}0")).fetchall() for each in folders]
        except (apsw.Error, OSError, ValueError):
            return {}
        return {str(path): (str(stamp), str(body)) for rows in found for path, stamp, body in rows}

    def keep(self, read: Mapping[str, tuple[str, str]], gone: Iterable[str] = ()) -> bool:
        """Keep what was read and forget what is gone, both or neither. False: not this time."""
        import apsw  # noqa: PLC0415 - as above

        try:
            with _TURN:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not self._prepared():
                    return False
                with _Opened(self.path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) as connection:
                    _write(connection, read, gone)
        except (apsw.Error, OSError, ValueError):
            return False
        return True

    def _prepared(self) -> bool:
        """Whether there is a file of ours or none. One of ours that is broken, or of another layout, is removed."""
        if not os.path.lexists(self.path):
            return True
        head = self._head()
        if head is None or not head.startswith(BEGINNING):
            return head == b""  # made by somebody a moment ago, or killed there
        number = int.from_bytes(head[ID_AT], "big")
        if number == OURS and self._is_sound():
            return True
        if number >> 8 != OURS >> 8:
            return False
        for ending in ("", "-journal"):
            Path(f"{self.path}{ending}").unlink(missing_ok=True)
        return True

    def _is_sound(self) -> bool:
        import apsw  # noqa: PLC0415 - as above

        try:
            with _Opened(self.path, apsw.SQLITE_OPEN_READWRITE) as connection:
                return bool(connection.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)])
        except apsw.BusyError:
            return True  # somebody works on it
        except apsw.Error:
            return False

    def _is_ours(self) -> bool:
        with _TURN:
            head = self._head()
        return head is not None and head.startswith(BEGINNING) and int.from_bytes(head[ID_AT], "big") == OURS

    def _head(self) -> bytes | None:
        """The first bytes of the file; None where no regular file can be read. A pipe is not waited for."""
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            return os.read(handle, 100) if stat.S_ISREG(os.fstat(handle).st_mode) else None
        except OSError:
            return None
        finally:
            os.close(handle)


class _Opened:
    """A connection for one block. Nobody keeps one: the file may be deleted at any moment."""

    def __init__(self, path: Path, flags: int) -> None:
        self.path, self.flags = path, flags

    def __enter__(self) -> "apsw.Connection":
        import apsw  # noqa: PLC0415 - as above

        self.connection = apsw.Connection(str(self.path), flags=self.flags | apsw.SQLITE_OPEN_NOFOLLOW)
        self.connection.set_busy_timeout(WAIT_MS)
        return self.connection

    def __exit__(self, *_error: object) -> None:
        self.connection.close(True)  # noqa: FBT003 - `force`, by position only


def _write(connection: "apsw.Connection", read: Mapping[str, tuple[str, str]], gone: Iterable[str]) -> None:
    """One transaction; where it breaks, closing takes it back."""
    connection.execute("BEGIN IMMEDIATE")
    if not connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'files'").fetchall():
        connection.execute(TABLE)
        connection.execute(f"PRAGMA application_id = {OURS}")
    connection.executemany("DELETE FROM files WHERE path = ?", ((path,) for path in gone if _is_text(path)))
    connection.executemany(KEEP, ((path, *each) for path, each in read.items() if _is_text(path)))
    connection.execute(f"DELETE FROM files WHERE (SELECT count(*) FROM files) > {MOST}")  # noqa: S608 - our number
    connection.execute("COMMIT")


def _is_text(path: str) -> bool:
    """Whether a path can be kept: names of files may be any bytes."""
    return path.isascii() or path == path.encode("utf-8", "replace").decode("utf-8")
