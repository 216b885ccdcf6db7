"""Space: how much of it is free, and how much a folder takes."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

BLOCK: Final = 512
"""What the system counts allocated space in, whatever the blocks of the disk are."""


def free_bytes(path: Path) -> int | None:
    """Bytes that an ordinary user may still write where this path is or would be made; None where nobody knows."""
    for place in (path, *path.parents):
        with suppress(FileNotFoundError, NotADirectoryError):
            try:
                found = os.statvfs(place)
            except PermissionError:
                return None
            return found.f_bavail * found.f_frsize
    return None


def size_of(path: Path) -> int:
    """Bytes on the disk that a file or a folder with all that is in it takes; 0 where it is not there. Never raises.

    A file with several names in it counts once, holes do not count, links are not followed, and what cannot be read
    counts as nothing.
    """
    total, seen = 0, set[tuple[int, int]]()
    todo: list[str] = []
    with suppress(OSError):
        total += _taken(os.lstat(path), seen)
        todo.append(os.fspath(path))
    while todo:
        with suppress(OSError), os.scandir(todo.pop()) as found:
            for each in found:
                with suppress(OSError):
                    total += _taken(each.stat(follow_symlinks=False), seen)
                    if each.is_dir(follow_symlinks=False):
                        todo.append(each.path)
    return total


def _taken(found: os.stat_result, seen: set[tuple[int, int]]) -> int:
    if found.st_nlink > 1:
        if (found.st_dev, found.st_ino) in seen:
            return 0
        seen.add((found.st_dev, found.st_ino))
    return found.st_blocks * BLOCK
