"""Files: opened so that nothing blocks, read piece by piece, and what the system says in the words of the pages."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kei_hash.algorithm import started
from kei_hash.context import Context, Data

if TYPE_CHECKING:
    from hashlib import _Hash

READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
PIECE: Final = 1 << 20
CODES: Final = {
    errno.ENOENT: ("NotFound", "does not exist"),
    errno.ENOTDIR: ("NotFolder", "is no folder, or a part of it is none"),
    errno.EISDIR: ("IsFolder", "is a folder"),
    errno.ENXIO: ("NotRegular", "is a pipe, a socket or a device"),
    errno.ELOOP: ("BadPath", "leads around in a circle of links"),
    errno.ENAMETOOLONG: ("BadPath", "is too long"),
    errno.EACCES: ("NotReadable", "may not be read"),
    errno.EPERM: ("NotReadable", "may not be read"),
}


@contextmanager
def opened(path: str, flags: int, *, dir_fd: int | None = None) -> Iterator[int]:
    """A descriptor, closed again. Raises OSError."""
    descriptor = os.open(path, flags, dir_fd=dir_fd)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def digest_file(path: str, algorithm: str, *, dir_fd: int | None = None, follow: bool = True) -> "tuple[_Hash, int]":
    """The digest of a file, and how many bytes it has. Raises OSError: EISDIR for a folder, ENXIO for a pipe.

    It is looked at before it is opened, since opening a pipe wakes who waits at its other end and a device may do
    anything, and once more behind that, since it may be another one by then.
    """
    _check(os.stat(path, dir_fd=dir_fd, follow_symlinks=follow))
    digest, size = started(algorithm), 0
    with opened(path, READ | (0 if follow else os.O_NOFOLLOW), dir_fd=dir_fd) as descriptor:
        _check(os.fstat(descriptor))
        while piece := os.read(descriptor, PIECE):
            digest.update(piece)
            size += len(piece)
    return digest, size


def _check(told: os.stat_result) -> None:
    if stat.S_ISDIR(told.st_mode):
        raise OSError(errno.EISDIR, "is a folder")
    if not stat.S_ISREG(told.st_mode):
        raise OSError(errno.ENXIO, "is no file")


def place(context: Context, text: str) -> str:
    """The path, without slashes at its end. Raises BadPath."""
    try:
        if not text or b"\0" in os.fsencode(text):
            raise context.error("BadPath", "a path is not empty and holds no NUL")
    except UnicodeEncodeError:
        raise context.error("BadPath", "a path is text, and this one holds half a surrogate pair") from None
    return text.rstrip("/") or "/"


@contextmanager
def telling(context: Context, path: str) -> Iterator[None]:
    """Whatever the system refuses in here is a declared error about the path; what has no code is Failed."""
    try:
        yield
    except OSError as error:
        inside = isinstance(error.filename, str) and not (
            path.startswith(error.filename) or path.endswith(error.filename)
        )
        about = f"`{error.filename}` in `{path}`" if inside else f"`{path}`"
        code, words = CODES.get(error.errno or 0, ("Failed", f"cannot be read: {error.strerror or error}"))
        raise context.error(code, f"{about} {words}") from None


def worded(path: str) -> Data:
    """A path as JSON can carry it; `lossy` where it is no UTF-8, and the bytes that are no text are lost in it."""
    text = os.fsencode(path).decode("utf-8", "replace")
    return {"path": text} if os.fsencode(text) == os.fsencode(path) else {"path": text, "lossy": True}
