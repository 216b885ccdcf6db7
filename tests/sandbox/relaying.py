"""A raw model server, a raw harness and a relay between them, for tests that look at bytes."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from keisei.records.relay import Upstream
from keisei.sandbox.relay import Relay
from tests.sandbox.program import NEVER_S

TOKEN = "attempt-token-0123456789"  # noqa: S105 - a made-up one
KEY = "sk-canary-real-key"
OK = b"HTTP/1.1 200 OK\r\n"
JSON = b"Content-Type: application/json\r\n"
SSE = b"Content-Type: text/event-stream\r\n"
Answer = Callable[[socket.socket, bytes], None]


class Server:
    """Connections are handed to `answer` one request after the other, with its head; bodies are read with `body`."""

    def __init__(
        self, answer: Answer, context: ssl.SSLContext | None = None, *, reads: bool = True, host: str = "127.0.0.1"
    ) -> None:
        self.heads: list[bytes] = []
        self.connections = 0
        self._answer, self._context, self._reads = answer, context, reads
        self._listener = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=128
        )
        self.port = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._over = False

    def __enter__(self):
        self._start(self._accept)
        return self

    def __exit__(self, *_):
        self._over = True
        self._listener.shutdown(socket.SHUT_RDWR)
        for line in list(self._open):
            with suppress(OSError):
                socket.socket.shutdown(line, socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _start(self, target, *args) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._over:
            try:
                line, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._start(self._serve, line)

    def _serve(self, line: socket.socket) -> None:
        with line, suppress(OSError):
            line.settimeout(NEVER_S)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            secured = self._context.wrap_socket(line, server_side=True) if self._context else line
            self._open.add(secured)
            try:
                while head := received(secured) if self._reads else b"?":
                    self.heads.append(head)
                    self._answer(secured, head)
            finally:
                self._open.discard(secured)
                secured.close()


def received(line: socket.socket) -> bytes:
    """The head of a message, byte by byte so that nothing of its body is taken."""
    data = b""
    while not data.endswith(b"\r\n\r\n") and (piece := line.recv(1)):
        data += piece
    return data


def exactly(line: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size and (piece := line.recv(size - len(data))):
        data += piece
    return data


def length(head: bytes) -> int:
    found = [row for row in head.lower().split(b"\r\n") if row.startswith(b"content-length:")]
    return int(found[0].split(b":")[1]) if found else 0


def chunks(line: socket.socket) -> bytes:
    """A body in chunks, whole."""
    whole = b""
    while True:
        size = b""
        while not size.endswith(b"\r\n"):
            piece = line.recv(1)
            assert piece, "the body was cut"
            size += piece
        count = int(size, 16)
        data = exactly(line, count + 2)[:-2]
        if not count:
            return whole
        whole += data


def saying(*pieces: bytes, reads: bool = True) -> Answer:
    """A server that reads the request and says these pieces."""

    def answer(line: socket.socket, head: bytes) -> None:
        if reads:
            exactly(line, length(head))
        for piece in pieces:
            line.sendall(piece)

    return answer


def plain(body: bytes, more: bytes = b"") -> bytes:
    return OK + JSON + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


def chunked(*pieces: bytes, kind: bytes = SSE) -> list[bytes]:
    return [
        OK + kind + b"Transfer-Encoding: chunked\r\n\r\n",
        *(b"%x\r\n%s\r\n" % (len(each), each) for each in pieces),
        b"0\r\n\r\n",
    ]


def upstream(port: int, **changes) -> Upstream:
    url = f"http://127.0.0.1:{port}"
    return Upstream(**{"url": url, "protocol": "anthropic", "auth": "x-api-key", "key": KEY, **changes})


@contextmanager
def relayed(answer: Answer, folder: Path | None = None, *, given=None, **changes) -> Iterator[tuple[Relay, Server]]:
    """A relay before a server that answers so; on a Unix socket where a folder is given."""
    given = given or {}
    path = folder / "relay.sock" if folder else None
    with Server(answer) as server, Relay(upstream(server.port, **given), TOKEN, socket=path, **changes) as relay:
        yield relay, server


def dialled(relay: Relay) -> socket.socket:
    if relay.socket:
        line = socket.socket(socket.AF_UNIX)
        line.connect(str(relay.socket))
    else:
        line = socket.create_connection(("127.0.0.1", relay.port))
    line.settimeout(NEVER_S)
    return line


def request(
    body: bytes = b"{}", *, path: str = "/v1/messages", method: str = "POST", headers: bytes = b"", token: str = TOKEN
) -> bytes:
    auth = f"x-api-key: {token}\r\n".encode() if token else b""
    size = b"Content-Length: %d\r\n" % len(body) if body else b""
    return f"{method} {path} HTTP/1.1\r\nHost: relay\r\n".encode() + auth + headers + size + b"\r\n" + body


def asked(relay: Relay, data: bytes) -> tuple[int, bytes, bytes]:
    """One request on a connection of its own: status, head and body of the answer."""
    with dialled(relay) as line:
        line.sendall(data)
        return told(line)


def told(line: socket.socket, *, body: bool = True) -> tuple[int, bytes, bytes]:
    head = received(line)
    assert head.startswith(b"HTTP/1.1 "), head
    data = b""
    if body:
        data = chunks(line) if b"transfer-encoding: chunked" in head.lower() else exactly(line, length(head))
    return int(head[9:12]), head, data


def rest(line: socket.socket) -> bytes:
    """Everything until the end of the connection, however it ends."""
    data = b""
    with suppress(ConnectionError):
        while piece := line.recv(65_536):
            data += piece
    return data


def descriptors() -> int:
    """How many this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def message(body: bytes) -> str:
    """The sentence of an error, in any protocol's form."""
    error = json.loads(body)["error"]
    return error if isinstance(error, str) else error["message"]
