"""Files of the artifact folder, listed and read as the original does it, and nothing beside them.

Agents write there, so nothing in it is believed: no link is followed, no pipe is waited for, no device is opened, and
what is told is bounded.
"""

import codecs
import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, Final

from keisei.console.task_artifact import FILE, FOLDER
from keisei.records.error import OperatorError, WorldFault
from keisei.wiring.compat_shape import stamp

LONGEST: Final = 4096
"""Bytes of a path."""
ENTRIES: Final = 5000
"""Names that are listed of one folder."""
MOST: Final = 2 * 1024 * 1024
"""Bytes of a file that are told."""
TEXT: Final = "text/plain; charset=utf-8"
KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "application/javascript; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".txt": TEXT,
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".ttf": "font/ttf",
}
"""What the original says of a file, by the end of its name; it says it in the JSON, and so do we."""
GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL})
"""Errors of an artifact that is not there, or is something else."""


def listed(root: Path, path: str) -> dict[str, Any]:
    """What a folder holds; of a file, that it is one. Raises OperatorError, WorldFault."""
    parts = _parts(path)
    named = "/".join(parts)
    if not parts and not root.exists():  # no task has left anything yet
        return {"path": "", "type": "directory", "entries": []}
    with reached(root, parts) as found:
        if stat.S_ISREG(os.fstat(found).st_mode):
            return {"path": named, "type": "file"}
        with os.scandir(found) as inside:
            names = list(islice(inside, ENTRIES + 1))
        entries = [told for each in names[:ENTRIES] if (told := _entry(named, each)) is not None]
    entries.sort(key=lambda each: (each["type"] != "directory", each["name"]))
    more = {"truncated": True} if len(names) > ENTRIES else {}
    return {"path": named, "type": "directory", "entries": entries, **more}


def read(root: Path, path: str) -> dict[str, Any]:
    """A file and what it says, as text. Raises OperatorError, WorldFault."""
    parts = _parts(path)
    if not parts:
        raise OperatorError("artifact file path required")
    with reached(root, parts) as found:
        data, about = beginning(found, MOST)
    is_cut = about.st_size > len(data)
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data, final=not is_cut)
    return {
        "path": "/".join(parts),
        "size": about.st_size,
        "updated_at": _moment(about.st_mtime),
        "content_type": KINDS.get(PurePosixPath(parts[-1]).suffix.lower(), TEXT),
        "content": text,
        **({"truncated": True} if is_cut else {}),
    }


@contextmanager
def reached(root: Path, parts: Sequence[str]) -> Iterator[int]:
    """A folder or a regular file below the root, gone to name by name. Raises OperatorError, WorldFault."""
    try:
        found = os.open(root, FOLDER & ~os.O_NOFOLLOW)
    except OSError as error:
        raise _fault(error) from None
    try:
        for name in parts:
            inner = _stepped(found, name)
            os.close(found)
            found = inner
        yield found
    except (OSError, ValueError) as error:
        raise _fault(error) from None
    finally:
        os.close(found)


def _stepped(folder: int, name: str) -> int:
    """One name further. It is looked at before it is opened: to open a device can already do something."""
    _check_kind(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    inner = os.open(name, FILE, dir_fd=folder)
    try:
        _check_kind(os.fstat(inner).st_mode)
    except OSError:
        os.close(inner)
        raise
    return inner


def _check_kind(mode: int) -> None:
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is neither a file nor a folder")


def beginning(file: int, most: int) -> tuple[bytes, os.stat_result]:
    """The beginning of a regular file, and what is known of it. Raises OperatorError for a folder, OSError."""
    about = os.fstat(file)
    if not stat.S_ISREG(about.st_mode):
        raise OperatorError("artifact path is not a file")
    with os.fdopen(os.dup(file), "rb") as opened:
        return opened.read(most), about


def _fault(error: OSError | ValueError) -> OperatorError | WorldFault:
    if isinstance(error, PermissionError):  # whoever made it has closed it
        return OperatorError("the artifact cannot be read: permission denied")
    if isinstance(error, OSError) and error.errno not in GONE:
        return WorldFault(f"the artifact cannot be read: {error.strerror}")
    return OperatorError("artifact path not found")


def _parts(path: str) -> list[str]:
    """The names of a path, from the root on. Raises OperatorError for one that leads elsewhere."""
    parts = [each for each in path.split("/") if each not in ("", ".")]
    if ".." in parts or "\0" in path or len(path.encode("utf-8", "replace")) > LONGEST:
        raise OperatorError("invalid artifact path")
    return parts


def _entry(folder: str, entry: "os.DirEntry[str]") -> dict[str, Any] | None:
    """A line; None for what is neither a file nor a folder, and for what is gone by now."""
    try:
        about = entry.stat(follow_symlinks=False)
        _check_kind(about.st_mode)
    except OSError:
        return None
    name = os.fsencode(entry.name).decode("utf-8", "replace")
    return {
        "name": name,
        "path": f"{folder}/{name}" if folder else name,
        "type": "directory" if stat.S_ISDIR(about.st_mode) else "file",
        "size": about.st_size,
        "updated_at": _moment(about.st_mtime),
    }


def _moment(seconds: float) -> str:
    """A time that an agent can have set to anything."""
    try:
        return stamp(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return stamp(datetime.max.replace(tzinfo=UTC) if seconds > 0 else datetime.min.replace(tzinfo=UTC))
