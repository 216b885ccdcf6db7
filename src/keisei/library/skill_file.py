"""Files that are made from pages, put in their places: each whole or not at all, and never through a symlink."""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from keisei.records.error import OperatorError, WorldFault

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
_MODE: Final = 0o644
_LARGEST: Final = 2_097_152
_HINT: Final = "check the path and its permissions"


def current(path: Path) -> bytes | None:
    """What stands there, the beginning of a large file; None for nothing. It never waits.

    Raises OperatorError for a symlink, WorldFault for what is no plain file or cannot be read.
    """
    if path.is_symlink() or path.parent.is_symlink():
        raise _symlink(path)
    try:
        handle = os.open(path, _READ)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WorldFault(f"cannot read `{path}`: {_reason(error)}", _HINT) from error
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise WorldFault(f"cannot read `{path}`: it is not a plain file", _HINT)
        return file.read(_LARGEST)


def write_in(folder: Path, name: str, content: bytes) -> None:
    """Put a file into a folder, in place of the one that is there, with its mode. A folder that is missing is made.

    Its parents may be symlinks, for a person named them; the folder itself and the file may not. Raises OperatorError
    for a symlink, WorldFault.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir()
        handle = os.open(folder, _FOLDER)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and folder.is_symlink():
            raise _symlink(folder) from error
        raise WorldFault(f"cannot write `{folder}`: {_reason(error)}", "check the folder and its free space") from error
    try:
        _replace(handle, folder, name, content)
    finally:
        os.close(handle)


def _replace(handle: int, folder: Path, name: str, content: bytes) -> None:
    aside = f".{name}-{secrets.token_hex(8)}"
    try:
        mode = _mode(handle, folder, name)
        with os.fdopen(os.open(aside, _NEW, _MODE, dir_fd=handle), "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        os.replace(aside, name, src_dir_fd=handle, dst_dir_fd=handle)
    except OSError as error:
        with suppress(OSError):
            os.unlink(aside, dir_fd=handle)
        message = f"cannot write `{folder / name}`: {_reason(error)}"
        raise WorldFault(message, "check the folder and its free space") from error


def _mode(handle: int, folder: Path, name: str) -> int:
    """The mode of the file that is there. Raises OperatorError for a symlink."""
    try:
        found = os.stat(name, dir_fd=handle, follow_symlinks=False)
    except FileNotFoundError:
        return _MODE
    if stat.S_ISLNK(found.st_mode):
        raise _symlink(folder / name)
    return stat.S_IMODE(found.st_mode)


def _symlink(path: Path) -> OperatorError:
    return OperatorError(f"`{path}` is a symlink, or stands behind one", "name the file itself, or remove the link")


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
