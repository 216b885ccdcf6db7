"""Blobs: files of a worktree written as objects of its repository, byte for byte, by one process for all of them."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from typing import IO, Final

from keisei.records.error import WorldFault
from keisei.workspace.git import SHA1_LENGTH, Private
from keisei.workspace.name import is_refused_link, spelled
from keisei.workspace.walk import FOLDER, READ, opened, reached

LARGEST: Final = 512 * 1_048_576
"""Bytes of one file; a larger one is noted and left as it is on the base."""
PIECE: Final = 1_048_576
GONE: Final = b"0"
"""The mode by which an index forgets a path."""


class Blobs:
    """What is written for a list of paths: lines for an index, and notes on what cannot be."""

    def __init__(self, private: Private, largest: int = LARGEST) -> None:
        """Say where, and how large a file may be."""
        self._largest = largest
        self._private = private
        self._zero = b"0" * len(private.head)
        self._hash = "sha1" if len(private.head) == SHA1_LENGTH else "sha256"
        self._root = -1
        self.lines: list[bytes] = []
        """One line a path, as `update-index --index-info` takes them."""
        self.notes: list[str] = []
        """What a person should know."""

    def write(self, paths: Iterable[bytes]) -> None:
        """Write what stands under each path; nothing there means that the path is gone. Raises WorldFault."""
        self._root = os.open(self._private.worktree, FOLDER)
        try:
            words = ("fast-import", "--quiet", "--done", "--depth=0", "--big-file-threshold=1m")
            self._private.git(*words, given=self._stream(paths))
        finally:
            os.close(self._root)

    def forget(self, path: bytes) -> None:
        """Have the index forget a path."""
        self.lines.append(b"%s %s\t%s\0" % (GONE, self._zero, path))

    def _stream(self, paths: Iterable[bytes]) -> Iterator[bytes]:
        for path in paths:
            try:
                folder, name = reached(self._root, path)
            except OSError:  # a folder on the way is gone, or a link by now
                self.forget(path)
                continue
            try:
                yield from self._read(folder, name, path)
            except OSError as error:
                self._note(path, f"cannot be read and stays as it was: {error.strerror or error}")
            finally:
                os.close(folder)
        yield b"done\n"

    def _read(self, folder: int, name: str, path: bytes) -> Iterator[bytes]:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            self.forget(path)
            return
        if stat.S_ISREG(status.st_mode):
            yield from self._file(folder, name, path, b"100755" if status.st_mode & stat.S_IXUSR else b"100644")
        elif not stat.S_ISLNK(status.st_mode):
            self.forget(path)  # a folder's files are paths of their own; a pipe or a device is noted by whoever saw it
        elif is_refused_link(path):
            self._note(path, "is a link under a name that git keeps for files, and is left out")
        else:
            target = os.fsencode(os.readlink(name, dir_fd=folder))
            yield from self._pieces(len(target), (target,), b"120000", path)

    def _file(self, folder: int, name: str, path: bytes, mode: bytes) -> Iterator[bytes]:
        descriptor = opened(name, folder, READ)
        with os.fdopen(descriptor, "rb") as file:
            size = os.fstat(descriptor).st_size
            if size > self._largest:
                self._note(path, f"has {size} bytes, more than {self._largest}, and stays as it was")
            elif size > PIECE:
                yield from self._pieces(size, _exactly(file, size, path), mode, path)
            else:
                whole = file.read(PIECE)
                yield from self._pieces(len(whole), (whole,), mode, path)

    def _pieces(self, size: int, pieces: Iterable[bytes], mode: bytes, path: bytes) -> Iterator[bytes]:
        digest = hashlib.new(self._hash, b"blob %d\0" % size, usedforsecurity=False)
        yield b"blob\ndata %d\n" % size
        for piece in pieces:
            digest.update(piece)
            yield piece
        yield b"\n"
        self.lines.append(b"%s %s\t%s\0" % (mode, digest.hexdigest().encode("ascii"), path))

    def _note(self, path: bytes, what: str) -> None:
        self.notes.append(f"`{spelled(path)}` {what}")


def _exactly(file: IO[bytes], size: int, path: bytes) -> Iterator[bytes]:
    """So many bytes in pieces: the size was promised, so a file that has fewer by now fails the whole."""
    while size:
        try:
            piece = file.read(min(PIECE, size))
        except OSError as error:
            raise WorldFault(f"`{spelled(path)}` cannot be read: {error.strerror or error}", retryable=True) from error
        if not piece:
            raise WorldFault(f"`{spelled(path)}` was changed while it was read", retryable=True)
        size -= len(piece)
        yield piece
