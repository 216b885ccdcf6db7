"""The model relay is quick: it adds less than 2 ms to the first byte of an answer, and keeps up with a stream.

Beside it, in the same run and by turns: the same server asked directly, and the relay behind a sandbox's forwarder. All
on loopback. The first byte is counted from the moment the request is sent, on a connection that is open already;
throughput is of one stream of events as models send them, and of one large body.
"""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keisei.records.relay import Allowance, Upstream
from keisei.sandbox import forward
from keisei.sandbox.relay import Relay

TURNS, STREAMS = 400, 7
GOAL_MS = 2.0
TOKEN = "bench-token"  # noqa: S105 - a made-up one
EVENT = (
    b"event: content_block_delta\ndata: "
    + json.dumps(
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "some words "},
        }
    ).encode()
)
EVENTS = 20_000
BODY = 64 * 1024 * 1024
SMALL = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n: \r\n0\r\n\r\n"


def serve(listener: socket.socket) -> None:
    """A model's server: `/v1/messages?NAME` says which answer."""
    while True:
        try:
            line, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=answer, args=(line,), daemon=True).start()


def answer(line: socket.socket) -> None:
    """One connection, request after request."""
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    piece = EVENT + b"\n\n"
    events = b"".join([b"%x\r\n%s\r\n" % (len(piece), piece)] * 10)
    block = b"x" * 65_536
    with line:
        while head := until(line, b"\r\n\r\n"):
            if b"?events" in head:
                line.sendall(SMALL[: SMALL.index(b"2\r\n")])
                for _ in range(EVENTS // 10):
                    line.sendall(events)
                line.sendall(b"0\r\n\r\n")
            elif b"?body" in head:
                line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % BODY)
                for _ in range(BODY // len(block)):
                    line.sendall(block)
            else:
                line.sendall(SMALL)


def until(line: socket.socket, end: bytes) -> bytes:
    """What comes, up to this end."""
    data = b""
    while not data.endswith(end) and (piece := line.recv(65_536)):
        data += piece
    return data


def request(name: str) -> bytes:
    """A request without a body, so that its head is all the server reads."""
    return f"POST /v1/messages?{name} HTTP/1.1\r\nHost: x\r\nx-api-key: {TOKEN}\r\nContent-Length: 0\r\n\r\n".encode()


def dial(port: int) -> socket.socket:
    """A connection that waits for nothing."""
    line = socket.create_connection(("127.0.0.1", port))
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def first_byte(line: socket.socket) -> float:
    """Seconds until the first byte; the rest is read after that."""
    began = time.perf_counter()
    line.sendall(request("small"))
    data = line.recv(65_536)
    took = time.perf_counter() - began
    while not data.endswith(b"0\r\n\r\n"):
        data += line.recv(65_536)
    return took


def stream(line: socket.socket, name: str) -> float:
    """Seconds until all of it was read."""
    began = time.perf_counter()
    line.sendall(request(name))
    if name == "events":
        tail = b""
        while not tail.endswith(b"\r\n0\r\n\r\n"):
            tail = (tail + line.recv(1 << 20))[-16:]
    else:
        head = line.recv(1 << 20)
        left = BODY - len(head.partition(b"\r\n\r\n")[2])
        while left > 0:
            left -= len(line.recv(1 << 20))
    return time.perf_counter() - began


@contextmanager
def ways() -> Iterator[dict[str, int]]:
    """The ports of the three ways to the server."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        port = listener.getsockname()[1]
        place = Upstream(url=f"http://127.0.0.1:{port}", protocol="anthropic", auth="x-api-key", key="k")
        allowance = Allowance(max_tokens=10**12)
        inner = Path(folder) / "relay.sock"
        outer, boxed = Relay(place, TOKEN, allowance), Relay(place, TOKEN, allowance, socket=inner)
        with outer as relay, boxed, forwarder(inner) as inside:
            yield {"direct": port, "relay": relay.port or 0, "forward + relay": inside}
        listener.shutdown(socket.SHUT_RDWR)


@contextmanager
def forwarder(path: Path) -> Iterator[int]:
    """The sandbox's end, as a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ready, told = os.pipe()
    argv = [sys.executable, "-I", "-S", str(forward.__file__), str(port), str(path), str(told)]
    began = time.perf_counter()
    process = subprocess.Popen(argv, pass_fds=[told])
    os.close(told)
    try:
        assert os.read(ready, 1) == b"1"
        print(f"forwarder ready after {(time.perf_counter() - began) * 1000:.1f} ms")
        yield port
    finally:
        os.close(ready)
        process.kill()
        process.wait()


def main() -> int:
    """Measure, print, judge."""
    with ways() as ports:
        lines = {name: dial(port) for name, port in ports.items()}
        times: dict[str, list[float]] = {name: [] for name in lines}
        for turn in range(TURNS + 20):
            for name, line in lines.items():
                took = first_byte(line)
                if turn >= 20:
                    times[name].append(took * 1000)
        speeds: dict[str, dict[str, float]] = {"events": {}, "body": {}}
        for kind, found in speeds.items():
            runs: dict[str, list[float]] = {name: [] for name in lines}
            for _ in range(STREAMS):
                for name, line in lines.items():
                    runs[name].append(stream(line, kind))
            size = BODY if kind == "body" else EVENTS * (len(EVENT) + 2)
            found.update({name: size / statistics.median(each) / 1e6 for name, each in runs.items()})
        for line in lines.values():
            line.close()
    return tell(times, speeds)


def tell(times: dict[str, list[float]], speeds: dict[str, dict[str, float]]) -> int:
    """The table, the line for machines, and whether the promise is kept."""
    middle = {name: statistics.median(each) for name, each in times.items()}
    print(
        f"\n{'way':<16}{'first byte, ms':>16}{'added':>8}{'p99':>8}{'events, MB/s':>14}{'body, MB/s':>12}   n={TURNS}"
    )
    for name, each in times.items():
        p99 = statistics.quantiles(each, n=100)[98]
        added = middle[name] - middle["direct"]
        print(
            f"{name:<16}{middle[name]:>16.3f}{added:>8.3f}{p99:>8.3f}"
            f"{speeds['events'][name]:>14.1f}{speeds['body'][name]:>12.0f}"
        )
    added = {name: round(middle[name] - middle["direct"], 3) for name in middle}
    first = {name: round(each, 3) for name, each in middle.items()}
    print(json.dumps({"first_byte_ms": first, "added_ms": added, "mb_s": speeds}))
    worst = max(added.values())
    print(f"\n{TURNS} requests and {STREAMS} streams each way")
    print(
        f"adds {worst:.2f} ms to the first byte: goal under {GOAL_MS:.0f} ms, {'met' if worst < GOAL_MS else 'MISSED'}"
    )
    return 0 if worst < GOAL_MS else 1


if __name__ == "__main__":
    sys.exit(main())
