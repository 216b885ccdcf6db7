"""The file of a download: it is there as a whole, or it is as it was."""

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from kei_http.context import Context

NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
NO_LINK = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EACCES}


def check(context: Context, to: str, *, replace: bool) -> None:
    """Raise BadPath, IsFolder, Exists, NotFound or NotWritable for what can be seen before anything is fetched."""
    if "\0" in to or not _is_path(to):
        raise context.error("BadPath", f"{to!r} is no path")
    try:
        _check(context, to, replace=replace)
    except OSError as error:
        raise _fault(context, to, error) from error


def _is_path(text: str) -> bool:
    try:
        return bool(os.fsencode(text))
    except UnicodeError:  # half a letter
        return False


def _check(context: Context, to: str, *, replace: bool) -> None:
    path = Path(to)
    if to.endswith("/") or (path.is_dir() and not path.is_symlink()):
        raise context.error("IsFolder", f"{to} is a folder; name the file")
    if os.path.lexists(path) and not replace:
        raise context.error("Exists", f"{to} is there already; `replace` overwrites it")
    if not path.parent.is_dir():
        raise context.error("NotFound", f"the folder of {to} is not there")


def kept(to: str, sha256: str, most: int) -> int | None:
    """How many bytes the file has that is there and has this digest; None where there is none, or cannot be read."""
    with suppress(OSError, ValueError):
        path = Path(to)
        found = path.lstat()
        if stat.S_ISREG(found.st_mode) and found.st_size <= most:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() == sha256:
                    return found.st_size
    return None


@contextmanager
def written(context: Context, to: str, *, replace: bool) -> Iterator[BinaryIO]:
    """A new file beside the one that is meant; it takes that name when the block ends well, and goes otherwise.

    A link of that name is replaced itself; what it leads to is not touched. Raises Exists, IsFolder, NotFound,
    NotWritable, NoSpace.
    """
    part = Path(to).parent / f".keisei-{secrets.token_hex(8)}.tmp"
    try:
        with part.open("xb") as file:
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                _keep(part, Path(to), replace=replace)
            finally:
                part.unlink(missing_ok=True)
    except OSError as error:
        raise _fault(context, to, error) from error


def _keep(part: Path, path: Path, *, replace: bool) -> None:
    """Give the file its name. Without `replace` nothing is ever overwritten, not even what came just now."""
    if replace:
        part.replace(path)
        return
    try:
        path.hardlink_to(part)
    except OSError as error:
        if error.errno not in NO_LINK:
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from error
        part.rename(path)


def _fault(context: Context, to: str, error: OSError) -> Exception:
    if isinstance(error, FileExistsError):
        return context.error("Exists", f"{to} is there already; `replace` overwrites it")
    if isinstance(error, IsADirectoryError):
        return context.error("IsFolder", f"{to} is a folder; name the file")
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return context.error("NotFound", f"the folder of {to} is not there")
    if error.errno in NO_SPACE:
        return context.error("NoSpace", f"{to}: {error.strerror}")
    return context.error("NotWritable", f"{to}: {error.strerror or error}")
