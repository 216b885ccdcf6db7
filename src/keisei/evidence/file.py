"""Evidence in files: create-once, whole or not at all, on the disk before `put` returns.

A file is written under a name that no key can have, flushed, and then linked to its key, which fails where the key is
taken. A process that dies in between leaves no half file under a key, only one that `tidy` removes.
"""

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from keisei.records.error import IllegalMove, WorldFault
from keisei.records.evidence import Stored
from keisei.rules.evidence import checked

PART: Final = ".part-"
PIECE: Final = 1_048_576
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
PASSING: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO})
"""Faults that may be gone when it is tried again."""


class FileEvidence:
    """Evidence below one folder. Any number of threads and processes may use it at once; no link in it is followed."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; it is made, for nobody else to read, when the first file is put."""
        self._root = folder
        self._durable: set[str] = set()

    def put(self, key: str, data: bytes) -> Stored:
        """Store bytes. When it returns they survive a power cut; when it raises, nothing stands under the key.

        The same bytes again are fine. Raises IllegalMove where the key holds others, Refused for what is no key, and
        WorldFault where the disk does not take it.
        """
        return self._put(key, (data,))

    def put_file(self, key: str, path: Path) -> Stored:
        """Store a copy of a regular file, piece by piece, as `put` does. The copy shares nothing with the original.

        Raises WorldFault too where the path is a link, a folder, a pipe or cannot be read.
        """
        try:
            source = _opened(path)
        except OSError as error:
            raise _fault(key, "stored", error) from error
        try:
            return self._put(key, _pieces(source))
        finally:
            os.close(source)

    def get(self, key: str) -> bytes | None:
        """The bytes; None where the key is unknown."""
        file = self.open(key)
        if file is None:
            return None
        with _told(key, "read"), file:
            return file.read()

    def open(self, key: str) -> BinaryIO | None:
        """The file, to be read in ranges (`seek`, `read`) and closed; None where the key is unknown."""
        *folders, name = checked(key).split("/")
        try:
            with _told(key, "read"), self._folder(folders) as folder:
                return open(_opened(name, folder), "rb")
        except FileNotFoundError:
            return None

    def stored(self, key: str) -> Stored | None:
        """What stands under a key, read and hashed again; None where the key is unknown."""
        file = self.open(key)
        if file is None:
            return None
        with _told(key, "read"), file:
            return _hashed(key, _pieces(file.fileno()))

    def keys(self, prefix: str = "") -> list[str]:
        """Every key that begins with the prefix, sorted."""
        folders = prefix.split("/")[:-1]
        base = "".join(f"{each}/" for each in folders)
        if base:
            checked(base[:-1])
        try:
            with _told(prefix or "evidence", "listed"), self._folder(folders) as folder:
                return sorted(key for key in _below(folder, base) if key.startswith(prefix))
        except FileNotFoundError:
            return []

    def tidy(self, folder: str) -> int:
        """Remove what writers that died have left in one folder of keys. How many. Only where nobody writes there."""
        removed = 0
        try:
            with _told(folder, "tidied"), self._folder(checked(folder.rstrip("/")).split("/")) as opened:
                with os.scandir(opened) as found:
                    left = [each.name for each in found if each.name.startswith(PART)]
                for name in left:
                    os.unlink(name, dir_fd=opened)
                    removed += 1
        except FileNotFoundError:
            return 0
        return removed

    def _put(self, key: str, pieces: Iterable[bytes]) -> Stored:
        *folders, name = checked(key).split("/")
        part = PART + secrets.token_hex(8)
        try:
            with _told(key, "stored"), self._folder(folders, make=True) as folder:
                try:
                    stored = _written(folder, part, key, pieces)
                    self._link(folder, part, name, stored)
                finally:
                    with suppress(FileNotFoundError):
                        os.unlink(part, dir_fd=folder)
                os.fsync(folder)
        except FileNotFoundError as error:  # its folder was removed meanwhile
            raise _fault(key, "stored", error) from error
        return stored

    def _link(self, folder: int, part: str, name: str, stored: Stored) -> None:
        """Give the whole file its name, or find that the name has the same content already."""
        try:
            os.link(part, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            if self.stored(stored.key) != stored:
                message = f"evidence `{stored.key}` is stored already, with other content"
                raise IllegalMove(message, "evidence never changes") from None

    @contextmanager
    def _folder(self, names: list[str], *, make: bool = False) -> Iterator[int]:
        """A descriptor of a folder, reached name by name so that no link leads elsewhere; made where asked."""
        if make:
            self._begin()
        folder = os.open(self._root, FOLDER)
        try:
            for depth, name in enumerate(names, start=1):
                if make:
                    self._make(folder, name, "/".join(names[:depth]))
                inner = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            yield folder
        finally:
            os.close(folder)

    def _begin(self) -> None:
        if not self._root.is_dir() or "" not in self._durable:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            above = os.open(self._root.parent, FOLDER)
            try:
                self._sync(above, "")
            finally:
                os.close(above)

    def _make(self, parent: int, name: str, path: str) -> None:
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
        except FileExistsError:
            if path in self._durable:
                return
        self._sync(parent, path)

    def _sync(self, parent: int, path: str) -> None:
        """Have a folder survive a power cut; whoever made it may have died before that was sure."""
        os.fsync(parent)
        self._durable.add(path)


def _written(folder: int, part: str, key: str, pieces: Iterable[bytes]) -> Stored:
    descriptor = os.open(part, WRITE, 0o600, dir_fd=folder)
    try:
        stored = _hashed(key, _copied(descriptor, pieces))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return stored


def _copied(descriptor: int, pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        left = memoryview(piece)
        while left:
            left = left[os.write(descriptor, left) :]
        yield piece


def _hashed(key: str, pieces: Iterable[bytes]) -> Stored:
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
    return Stored(key=key, sha256=digest.hexdigest(), size=size)


def _pieces(descriptor: int) -> Iterator[bytes]:
    while piece := os.read(descriptor, PIECE):
        yield piece


def _opened(path: str | Path, folder: int | None = None) -> int:
    """A descriptor of a regular file that is not reached through a link. Raises OSError, and waits for nobody."""
    descriptor = os.open(path, READ, dir_fd=folder)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is not a regular file")


def _below(folder: int, base: str) -> Iterator[str]:
    """Keys in a folder and the folders in it, as far as they are still there; what is no plain name is not ours."""
    with os.scandir(folder) as found:
        entries = [each for each in found if not each.name.startswith(".")]
    for entry in entries:
        if entry.is_file(follow_symlinks=False):
            yield base + entry.name
        elif entry.is_dir(follow_symlinks=False):
            with suppress(FileNotFoundError):
                yield from _within(folder, entry.name, base)


def _within(folder: int, name: str, base: str) -> Iterator[str]:
    inner = os.open(name, FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    try:
        yield from _below(inner, f"{base}{name}/")
    finally:
        os.close(inner)


@contextmanager
def _told(key: str, verb: str) -> Iterator[None]:
    """Say in one sentence what the disk did not do; that a file is not there is left to the caller."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _fault(key, verb, error) from error


def _fault(key: str, verb: str, error: OSError) -> WorldFault:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    hint = "make room on the disk" if full else None
    why = error.strerror or str(error)
    return WorldFault(f"evidence `{key}` cannot be {verb}: {why}", hint, retryable=error.errno in PASSING)
