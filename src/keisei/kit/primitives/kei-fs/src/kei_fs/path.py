"""Paths: what a caller names, and what the system says of it, in the words of the pages."""

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from kei_fs.context import Context, Data

TEMPORARY: Final = ".keisei-"
"""How the name of a file begins that is on its way to its place."""
DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
READING: Final[Mapping[int, tuple[str, str]]] = {
    errno.ENOENT: ("NotFound", "does not exist"),
    errno.ENOTDIR: ("NotFolder", "is no folder, or a part of it is none"),
    errno.EISDIR: ("IsFolder", "is a folder"),
    errno.ENXIO: ("NotRegular", "is a pipe, a socket or a device"),
    errno.ELOOP: ("BadPath", "leads around in a circle of links"),
    errno.ENAMETOOLONG: ("BadPath", "is too long"),
}
WRITING: Final[Mapping[int, tuple[str, str]]] = {
    **READING,
    errno.ENOENT: ("NotFound", "has no folder to stand in"),
    errno.EEXIST: ("Exists", "exists already"),
    errno.ENOSPC: ("NoSpace", "does not fit on the disk"),
    errno.EDQUOT: ("NoSpace", "does not fit into the quota"),
    errno.EFBIG: ("NoSpace", "is larger than a file may be here"),
}
PLACING: Final[Mapping[int, tuple[str, str]]] = {
    **WRITING,
    errno.EBUSY: ("Protected", "is in use by the system"),
}
REMOVING: Final[Mapping[int, tuple[str, str]]] = {
    **READING,
    errno.ENOTEMPTY: ("NotEmpty", "is not empty"),
    errno.EBUSY: ("Protected", "is in use by the system"),
}
TYPES: Final = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}


def place(context: Context, text: str) -> str:
    """The path, without slashes at its end: `link/` is the link, not where it leads. Raises BadPath."""
    try:
        if not text or b"\0" in os.fsencode(text):
            raise context.error("BadPath", "a path is not empty and holds no NUL")
    except UnicodeEncodeError:
        raise context.error("BadPath", "a path is text, and this one holds half a surrogate pair") from None
    return text.rstrip("/") or "/"


def named(context: Context, text: str) -> str:
    """A path that ends with the name of an entry, so that the entry itself can be made or taken away.

    Raises BadPath for one that ends with `.` or `..`.
    """
    path = place(context, text)
    if split(path)[1] in ("", ".", ".."):
        raise context.error("BadPath", f"`{path}` does not end with a name")
    return path


def removable(context: Context, text: str) -> str:
    """As `named`. Raises Protected for the root, the working folder and every folder that holds it."""
    path = place(context, text)
    with telling(context, path):
        if is_below(os.path.realpath("."), real(path)):
            raise context.error("Protected", f"`{path}` is the working folder, or holds it")
    return named(context, path)


def split(path: str) -> tuple[str, str]:
    """The folder of an entry, and its name in there."""
    folder, slash, name = path.rpartition("/")
    return folder or slash or ".", name


def real(path: str) -> str:
    """Where the entry itself stands: links on the way are followed, one at the end is not."""
    folder, name = split(path)
    if name in ("", ".", ".."):
        return os.path.realpath(path)
    return f"{os.path.realpath(folder).rstrip('/')}/{name}"


def joined(folder: str, name: str) -> str:
    """The path of a name in a folder, as the folder's caller would write it."""
    return name if folder == "." else f"{folder.rstrip('/')}/{name}"


def is_below(path: str, folder: str) -> bool:
    """Whether the one is the other, or stands in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


@contextmanager
def telling(
    context: Context, path: str, codes: Mapping[int, tuple[str, str]] = READING, *, denied: str = "NotReadable"
) -> Iterator[None]:
    """Whatever the system refuses in here is a declared error about the path; what has no code is Failed."""
    try:
        yield
    except OSError as error:
        code, words = codes.get(error.errno or 0, ("Failed", error.strerror or str(error)))
        if error.errno in DENIED:
            verb = "read" if denied == "NotReadable" else "changed"
            code, words = denied, f"may not be {verb}: {(error.strerror or 'denied').lower()}"
        about = _about(path, error.filename)
        raise context.error(code, f"{about} {words}" if code != "Failed" else f"{about}: {words}") from None


def _about(path: str, name: object) -> str:
    """What an error is about: the path, or an entry somewhere in it. The names of what is made beside it are ours."""
    inside = isinstance(name, str) and not (path.startswith(name) or path.endswith(name) or name.startswith(TEMPORARY))
    return f"`{name}` in `{path}`" if inside else f"`{path}`"


def type_of(mode: int) -> str:
    """What an entry is, in a word."""
    return TYPES.get(stat.S_IFMT(mode), "device")


def worded(key: str, path: str) -> Data:
    """A name as JSON can carry it; `lossy` where it is no UTF-8, and the bytes that are no text are lost in it."""
    text = os.fsencode(path).decode("utf-8", "replace")
    return {key: text} if os.fsencode(text) == os.fsencode(path) else {key: text, "lossy": True}
