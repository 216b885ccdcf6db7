"""A fortress for tests: a real server on a real socket, the guard, and an application that counts who came."""

import asyncio
import socket
import threading
from contextlib import contextmanager
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from keisei.console.address import address
from keisei.console.guard import Guard, GuardConfig, Limits
from keisei.console.guard_closing import Closing
from keisei.console.key import open_keys
from keisei.console.link import make_link
from keisei.console.server import listen, serve
from keisei.console.server_line import Patience
from keisei.console.session import cookie_name, csrf_of, new_session, signed

WAIT_S = 20
"""Longer than anything takes; only a test that fails waits so long."""


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: dict
    body: bytes


class Fortress:
    """What stands behind the guard, and what has come there."""

    def __init__(self, folder, **limits):
        self.home, self.reached, self.attempts, self.bugs = folder / "a state", [], [], []
        self.static = folder / "static"
        self.static.mkdir(parents=True)
        (self.static / "app.css").write_text("body{}")
        (folder / "secret").write_text("secret")
        self.moment, self.is_frozen, self.now = 0.0, False, 1_800_000_000.0
        self.closing, self.opened = Closing(), threading.Event()
        self.line = listen(address(port=0))
        self.port = self.line.getsockname()[1]
        self.address = address().at(self.port)
        self.origin = f"http://127.0.0.1:{self.port}"
        self.config = GuardConfig(
            home_folder=self.home,
            address=self.address,
            account="somebody",
            limits=Limits(**{"body_s": 0.3, "watch_s": 0.05, **limits}),
            closing=self.closing,
            refused=self.attempts.append,
            broken=self.bugs.append,
            viewer_may=lambda _method, path: path == "/api/v1/look",
            clock=self._clock,
            now=lambda: self.now,
        )
        self.guard = Guard(self._application(), self.config)
        self.keys = open_keys(self.home)

    def _clock(self):
        self.moment += 0 if self.is_frozen else 100  # nobody is ever too quick, unless a test says so
        return self.moment

    def _application(self):
        async def any_(request):
            body = await request.body()
            visitor = request.state.visitor
            self.reached.append((request.method, request.url.path, visitor and visitor.role, body))
            told = {"role": visitor and visitor.role, "actor": visitor and visitor.actor, "scheme": request.url.scheme}
            return JSONResponse(told, headers={"Server": "mine", "X-Frame-Options": "ALLOWALL"})

        async def stream(request):
            self.reached.append(("GET", request.url.path, request.state.visitor.role, b""))

            async def beats():
                yield b": hello\n\n"
                await asyncio.Event().wait()

            return StreamingResponse(beats(), media_type="text/event-stream")

        async def broken(_request):
            message = "secret words"
            raise RuntimeError(message)

        async def injecting(request):
            answer = PlainTextResponse("ok")
            answer.raw_headers.append((b"location", request.query_params["to"].encode()))
            return answer

        async def half(_request):
            async def pieces():
                yield b"half"
                message = "secret words"
                raise RuntimeError(message)

            return Response() if self.is_frozen else StreamingResponse(pieces())

        methods = ["GET", "POST", "PUT", "DELETE", "OPTIONS"]
        return Starlette(
            routes=[
                Route("/api/v1/stream", stream),
                Route("/broken", broken),
                Route("/api/v1/broken", broken),
                Route("/injecting", injecting),
                Route("/half", half),
                Mount("/static", StaticFiles(directory=self.static)),
                Route("/{path:path}", any_, methods=methods),
            ]
        )

    # --- asking

    def connect(self):
        line = socket.create_connection(("127.0.0.1", self.port), WAIT_S)
        line.settimeout(WAIT_S)
        return line

    def raw(self, data):
        """Whatever comes back for these bytes, until the other side hangs up."""
        with self.connect() as line:
            line.sendall(data)
            return read(line)

    def ask(self, method, path, headers=(), body=b"", *, host=None):
        """One request as a program sends it; `headers` may say anything, twice as well."""
        told = [
            ("Host", host or f"127.0.0.1:{self.port}"),
            *(headers.items() if isinstance(headers, dict) else headers),
        ]
        if body and not any(name.lower() in ("content-length", "transfer-encoding") for name, _ in told):
            told.append(("Content-Length", str(len(body))))
        head = "".join(f"{name}: {value}\r\n" for name, value in [*told, ("Connection", "close")])
        return self.raw(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body)

    def bearer(self, role="operator"):
        return {"Authorization": f"Bearer {getattr(self.keys, role)}"}

    def session(self, role="operator", *, at=None, key=None):
        """A cookie and the token of its forms."""
        session = new_session(role, self.now if at is None else at)
        key = key or self.keys.key
        return signed(session, key), csrf_of(session, key)

    @property
    def cookie(self):
        return cookie_name(self.home, is_tls=False)

    def browser(self, role="operator", **more):
        """Headers of a browser with a session that posts from one of our pages; None leaves one out."""
        cookie, csrf = self.session(role)
        told = {"Cookie": f"{self.cookie}={cookie}", "Origin": self.origin, "Sec-Fetch-Site": "same-origin"}
        told |= {"X-CSRF-Token": csrf, "Content-Type": "application/json"}
        told |= {name.replace("_", "-"): value for name, value in more.items()}
        return {name: value for name, value in told.items() if value is not None}

    def settled(self):
        """Everything that is written down, once it is."""
        while self.guard._telling:
            self.ask("GET", "/healthz")
        return self.attempts

    def link(self, role="operator"):
        return make_link(self.home, role, now=self.now)

    def follow(self, key, **headers):
        return self.ask("GET", f"/enter?key={key}", {name.replace("_", "-"): value for name, value in headers.items()})


def read(line):
    """A whole answer; None where there is none."""
    data = b""
    while piece := line.recv(65_536):
        data += piece
    return parsed(data)


def parsed(data):
    if not data:
        return None
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = {}
    for each in rest:
        name, _, value = each.partition(": ")
        headers[name.lower()] = f"{headers[name.lower()]}, {value}" if name.lower() in headers else value
    return Reply(int(first.split(" ")[1]), headers, body)


@contextmanager
def open_fortress(folder, patience=None, **limits):
    """One that is served, in a thread."""
    made = Fortress(folder, **limits)
    thread = threading.Thread(
        target=serve,
        args=(made.guard, made.line, made.closing),
        kwargs={"patience": patience or Patience(), "ready": made.opened.set},
    )
    thread.start()
    try:
        assert made.opened.wait(WAIT_S)
        yield made
    finally:
        made.closing.begin()
        thread.join(WAIT_S)
        assert not thread.is_alive()
