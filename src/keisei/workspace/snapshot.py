"""Snapshots: what is in a folder, without following a link, waiting for anybody or reading a file."""

import os
import stat
from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Final

from keisei.records.snapshot import Entry, EntryKind, Snapshot

MOST: Final = 20_000
"""Names that are looked at; more make a snapshot partial."""
DEEPEST: Final = 100
"""Folders inside each other; what is deeper is noted as unreadable. Each level costs a descriptor."""
SKIPPED: Final = ".git"
LIST: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NONBLOCK | os.O_CLOEXEC


def take(folder: Path, limit: int = MOST) -> Snapshot:
    """The folder as it is now. A folder that is not there holds nothing; what cannot be listed is noted. Never raises.

    Everything called `.git` is left out. The tree may change meanwhile: then each name is as it was when it was seen.
    """
    unreadable: list[str] = []
    with closing(_walk(folder, unreadable)) as found:
        entries = dict(islice(found, limit))
        partial = next(found, None) is not None
    return Snapshot(entries=entries, partial=partial, unreadable=tuple(sorted(unreadable)))


def _walk(folder: Path, unreadable: list[str]) -> Generator[tuple[str, Entry], None, None]:
    try:
        top = os.open(folder, LIST)
    except FileNotFoundError:
        return
    except OSError:
        unreadable.append(".")
        return
    try:
        yield from _listed(top, "", 0, unreadable)
    finally:
        os.close(top)


def _listed(folder: int, base: str, depth: int, unreadable: list[str]) -> Iterator[tuple[str, Entry]]:
    """What is in an open folder, then what is in the folders in it, each opened from its parent and never by a link."""
    inner: list[tuple[str, str]] = []
    try:
        with os.scandir(folder) as found:
            for each in found:
                entry = _entry(each)
                if each.name == SKIPPED or entry is None:
                    continue
                path = base + _spelled(each.name)
                if entry.kind == "folder":
                    inner.append((each.name, path))
                yield path, entry
    except OSError:
        unreadable.append(base.rstrip("/") or ".")
    for name, path in inner:
        yield from _opened(folder, name, path, depth + 1, unreadable)


def _opened(folder: int, name: str, path: str, depth: int, unreadable: list[str]) -> Iterator[tuple[str, Entry]]:
    if depth > DEEPEST:
        unreadable.append(path)
        return
    try:
        below = os.open(name, LIST | os.O_NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        return
    except OSError:
        unreadable.append(path)
        return
    try:
        yield from _listed(below, f"{path}/", depth, unreadable)
    finally:
        os.close(below)


def _entry(found: "os.DirEntry[str]") -> Entry | None:
    """What a name stands for; None where it went away meanwhile."""
    try:
        return entry_of(found.stat(follow_symlinks=False))
    except FileNotFoundError:
        return None


def entry_of(status: os.stat_result) -> Entry:
    """The facts that tell whether a file was changed."""
    return Entry(
        kind=_kind(status.st_mode),
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        ctime_ns=status.st_ctime_ns,
        inode=status.st_ino,
        mode=stat.S_IMODE(status.st_mode),
    )


def _kind(mode: int) -> EntryKind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def _spelled(name: str) -> str:
    """A name as text that JSON takes, different for different names."""
    return os.fsencode(name).replace(b"\\", rb"\\").decode("utf-8", "backslashreplace")
