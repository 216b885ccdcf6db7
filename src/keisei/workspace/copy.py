"""Copies: paths below one folder made again below another, sharing blocks where the disk can.

Links stay links and are never followed, files with several names keep them, holes stay holes, modes and times are kept;
pipes, sockets and devices are left out, and setuid bits. Nothing is shared with the original but blocks that the disk
itself copies when somebody writes.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from keisei.records.error import WorldFault
from keisei.workspace.content import clone, pour, read, write
from keisei.workspace.name import spelled
from keisei.workspace.removal import remove_name

FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
MODE: Final = 0o1777
DEEPEST: Final = 200
"""Folders inside each other; each level costs two descriptors."""


class Edit(NamedTuple):
    """What becomes different on the way."""

    files: frozenset[str]
    """Files whose content is changed, by their paths below the root."""
    change: Callable[[bytes], bytes]
    """The change; every link's target goes through it too."""


class Copied(NamedTuple):
    """What was copied."""

    files: int
    """Files, each name counted."""
    size: int
    """Their bytes, holes counted."""
    skipped: tuple[str, ...]
    """Pipes, sockets and devices that were left out."""


def copy_paths(source: Path, target: Path, paths: Sequence[str], edit: Edit | None = None) -> Copied:
    """Copy some paths of one folder into another; what stands there is replaced, folders above are made.

    Raises WorldFault where one of them is missing, lies behind a link, or the disk does not take it; then part of it
    may stand there.
    """
    copier = _Copier(edit)
    try:
        with _folder(source) as top, _folder(target) as root:
            copier.root = root
            for path in paths:
                copier.path(top, path)
    except (OSError, ValueError) as error:
        raise _fault(source, target, copier.at, error) from error
    return Copied(copier.files, copier.size, tuple(copier.skipped))


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    descriptor = os.open(path, FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class _Copier:
    """One copy on its way."""

    def __init__(self, edit: Edit | None) -> None:
        self.root = -1
        self.at = "."
        self.files = 0
        self.size = 0
        self.skipped: list[str] = []
        self._edit = edit
        self._clones = True
        self._names: dict[tuple[int, int], str] = {}
        """Files with several names that were copied, and where."""

    def path(self, top: int, path: str) -> None:
        """One path, each folder above it opened from the one before."""
        self.at = path
        *above, name = path.split("/")
        source, target = os.dup(top), os.dup(self.root)
        try:
            for each in above:
                source = _stepped(source, each, make=False)
                target = _stepped(target, each, make=True)
            remove_name(name, target)
            self._one(source, target, name, path, os.stat(name, dir_fd=source, follow_symlinks=False), 0)
        finally:
            os.close(source)
            os.close(target)

    def _one(self, source: int, target: int, name: str, path: str, found: os.stat_result, depth: int) -> None:  # noqa: PLR0913, PLR0917 - where from, where to, what
        self.at, kind = path, stat.S_IFMT(found.st_mode)
        if kind == stat.S_IFREG:
            self._file(source, target, name, path, found)
        elif kind == stat.S_IFDIR:
            self._folder(source, target, name, path, found, depth + 1)
        elif kind == stat.S_IFLNK:
            self._link(source, target, name, found)
        else:
            self.skipped.append(path)

    def _folder(self, source: int, target: int, name: str, path: str, found: os.stat_result, depth: int) -> None:  # noqa: PLR0913, PLR0917 - as above
        if depth > DEEPEST:
            raise OSError(errno.ELOOP, f"more than {DEEPEST} folders inside each other")
        os.mkdir(name, 0o700, dir_fd=target)
        inner, made = os.open(name, FOLDER, dir_fd=source), -1
        try:
            made = os.open(name, FOLDER, dir_fd=target)
            with os.scandir(inner) as listed:
                entries = [(each.name, each.stat(follow_symlinks=False)) for each in listed]
            for each, status in entries:
                self._one(inner, made, each, f"{path}/{each}", status, depth)
            # Last of all: a read-only folder takes nothing in, and taking something in changes its time.
            os.fchmod(made, found.st_mode & MODE)
            os.utime(made, ns=(found.st_atime_ns, found.st_mtime_ns))
        finally:
            os.close(inner)
            if made >= 0:
                os.close(made)

    def _link(self, source: int, target: int, name: str, found: os.stat_result) -> None:
        to = os.readlink(name, dir_fd=source)
        if self._edit is not None:
            to = os.fsdecode(self._edit.change(os.fsencode(to)))
        os.symlink(to, name, dir_fd=target)
        os.utime(name, ns=(found.st_atime_ns, found.st_mtime_ns), dir_fd=target, follow_symlinks=False)
        self.files += 1

    def _file(self, source: int, target: int, name: str, path: str, found: os.stat_result) -> None:
        self.files += 1
        if found.st_nlink > 1 and self._linked(target, name, path, found):
            return
        original = os.open(name, READ, dir_fd=source)
        try:
            copy = os.open(name, WRITE, 0o600, dir_fd=target)
            try:
                self._fill(original, copy, path)
                os.fchmod(copy, found.st_mode & MODE)
                os.utime(copy, ns=(found.st_atime_ns, found.st_mtime_ns))
            finally:
                os.close(copy)
        finally:
            os.close(original)

    def _linked(self, target: int, name: str, path: str, found: os.stat_result) -> bool:
        """Give a file that was copied already its next name. False where this is its first."""
        key = (found.st_dev, found.st_ino)
        known = self._names.setdefault(key, path)
        if known == path:
            return False
        try:
            os.link(known, name, src_dir_fd=self.root, dst_dir_fd=target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in (errno.EMLINK, errno.EPERM):
                raise
            return False
        return True

    def _fill(self, original: int, copy: int, path: str) -> None:
        found = os.fstat(original)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it was swapped for something else while it was copied")
        self.size += found.st_size
        if self._edit is not None and path in self._edit.files:
            write(copy, self._edit.change(read(original)))
        elif found.st_size:
            self._clones = self._clones and clone(original, copy)
            if not self._clones:
                pour(original, copy, found)


def _stepped(place: int, name: str, *, make: bool) -> int:
    """The next folder, made where it is not there; the one before is closed once the next is open."""
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=place)
    below = os.open(name, FOLDER, dir_fd=place)
    os.close(place)
    return below


def _fault(source: Path, target: Path, at: str, error: OSError | ValueError) -> WorldFault:
    number = getattr(error, "errno", None)
    full = number in (errno.ENOSPC, errno.EDQUOT)
    why = "no file can have such a name" if isinstance(error, ValueError) else (error.strerror or str(error)).lower()
    if number in (errno.ELOOP, errno.ENOTDIR):
        why = f"a link or a file stands where a folder is expected ({why})"
    hint = "make room on the disk: `keisei gc` shows what can go" if full else None
    # Whatever bytes a name has, the sentence can be stored.
    what, where, to = (spelled(os.fsencode(each)) for each in (at, source, target))
    return WorldFault(f"`{what}` cannot be copied from {where} to {to}: {why}", hint, retryable=full)
