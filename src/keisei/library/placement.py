"""Placement: files on their way into a package that is there, with the way back.

Paths are walked from the package's folder, part by part, and no symlink is followed. Each file is a second name of one
made aside, so that what was placed can be told from everything else, also by somebody who comes later.
"""

import errno
import json
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from keisei.library.source import LIMIT
from keisei.records.error import OperatorError

ASIDE: Final = ".keisei-new-"
"""How the hidden folders begin."""
JOURNAL: Final = "journal.json"
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a folder is opened that is no symlink."""


class NewFile(Struct, frozen=True, kw_only=True):
    """One file to be written."""

    path: str
    """Where, relative to the folder of packages; its first part is the package."""
    content: str
    """What it holds."""
    was: str | None = None
    """What it holds until now; None for a file that is not there yet."""


class Placement:
    """Files on their way into a package, with the way back."""

    def __init__(self, root: int, aside: Path, package: str) -> None:
        """`root` is the package's folder as a descriptor, `aside` the hidden folder in it."""
        self._root, self._aside, self._package = root, aside, package
        self._made: list[str] = []
        self._files: list[tuple[str, bool]] = []

    def note(self, files: Sequence[NewFile]) -> None:
        """Write down what is about to happen, for whoever has to take it back."""
        told = [[inner_path(each.path), each.was is not None] for each in files]
        journal = {"files": told, "folders": self._absent(files)}
        (self._aside / JOURNAL).write_text(json.dumps(journal), encoding="utf-8")

    def _absent(self, files: Sequence[NewFile]) -> list[str]:
        parents = {str(parent) for each in files for parent in Path(inner_path(each.path)).parents} - {"."}
        return sorted(each for each in parents if not os.path.lexists(self._aside.parent / each))

    def place(self, file: NewFile) -> None:
        """Put one file into its place."""
        path = inner_path(file.path)
        staged, kept = self._aside / self._package / path, self._kept(path)
        self._files.append((path, file.was is not None))
        with _parent(self._root, path, self._made) as (folder, name):
            if file.was is not None:
                os.link(name, kept, src_dir_fd=folder, follow_symlinks=False)
                staged.chmod(stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode))
                os.link(staged, f"{kept}.new")
                os.replace(f"{kept}.new", name, dst_dir_fd=folder)
            else:
                os.link(staged, name, dst_dir_fd=folder, follow_symlinks=False)

    def _kept(self, path: str) -> str:
        return str(self._aside / ("was-" + path.replace("/", "-")))

    def resume(self, journal: dict[str, Any]) -> None:
        """Take over what somebody else began."""
        self._files = [(safe_path(path), bool(changed)) for path, changed in journal["files"]]
        self._made = [safe_path(each) for each in journal["folders"]]

    @property
    def is_whole(self) -> bool:
        """Whether the last file is in its place."""
        return bool(self._files) and self._is_ours(self._files[-1][0])

    def undo(self) -> None:
        """Take everything back that was placed; what is somebody else's stays."""
        for path, changed in reversed(self._files):
            with suppress(OSError, OperatorError):
                if self._is_ours(path):
                    self._take_back(path, changed=changed)
        for folder in sorted(self._made, key=len, reverse=True):
            with suppress(OSError, OperatorError), _parent(self._root, folder) as (parent, name):
                os.rmdir(name, dir_fd=parent)

    def _is_ours(self, path: str) -> bool:
        """Whether what stands there is the very file that was made aside."""
        try:
            made = os.lstat(self._aside / self._package / path)
            with _parent(self._root, path) as (folder, name):
                there = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except (OSError, OperatorError):
            return False
        return (made.st_dev, made.st_ino) == (there.st_dev, there.st_ino)

    def _take_back(self, path: str, *, changed: bool) -> None:
        with _parent(self._root, path) as (folder, name):
            if changed:
                os.replace(self._kept(path), name, dst_dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)


def recover(package: Path, root: int) -> None:
    """Take back what was begun by somebody who was killed. Whoever holds the lock is the only one at work here."""
    for aside in sorted(package.glob(f"{ASIDE}*")):
        if aside.is_symlink() or not aside.is_dir():
            continue
        placed = Placement(root, aside, package.name)
        with suppress(OSError, ValueError, TypeError, KeyError):
            placed.resume(json.loads(read_below(root, f"{aside.name}/{JOURNAL}") or b""))
        if not placed.is_whole:
            placed.undo()
        shutil.rmtree(aside, ignore_errors=True)


def read_below(root: int, path: str) -> bytes | None:
    """What stands there, as much as an authored file may hold; None for nothing. A symlink, a pipe or so is empty."""
    try:
        with _parent(root, path) as (folder, name):
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            return b""
        raise
    try:
        return os.read(handle, LIMIT + 1) if stat.S_ISREG(os.fstat(handle).st_mode) else b""
    finally:
        os.close(handle)


def remove_below(root: int, path: str, content: bytes) -> None:
    """Take away a file that holds exactly this; whatever else stands there stays. Raises OSError, OperatorError."""
    if read_below(root, path) == content:
        with _parent(root, path) as (folder, name):
            os.unlink(name, dir_fd=folder)


@contextmanager
def _parent(root: int, path: str, made: list[str] | None = None) -> Iterator[tuple[int, str]]:
    """The folder of a path as a descriptor, no symlink followed on the way, and the name there.

    Folders that are missing are made where `made` keeps their names.
    """
    *parts, name = path.split("/")
    here, walked = os.dup(root), ""
    try:
        for part in parts:
            walked = f"{walked}/{part}".lstrip("/")
            here = _entered(here, part, walked, made)
        yield here, name
    finally:
        os.close(here)


def _entered(here: int, part: str, walked: str, made: list[str] | None) -> int:
    try:
        if made is not None:
            with suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=here)
                made.append(walked)
        inner = os.open(part, FOLDER, dir_fd=here)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            message = f"`{walked}` in the package is a symlink or no folder"
            raise OperatorError(message, "make it a folder of its own") from error
        raise
    os.close(here)
    return inner


def inner_path(path: str) -> str:
    """The path inside its package."""
    return path.partition("/")[2]


def safe_path(path: str) -> str:
    """A path that stays below the package. Raises ValueError."""
    if any(part in ("", ".", "..") or "\0" in part for part in path.split("/")):
        raise ValueError("a path of the journal leads out")
    return path
