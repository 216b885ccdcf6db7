"""The file of the vault: whose it is, how it is begun and removed, and how a connection to it is made.

SQLite's locks belong to the process and are lost when it closes any descriptor of the file. So nobody looks into a
file that this process has open, and threads take turns at opening.
"""

import os
import stat
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple
from weakref import WeakKeyDictionary

import msgspec

from keisei.graph.vault_table import OURS, TABLES

if TYPE_CHECKING:
    import apsw

State = Literal["ours", "older", "none"]
"""A file of this layout; one of ours that is begun again; nothing that anybody wrote."""
BEGINNING, OWNER_AT, ID_AT = b"SQLite format 3\0", slice(60, 64), slice(68, 72)
BESIDE: Final = ("-wal", "-shm", "-journal")
BUSY_MS: Final = 5000
SETTINGS: Final = f"""
PRAGMA busy_timeout = {BUSY_MS};
PRAGMA trusted_schema = OFF;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -32768;
"""
KEPT: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
PRAGMA journal_size_limit = 16777216;
"""
"""Nothing is lost when the machine stops: it is read again."""

OPENING = threading.Lock()
_OPEN: "WeakKeyDictionary[apsw.Connection, tuple[Mark, int]]" = WeakKeyDictionary()
"""Files that this process has open, and their owners."""


class Mark(NamedTuple):
    """Which file stands under a name."""

    device: int
    inode: int


class Unusable(OSError):
    """There is no keeping anything in this file, for a reason that is said in words."""


class Anothers(Unusable):
    """It is the index of another corpus."""


def marked(path: Path) -> Mark | None:
    """Which file it is; None where there is none that could be reached."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return Mark(found.st_dev, found.st_ino)


def state(path: Path, owner: int) -> State:
    """Whose file it is. Raises Unusable for another's, and for what is no file. Call it under OPENING."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return "none"
    except (OSError, ValueError) as error:
        raise Unusable(cannot(path, error)) from error
    if not stat.S_ISREG(found.st_mode):
        raise Unusable(f"{path.name} is no file; move it away")
    mark = Mark(found.st_dev, found.st_ino)
    known = next((whose for opened_, whose in _OPEN.values() if opened_ == mark), None)
    if known is None:
        return _judged(path, _head(path), owner)
    if known != owner:
        raise Anothers(f"{path.name} is the index of other folders")
    return "ours"


def is_anothers(path: Path, owner: int) -> bool:
    """Whether the index of another corpus stands there."""
    try:
        with OPENING:
            state(path, owner)
    except Unusable as error:
        return isinstance(error, Anothers)
    return False


def opened(path: Path, owner: int) -> "tuple[apsw.Connection, Mark] | None":
    """A connection to a file of ours, and which file that is; None where that must be tried again. Under OPENING."""
    import apsw  # noqa: PLC0415 - whoever needs none does not pay for it

    mark = marked(path)
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
    connection = apsw.Connection(str(path.parent.resolve() / path.name), flags=flags)
    if mark is None or marked(path) != mark:
        connection.close()
        return None
    _OPEN[connection] = (mark, owner)
    try:
        connection.execute(SETTINGS).fetchall()
        connection.execute(KEPT).fetchall()
        if connection.pragma("user_version") != owner:
            closed(connection)
            return None
    except apsw.BusyError:  # somebody begins it; who comes to a new file together waits for no log
        closed(connection)
        return None
    except BaseException:
        closed(connection)
        raise
    return connection, mark


def closed(connection: "apsw.Connection") -> None:
    """Give the file back."""
    import apsw  # noqa: PLC0415 - as above

    with suppress(apsw.Error):
        connection.close(True)  # noqa: FBT003 - `force`, by position only
    _OPEN.pop(connection, None)


def begun(path: Path, owner: int) -> None:
    """A new file with empty tables, in place of what is there. Call it under OPENING and the lock of writers.

    The tables come in one transaction of the older journal, so that whatever stands there after a kill is empty or
    has our number. A log beside it belongs to a file that is gone, and would be taken for this one's.
    """
    import apsw  # noqa: PLC0415 - as above

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    removed(path)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
    connection = apsw.Connection(str(path.parent.resolve() / path.name), flags=flags)
    try:
        connection.execute(f"BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {owner:d}; COMMIT").fetchall()
    finally:
        connection.close(True)  # noqa: FBT003 - as above


def fault(error: Exception, *, all_ours: bool) -> Literal["broken", "unusable"] | None:
    """What an error says of the file; None: nothing. `all_ours`: no statement came from elsewhere, so all are right."""
    import apsw  # noqa: PLC0415 - as above

    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return "broken"
    if isinstance(error, apsw.SQLError | apsw.ConstraintError | UnicodeDecodeError | msgspec.DecodeError):
        return "broken" if all_ours else None
    if isinstance(error, OSError):
        return "unusable" if all_ours else None
    others = (
        apsw.IOError | apsw.FullError | apsw.CantOpenError | apsw.BusyError | apsw.ReadOnlyError | apsw.PermissionsError
    )
    return "unusable" if isinstance(error, others) else None


def cannot(path: Path, error: Exception) -> str:
    """Why the file is not used, in words."""
    if isinstance(error, Unusable):
        return str(error)
    return f"{path.name} cannot be used: {(getattr(error, 'strerror', None) or str(error)).lower()}"


def removed(path: Path) -> None:
    """Take away the file and what stands beside it."""
    for ending in ("", *BESIDE):
        Path(f"{path}{ending}").unlink(missing_ok=True)


def unwritten() -> "apsw.Connection":
    """Empty tables in memory."""
    import apsw  # noqa: PLC0415 - as above

    connection = apsw.Connection(":memory:")
    connection.execute(f"{SETTINGS} {TABLES}").fetchall()
    return connection


def _judged(path: Path, head: bytes, owner: int) -> State:
    if not head:
        return "none"  # begun by somebody a moment ago, or killed there
    number = int.from_bytes(head[ID_AT], "big")
    if not head.startswith(BEGINNING) or number >> 8 != OURS >> 8:
        raise Unusable(f"{path.name} is not ours; move it away")
    if number != OURS:
        return "older"
    if int.from_bytes(head[OWNER_AT], "big") != owner:
        raise Anothers(f"{path.name} is the index of other folders")
    return "ours"


def _head(path: Path) -> bytes:
    """The first bytes. A pipe is not waited for, a link not followed."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise Unusable(cannot(path, error)) from error
    try:
        return os.read(handle, 100)
    except OSError as error:
        raise Unusable(cannot(path, error)) from error
    finally:
        os.close(handle)
