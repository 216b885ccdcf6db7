"""A model that says what a test wants said, behind the interfaces that real harnesses speak.

    with ScriptedModel([{"tool": "Bash", "input": {"command": "true"}}, "All done."]) as model:
        ...  # run a harness with ANTHROPIC_BASE_URL=model.url
    assert "refused" in model.requests[-1].results[-1]

A *turn* is a text, a tool call `{"tool": NAME, "input": {...}}`, a list of these, a `Fault`, or bytes as they are
(`Raw`); `Sent` makes any of them late, slow or cut off. A script is a list of turns, one for each request in order of
arrival ("done" when it has run out), or a function from `Request` to turn, which sub-agents need, since their requests
arrive in between. Anthropic Messages, OpenAI Responses, Chat Completions (each streaming and not) and Ollama's generate
and chat are answered; so are the lists of models, Ollama's description of one, and token counts.
"""

import json
import socket
import struct
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple, Self, TypeAlias

from keisei.testing import conversation, wire

LAST_WORD = "done"
"""What the model says when its list of turns has run out: harnesses end their work on a turn without a call."""


class Fault(NamedTuple):
    """A turn in which the model's server fails."""

    status: int
    """The HTTP status: 429 and 529 make harnesses wait and ask again, 400 makes them give up."""
    message: str = "the script says so"
    headers: Mapping[str, str] = MappingProxyType({})
    """More headers: `retry-after` and the like."""


class Raw(NamedTuple):
    """A turn in which the model's server sends these bytes: nothing at all, no UTF-8, no such event, half an object."""

    body: bytes
    content_type: str = wire.SSE
    status: int = 200


class Request(NamedTuple):
    """One request as the model received it."""

    path: str
    """Without the query: `/v1/messages`, `/v1/responses`, ..."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Mapping[str, Any]

    @property
    def key(self) -> str | None:
        """The key it came with: of `x-api-key`, else of `authorization` without its first word."""
        bearer = self.headers.get("authorization", "").partition(" ")[2]
        return self.headers.get("x-api-key") or bearer or None

    @property
    def prompt(self) -> str:
        """What was said in the user's name, tool results left out. A sub-agent's request holds its own prompt only."""
        return "\n".join(conversation.user_texts(self.body))

    @property
    def results(self) -> list[str]:
        """What the tool calls of this conversation came to, in order: output, or the reason of a refusal."""
        return conversation.tool_results(self.body)

    @property
    def tools(self) -> list[str]:
        """The tools the model may call, `namespace.name` for those inside a namespace."""
        return conversation.tool_names(self.body)


Said: TypeAlias = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]


class Sent(NamedTuple):
    """A turn, and how its answer travels."""

    turn: Said | Fault | Raw
    after_s: float = 0.0
    """How long the model thinks before the first byte."""
    piece: int | None = None
    """Bytes of the body that are sent at once; None sends all of it."""
    pause_s: float = 0.0
    """How long it waits between two pieces."""
    cut_at: int | None = None
    """The connection is reset after so many bytes of the body; None sends it to its end."""


Turn: TypeAlias = Said | Fault | Raw | Sent
Script: TypeAlias = Sequence[Turn] | Callable[[Request], Turn]


class ScriptedModel:
    """A model server on a free port of 127.0.0.1, for as long as the `with` block lasts.

    Safe for many requests at once; a script's function is called by one thread at a time. When it raises, the harness
    is told 400 and the error is raised again at the end of the block, so that a wrong script never looks like a harness
    that did nothing.
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self.name = name
        self.requests: list[Request] = []
        """Every request that took a turn, in order of arrival."""
        self._script = script
        self._calls = 0
        self._error: Exception | None = None
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Its address without a path: `http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def results(self) -> list[str]:
        """What tool calls came to, as the last request tells it; empty when there was no request."""
        return self.requests[-1].results if self.requests else []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._server.shutdown()
        self._server.close_connections()
        self._server.server_close()
        self._thread.join()
        if self._error is not None and error is None:
            raise self._error

    def answer(self, request: Request) -> "Sending":
        """Takes the script's next turn for a request: what to send, and how."""
        try:
            with self._lock:
                turn = self._next(request)
                sent = turn if isinstance(turn, Sent) else Sent(turn)
                reply = None if isinstance(sent.turn, Fault | Raw) else self._reply(sent.turn)
            return self._sending(request, sent, reply)
        except Exception as error:  # noqa: BLE001 - raised again where the test sees it
            self.fail(error)
            return Sending(400, wire.failure(request.path, 400, f"the script failed: {error!r}"))

    def _sending(self, request: Request, sent: Sent, reply: wire.Reply | None) -> "Sending":
        match sent.turn:
            case Fault(status, message, headers):
                return Sending(status, wire.failure(request.path, status, message), headers, sent)
            case Raw(body, content_type, status):
                return Sending(status, wire.Answer(content_type, body), travel=sent)
            case _ if reply is not None:
                return Sending(200, wire.WRITE[request.path](reply, request.body), travel=sent)
            case _:
                raise TypeError(f"this is no turn: {sent.turn!r}")

    def wait(self, seconds: float) -> None:
        """Lets time pass, unless the block ends before."""
        if seconds > 0:
            self._ended.wait(seconds)

    def fail(self, error: Exception) -> None:
        """Keeps the first error for the end of the block."""
        self._error = self._error or error

    def _next(self, request: Request) -> Turn:
        self.requests.append(request)
        if callable(self._script):
            return self._script(request)
        index = len(self.requests) - 1
        return self._script[index] if index < len(self._script) else LAST_WORD

    def _reply(self, turn: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]) -> wire.Reply:
        parts = [turn] if isinstance(turn, (str, Mapping)) else list(turn)
        texts = [part for part in parts if isinstance(part, str)]
        calls = tuple(self._call(part) for part in parts if not isinstance(part, str))
        return wire.Reply(f"reply_{len(self.requests)}", "\n".join(texts), calls)

    def _call(self, part: Mapping[str, Any]) -> wire.Call:
        if not {"tool", "input"} <= part.keys() <= {"tool", "input", "id", "namespace"}:
            raise ValueError(f"a call has `tool` and `input`, may have `id` and `namespace`, and nothing else: {part}")
        self._calls += 1
        return wire.Call(part.get("id", f"call_{self._calls}"), part["tool"], part["input"], part.get("namespace"))


class Sending(NamedTuple):
    """What is sent for a request, and how."""

    status: int
    answer: wire.Answer
    headers: Mapping[str, str] = MappingProxyType({})
    travel: Sent = Sent("")


class _Server(ThreadingHTTPServer):
    """Knows its open connections, so that it can end although a client keeps one alive."""

    daemon_threads = False  # so that server_close waits for every thread
    request_queue_size = 128

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        """Binds without the parent's look-up of the host's name, which can take seconds."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - the parent's types
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401 - the parent's type
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """Ends every connection; its thread ends with it."""
        with self._open_lock:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue  # the client has gone already

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 - the parent's
        """Keeps what went wrong here. A client that went away in mid-answer did not: harnesses are killed in tests."""
        error = sys.exc_info()[1]
        if isinstance(error, Exception) and not isinstance(error, ConnectionError):
            self.model.fail(error)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else an answer waits 40 ms for the client's acknowledgement
    wbufsize = -1  # head and body leave in one piece
    server: _Server

    def do_HEAD(self) -> None:
        """Harnesses ask this way whether anybody is there."""
        self._send(Sending(200, wire.Answer(wire.JSON, b"")))

    def do_GET(self) -> None:
        """Lists models."""
        path = self.path.partition("?")[0]
        answer = wire.listing(path, self.server.model.name)
        if answer is None:
            self._send(Sending(404, wire.failure(path, 404, f"nothing at {path}")))
        else:
            self._send(Sending(200, answer))

    def do_POST(self) -> None:
        """Takes a turn."""
        path = self.path.partition("?")[0]
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(data)
        except ValueError as error:
            self._send(Sending(400, wire.failure(path, 400, f"the request is not JSON: {error}")))
            return
        if path in wire.WRITE and isinstance(body, dict):
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._send(self.server.model.answer(Request(path, headers, body)))
        elif path == "/v1/messages/count_tokens":
            self._send(Sending(200, wire.token_count(body)))
        elif path == "/api/show":
            self._send(Sending(200, wire.description(self.server.model.name)))
        else:
            self._send(Sending(404, wire.failure(path, 404, f"nothing at {path}")))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
        """Says nothing: requests are kept, not printed."""

    def _send(self, sending: Sending) -> None:
        body, travel = sending.answer.body, sending.travel
        self.server.model.wait(travel.after_s)
        self.send_response(sending.status)
        named = {"content-type": sending.answer.content_type, "content-length": str(len(body)), **sending.headers}
        for name, value in named.items():
            self.send_header(name, value)
        self.end_headers()
        self._write(body if travel.cut_at is None else body[: travel.cut_at], travel)
        if travel.cut_at is not None:
            self._reset()

    def _write(self, body: bytes, travel: Sent) -> None:
        piece = travel.piece or max(len(body), 1)
        for start in range(0, len(body), piece):
            if start:
                self.server.model.wait(travel.pause_s)
            self.wfile.write(body[start : start + piece])
            self.wfile.flush()

    def _reset(self) -> None:
        """Ends the connection without a word: what was sent arrives, and then there is nobody."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise ConnectionResetError("the script says so")
