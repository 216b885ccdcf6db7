"""An attempt while it runs: its output, its tool calls and its stage, as they come. Its files are read once for all."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from keisei.console.answer import failed, wrong
from keisei.console.asking import Key, from_words
from keisei.console.attempt_frame import Part, StateFrame, parts_of, state_of
from keisei.console.live_audience import (
    AGAIN,
    KEEP_ALIVE,
    KEEP_ALIVE_S,
    LAST,
    PROBLEMS,
    STREAMED,
    Audience,
    Box,
    EventStream,
    frame,
)
from keisei.console.page import Missing
from keisei.console.premises import Premises
from keisei.console.tail import Piece, Places, Stream, Tail
from keisei.records.attempt import TaskAttempt
from keisei.records.error import KeiseiError
from keisei.records.id import AttemptId

LOOK_S: Final = 0.2
WAITING: Final = 32
"""Pieces that wait for one viewer."""
Place = Annotated[int, Meta(ge=0, le=2**53)]
MARK: Final = re.compile(r"([0-9]{1,15})-([0-9]{1,15})-([0-9]{1,15})")
log = logging.getLogger("keisei.console")


class AttemptStreamAsk(Struct, frozen=True, kw_only=True):
    """From where on an attempt is followed. Whoever comes again says the id of the last event instead."""

    attempt_id: Key
    """Which attempt."""
    stdout: Place = 0
    """The byte of standard output to begin with."""
    stderr: Place = 0
    """The byte of standard error to begin with."""
    gate: Place = 0
    """The byte of gate.jsonl to begin with."""
    readable: bool = False
    """Entries for people instead of text, where standard output is JSON lines."""


def known_attempt(premises: Premises, attempt_id: str) -> TaskAttempt:
    """The attempt. Raises Missing."""
    found = premises.store.attempt(AttemptId(attempt_id))
    if found is None:
        raise Missing(f"no attempt has the id `{attempt_id[:100]}`", "/attempts lists all")
    return found


class Tailer:
    """Reads one attempt for everybody who looks at it."""

    def __init__(self, premises: Premises, attempt: TaskAttempt, left: Callable[[], object]) -> None:
        """Nobody looks yet; `left` is said when nobody does any more."""
        self._premises, self._attempt, self._left = premises, attempt, left
        self.tail = Tail(premises, attempt)
        self.audience: Audience[Piece] = Audience(self._work, WAITING, self._gone)
        self.places: Places | None = None
        """How far it was told to all; None before the first look."""
        self.state = state_of(attempt)
        self.finished = False
        """Whether nothing will come any more."""
        self.looks = 0
        """How often it has looked."""
        self._parts: dict[tuple[Piece, bool], list[Part]] = {}

    async def _work(self) -> None:
        is_away = False
        while not self.finished:
            try:
                await self._look()
                is_away = False
            except Exception:
                if not is_away:
                    log.exception("an attempt cannot be followed")
                is_away = True
            await asyncio.sleep(LOOK_S)

    async def _look(self) -> None:
        """What is new goes to all, and in the same breath they are told how far that is."""
        self.looks += 1
        self._parts.clear()
        attempt = await run_in_threadpool(known_attempt, self._premises, self._attempt.attempt_id)
        ended = attempt.ended_at is not None
        if self.places is None:
            self.places = await run_in_threadpool(self.tail.ends, ended=ended)
            self.state, self.finished = state_of(attempt), ended
            self.audience.begin_anew()
            return
        pieces = await run_in_threadpool(self.tail.news, self.places, ended=ended)
        for piece in pieces:
            self.places = self.places.moved(piece.stream, piece.end)
        finished, state = ended and not pieces, state_of(attempt)
        if not finished and state.ended:
            state = self.state  # the end is told last
        if pieces or finished or state != self.state:
            self.state, self.finished = state, finished
            self.audience.tell(pieces)

    def parts(self, piece: Piece, *, readable: bool) -> list[Part]:
        """The piece as events; made once for all who look at the same time."""
        found = self._parts.get((piece, readable))
        if found is None:
            found = self._parts[piece, readable] = parts_of(piece, 0, readable=readable)
        return found

    def _gone(self) -> None:
        self.tail.close()
        self._left()


class _Viewer:
    """One viewer: how far they have come."""

    def __init__(self, tailer: Tailer, asks: AttemptStreamAsk, box: Box[Piece], places: Places) -> None:
        self._tailer, self._box, self._places = tailer, box, places
        self._readable = asks.readable and tailer.tail.is_readable
        self._state: StateFrame | None = None

    async def frames(self) -> AsyncIterator[bytes]:
        """Everything for this viewer. The end is told when nothing else waits."""
        yield AGAIN
        tailer, box = self._tailer, self._box
        missed, pieces = True, list[Piece]()
        while True:
            if missed and tailer.places is not None:
                pieces = await run_in_threadpool(tailer.tail.between, self._places, tailer.places)
            told = b"".join(map(self._told, pieces))
            if tailer.places is not None and not box.is_waiting:
                told += self._stage()
            if told:
                yield told
            if self._state is not None and self._state.ended:
                return
            while (taken := await box.take(KEEP_ALIVE_S)) is None:
                yield KEEP_ALIVE
            pieces, missed = taken.items, taken.missed

    def _told(self, piece: Piece) -> bytes:
        """The piece, as far as the viewer has not had it."""
        place = self._places.at(piece.stream)
        if piece.end <= place:
            return b""
        if piece.start < place:
            piece = Piece(piece.stream, place, piece.data[place - piece.start :])
        if piece.start == place:
            parts = self._tailer.parts(piece, readable=self._readable)
        else:
            parts = parts_of(piece, piece.start - place, readable=self._readable)
        frames = [frame(part.event, part.data, self._mark(piece.stream, part.end)) for part in parts]
        self._places = self._places.moved(piece.stream, piece.end)
        return b"".join(frames)

    def _stage(self) -> bytes:
        if self._state == self._tailer.state:
            return b""
        self._state = self._tailer.state
        return frame("state", msgspec.json.encode(self._state), "-".join(map(str, self._places)))

    def _mark(self, stream: Stream, end: int) -> str:
        return "-".join(map(str, self._places.moved(stream, end)))


def tailer_of(app: Starlette, attempt: TaskAttempt) -> Tailer:
    """What reads an attempt for the viewers of an application. One for all of them."""
    found: dict[str, Tailer] | None = getattr(app.state, "tailers", None)
    if found is None:
        found = app.state.tailers = {}
    known = found.get(attempt.attempt_id)
    if known is None:
        known = Tailer(app.state.premises, attempt, lambda: found.pop(attempt.attempt_id, None))
        found[attempt.attempt_id] = known
    return known


async def follow(request: Request) -> Response:
    """Follow one attempt."""
    try:
        asks = from_words(AttemptStreamAsk, request.query_params.multi_items(), request.path_params, strict=True)
        attempt = await run_in_threadpool(known_attempt, request.app.state.premises, asks.attempt_id)
    except KeiseiError as error:
        return await run_in_threadpool(failed, request, wrong(error))
    places = places_of(request.headers.get("last-event-id", "")) or Places(asks.stdout, asks.stderr, asks.gate)
    tailer = tailer_of(request.app, attempt)
    return EventStream(tailer.audience, lambda box: _Viewer(tailer, asks, box, places).frames())


def places_of(mark: str) -> Places | None:
    """How far somebody has come who comes again; None for what is no mark of ours."""
    found = MARK.fullmatch(mark)
    return None if found is None else Places(*map(int, found.groups()))


def described() -> dict[str, Any]:
    """What the OpenAPI document tells of it."""
    place = {"type": "integer", "minimum": 0, "maximum": 2**53}
    asked = [{"name": name, "in": "query", "required": False, "schema": place} for name in Places._fields]
    return {
        "operationId": "follow_attempt",
        "summary": "Output, tool calls and stage of one attempt, as they come",
        "description": "Server-sent events. `output`: `{stream, offset, end, skipped, text | said}`; `gate`: "
        "`{end, call}`; `state`: `{stage, ended, exit_status}`. `stdout`, `stderr` and `gate` are bytes of the "
        "evidence files to begin with; `skipped` bytes are left out of a flood. It ends after the state `ended`.",
        "tags": ["attempts"],
        "parameters": [
            {"name": "attempt_id", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}},
            *asked,
            {"name": "readable", "in": "query", "required": False, "schema": {"type": "boolean"}},
            LAST,
        ],
        "responses": {"200": {"description": "events until the attempt has ended", "content": STREAMED}, **PROBLEMS},
    }
