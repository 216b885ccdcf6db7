"""Forward: a port on the loopback of a sandbox that leads to a Unix socket outside of it.

Run as `python -I -S forward.py PORT SOCKET READY_FD`; imports nothing of ours. Listens on 127.0.0.1:PORT, lets go of
its streams, writes one byte to READY_FD and serves until it is killed; an error before that ends it with exit 1 and one
line on standard error. One thread: bytes go on as they come, a side that reads slowly is waited for with a bounded
buffer, and the end of one half is the end of that half alone.
"""

# Behind `socket` and `signal`, whose faces for people cost as much again as the start of the interpreter.
import _signal as signal  # type: ignore[import-not-found]
import _socket
import os
import select
import sys
import time

_PIECE = 65_536
_HELD = 262_144
_MOST = 512
_WAITING = 256
_CONNECT_S = 5.0
_LINGER_S = 2.0
_LOOK_S = 0.1


class _Side:
    """One socket of a pair."""

    def __init__(self, line: _socket.socket, *, asks: bool) -> None:
        line.setblocking(False)  # noqa: FBT003 - it takes no keyword
        self.line, self.fd, self.asks = line, line.fileno(), asks
        self.other = self
        self.buffer = bytearray()  # what is to be written to it
        self.ended = False  # nothing more comes from it
        self.shut = False  # nothing more goes to it
        self.broken = False  # it would not take what was written
        self.interest = 0
        self.until: float | None = None  # when the pair ends although its client still sends


class _Forward:
    """Every pair, and what each of its sides waits for."""

    def __init__(self, listener: _socket.socket, path: str) -> None:
        self._listener, self._path = listener, path
        self._poll = select.epoll()
        self._sides: dict[int, _Side] = {}
        self._lingering: set[_Side] = set()
        self._starved = False
        self._listens = False

    def run(self) -> None:
        """Serve until killed."""
        while True:
            self._listen()
            for fd, events in self._poll.poll(_LOOK_S if self._lingering or self._starved else None):
                if fd == self._listener.fileno():
                    self._accept()
                elif fd in self._sides:
                    self._serve(self._sides[fd], events)
            self._starved = False
            now = time.monotonic()
            for client in [each for each in self._lingering if (each.until or 0) <= now]:
                self._hang_up(client)

    def _listen(self) -> None:
        """Take no more than can be served; the rest waits in the queue until another has gone."""
        wanted = len(self._sides) < 2 * _MOST and not self._starved
        if wanted and not self._listens:
            self._poll.register(self._listener.fileno(), select.EPOLLIN)
        elif self._listens and not wanted:
            self._poll.unregister(self._listener.fileno())
        self._listens = wanted

    def _accept(self) -> None:
        try:
            fd, _ = self._listener._accept()  # type: ignore[attr-defined] # noqa: SLF001 - as `socket` does
        except OSError:
            self._starved = True  # of descriptors: looking again at once would look for ever
            return
        line = _socket.socket(fileno=fd)
        try:
            line.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
            onward = _connected(self._path)
        except OSError:
            line.close()  # nobody is there: the client sees a connection that ends
            return
        client, server = _Side(line, asks=True), _Side(onward, asks=False)
        client.other, server.other = server, client
        for side in (client, server):
            self._sides[side.fd] = side
            self._wait(side)

    def _serve(self, side: _Side, events: int) -> None:
        if side.buffer and events & ~select.EPOLLIN:
            _write(side)
        if not side.ended and events & ~select.EPOLLOUT:
            _read(side)
            _write(side.other)
        self._settle(side if side.asks else side.other)

    def _settle(self, client: _Side) -> None:
        """End the pair where nothing can come of it; else wait for what can be done."""
        server = client.other
        if client.broken or (client.ended and server.ended and not client.buffer and (server.shut or server.broken)):
            self._hang_up(client)
            return
        if server.broken and server.ended and not client.buffer and client.until is None:
            # It reads why first: a connection that ends with bytes unread is reset, and the answer lost.
            client.until = time.monotonic() + _LINGER_S
            self._lingering.add(client)
        self._wait(client)
        self._wait(server)

    def _wait(self, side: _Side) -> None:
        """A side with nothing to wait for is not looked at at all, or its end would be told again and again."""
        room = len(side.other.buffer) < _HELD and not side.ended
        wanted = (select.EPOLLIN if room else 0) | (select.EPOLLOUT if side.buffer else 0)
        if wanted and not side.interest:
            self._poll.register(side.fd, wanted)
        elif wanted and wanted != side.interest:
            self._poll.modify(side.fd, wanted)
        elif side.interest and not wanted:
            self._poll.unregister(side.fd)
        side.interest = wanted

    def _hang_up(self, client: _Side) -> None:
        self._lingering.discard(client)
        for side in (client, client.other):
            if side.interest:
                self._poll.unregister(side.fd)
            del self._sides[side.fd]
            side.line.close()


def _read(side: _Side) -> None:
    """Take what has come, for the other side; where that takes no more, it is dropped."""
    try:
        data = side.line.recv(_PIECE)
    except BlockingIOError:
        return
    except OSError:
        data = b""
        side.broken = True
        side.buffer.clear()
    side.ended = not data
    if not (side.other.broken or side.other.shut):
        side.other.buffer += data


def _write(side: _Side) -> None:
    """Give it what there is for it; where no more comes, tell it so."""
    try:
        while side.buffer:
            del side.buffer[: side.line.send(bytes(side.buffer[:_PIECE]))]
        if side.other.ended and not side.shut and not side.broken:
            side.shut = True
            side.line.shutdown(_socket.SHUT_WR)
    except BlockingIOError:
        return
    except OSError:
        side.broken = True
        side.buffer.clear()


def _connected(path: str) -> _socket.socket:
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        line.settimeout(_CONNECT_S)
        line.connect(path)
    except OSError:
        line.close()
        raise
    return line


def _listening(port: int) -> _socket.socket:
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(_WAITING)
    listener.setblocking(False)  # noqa: FBT003 - it takes no keyword
    return listener


def _let_go(ready: int) -> None:
    """Hold no stream of the program beside us; then say that we are there."""
    null = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        if stream != ready:
            os.dup2(null, stream)
    os.close(null)
    os.write(ready, b"1")
    os.close(ready)


def main() -> None:
    """Listen, say so, serve."""
    try:
        port, path, ready = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is meant for the program that talks through us
        listener = _listening(port)
        os.fstat(ready)
        os.stat(path)  # noqa: PTH116 - pathlib costs 5 ms here
        forward = _Forward(listener, path)
        _let_go(ready)
    except (OSError, ValueError, IndexError, OverflowError) as error:
        os.write(2, f"forward: {error}\n".encode("utf-8", "backslashreplace"))
        os._exit(1)
    forward.run()


if __name__ == "__main__":
    main()
