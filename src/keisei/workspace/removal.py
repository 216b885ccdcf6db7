"""Removal: a folder and all that is in it, read-only folders too, however deep, without following a link."""

import os
import secrets
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Final

from keisei.records.error import WorldFault
from keisei.workspace.name import spelled

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
HANDLE: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
ALL: Final = stat.S_IRWXU


def remove(path: Path) -> None:
    """Remove a file, a link or a folder with everything in it. What is not there is fine. Raises WorldFault.

    Folders that their owner may not write are opened first: module caches are made of them. A link is removed and
    never followed, also where somebody swaps one in meanwhile.
    """
    try:
        above = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _fault(path, error) from error
    try:
        remove_name(path.name, above)
    except OSError as error:
        raise _fault(path, error) from error
    finally:
        os.close(above)


def remove_name(name: str, above: int) -> None:
    """Remove one name of an open folder, with everything below it. What is not there is fine. Raises OSError."""
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=above)
            return
        top = _opened(name, above)
        try:
            _empty(top)
        finally:
            os.close(top)
        os.rmdir(name, dir_fd=above)


def _empty(top: int) -> None:
    """Remove what is in a folder. Folders in folders are moved up first: a path may be deeper than a process can go."""
    fresh = (f"{secrets.token_hex(8)}-{number}" for number in count())
    todo = _names(top)
    while todo:
        name, is_folder = todo.pop()
        if not is_folder:
            os.unlink(name, dir_fd=top)
            continue
        place = _opened(name, top)
        try:
            for inner, inner_is_folder in _names(place):
                if inner_is_folder:
                    _open_up(inner, place)
                    moved = next(fresh)
                    os.rename(inner, moved, src_dir_fd=place, dst_dir_fd=top)
                    todo.append((moved, True))
                else:
                    os.unlink(inner, dir_fd=place)
        finally:
            os.close(place)
        os.rmdir(name, dir_fd=top)


def _opened(name: str, above: int) -> int:
    """A folder that may be listed and written, whatever its mode was."""
    _open_up(name, above)
    return os.open(name, FOLDER, dir_fd=above)


def _open_up(name: str, above: int) -> None:
    handle = os.open(name, HANDLE, dir_fd=above)
    try:
        if os.fstat(handle).st_mode & ALL != ALL:
            # By the descriptor and not by the name: chmod would follow a link that was swapped in.
            with suppress(PermissionError):
                os.chmod(f"/proc/self/fd/{handle}", ALL)  # noqa: PTH101 - a descriptor
    finally:
        os.close(handle)


def _names(place: int) -> list[tuple[str, bool]]:
    with os.scandir(place) as found:
        return [(each.name, each.is_dir(follow_symlinks=False)) for each in found]


def _fault(path: Path, error: OSError) -> WorldFault:
    why = (error.strerror or str(error)).lower()
    return WorldFault(f"`{spelled(os.fsencode(path))}` cannot be removed: {why}", "check who owns it", retryable=True)
