"""Walks through a worktree: what is really there, each folder opened from the one above it and never through a link."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, Literal, NamedTuple

from keisei.workspace.name import is_refused

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
HANDLE: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
DEEPEST: Final = 150
"""Folders inside each other that are looked at; each costs a descriptor."""
LONGEST: Final = 4000
"""Bytes of a path: git and the system take no longer one."""
ROOT_LINK: Final = ".git"

Kind = Literal["file", "link", "folder", "other", "refused", "closed", "deep"]


class Found(NamedTuple):
    """One name in a worktree."""

    path: bytes
    """Relative to the root."""
    kind: Kind
    """`other` is a pipe, a socket or a device; `refused` a name that git does not take; `closed` cannot be opened;
    `deep` is below too many folders. Nothing below those is looked at."""


def walk(root: str, leave: Callable[[bytes], bool]) -> Iterator[Found]:
    """Everything in a worktree but its own `.git`; folders that `leave` names are not entered. OSError at the root.

    A folder that its owner may not enter is opened up: what an agent locked away is looked at too.
    """
    top = os.open(root, FOLDER)
    try:
        yield from _walked(top, b"", 0, leave)
    finally:
        os.close(top)


def _walked(folder: int, base: bytes, depth: int, leave: Callable[[bytes], bool]) -> Iterator[Found]:
    with os.scandir(folder) as listed:
        names = [(each.name, _kind(each)) for each in listed]
    for name, kind in names:
        if name == ROOT_LINK and not base:
            continue
        path = base + os.fsencode(name)
        told = _told(path, kind, depth)
        yield Found(path, told)
        if told == "folder" and not leave(path):
            yield from _entered(folder, name, path, depth + 1, leave)


def _entered(above: int, name: str, path: bytes, depth: int, leave: Callable[[bytes], bool]) -> Iterator[Found]:
    try:
        folder = opened(name, above, FOLDER)
    except OSError:
        yield Found(path, "closed")
        return
    try:
        yield from _walked(folder, path + b"/", depth, leave)
    finally:
        os.close(folder)


def _kind(each: "os.DirEntry[str]") -> Kind:
    if each.is_symlink():
        return "link"
    if each.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if each.is_file(follow_symlinks=False) else "other"


def _told(path: bytes, kind: Kind, depth: int) -> Kind:
    if is_refused(path.rsplit(b"/", 1)[-1]):
        return "refused"
    return "deep" if len(path) > LONGEST or (kind == "folder" and depth >= DEEPEST) else kind


def opened(name: str, above: int, flags: int) -> int:
    """A file or a folder of an open folder, made accessible to its owner where it is not. Raises OSError."""
    try:
        return os.open(name, flags, dir_fd=above)
    except PermissionError:
        _open_up(name, above)
        return os.open(name, flags, dir_fd=above)


def _open_up(name: str, above: int) -> None:
    handle = os.open(name, HANDLE, dir_fd=above)
    try:
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        # By the descriptor and not by the name: chmod would follow a link that was swapped in.
        with suppress(PermissionError):
            os.chmod(f"/proc/self/fd/{handle}", mode | stat.S_IRUSR | stat.S_IWUSR | _enter(handle))  # noqa: PTH101
    finally:
        os.close(handle)


def _enter(handle: int) -> int:
    return stat.S_IXUSR if stat.S_ISDIR(os.fstat(handle).st_mode) else 0


def reached(root: int, path: bytes) -> tuple[int, str]:
    """An open descriptor of the folder that holds a path, and the name in it. No link is followed. Raises OSError."""
    *folders, name = os.fsdecode(path).split("/")
    place = os.dup(root)
    for each in folders:
        try:
            inner = opened(each, place, FOLDER)
        finally:
            os.close(place)
        place = inner
    return place, name
