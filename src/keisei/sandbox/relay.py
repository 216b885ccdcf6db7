"""Relay: the one way from a sandbox to its model, with the key added and the spending counted outside of it.

A harness is given an address and the attempt's token; the relay asks the one server it was made for, with the real key.
Bodies pass both ways untouched and as they come. When the allowance is used up the stream is cut and nothing more goes
on. Threads: one that takes connections, one for each connection; `close` leaves none of them, and no descriptor.
"""

import os
import socket as sockets
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread, current_thread
from types import TracebackType
from typing import Self

from keisei.records.attempt import Usage
from keisei.records.budget import Amount
from keisei.records.error import OperatorError, WorldFault
from keisei.records.relay import Allowance, Charge, RelayCall, Upstream
from keisei.sandbox.relay_cord import Cords, Severed, Waits
from keisei.sandbox.relay_place import place_of
from keisei.sandbox.relay_request import failure
from keisei.sandbox.relay_talk import House, Talk
from keisei.sandbox.relay_tally import Tally
from keisei.sandbox.relay_upstream import Pool

CONNECTIONS = 64
"""How many a harness may hold at once; one more is told to come back."""
WAITING = 256
PAUSE_S = 0.05
"""How long to wait where the machine has no descriptor to give."""
JOIN_S = 10.0


class Relay:
    """One attempt's relay: `with Relay(upstream, token, allowance, socket=path) as relay: ...`."""

    def __init__(  # noqa: PLR0913 - what a relay is made of; all but three by name
        self,
        upstream: Upstream,
        token: str,
        allowance: Allowance | None = None,
        *,
        socket: Path | None = None,
        log: Path | None = None,
        closed: bool = False,
        on_spent: Callable[[str], None] | None = None,
        on_answer: Callable[[int, Mapping[str, str]], None] | None = None,
        trust: ssl.SSLContext | None = None,
        waits: Waits | None = None,
    ) -> None:
        """Listens on the Unix socket, or on a free port of 127.0.0.1; a line a call goes to `log`.

        `closed` says that the model is all the network there is: what its server would do elsewhere is refused.
        `on_spent` is called once, from a thread of the relay, when the allowance is used up; `on_answer` with the
        status and the headers of every answer of the model, before the harness has it. `trust` is the machine's
        authorities where it is None. Raises OperatorError where the address or the key is none that can be sent.
        """
        _check(upstream, token)
        self._place = place_of(upstream.url)
        self._upstream, self._token, self._socket, self._closed = upstream, token, socket, closed
        self._allowance = allowance or Allowance()
        self._log, self._on_spent, self._on_answer, self._waits = log, on_spent, on_answer, waits or Waits()
        self._cords = Cords()
        self._pool = Pool(self._place, self._cords, self._waits, trust)
        self._lock = Lock()
        self._threads: set[Thread] = set()
        self._closing = Event()
        self._listener: sockets.socket | None = None
        self._tally = Tally(self._allowance, None, None)
        self._port: int | None = None

    def start(self) -> Self:
        """Listen. Raises WorldFault where that cannot be, or the log cannot be written."""
        try:
            self._tally = Tally(self._allowance, self._log, self._on_spent)
            self._listener = _listener(self._socket)
        except OSError as error:
            self._tally.close()
            raise WorldFault(f"the model relay cannot listen: {error.strerror or error}") from error
        if self._socket is None:
            self._port = int(self._listener.getsockname()[1])
        house = House(self._upstream, self._token, self._pool, self._tally, self._waits, self._closed, self._on_answer)
        thread = Thread(target=self._accept, args=(self._listener, house), name="relay", daemon=True)
        self._threads.add(thread)
        thread.start()
        return self

    @property
    def port(self) -> int | None:
        """The port it listens on; None where it listens on a Unix socket, or not yet."""
        return self._port

    @property
    def address(self) -> str:
        """What a harness on this machine's own loopback is pointed at, without a path."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def socket(self) -> Path | None:
        """The Unix socket it listens on; None where it listens on a port."""
        return self._socket

    @property
    def spent_out(self) -> str | None:
        """Which limit of the allowance was reached, in words; None while none is."""
        return self._tally.spent_out

    @property
    def calls(self) -> list[RelayCall]:
        """The calls that are over, in the order of their ends; of very many the first ones."""
        return list(self._tally.calls)

    def hold_to(self, ask: Callable[[], Amount | None]) -> None:
        """Let no more be spent than `ask` says at any time, nor more than the allowance. Before the first request.

        `ask` is called from threads of the relay, raises nothing, and says None where nobody knows just now.
        """
        self._tally.hold_to(ask)

    def usage(self) -> Usage | None:
        """What the server told of the calls that are over; None where it told nothing. Holds no estimates."""
        return self._tally.usage()

    def charged(self) -> Charge:
        """What counts against the allowance so far: told tokens, and estimates where the server does not tell."""
        return self._tally.charged()

    def close(self) -> None:
        """End every connection and wait until its thread is gone. May be called by anybody, and again."""
        self._closing.set()
        if self._listener is not None:
            with suppress(OSError):
                self._listener.shutdown(sockets.SHUT_RDWR)  # whoever accepts wakes up
        self._cords.cut()
        while (thread := self._another()) is not None:
            thread.join(JOIN_S)
        self._pool.close()
        self._tally.close()
        if self._listener is not None:
            self._listener.close()
            if self._socket is not None:
                self._socket.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _another(self) -> Thread | None:
        """A thread to wait for; not the one that asks, for `on_spent` may close the relay."""
        with self._lock:
            self._threads.discard(current_thread())
            return self._threads.pop() if self._threads else None

    def _accept(self, listener: sockets.socket, house: House) -> None:
        while not self._closing.is_set():
            try:
                line, _ = listener.accept()
            except OSError:
                self._closing.wait(PAUSE_S)
                continue
            with suppress(Severed, OSError):
                self._cords.hold(line)
                self._begin(line, house)

    def _begin(self, line: sockets.socket, house: House) -> None:
        thread = Thread(target=self._talk, args=(line, house), name="relay-talk", daemon=True)
        with self._lock:
            self._threads = {each for each in self._threads if each.is_alive()}
            begun = len(self._threads) <= CONNECTIONS and _started(thread)
            if begun:
                self._threads.add(thread)
        if not begun:
            self._turn_away(line)

    def _talk(self, line: sockets.socket, house: House) -> None:
        try:
            if line.family != sockets.AF_UNIX:
                line.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_NODELAY, 1)
            Talk(line, house).run()
        finally:
            self._cords.drop(line)

    def _turn_away(self, line: sockets.socket) -> None:
        body = failure(self._upstream.protocol, 503, "keisei: too many connections at once")
        head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n"
        with suppress(OSError):
            line.setblocking(False)  # noqa: FBT003 - it takes no keyword
            line.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self._cords.drop(line)


def _started(thread: Thread) -> bool:
    """False where the machine has no thread to give."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


def _listener(path: Path | None) -> sockets.socket:
    listener = sockets.socket(sockets.AF_UNIX if path else sockets.AF_INET, sockets.SOCK_STREAM)
    try:
        if path:
            os.fchmod(listener.fileno(), 0o600)  # before it has a name, so that it is never more open
            listener.bind(str(path))
        else:
            listener.bind(("127.0.0.1", 0))
        listener.listen(WAITING)
    except OSError:
        listener.close()
        raise
    return listener


def _check(upstream: Upstream, token: str) -> None:
    """Falls closed: what cannot stand in a header would show in an error of those who try."""
    words = {"key": upstream.key or "-", "attempt's token": token, **upstream.adds}
    for name, word in words.items():
        if not (word.isascii() and word.isprintable() and word.strip() == word and word):
            raise OperatorError(f"the {name} of the model's server cannot stand in a header", "write it on one line")
