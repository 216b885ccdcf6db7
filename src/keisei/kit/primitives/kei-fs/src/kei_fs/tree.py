"""Trees: copied and removed entry by entry, by descriptors, so that a link put in the way leads nowhere."""

import errno
import os
import stat
from contextlib import AbstractContextManager, suppress
from typing import Final

from kei_fs.context import Context
from kei_fs.file import FOLDER, NEW, copy_data, opened, regular
from kei_fs.path import WRITING, telling

DEEPEST: Final = 256
"""Levels of folders, each of which holds a descriptor open."""
MOST: Final = 200_000
"""Entries of a tree that is copied."""
KEPT: Final = 0o777
"""The bits of a mode that a copy keeps: whose rights a program runs with is nothing to be copied."""
BELOW: Final = FOLDER | os.O_NOFOLLOW


class Copying:
    """One copy of a file, a link or a tree."""

    def __init__(self, context: Context, path: str) -> None:
        """Nothing is copied yet; `path` is where it is copied to."""
        self.entries = self.bytes = 0
        self._context, self._path = context, path

    def copy(self, source: str, target: str, source_fd: int | None, target_fd: int, depth: int = 0) -> None:
        """Copy an entry and what stands in it to a name that is free. Raises TooLarge, NotRegular and OSError."""
        self.entries += 1
        if depth > DEEPEST or self.entries > MOST:
            raise self._context.error("TooLarge", f"more than {MOST} entries, or more than {DEEPEST} folders deep")
        told = os.stat(source, dir_fd=source_fd, follow_symlinks=False)
        if stat.S_ISLNK(told.st_mode):
            leads = os.readlink(source, dir_fd=source_fd)
            with self._writing():
                os.symlink(leads, target, dir_fd=target_fd)
        elif stat.S_ISDIR(told.st_mode):
            self._folder(source, target, source_fd, target_fd, depth)
        else:
            self._file(source, target, source_fd, target_fd)

    def _file(self, source: str, target: str, source_fd: int | None, target_fd: int) -> None:
        with (
            regular(source, dir_fd=source_fd, follow=False) as read,
            self._writing(),
            opened(target, NEW, 0o600, dir_fd=target_fd) as written,
        ):
            self.bytes += copy_data(read, written)
            _dress(written, os.fstat(read))

    def _folder(self, source: str, target: str, source_fd: int | None, target_fd: int, depth: int) -> None:
        with self._writing():
            os.mkdir(target, 0o700, dir_fd=target_fd)
        with opened(source, BELOW, dir_fd=source_fd) as read, opened(target, BELOW, dir_fd=target_fd) as written:
            for name in sorted(os.listdir(read)):  # noqa: PTH208 - an open folder
                with suppress(FileNotFoundError):  # gone since it was listed
                    self.copy(name, name, read, written, depth + 1)
            _dress(written, os.fstat(read))

    def _writing(self) -> AbstractContextManager[None]:
        """What is refused in here is refused where it is copied to."""
        return telling(self._context, self._path, WRITING, denied="NotWritable")


def _dress(descriptor: int, like: os.stat_result) -> None:
    """Give the copy the rights and the time of what was copied."""
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != like.st_mode & KEPT:
        os.fchmod(descriptor, like.st_mode & KEPT)
    with suppress(OSError):  # a time is not worth a failure
        os.utime(descriptor, ns=(like.st_atime_ns, like.st_mtime_ns))


class Removing:
    """One removal of a file, a link or a tree."""

    def __init__(self, context: Context) -> None:
        """Nothing is removed yet."""
        self.entries = 0
        self._context = context

    def remove(self, name: str, parent: int, depth: int = 0) -> None:
        """Remove an entry and what stands in it; one that is gone already is no error. Raises TooLarge, OSError.

        Another file system that is mounted in it raises OSError with EBUSY: what it holds is left alone.
        """
        with suppress(FileNotFoundError):
            told = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if not stat.S_ISDIR(told.st_mode):
                os.unlink(name, dir_fd=parent)
            else:
                self._empty(name, parent, told.st_dev, depth)
                os.rmdir(name, dir_fd=parent)
            self.entries += 1

    def _empty(self, name: str, parent: int, device: int, depth: int) -> None:
        if depth > DEEPEST:
            raise self._context.error("TooLarge", f"it is more than {DEEPEST} folders deep; remove the deepest first")
        if os.fstat(parent).st_dev != device:
            raise OSError(errno.EBUSY, "another file system", name)
        with opened(name, BELOW, dir_fd=parent) as folder:
            for each in os.listdir(folder):  # noqa: PTH208 - an open folder
                self.remove(each, folder, depth + 1)
