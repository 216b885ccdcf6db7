"""Live: which pages have something new. One look for all viewers, and none where nobody looks."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import timedelta
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

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
from keisei.console.live_library import library_mark
from keisei.console.live_topic import ALL, LIBRARY, SILENT, topic, topics_of
from keisei.console.page import API
from keisei.console.premises import Premises
from keisei.records.error import KeiseiError
from keisei.records.event import RuntimeEvent
from keisei.records.ledger import LedgerEntry
from keisei.records.move import AttemptQuery, EntryQuery, EventQuery

LOOK_S: Final = 0.5
OPEN_S: Final = 1.0
"""How often open attempts are looked at: no event tells that a harness has returned."""
BEAT_S: Final = 5.0
"""How often heartbeats of runners are news, and how often authored files are looked at."""
REST: Final = 50
"""Looks at authored files take one part of so many of a processor's time, however many files there are."""
FRESH_S: Final = 10.0
"""What happened so shortly before somebody comes is told again: their page may have been made before it."""
PAGE: Final = 1000
"""Events that are read at once; with more of them everything counts as changed."""
OVERLAP: Final = 64
"""Events that are read again: with several writers an earlier number can show later."""
MOST: Final = 200
"""Topics that are named in one message."""
WAITING: Final = 16
"""Messages that wait for one viewer."""
log = logging.getLogger("keisei.console")


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """What a message says."""

    topics: tuple[str, ...]
    """What has something new; `*` is everything."""
    event: int
    """The newest event that is counted in."""


class Look:
    """What was seen, from the first who came until the last has gone. Any number of threads may ask.

    Whatever happens after its beginning is told by `more`; what happened before, by `since`.
    """

    def __init__(self, premises: Premises) -> None:
        """Nothing was looked at yet."""
        self._premises, self._store = premises, premises.store
        self._turn, self._has_begun = threading.Lock(), False
        self.last = 0
        """The newest event that is counted in."""
        self._seen, self._ledger = frozenset[int](), 0
        self._found: set[str] = set()
        """What has something new and is not told yet: where the store goes away halfway, it is told next time."""
        self._known: dict[str, object] = {}
        self._due: dict[str, float] = {}

    def more(self) -> set[str]:
        """What has something new since it was last asked; the first time, nothing. Raises what the store raises."""
        with self._turn:
            if not self._has_begun:
                self._begin()
                return set()
            self._found |= topics_of(self._new_events())
            for each in self._moved():
                self._found.add(each)
            if (end := _place(self._newest_entry())) > self._ledger:
                self._ledger = end
                self._found.add("ledger")
            found, self._found = self._found, set()
            return set(ALL) if len(found) > MOST else found

    def since(self, mark: str) -> tuple[set[str], int]:
        """What somebody has missed who comes, or comes again with the mark of the last message, and a new mark."""
        with self._turn:
            if not self._has_begun:
                self._begin()
        newest = self._store.events(EventQuery(newest=True, limit=OVERLAP))
        end = newest[-1].id if newest else 0
        if not mark.isdecimal() or not mark.isascii() or len(mark) > 18:  # noqa: PLR2004 - digits of a large number
            return self._fresh(newest), end
        missed = self._store.events(EventQuery(after=int(mark), limit=PAGE))
        found = {*topics_of(missed), *SILENT, *self._open()}
        many = len(missed) >= PAGE or len(found) > MOST or int(mark) > end
        return (set(ALL) if many else found), end

    def _fresh(self, newest: list[RuntimeEvent]) -> set[str]:
        """What happened a moment ago, as far as it is known: there may be more than was read."""
        start = self._store.now() - timedelta(seconds=FRESH_S)
        if len(newest) == OVERLAP and newest[0].created_at >= start:
            return set(ALL)
        found = topics_of(each for each in newest if each.created_at >= start)
        entry = self._newest_entry()
        return found | {"ledger"} if entry is not None and entry.recorded_at >= start else found

    def _begin(self) -> None:
        """Take everything as it is for known."""
        events = self._store.events(EventQuery(newest=True, limit=OVERLAP))
        self._seen = frozenset(each.id for each in events)
        self.last = max(self._seen, default=0)
        self._ledger = _place(self._newest_entry())
        self._known, self._due = {}, {}
        set(self._moved())
        self._has_begun = True

    def _newest_entry(self) -> LedgerEntry | None:
        return next(iter(self._store.find_entries(EntryQuery(limit=1))), None)

    def _new_events(self) -> list[RuntimeEvent]:
        events = self._store.events(EventQuery(after=max(0, self.last - OVERLAP), limit=PAGE))
        fresh = [each for each in events if each.id not in self._seen]
        self.last = max((each.id for each in events), default=self.last)
        self._seen = frozenset(each.id for each in events[-2 * OVERLAP :])
        return fresh

    def _open(self) -> dict[str, tuple[object, ...]]:
        """Attempts that run, by topic, with what changes of them without an event."""
        attempts = self._store.find_attempts(AttemptQuery(open=True, limit=MOST))
        return {topic("attempt", each.attempt_id): (each.result_path, each.bundle_id) for each in attempts}

    def _moved(self) -> Iterator[str]:
        """What moves without an event."""
        if self._is_due("open", OPEN_S):
            now, before = self._open(), self._known.get("open")
            if isinstance(before, dict) and before != now:
                yield "attempts"
                yield from (each for each in {*before, *now} if before.get(each) != now.get(each))
            self._known["open"] = now
        if self._is_due("runners", BEAT_S):
            beats = [(each.runner_id, each.state, each.heartbeat_at) for each in self._store.runners()]
            if self._known.setdefault("runners", beats) != beats:
                yield "runners"
            self._known["runners"] = beats
        if self._is_due(LIBRARY, BEAT_S):
            began = time.thread_time()
            mark = library_mark(self._premises)
            self._due[LIBRARY] += REST * (time.thread_time() - began)
            if self._known.setdefault(LIBRARY, mark) != mark:
                yield LIBRARY
            self._known[LIBRARY] = mark

    def _is_due(self, what: str, every_s: float) -> bool:
        now = time.monotonic()
        if now < self._due.get(what, 0.0):
            return False
        self._due[what] = now + every_s
        return True


def _place(entry: LedgerEntry | None) -> int:
    return 0 if entry is None else entry.seq


class Watch:
    """Looks for all viewers of one console. All but the looking happens in one loop."""

    def __init__(self, premises: Premises) -> None:
        """Nobody looks yet."""
        self._premises = premises
        self.audience: Audience[bytes] = Audience(self._work, WAITING, self._left)
        self.look = Look(premises)
        self.looks = 0
        """How often it has looked."""
        self._owed: set[Box[bytes]] = set()
        """Viewers who could not be told what they have missed."""
        self._is_away = False

    def _left(self) -> None:
        """Whoever comes next is looked for anew: a look that still goes on takes nothing from them."""
        self.look = Look(self._premises)
        self._owed.clear()

    async def _work(self) -> None:
        look = self.look
        while True:
            try:
                topics = await run_in_threadpool(look.more)
            except Exception as error:  # noqa: BLE001 - it looks again
                self._fail(error)
            else:
                self.looks += 1
                self._is_away = False
                if topics:
                    self.audience.tell([told(topics, look.last)])
                while self._owed:
                    self._owed.pop().miss()
            await asyncio.sleep(LOOK_S)

    async def first(self, box: Box[bytes], mark: str) -> bytes | None:
        """What somebody is told who comes; None where that is not known now, and they are told `*` later."""
        try:
            return told(*await run_in_threadpool(self.look.since, mark))
        except Exception as error:  # noqa: BLE001 - whoever comes while the store is away stays
            self._fail(error)
            self._owed.add(box)
            return None

    def _fail(self, error: Exception) -> None:
        """Say it once, until it goes well again."""
        if not self._is_away:
            known = isinstance(error, KeiseiError)
            log.error("the console cannot look for news: %s", error, exc_info=None if known else error)
        self._is_away = True


def told(topics: Iterable[str], event: int) -> bytes:
    """The message."""
    return frame("changed", msgspec.json.encode(Changed(topics=tuple(sorted(topics)), event=event)), str(event))


async def frames(watch: Watch, box: Box[bytes], mark: str) -> AsyncIterator[bytes]:
    """Everything for one viewer, who comes again where there is a mark."""
    yield AGAIN
    if (first := await watch.first(box, mark)) is not None:
        yield first
    while True:
        taken = await box.take(KEEP_ALIVE_S)
        if taken is None:
            yield KEEP_ALIVE
        elif taken.missed:
            yield told(ALL, watch.look.last)
        else:
            yield b"".join(taken.items)


def watch_of(app: Starlette) -> Watch:
    """What looks for the viewers of an application."""
    found: Watch | None = getattr(app.state, "watch", None)
    if found is None:
        found = app.state.watch = Watch(app.state.premises)
    return found


async def stream(request: Request) -> Response:
    """Which pages have something new, as it happens."""
    watch = watch_of(request.app)
    mark = request.headers.get("last-event-id") or request.query_params.get("after", "")
    return EventStream(watch.audience, lambda box: frames(watch, box, mark))


ROUTES: Final[tuple[BaseRoute, ...]] = (Route(f"{API}/stream", stream, methods=["GET"]),)
EXTRA_PATHS: Final[dict[str, Any]] = {
    f"{API}/stream": {
        "get": {
            "operationId": "follow_everything",
            "summary": "Which pages have something new, as it happens",
            "description": "Server-sent events `changed` with data "
            '`{"topics": ["tasks", "task:ID", ...], "event": ID}`; the topic `*` is everything. It never ends.',
            "tags": ["live"],
            "parameters": [LAST, {**LAST, "name": "after", "in": "query"}],
            "responses": {"200": {"description": "events without end", "content": STREAMED}, **PROBLEMS},
        }
    }
}
