"""Folders: made, listed, walked; and the names of what is made beside its place."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kei_fs.file import FOLDER, opened
from kei_fs.path import TEMPORARY
from kei_fs.tree import DEEPEST


def temporary() -> str:
    """A name nobody else has."""
    return f"{TEMPORARY}{secrets.token_hex(8)}.tmp"


def make_folder(path: str) -> bool:
    """Make a folder and those above it that are missing; False where it was there. Raises OSError.

    From above, one by one: a path may have more parts than calls may be nested.
    """
    if Path(path).is_dir():
        return False
    for end in (*(index for index, letter in enumerate(path) if letter == "/" and index), len(path)):
        try:
            Path(path[:end]).mkdir()
        except OSError:  # what is there is there, also where nobody may write
            if not Path(path[:end]).is_dir():
                if os.path.lexists(path[:end]):
                    raise NotADirectoryError(errno.ENOTDIR, "exists, and is no folder") from None
                raise
    return True


def folders(root: str, most: int) -> list[str]:
    """The folder and those below it, links not followed, as far as they can be read; `most` + 1 where there are more.

    Raises OSError where the folder itself cannot be read.
    """
    found = [root]
    with opened(root, FOLDER) as descriptor:
        for each in _below(descriptor, root, 1):
            found.append(each)
            if len(found) > most:
                break
    return found


def _below(descriptor: int, path: str, depth: int) -> Iterator[str]:
    if depth > DEEPEST:
        return
    with os.scandir(descriptor) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    for name in names:
        inner = f"{path.rstrip('/')}/{name}"
        with suppress(OSError), opened(name, FOLDER | os.O_NOFOLLOW, dir_fd=descriptor) as folder:
            yield inner
            yield from _below(folder, inner, depth + 1)
