"""Sources: an authored file as text, or one clear problem. Everything an agent can write is hostile, files included."""

import os
import stat
from pathlib import Path
from typing import NamedTuple

from keisei.records.error import AuthorError
from keisei.records.problem import Problem

LIMIT = 1024 * 1024
"""Bytes; parsers here are linear, and this bounds what linear means."""
PART = 32 * 1024
"""Bytes that are read at once: most files are far smaller, and room for the largest is slow to get."""


class Source(NamedTuple):
    """One file, read."""

    path: Path
    shown: str
    """The path as messages name it: relative to the working directory where that is shorter."""
    raw: bytes
    text: str


def read_source(path: Path) -> Source:
    """The file as UTF-8 text. Raises AuthorError; never hangs on a pipe or a device, never reads past the limit."""
    raw, shown = read_raw(path), shown_path(path)
    return Source(path, shown, raw, _decoded(raw, shown))


def read_raw(path: Path | str, flags: int = 0) -> bytes:
    """The bytes of a regular file, whatever they mean. Raises AuthorError as `read_source` does."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | flags)
    except (OSError, ValueError) as error:
        raise _unreadable(path, _reason(error)) from error
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise _unreadable(path, "it is not a regular file")
        raw = _upto(handle, LIMIT + 1, found.st_size)
    except OSError as error:
        raise _unreadable(path, _reason(error)) from error
    finally:
        os.close(handle)
    if len(raw) > LIMIT:
        message = f"larger than {LIMIT // 1024} KiB, the limit of an authored file"
        raise AuthorError([Problem(code="too-large", path=shown_path(path), message=message)])
    return raw


def shown_path(path: Path | str) -> str:
    """A path as messages name it."""
    absolute = os.path.abspath(path)  # noqa: PTH100 - resolve() would follow the symlink that is complained of
    try:
        here = os.getcwd()  # noqa: PTH109 - text: every file that is read comes by here
    except OSError:
        return absolute
    return "." if absolute == here else absolute.removeprefix(here if here == "/" else f"{here}/")


def inside(folder: Path, relative: str) -> Path | None:
    """The file under the folder with every symlink followed, or None where that leads out of it. Falls closed."""
    try:
        root = folder.resolve(strict=True)
        target = (root / relative).resolve()
    except (OSError, RuntimeError, ValueError):
        return None
    return target if target.is_relative_to(root) else None


def is_file(path: Path) -> bool:
    """Whether a regular file stands there. Never raises, also for names no file can have."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises for a name that is too long


def is_folder(path: Path) -> bool:
    """Whether a folder stands there. Never raises."""
    return os.path.isdir(path)  # noqa: PTH112 - as above


def _upto(handle: int, limit: int, size: int) -> bytes:
    """What a file holds; only where that is not as much as was said, the end is looked for."""
    raw = os.read(handle, min(limit, PART))
    if len(raw) == size:
        return raw
    parts = [raw]
    while part := os.read(handle, min(limit - sum(map(len, parts)), PART)):
        parts.append(part)
    return b"".join(parts)


def _reason(error: Exception) -> str:
    if isinstance(error, ValueError):
        return "its name contains a NUL"
    text = error.strerror if isinstance(error, OSError) else None
    return (text or str(error)).lower()


def _unreadable(path: Path | str, reason: str) -> AuthorError:
    return AuthorError([Problem(code="unreadable", path=shown_path(path), message=f"cannot be read: {reason}")])


def _decoded(raw: bytes, shown: str) -> str:
    hint = "save the file as UTF-8 without a byte order mark"
    if raw.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        message = "begins with a byte order mark"
        raise AuthorError([Problem(code="not-text", path=shown, line=1, column=1, message=message, hint=hint)])
    for position, what in ((raw.find(b"\0"), "contains a NUL byte"), (_bad_utf8(raw), "is not UTF-8 here")):
        if position >= 0:
            line, column = _place(raw, position)
            raise AuthorError([Problem(code="not-text", path=shown, line=line, column=column, message=what, hint=hint)])
    return raw.decode("utf-8")


def _bad_utf8(raw: bytes) -> int:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return -1


def _place(raw: bytes, position: int) -> tuple[int, int]:
    start = raw.rfind(b"\n", 0, position) + 1
    return raw.count(b"\n", 0, position) + 1, len(raw[start:position].decode("utf-8", "replace")) + 1
