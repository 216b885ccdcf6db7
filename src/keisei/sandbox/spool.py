"""Spools: what a program writes goes to files while it comes, without the secrets that are known."""

import errno
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from keisei.records.error import WorldFault
from keisei.records.launch import Spooled, SpoolSummary
from keisei.sandbox.sieve import Sieve
from keisei.sandbox.stream import Name

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Spool:
    """The two streams of one program, in `stdout.log` and `stderr.log` of a folder.

    `write` is what `open_process(on_output=...)` takes. Each file holds the program's bytes exactly as they came, but
    for the mark in place of each known secret, up to the cap. They can be read while they grow.
    """

    def __init__(self, folder: Path, *, cap: int, secrets: Iterable[str] = ()) -> None:
        """Create both files. Raises WorldFault where one is there already, in whatever shape, or cannot be made."""
        known = tuple(secrets)
        self._streams: dict[Name, _File] = {}
        try:
            self._streams["stdout"] = _File(_created(folder, "stdout.log"), cap, Sieve(known))
            self._streams["stderr"] = _File(_created(folder, "stderr.log"), cap, Sieve(known))
        except WorldFault:
            self.close()
            raise

    def write(self, name: Name, piece: bytes) -> None:
        """Take a piece of output. Never raises: what the disk does not take is counted, and told by `close`."""
        self._streams[name].add(piece)

    def summary(self) -> SpoolSummary:
        """What is in the files by now."""
        return SpoolSummary(stdout=self._streams["stdout"].told(), stderr=self._streams["stderr"].told())

    def close(self) -> None:
        """Write what was held back and close the files; `summary` is final then."""
        for stream in self._streams.values():
            stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class _File:
    """One file that grows."""

    def __init__(self, handle: int, cap: int, sieve: Sieve) -> None:
        self._handle: int | None = handle
        self._cap, self._sieve = cap, sieve
        self._seen = self._kept = 0
        self._digest = hashlib.sha256()
        self._truncated = False
        self._error: OSError | None = None

    def add(self, piece: bytes) -> None:
        self._seen += len(piece)
        self._truncated = self._truncated or self._handle is None
        if not self._truncated:
            self._store(self._sieve.feed(piece))

    def close(self) -> None:
        if self._handle is None:
            return
        if not self._truncated:
            self._store(self._sieve.finish())
        try:
            os.close(self._handle)
        except OSError as error:
            self._fail(error)
        self._handle = None

    def told(self) -> Spooled:
        return Spooled(
            bytes_seen=self._seen,
            bytes_kept=self._kept,
            truncated=self._truncated,
            sha256=self._digest.hexdigest(),
            disk_full=self._error is not None and self._error.errno in _FULL,
            fault=None if self._error is None else f"the output could not be written: {self._error.strerror}",
        )

    def _store(self, data: bytes) -> None:
        room = self._cap - self._kept
        self._truncated = len(data) > room
        view = memoryview(data)[:room]
        try:
            while view and self._handle is not None:
                written = os.write(self._handle, view)
                self._digest.update(view[:written])
                self._kept += written
                view = view[written:]
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        """No more is written: after a hole nothing could be trusted."""
        self._error = self._error or error
        self._truncated = True


def _created(folder: Path, name: str) -> int:
    """A file that was not there before, in a folder that is no link, for our eyes only."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        within = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            return os.open(name, flags, 0o600, dir_fd=within)
        finally:
            os.close(within)
    except OSError as error:
        message = f"the output cannot be kept in `{folder / name}`: {error.strerror}"
        raise WorldFault(message, retryable=error.errno in _FULL) from error
