"""What an attempt has told so far: its output, its tool calls, and from where on both are followed."""

from contextlib import closing
from typing import Final

from msgspec import Struct

from keisei.console.attempt_tool import AttemptTool, tools_in
from keisei.console.premises import Premises
from keisei.console.tail import Piece, Places, Stream, Tail
from keisei.console.templating import lines
from keisei.console.transcript import Said, said
from keisei.records.attempt import TaskAttempt

MOST: Final = 200
"""Tool calls on one page; the newest."""


class AttemptText(Struct, frozen=True, kw_only=True):
    """The end of a stream."""

    text: str
    """What was written, with control characters shown."""
    start: int
    """The place of its first byte in the file; there is so much before it."""
    end: int
    """The place behind its last byte: the stream of the attempt goes on from there."""


class AttemptOutput(Struct, frozen=True, kw_only=True):
    """What the program has written."""

    stdout: AttemptText
    """Standard output."""
    stderr: AttemptText
    """Standard error."""
    said: tuple[Said, ...] | None
    """Standard output for people, where it is JSON lines; null where it is plain text."""


class AttemptTools(Struct, frozen=True, kw_only=True):
    """What the agent's tool calls were answered."""

    calls: tuple[AttemptTool, ...]
    """The calls, oldest first; of many the newest."""
    earlier: bool
    """There are earlier ones; gate.jsonl has all."""
    end: int
    """The place in gate.jsonl behind the last: the stream of the attempt goes on from there."""


def told_so_far(premises: Premises, attempt: TaskAttempt) -> tuple[AttemptOutput, AttemptTools]:
    """Output and calls up to now. What the disk does not give is empty."""
    with closing(Tail(premises, attempt)) as tail:
        try:
            ends = tail.ends(ended=attempt.ended_at is not None)
            pieces = {piece.stream: piece for piece in tail.between(Places(), ends)}
        except OSError:
            ends, pieces = Places(), {}
    text = {stream: _text(pieces.get(stream), ends.at(stream)) for stream in ("stdout", "stderr")}
    told = said(pieces["stdout"].data if "stdout" in pieces else b"") if tail.is_readable else None
    return AttemptOutput(stdout=text["stdout"], stderr=text["stderr"], said=told), _tools(pieces, ends)


def _text(piece: Piece | None, end: int) -> AttemptText:
    if piece is None:
        return AttemptText(text="", start=end, end=end)
    return AttemptText(text=lines(piece.data.decode("utf-8", "replace")), start=piece.start, end=end)


def _tools(pieces: dict[Stream, Piece], ends: Places) -> AttemptTools:
    piece = pieces.get("gate")
    found = tools_in(piece.data) if piece is not None else []
    earlier = len(found) > MOST or (piece is not None and piece.start > 0)
    return AttemptTools(calls=tuple(found[-MOST:]), earlier=earlier, end=ends.gate)
