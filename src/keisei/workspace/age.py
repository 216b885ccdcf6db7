"""Ages: the times of a worktree's own files, so that build tools see what changed and nothing else.

make and cargo build again what is newer than what they have built. A worktree that was checked out after an environment
was made is newer everywhere, and one that was checked out before may hold other content that looks older. So the
environment remembers the files it was made with: one with the same content gets the time it had then, any other is
newer than the environment.
"""

import hashlib
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

MOST: Final = 50_000
"""Files that are remembered; of the rest it is only known that they are not."""
LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a file that is compared; a larger one counts as changed."""
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Age(Struct, frozen=True, array_like=True):
    """A file as it was when the environment was made."""

    mtime_ns: int
    """When it was written last."""
    size: int
    """Its bytes."""
    digest: str
    """Of its content."""


def ages(root: Path, without: Collection[str]) -> dict[str, Age]:
    """The files of a worktree, but for git's and the paths that are left out. What cannot be read is not there."""
    found: dict[str, Age] = {}
    for path, status in _files(root, without):
        if len(found) >= MOST:
            break
        digest = _digest(root / path, status.st_size)
        if digest is not None:
            found[_stored(path)] = Age(status.st_mtime_ns, status.st_size, digest)
    return found


def set_ages(root: Path, without: Collection[str], known: dict[str, Age], now_ns: int) -> int:
    """Give files with the known content their known time, and all others a later one. How many were changed.

    Never raises: what cannot be changed is built again, or is not this user's.
    """
    changed = 0
    for path, status in _files(root, without):
        age = known.get(_stored(path))
        if age is not None and (age.mtime_ns, age.size) == (status.st_mtime_ns, status.st_size):
            continue
        same = age is not None and age.size == status.st_size and _digest(root / path, age.size) == age.digest
        moment = age.mtime_ns if same and age is not None else max(now_ns, status.st_mtime_ns)
        with suppress(OSError):
            os.utime(root / path, ns=(moment, moment), follow_symlinks=False)
            changed += 1
    return changed


def _files(root: Path, without: Collection[str]) -> Iterator[tuple[str, os.stat_result]]:
    todo = [""]
    while todo:
        base = todo.pop()
        with suppress(OSError), os.scandir(root / base) as listed:
            for each in listed:
                path = f"{base}{each.name}"
                if path in without or each.name == ".git":
                    continue
                if each.is_dir(follow_symlinks=False):
                    todo.append(f"{path}/")
                elif each.is_file(follow_symlinks=False):
                    with suppress(OSError):
                        yield path, each.stat(follow_symlinks=False)


def _digest(path: Path, size: int) -> str | None:
    if size > LARGEST:
        return None
    try:
        descriptor = os.open(path, READ)
        with os.fdopen(descriptor, "rb") as file:
            return hashlib.blake2b(file.read(LARGEST), digest_size=16).hexdigest()
    except OSError:
        return None


def _stored(path: str) -> str:
    """A path as text that JSON takes, different for different paths."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")
