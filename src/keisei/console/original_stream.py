"""The original's stream: how things stand, once, and then events as they happen.

One task looks for everybody who follows it, and only when the console's own look has found something new.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from keisei.console.live import OVERLAP, watch_of
from keisei.console.live_audience import AGAIN, KEEP_ALIVE, KEEP_ALIVE_S, Audience, Box, EventStream, frame
from keisei.console.original_shape import dashboard, news
from keisei.console.premises import Premises
from keisei.engine.ports import Store
from keisei.records.error import KeiseiError
from keisei.records.event import RuntimeEvent
from keisei.records.move import EventQuery

PAGE: Final = 50
"""Events of one message, as in the original."""
WAITING: Final = 16
"""Messages that wait for one viewer; with more of them it is told anew how things stand."""
AWAY_S: Final = 1.0
"""How soon a store that is away is asked again."""
log = logging.getLogger("keisei.console")


class Reader:
    """Reads every event once, also one that shows later than its number says, as with several writers."""

    def __init__(self, store: Store) -> None:
        """Take everything that is there for read."""
        self._store = store
        self._seen = frozenset(each.id for each in store.events(EventQuery(newest=True, limit=OVERLAP)))
        self.last = max(self._seen, default=0)
        """The newest that was read."""

    def more(self) -> list[RuntimeEvent]:
        """New events, oldest first, and not too many at once."""
        events = self._store.events(EventQuery(after=max(0, self.last - OVERLAP), limit=OVERLAP + PAGE))
        fresh = [each for each in events if each.id not in self._seen][:PAGE]
        self._seen = frozenset(each for each in self._seen if each > self.last - 2 * OVERLAP)
        self._seen |= {each.id for each in fresh}
        self.last = max(self.last, *(each.id for each in fresh), 0)
        return fresh


class Feed:
    """What is told to everybody who follows the stream."""

    def __init__(self, app: Starlette) -> None:
        """Nobody follows it yet."""
        self._app = app
        self._premises: Premises = app.state.premises
        self.audience: Audience[bytes] = Audience(self._work, WAITING, self._left)
        self.begun = asyncio.Event()
        """Whatever happens from now on will be told."""

    def _left(self) -> None:
        self.begun = asyncio.Event()

    async def _work(self) -> None:
        watch = watch_of(self._app)
        box, is_away = watch.audience.join(), False
        reader: Reader | None = None
        try:
            while True:
                try:
                    if reader is None:
                        reader = await run_in_threadpool(Reader, self._premises.store)
                        self.begun.set()
                        if is_away:  # what happened meanwhile is not told one by one
                            self.audience.begin_anew()
                    while told := await run_in_threadpool(self._told, reader):
                        self.audience.tell([told])
                    is_away = False
                except Exception:
                    if not is_away:
                        log.exception("the console cannot look for events")
                    is_away, reader = True, None
                await box.take(KEEP_ALIVE_S if reader is not None else AWAY_S)
        finally:
            watch.audience.leave(box)

    def _told(self, reader: Reader) -> bytes | None:
        found = reader.more()
        if not found:
            return None
        return frame("events", msgspec.json.encode(news(self._premises, found)), str(reader.last))

    async def frames(self, box: Box[bytes]) -> AsyncIterator[bytes]:
        """Everything for one viewer; it ends where nothing can be told, and whoever follows it comes again."""
        yield AGAIN
        await self.begun.wait()
        with suppress(KeiseiError):
            yield await self._standing()
            while True:
                taken = await box.take(KEEP_ALIVE_S)
                if taken is None:
                    yield KEEP_ALIVE
                elif taken.missed:
                    yield await self._standing()
                else:
                    yield b"".join(taken.items)

    async def _standing(self) -> bytes:
        told = await run_in_threadpool(dashboard, self._premises)
        return b"event: dashboard\ndata: %b\n\n" % msgspec.json.encode(told)


def feed_of(app: Starlette) -> Feed:
    """What tells the viewers of an application."""
    found: Feed | None = getattr(app.state, "feed", None)
    if found is None:
        found = app.state.feed = Feed(app)
    return found


async def stream(request: Request) -> Response:
    """How things stand, and then events as they happen."""
    feed = feed_of(request.app)
    return EventStream(feed.audience, feed.frames)
