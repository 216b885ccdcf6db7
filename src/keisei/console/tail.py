"""Tails: the files of an attempt that grow, read from a place on, while they grow and after.

A file is held open once it was found: when the attempt ends and its folder goes away, the same bytes are read on to
their end, so that nothing is left out and nothing comes twice. No link is followed: agents may reach that folder.
"""

import os
import stat
import threading
from contextlib import suppress
from typing import Final, Literal, NamedTuple

from keisei.console.premises import Premises
from keisei.evidence.file import FileEvidence
from keisei.records.attempt import TaskAttempt
from keisei.records.error import KeiseiError
from keisei.rules.evidence import NAME, keys_of
from keisei.wiring.shop import GATE_LOG, GROWING
from keisei.wiring.store import Home

Stream = Literal["stdout", "stderr", "gate"]
STREAMS: Final[tuple[Stream, ...]] = ("stdout", "stderr", "gate")
FILES: Final[dict[Stream, str]] = {"stdout": "stdout.log", "stderr": "stderr.log", "gate": GATE_LOG}
JSON_LINES: Final = frozenset({"claude-code", "codex"})
"""Kinds of adapters whose standard output is one JSON object a line."""
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
PIECE: Final = 262_144
"""Bytes of one stream that are read at once; a line that is longer is told in parts."""
BACKLOG: Final = 1_048_576
"""Where more than that has come, only the last of it is told."""
SHOWN: Final[dict[Stream, int]] = {"stdout": 65_536, "stderr": 65_536, "gate": 524_288}
"""Bytes that are told to somebody who comes."""
WIDEST: Final = 4
"""Bytes of one character."""


class Places(NamedTuple):
    """How far each file has been read, in bytes."""

    stdout: int = 0
    stderr: int = 0
    gate: int = 0

    def at(self, stream: Stream) -> int:
        """The place in one of them."""
        return self[STREAMS.index(stream)]

    def moved(self, stream: Stream, place: int) -> "Places":
        """With another place in one of them."""
        return Places(*(place if each == stream else self.at(each) for each in STREAMS))


class Piece(NamedTuple):
    """Some bytes of a file."""

    stream: Stream
    start: int
    data: bytes

    @property
    def end(self) -> int:
        """The place behind it."""
        return self.start + len(self.data)


class Source:
    """One file of an attempt. Any number of threads may read it."""

    def __init__(self, home: Home, attempt: TaskAttempt, name: str) -> None:
        """Nothing is opened yet."""
        self._home, self._attempt, self.name = home, attempt, name
        self._lock, self._handle, self._closed = threading.Lock(), -1, False

    def size(self) -> int | None:
        """How many bytes there are; None where there is no such file."""
        with self._lock:
            return os.fstat(self._handle).st_size if self._opened() else None

    def read(self, start: int, most: int) -> bytes:
        """Bytes from a place on; none where there are no more, or no such file. Raises OSError where the disk fails."""
        with self._lock:
            return os.pread(self._handle, most, start) if self._opened() else b""

    def close(self) -> None:
        """Let the file go. Safe to say twice."""
        with self._lock:
            self._closed = True
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1

    def _opened(self) -> bool:
        if self._handle < 0 and not self._closed:
            self._handle = self._growing() if self.name in GROWING else -1
            if self._handle < 0:
                self._handle = self._sealed()
        return self._handle >= 0

    def _growing(self) -> int:
        """The file while the attempt runs."""
        if NAME.fullmatch(self._attempt.attempt_id) is None:
            return -1
        with suppress(OSError):
            found = os.open(self._home.run / self._attempt.attempt_id / self.name, READ)
            if stat.S_ISREG(os.fstat(found).st_mode):
                return found
            os.close(found)
        return -1

    def _sealed(self) -> int:
        """The file as it was put away."""
        with suppress(KeiseiError, OSError):
            keys = keys_of(self._attempt.attempt_id, self._attempt.started_at)
            stored = FileEvidence(self._home.evidence).open(keys.of(self.name))
            if stored is not None:
                with stored:
                    return os.dup(stored.fileno())
        return -1


class Tail:
    """The growing files of one attempt. It remembers nothing but what it has open."""

    def __init__(self, premises: Premises, attempt: TaskAttempt) -> None:
        """Nothing is opened yet."""
        self.is_readable = attempt.adapter_kind in JSON_LINES
        self._sources = {each: Source(premises.home, attempt, FILES[each]) for each in STREAMS}

    def ends(self, *, ended: bool) -> Places:
        """How far there is something to tell: whole lines or characters, and all of it where the attempt has ended."""
        return Places(*(self._end(each, ended=ended) for each in STREAMS))

    def news(self, places: Places, *, ended: bool) -> list[Piece]:
        """What has come since, at most so much of each; of a flood the last of it."""
        found = []
        for stream in STREAMS:
            start, size = places.at(stream), self._sources[stream].size() or 0
            if size - start > BACKLOG:
                start = self._start(stream, size - SHOWN[stream], size)
            data = self._sources[stream].read(start, min(PIECE, max(0, size - start)))
            data = data[: self._whole(stream, data, ended=ended and start + len(data) >= size)]
            if data:
                found.append(Piece(stream, start, data))
        return found

    def between(self, places: Places, ends: Places) -> list[Piece]:
        """What lies between: of much the last of it."""
        found = []
        for stream in STREAMS:
            start, end = places.at(stream), ends.at(stream)
            if end - start > SHOWN[stream]:
                start = self._start(stream, end - SHOWN[stream], end)
            data = self._sources[stream].read(start, max(0, end - start))
            if data:
                found.append(Piece(stream, start, data))
        return found

    def close(self) -> None:
        """Let the files go. Safe to say twice."""
        for source in self._sources.values():
            source.close()

    def _is_lines(self, stream: Stream) -> bool:
        return stream == "gate" or (stream == "stdout" and self.is_readable)

    def _end(self, stream: Stream, *, ended: bool) -> int:
        source = self._sources[stream]
        size = source.size() or 0
        start = max(0, size - PIECE)
        data = source.read(start, size - start)
        return start + self._whole(stream, data, ended=ended)

    def _whole(self, stream: Stream, data: bytes, *, ended: bool) -> int:
        """How many of the bytes can be told: the last line or character may still be on its way."""
        if ended:
            return len(data)
        if self._is_lines(stream):
            end = data.rfind(b"\n") + 1
            return end or (len(data) if len(data) >= PIECE else 0)
        return len(data) - unfinished(data)

    def _start(self, stream: Stream, start: int, end: int) -> int:
        """The next place where a line begins, or a character."""
        data = self._sources[stream].read(start, end - start)
        line = data.find(b"\n") + 1
        if line and line < len(data):
            return start + line
        return start + next((index for index, byte in enumerate(data[:WIDEST]) if _needs(byte)), 0)


def _needs(byte: int) -> int:
    """How many bytes a character has that begins so; 0 for one that begins none."""
    return next(count for below, count in ((0x80, 1), (0xC0, 0), (0xE0, 2), (0xF0, 3), (0x100, 4)) if byte < below)


def unfinished(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character, or of a line break, whose rest has not come."""
    if data.endswith(b"\r"):
        return 1
    for back in range(1, min(WIDEST, len(data) + 1)):
        if needs := _needs(data[-back]):
            return back if needs > back else 0
    return 0
