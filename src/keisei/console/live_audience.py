"""Audiences: whoever follows one thing, looked after by one task for as long as anybody is there."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, Final, Generic, NamedTuple, TypeVar

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

T = TypeVar("T")
KEEP_ALIVE_S: Final = 15.0
KEEP_ALIVE: Final = b": still here\n\n"
AGAIN: Final = b"retry: 2000\n\n"
"""How long a browser waits before it comes again, in milliseconds."""

LAST: Final[dict[str, Any]] = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The id of the last event that was seen: it goes on from there.",
}
STREAMED: Final[dict[str, Any]] = {"text/event-stream": {"schema": {"type": "string"}}}
"""What the OpenAPI document tells of every stream."""
WRONG: Final[dict[int, str]] = {
    401: "the token is missing or wrong",
    403: "not allowed to whoever asks",
    404: "there is no such thing",
    405: "another method is meant",
    421: "this server does not answer for that host",
    422: "the request says something else than what can be asked",
    429: "too many requests, or too many streams",
    503: "the store or the disk is away; try again",
}
PROBLEMS: Final[dict[str, Any]] = {
    str(status): {
        "description": words,
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status, words in WRONG.items()
}
"""What it tells of everything that can go wrong."""


class Taken(NamedTuple, Generic[T]):
    """What has come for somebody since they last looked."""

    items: list[T]
    """In order."""
    missed: bool
    """There was more, or it began anew: where it stands now has to be asked."""


class Box(Generic[T]):
    """What waits for one viewer. It holds so much; with more it is emptied, and whoever looks is told."""

    def __init__(self, most: int) -> None:
        """Nothing came yet."""
        self._items: deque[T] = deque()
        self._most, self._missed, self._arrived = most, False, asyncio.Event()

    def put(self, items: Iterable[T]) -> None:
        """More, or nothing: it wakes whoever waits."""
        self._items.extend(items)
        if len(self._items) > self._most:
            self.miss()
        self._arrived.set()

    def miss(self) -> None:
        """What is in it counts no more."""
        self._items.clear()
        self._missed = True
        self._arrived.set()

    @property
    def is_waiting(self) -> bool:
        """Whether something is in it."""
        return self._arrived.is_set()

    async def take(self, within_s: float) -> Taken[T] | None:
        """Everything in it, waited for; None where nothing came within that time."""
        try:
            async with asyncio.timeout(within_s):
                await self._arrived.wait()
        except TimeoutError:
            return None
        found = Taken(list(self._items), self._missed)
        self._items.clear()
        self._missed = False
        self._arrived.clear()
        return found


class Audience(Generic[T]):
    """Everybody who follows one thing. All of it happens in one loop."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]], most: int, left: Callable[[], None]) -> None:
        """`work` goes on while anybody is there and is canceled then; `left` is said when the last one goes."""
        self._work, self._most, self._left = work, most, left
        self._boxes: set[Box[T]] = set()
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """How many there are."""
        return len(self._boxes)

    def join(self) -> Box[T]:
        """Somebody comes."""
        box: Box[T] = Box(self._most)
        self._boxes.add(box)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())
        return box

    def leave(self, box: Box[T]) -> None:
        """Somebody goes. Safe to say twice."""
        self._boxes.discard(box)
        if not self._boxes and self._task is not None:
            self._task.cancel()
            self._task = None
            self._left()

    def tell(self, items: Iterable[T]) -> None:
        """The same to all; nobody is waited for."""
        told = list(items)
        for box in self._boxes:
            box.put(told)

    def begin_anew(self) -> None:
        """All of them have to ask where it stands."""
        for box in self._boxes:
            box.miss()


class EventStream(StreamingResponse, Generic[T]):
    """Server-sent events to one viewer, who joins with the first byte and has left when it ends, however it ends."""

    media_type = "text/event-stream"

    def __init__(self, audience: Audience[T], frames: Callable[[Box[T]], AsyncIterator[bytes]]) -> None:
        """`frames` makes everything that is sent out of what waits for the viewer."""
        super().__init__((), headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        self._audience, self._frames = audience, frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until there is no more, or nobody listens."""
        box = self._audience.join()
        self.body_iterator = self._frames(box) if scope["method"] != "HEAD" else _nothing()
        try:
            with suppress(OSError):
                await super().__call__(scope, receive, send)
        finally:
            self._audience.leave(box)


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield


def frame(event: str, data: bytes, mark: str) -> bytes:
    """One event. The mark is what a client says when it comes again; the data is JSON, which has no line breaks."""
    return b"id: %b\nevent: %b\ndata: %b\n\n" % (mark.encode(), event.encode(), data)
