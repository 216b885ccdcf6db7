"""The way of one request through the application: what it hears, and what of its answer goes out."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from keisei.console.guard_closing import Closing
from keisei.console.guard_head import Head
from keisei.console.guard_header import dressed
from keisei.console.guard_rate import Streams
from keisei.console.guard_refusal import Answer, answer_of, later

HUNG_UP: Final[dict[str, Any]] = {"type": "http.disconnect"}
AGAIN_S: Final = 5.0
STREAM: Final = b"text/event-stream"


class Out:
    """An answer on its way out. Every one is dressed; one that would be a stream too many becomes a refusal."""

    def __init__(self, send: Any, head: Head, streams: Streams, *, with_hsts: bool) -> None:  # noqa: ANN401 - ASGI's
        """Nothing was sent."""
        self._send, self._head, self._streams, self._with_hsts = send, head, streams, with_hsts
        self.key = head.address
        self.has_begun = self.is_whole = self._is_stream = False
        self.dropped = asyncio.Event()

    async def __call__(self, message: Any) -> None:  # noqa: ANN401 - as above
        """Send what the application says. Raises ValueError for a header that would become two."""
        if self.dropped.is_set():
            return
        if message["type"] == "http.response.start":
            await self._start(message)
            return
        self.is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def _start(self, message: Any) -> None:  # noqa: ANN401 - as above
        headers = dressed(message.get("headers", ()), self._head, message["status"], with_hsts=self._with_hsts)
        if any(name == b"content-type" and value.startswith(STREAM) for name, value in headers):
            why = self._streams.enter(self.key)
            if why is not None:
                await self.answer(answer_of(later(AGAIN_S, why), is_api=True))
                self.dropped.set()
                return
            self._is_stream = True
        self.has_begun = True
        await self._send({**message, "headers": headers})

    async def answer(self, answer: Answer) -> None:
        """Send a whole answer."""
        told = {**answer.headers, "content-length": str(len(answer.body))}
        raw = [(name.encode("ascii"), value.encode("latin-1")) for name, value in told.items()]
        headers = dressed(raw, self._head, answer.status, with_hsts=self._with_hsts)
        self.has_begun = self.is_whole = True
        await self._send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await self._send({"type": "http.response.body", "body": answer.body})

    async def end(self) -> None:
        """Bring an answer that was broken off on purpose to its end, and give its place to others."""
        self.release()
        if self.has_begun and not self.is_whole:
            self.is_whole = True
            await self._send({"type": "http.response.body", "body": b""})

    def release(self) -> None:
        """Give its place to others, whatever happened."""
        if self._is_stream:
            self._is_stream = False
            self._streams.leave(self.key)


class Watch(NamedTuple):
    """What ends a request from this side."""

    closing: Closing
    knows: Callable[[], bool]
    """Whether whoever asked is still known."""
    every_s: float
    """How often that is asked."""


class Heard:
    """What the application hears: the body, and then that nobody listens any more.

    That is said as well when the console ends, or when whoever asked is no longer known: streams end by it.
    """

    def __init__(self, receive: Any, body: bytes, out: Out, watch: Watch) -> None:  # noqa: ANN401 - as above
        """Nothing was heard."""
        self._receive, self._body, self._out, self._watch = receive, body, out, watch
        self._is_told = False
        self.is_ended = False
        """Whether it was ended from this side."""

    async def __call__(self) -> Any:  # noqa: ANN401 - as above
        """The next thing."""
        if not self._is_told:
            self._is_told = True
            body, self._body = self._body, b""
            return {"type": "http.request", "body": body, "more_body": False}
        return await self._hung_up()

    async def _hung_up(self) -> Any:  # noqa: ANN401 - as above
        signs = [asyncio.ensure_future(self._watch.closing.wait()), asyncio.ensure_future(self._out.dropped.wait())]
        real = asyncio.ensure_future(self._receive())
        try:
            while True:
                done, _ = await asyncio.wait(
                    {real, *signs}, timeout=self._watch.every_s, return_when=asyncio.FIRST_COMPLETED
                )
                if real in done:
                    if real.result()["type"] == "http.disconnect":
                        return HUNG_UP
                    real = asyncio.ensure_future(self._receive())
                elif done or not self._watch.knows():
                    self.is_ended = True
                    return HUNG_UP
        finally:
            for each in (real, *signs):
                each.cancel()
