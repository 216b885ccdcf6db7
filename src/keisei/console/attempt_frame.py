"""Frames: what the stream of an attempt sends, event by event."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from keisei.console.attempt_tool import AttemptTool, tools_in
from keisei.console.tail import Piece
from keisei.console.templating import lines
from keisei.console.transcript import Said, said
from keisei.records.attempt import ExitStatus, TaskAttempt

Stage = Literal["preparing", "running", "verifying", "ended"]


class OutputFrame(Struct, frozen=True, kw_only=True):
    """Event `output`: a piece of what the program wrote."""

    stream: Literal["stdout", "stderr"]
    """Which stream."""
    offset: int
    """The place of its first byte."""
    end: int
    """The place behind its last byte."""
    skipped: int = 0
    """Bytes before it that are not told because there are too many; the evidence file has them."""
    text: str | None = None
    """What was written, with control characters shown; null where there are entries."""
    said: tuple[Said, ...] | None = None
    """Entries for people, where they are asked for."""


class GateFrame(Struct, frozen=True, kw_only=True):
    """Event `gate`: one tool call and what the gate answered."""

    end: int
    """The place in gate.jsonl behind it."""
    call: AttemptTool
    """The call."""


class StateFrame(Struct, frozen=True, kw_only=True):
    """Event `state`: how far the attempt has come. After `ended` nothing follows."""

    stage: Stage
    """How far."""
    ended: bool
    """Whether it is over."""
    exit_status: ExitStatus | None
    """How it ended."""


def stage_of(attempt: TaskAttempt) -> Stage:
    """How far an attempt has come."""
    if attempt.ended_at is not None:
        return "ended"
    if attempt.result_path is not None:
        return "verifying"
    return "running" if attempt.bundle_id is not None else "preparing"


def state_of(attempt: TaskAttempt) -> StateFrame:
    """The same, as it is sent."""
    return StateFrame(stage=stage_of(attempt), ended=attempt.ended_at is not None, exit_status=attempt.exit_status)


class Part(NamedTuple):
    """One event without its mark."""

    event: str
    end: int
    """The place behind it in its file."""
    data: bytes


def parts_of(piece: Piece, skipped: int, *, readable: bool) -> list[Part]:
    """A piece as events."""
    if piece.stream == "gate":
        return list(_calls(piece))
    is_said = readable and piece.stream == "stdout"
    told = OutputFrame(
        stream=piece.stream,
        offset=piece.start,
        end=piece.end,
        skipped=skipped,
        text=None if is_said else lines(piece.data.decode("utf-8", "replace")),
        said=said(piece.data) if is_said else None,
    )
    return [Part("output", piece.end, msgspec.json.encode(told))]


def _calls(piece: Piece) -> Iterator[Part]:
    place = piece.start
    for line in piece.data.splitlines(keepends=True):
        place += len(line)
        for call in tools_in(line):
            yield Part("gate", place, msgspec.json.encode(GateFrame(end=place, call=call)))
