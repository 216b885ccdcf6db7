"""The log of a gate: one line for each decision, allowed ones too, each chained to the one before."""

import errno
import fcntl
import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import msgspec

from keisei.records.decision import GateDecision
from keisei.records.error import WorldFault
from keisei.rules.chain import doubles, sealed_line, whole

LARGEST = 64 * 1024 * 1024
"""No line is longer than this; what has no newline for so long is no log."""
CHUNK = 64 * 1024


class Torn(NamedTuple):
    """A last line that was not written to its end: its service was killed, or the disk was full."""

    size: int
    """Its bytes."""
    digest: str
    """Their sha256."""
    kept: Path
    """Where they were put aside."""


class GateLog:
    """One gate.jsonl. Falls closed: a decision that cannot be written down raises WorldFault and must be a refusal."""

    def __init__(self, path: Path) -> None:
        """Name the file; it is opened with the first decision and whenever it was closed."""
        self.path = path
        self.torn: Torn | None = None
        """What was put aside when the file was last opened."""
        self._lock = Lock()
        self._fd = -1
        self._size = 0
        self._last: str | None = None
        self._known = False

    @property
    def is_open(self) -> bool:
        """Whether it holds its file open."""
        return self._fd >= 0

    def append(self, decision: dict[str, Any]) -> str:
        """Write one decision, a GateDecision without its two hashes, and return its hash. Threads may call it at once.

        Raises WorldFault where it cannot be written whole, where the file was removed, replaced, changed by somebody
        else or belongs to another service, and ValueError where the decision is none.
        """
        with self._lock:
            try:
                if self._fd < 0:
                    self._open()
                self._same()
                line, found = _line(self._last, decision)
                self._write(line + b"\n")
            except OSError as error:
                self._shut()
                raise WorldFault(f"{self.path.name} cannot be written: {error.strerror or error}") from error
            except WorldFault:
                self._shut()
                raise
            self._last = found
            return found

    def close(self) -> None:
        """Let the file go; the next decision opens it again."""
        with self._lock:
            self._shut()

    def _open(self) -> None:
        """Open it, and make it the first time only: a log that went away does not begin again as an empty one."""
        flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        self._fd = os.open(self.path, flags if self._known else flags | os.O_CREAT, 0o600)
        status = os.fstat(self._fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise WorldFault(f"{self.path.name} is not a file of ours")
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise WorldFault(f"{self.path.name} is written by another gate service") from error
        os.fchmod(self._fd, 0o600)
        self._resume(os.fstat(self._fd).st_size)
        self._known = True

    def _resume(self, size: int) -> None:
        """Find the last whole line, put aside what stands behind it, go on from its hash."""
        end, line = self._last_line(size)
        found = whole(line) if end else (None, None)
        if isinstance(found, str):
            raise WorldFault(f"{self.path.name} cannot be continued: {found}")
        if self._known and (end, found[1]) != (self._size, self._last):
            raise WorldFault(f"{self.path.name} was changed by somebody else")
        self.torn = self._put_aside(end, size) if end < size else None
        self._size, self._last = end, found[1]

    def _last_line(self, size: int) -> tuple[int, bytes]:
        """Where the last whole line ends, and that line. Reads backwards."""
        tail, start, end = b"", size, -1
        while start > 0:
            step = min(CHUNK, start)
            start -= step
            tail = os.pread(self._fd, step, start) + tail
            end = tail.rfind(b"\n") if end < 0 else end + step
            before = tail.rfind(b"\n", 0, end) if end >= 0 else -1
            if before >= 0:
                return start + end + 1, tail[before + 1 : end]
            if len(tail) > LARGEST:
                raise WorldFault(f"{self.path.name} cannot be continued: it has no lines")
        return (end + 1, tail[:end]) if end >= 0 else (0, b"")

    def _put_aside(self, end: int, size: int) -> Torn:
        kept = self.path.with_name(f"{self.path.name}.torn")
        rest = os.pread(self._fd, size - end, end)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(kept, flags, 0o600), "ab") as file:  # noqa: PTH123 - a descriptor
            file.write(rest + b"\n")
        os.ftruncate(self._fd, end)
        return Torn(len(rest), hashlib.sha256(rest).hexdigest(), kept)

    def _same(self) -> None:
        """The file is still the one at its path, and nobody else has written to it."""
        here = self.path.lstat()
        mine = os.fstat(self._fd)
        if (here.st_ino, here.st_dev) != (mine.st_ino, mine.st_dev):
            raise WorldFault(f"{self.path.name} was replaced")
        if mine.st_size != self._size:
            raise WorldFault(f"{self.path.name} was changed by somebody else")

    def _write(self, line: bytes) -> None:
        """One write for the whole line; what was written in part is taken back."""
        try:
            written = os.write(self._fd, line)
        except OSError:
            self._take_back()
            raise
        if written != len(line):
            self._take_back()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += written

    def _take_back(self) -> None:
        with suppress(OSError):
            os.ftruncate(self._fd, self._size)

    def _shut(self) -> None:
        if self._fd >= 0:
            with suppress(OSError):
                os.close(self._fd)
        self._fd = -1


def _line(previous: str | None, decision: dict[str, Any]) -> tuple[bytes, str]:
    """The sealed line, which is a GateDecision as it is published."""
    try:
        line, found = sealed_line(previous, decision)
    except ValueError:
        line, found = sealed_line(previous, doubles(decision))
    try:
        msgspec.convert({**decision, "previous_hash": previous, "hash": found}, GateDecision)
    except msgspec.ValidationError as error:
        raise ValueError(f"not a gate decision: {error}") from error
    return line, found
