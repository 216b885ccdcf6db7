"""Serving on a port of this machine alone. Whoever asks says a token; Host and Origin are checked by the SDK."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import uvicorn

from keisei.mcp.desk import Desk
from keisei.mcp.line import LONGEST
from keisei.mcp.server import AtomServer
from keisei.mcp.stdio import end_soon, hear, say_in_lines
from keisei.mcp.token import Refusals, is_bearer
from keisei.records.error import OperatorError

HOST: Final = "127.0.0.1"
PATH: Final = "/mcp"
SESSIONS: Final = 256
"""Clients of the handshake era that may be there at once."""
UNREAD: Final = 65_536
"""Bytes of a refused request that are read: a client that still sends when it is hung up on never sees the answer."""
PATIENCE_S: Final = 2.0
REFUSAL: Final = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the token is missing or wrong"}}'


def listen(port: int) -> socket.socket:
    """A socket that listens already; port 0 takes a free one. Raises OperatorError where it is taken."""
    try:
        line = socket.create_server((HOST, port))
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # asyncio forgets it here: 40 ms for each answer
    except (OSError, OverflowError) as error:
        why = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
        hint = "give another one with --port, or 0 for any that is free"
        raise OperatorError(f"port {port} of {HOST} cannot be used: {why}", hint) from error
    return line


def serve(desk: Desk, line: socket.socket, token: str) -> None:
    """Serve every client that says the token, until somebody asks us to end."""
    say_in_lines()
    server = AtomServer(desk)
    try:
        asyncio.run(_served(Guarded(server, token, Refusals(desk.refuse_token, time.monotonic)), server, line))
    finally:
        end_soon()
        server.close()


class Guarded:
    """The SDK's application behind a token. An ASGI application itself."""

    def __init__(self, server: AtomServer, token: str, refusals: Refusals) -> None:
        """Nothing is served yet."""
        self._app = server.sdk.streamable_http_app(
            streamable_http_path=PATH, host=HOST, max_request_body_size=LONGEST, max_sessions=SESSIONS
        )
        self._token, self._refusals = token, refusals

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - as ASGI has them
        """Pass a request on, or answer 401."""
        if scope["type"] == "http" and not is_bearer(dict(scope["headers"]).get(b"authorization"), self._token):
            await asyncio.to_thread(self._refusals.add, "the token is missing or wrong")
            await _read_off(receive)
            await _unauthorized(send)
            return
        await self._app(scope, receive, send)


async def _read_off(receive: Any) -> None:  # noqa: ANN401 - as above
    """Take the body of a request that nobody wants, as far as it is short and comes soon."""
    size, more = 0, True
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            while more and size <= UNREAD:
                piece = await receive()
                size, more = size + len(piece.get("body", b"")), piece.get("more_body", False)


async def _unauthorized(send: Any) -> None:  # noqa: ANN401 - as above
    length = str(len(REFUSAL)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", length)]
    headers += [(b"www-authenticate", b"Bearer"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": REFUSAL})


class _Uvicorn(uvicorn.Server):
    """One that leaves signals to us."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _served(app: Guarded, server: AtomServer, line: socket.socket) -> None:
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=65_536,
        limit_concurrency=1024,
    )
    served = _Uvicorn(config)

    def end() -> None:
        served.should_exit = True
        asyncio.get_running_loop().run_in_executor(None, server.close)

    hear(end)
    with suppress(asyncio.CancelledError):
        await served.serve(sockets=[line])
