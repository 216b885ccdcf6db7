"""Lines: one connection each, with a clock on everything that the other side could draw out."""

import asyncio
from typing import Any, Final, Literal

import h11
from msgspec import Struct
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

from keisei.console.guard_header import FIXED

Wait = Literal["head", "idle", "rest", "close"]
"""For what is waited: a head, another request, the rest of a body that nobody wants, the last bytes going out."""


class Patience(Struct, frozen=True, kw_only=True):
    """How long is too long."""

    head_s: float = 10.0
    """From the connection, or a request's first byte, to the end of its head."""
    idle_s: float = 30.0
    """Between two requests."""
    rest_s: float = 2.0
    """For a body that is read no further: who still sends when we hang up never sees the answer."""
    close_s: float = 10.0
    """For the last bytes to go out."""
    stuck_s: float = 30.0
    """For somebody who reads nothing of what waits for them."""
    lines: int = 512
    """Connections at once."""


def _raw(status: str, text: str) -> bytes:
    """A whole answer where no application is asked."""
    told = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(text)).encode())]
    told += [*FIXED, (b"cache-control", b"no-store"), (b"connection", b"close")]
    head = b"".join(name + b": " + value + b"\r\n" for name, value in told)
    return f"HTTP/1.1 {status}\r\n".encode() + head + b"\r\n" + text.encode()


BAD: Final = _raw("400 Bad Request", "this is no request\n")
SLOW: Final = _raw("408 Request Timeout", "the request did not come in time\n")
FULL: Final = _raw("503 Service Unavailable", "too many connections\n")


class Line(H11Protocol):
    """One connection."""

    def __init__(
        self, config: Config, server_state: ServerState, app_state: dict[str, Any], patience: Patience
    ) -> None:
        """Not connected yet."""
        super().__init__(config, server_state, app_state)
        self._patience = patience
        self._wait: Wait | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None

    # --- what the transport says

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin the clock; where there are too many, the one that is quiet longest goes, or this one."""
        super().connection_made(transport)
        if len(self.connections) > self._patience.lines and not self._make_room():
            self._hang_up(FULL)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop every clock."""
        for clock in (self._clock, self._stuck):
            if clock is not None:
                clock.cancel()
        self._clock = self._stuck = None
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Nothing is read there for now."""
        super().pause_writing()
        if self._stuck is None:
            self._stuck = self.loop.call_later(self._patience.stuck_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Something was."""
        super().resume_writing()
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None

    # --- what uvicorn says

    def data_received(self, data: bytes) -> None:
        """Nothing more is read once we hang up."""
        if not self.transport.is_closing():
            super().data_received(data)

    def handle_events(self) -> None:
        """Read what came, and see for what is waited now."""
        super().handle_events()
        self._watch()

    def on_response_complete(self) -> None:
        """As above."""
        super().on_response_complete()
        self._watch()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - nobody is told more
        """What came is no request. Where an answer is on its way it is broken off: whoever reads it sees that."""
        cycle = self._last()
        is_silent = cycle is None or cycle.response_complete or not cycle.response_started
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        self._hang_up(BAD if is_silent else b"")

    def timeout_keep_alive_handler(self) -> None:
        """Nothing: our own clock says when."""

    # --- the clock

    def _awaited(self) -> Wait | None:
        """For what the other side lets us wait; None while it is our turn."""
        if self.transport.is_closing():
            return "close"
        theirs, last = self.conn.their_state, self._last()
        if theirs is h11.IDLE:
            return "head" if last is None or self.conn.trailing_data[0] else "idle"
        is_over = last is not None and last.response_complete
        return "rest" if theirs is h11.SEND_BODY and is_over else None

    def _last(self) -> RequestResponseCycle | None:
        """The last request and its answer; None before the first."""
        return self.cycle

    def _watch(self) -> None:
        wait = self._awaited()
        if wait == self._wait:
            return
        self._wait = wait
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        if wait is not None:
            self._clock = self.loop.call_later(getattr(self._patience, f"{wait}_s"), self._over)

    def _over(self) -> None:
        """Time is up."""
        self._clock = None
        if self._wait == "close":
            self.transport.abort()
        else:
            self._hang_up(SLOW if self._wait == "head" else b"")

    def _hang_up(self, last: bytes) -> None:
        if last:
            self.transport.write(last)
        self.transport.close()
        self._watch()

    def _make_room(self) -> bool:
        """Have somebody go who says nothing. Whether there was one."""
        for each in list(self.connections):
            if isinstance(each, Line) and each is not self and each._wait == "idle":  # noqa: SLF001 - one of us
                each._hang_up(b"")  # noqa: SLF001 - as above
                return True
        return False
