"""Serving: the application on a port, until somebody asks us to end. Nobody holds a connection by being slow."""

import asyncio
import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import uvicorn

from keisei.console.address import Address
from keisei.console.guard_closing import Closing
from keisei.console.server_line import Line, Patience
from keisei.records.error import OperatorError

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HEAD: Final = 32_768
"""Bytes of a request's head."""
LAST_S: Final = 5.0
"""When we were asked to end: what is not over after this time, requests and all, is left to the kernel."""


def listen(address: Address) -> socket.socket:
    """A socket that listens already. Raises OperatorError where the port is taken or the host is not ours."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    both = address.host == "::" and socket.has_dualstack_ipv6()
    try:
        line = socket.create_server((address.host, address.port), family=family, dualstack_ipv6=both)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio forgets it here: 40 ms for each answer
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        hint = "give another one with --port, or 0 for any that is free"
        raise OperatorError(f"port {address.port} of {address.host} cannot be used: {why}", hint) from error
    return line


def serve(  # noqa: PLR0913 - each says one thing, and most say none
    app: Any,  # noqa: ANN401 - as ASGI has it
    line: socket.socket,
    closing: Closing,
    *,
    tls: ssl.SSLContext | None = None,
    patience: Patience | None = None,
    ready: Callable[[], None] | None = None,
) -> None:
    """Serve until `closing` begins. In the main thread Ctrl-C, an order to end and a closed terminal begin it too.

    `app` is a `Guard` that was told of the same `closing`. `ready` is called once requests are answered.
    """
    asyncio.run(_served(app, line, closing, _Way(tls, patience or Patience(), ready)))


class _Way:
    """How it is served."""

    def __init__(self, tls: ssl.SSLContext | None, patience: Patience, ready: Callable[[], None] | None) -> None:
        self.tls, self.patience, self.ready = tls, patience, ready


class _Uvicorn(uvicorn.Server):
    """One that leaves signals to us, and waits for no handshake for long."""

    def __init__(self, config: uvicorn.Config, way: _Way) -> None:
        super().__init__(config)
        self._way = way

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does it for sockets, which has no word for the handshake's time."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            raise OperatorError("the console could not start", "its own output says more")
        loop, config = asyncio.get_running_loop(), self.config

        def line() -> Line:
            return Line(config, self.server_state, self.lifespan.state, self._way.patience)

        shake_s = self._way.patience.head_s if config.ssl is not None else None
        self.servers = [
            await loop.create_server(
                line, sock=each, ssl=config.ssl, backlog=config.backlog, ssl_handshake_timeout=shake_s
            )
            for each in sockets or ()
        ]
        self.started = True
        if self._way.ready is not None:
            self._way.ready()


async def _served(app: Any, line: socket.socket, closing: Closing, way: _Way) -> None:  # noqa: ANN401 - as above
    tls = way.tls
    config = uvicorn.Config(
        app,
        http=Line,
        ws="none",
        log_config=None,
        log_level="critical",  # what is wrong with a request is the asker's matter; our own faults the guard tells
        access_log=False,
        proxy_headers=False,  # nobody is believed who says where a request comes from
        lifespan="auto",
        server_header=False,
        timeout_graceful_shutdown=1,
        timeout_keep_alive=int(way.patience.idle_s),
        h11_max_incomplete_event_size=HEAD,
        ssl_context_factory=None if tls is None else lambda _config, _default: tls,
    )
    served = _Uvicorn(config, way)
    ending = asyncio.ensure_future(_ended(served, closing))
    last = threading.Timer(LAST_S, os._exit, (0,))
    last.daemon = True
    with _hearing(closing, last), suppress(asyncio.CancelledError):
        await served.serve(sockets=[line])
    ending.cancel()  # the last call stays: what is still under way in threads must end soon, too


async def _ended(served: uvicorn.Server, closing: Closing) -> None:
    await closing.wait()
    served.should_exit = True


@contextmanager
def _hearing(closing: Closing, last: threading.Timer) -> Iterator[None]:
    """Have signals begin the end, where that is ours to say."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def heard() -> None:
        if not closing.has_begun:
            last.start()
        closing.begin()

    numbers = [each for each in SIGNALS if signal.getsignal(each) != signal.SIG_IGN]  # `nohup` says: go on
    for number in numbers:
        loop.add_signal_handler(number, heard)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
