"""Bodies: the JSON texts of an answer, taken out of its bytes piece by piece. Pure.

Whatever the bytes are, nothing is raised and no more than `LONGEST` of them are held; `unread` counts what was passed
over because of that.
"""

from collections.abc import Iterator
from typing import Protocol

LONGEST = 16 * 1024 * 1024
"""Bytes of one event, one line or one whole answer; a longer one is not read."""
NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl")


class Body(Protocol):
    """A way to take texts out of bytes."""

    @property
    def unread(self) -> int:
        """Bytes that were passed over."""

    def add(self, piece: bytes) -> Iterator[bytes]:
        """The texts that this piece completes."""

    def end(self) -> Iterator[bytes]:
        """What is left when there is no more."""


def body_of(content_type: str) -> Body:
    """The way that fits the content type: a stream of events, lines, or else one object."""
    kind = content_type.partition(";")[0].strip().lower()
    return Events() if kind == "text/event-stream" else Lines() if kind in NDJSON else Whole()


class Whole:
    """One object is the whole body."""

    def __init__(self) -> None:
        self.unread = 0
        self._held = bytearray()

    def add(self, piece: bytes) -> Iterator[bytes]:
        """Nothing before the end."""
        if self.unread or len(self._held) + len(piece) > LONGEST:
            self.unread += len(self._held) + len(piece)
            self._held.clear()
        else:
            self._held += piece
        yield from ()

    def end(self) -> Iterator[bytes]:
        """The body."""
        yield bytes(self._held)


class Lines:
    """Every line is an object. A line that is too long is passed over."""

    def __init__(self) -> None:
        self.unread = 0
        self._held = bytearray()
        self._skips = False

    def add(self, piece: bytes) -> Iterator[bytes]:
        """The lines that end in this piece."""
        *whole, rest = piece.split(b"\n")
        for part in whole:
            self._keep(part)
            if not self._skips:
                yield bytes(self._held)
            self._held.clear()
            self._skips = False
        self._keep(rest)

    def end(self) -> Iterator[bytes]:
        """The line that nothing ended."""
        if not self._skips:
            yield bytes(self._held)

    def _keep(self, part: bytes) -> None:
        if self._skips or len(self._held) + len(part) > LONGEST:
            self._skips = True
            self.unread += len(self._held) + len(part)
            self._held.clear()
        else:
            self._held += part


class Events:
    """A stream of server-sent events, whose data may stand on several lines. Lines end with any of the three ends."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._lost = 0
        self._data = bytearray()
        self._after_return = False

    @property
    def unread(self) -> int:
        """Bytes of lines and events that were too long."""
        return self._lines.unread + self._lost

    def add(self, piece: bytes) -> Iterator[bytes]:
        """The data of the events that end in this piece."""
        if self._after_return or b"\r" in piece:
            piece = self._with_one_end(piece)
        for line in self._lines.add(piece):
            yield from self._line(line)

    def end(self) -> Iterator[bytes]:
        """The data of the event that nothing ended."""
        for line in self._lines.end():
            yield from self._line(line)
        yield bytes(self._data)

    def _line(self, line: bytes) -> Iterator[bytes]:
        if not line:
            yield bytes(self._data)
            self._data.clear()
        elif line.removeprefix(b"\xef\xbb\xbf").startswith(b"data:"):
            self._keep(line.partition(b":")[2] + b"\n")

    def _keep(self, data: bytes) -> None:
        if len(self._data) + len(data) > LONGEST:
            self._lost += len(data)
        else:
            self._data += data

    def _with_one_end(self, piece: bytes) -> bytes:
        if self._after_return:
            piece = piece.removeprefix(b"\n")
        self._after_return = piece.endswith(b"\r")
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
