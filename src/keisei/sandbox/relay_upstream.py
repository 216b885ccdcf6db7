"""The relay's way to the model's server: one fixed place, connections kept for the next request."""

import functools
import select
import socket
import ssl
import time
from contextlib import suppress
from threading import Lock

import h11

from keisei.sandbox.relay_cord import Cords, Gone, Waits
from keisei.sandbox.relay_place import Place, Unreachable, size_of

HEAD = 65_536
"""Bytes of the head of an answer."""
PIECE = 65_536
KEPT_S = 60.0
"""How long a connection that nobody uses is kept."""
MOST_KEPT = 8


class Wire:
    """One connection to the server."""

    def __init__(self, line: socket.socket, place: Place, waits: Waits) -> None:
        self.line = line
        self.talk = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD)
        self.since = 0.0
        """When it was last used."""
        self._place, self._waits = place, waits
        line.settimeout(waits.answer)

    def send(self, event: h11.Event) -> bool:
        """Send a part of a request at once. False where the server does not take it."""
        try:
            self.line.sendall(self.talk.send(event) or b"")
        except OSError:
            return False
        return True

    def read(self, harness: socket.socket) -> list[h11.Event]:
        """What comes next: all that is there, at least one part. Nothing follows the end of a message.

        Raises Unreachable where the answer is none or is cut, and Gone where the harness hangs up meanwhile.
        """
        try:
            while not (events := self._ready()):
                self._wait(harness)
                self.talk.receive_data(self.line.recv(PIECE))
        except (OSError, h11.RemoteProtocolError) as error:
            raise Unreachable(self._place, error) from error
        if isinstance(events[0], h11.Response) and size_of(events[0]) > HEAD:
            raise Unreachable(self._place, ValueError("the head is too long"))
        return events

    def is_fresh(self) -> bool:
        """Whether it can be used again: neither old nor hung up."""
        poll = select.poll()
        poll.register(self.line, select.POLLIN)
        return time.monotonic() - self.since < KEPT_S and not poll.poll(0)

    def _ready(self) -> list[h11.Event]:
        """What has come already. What is wrong behind it is found the next time."""
        events: list[h11.Event] = []
        try:
            while isinstance(event := self.talk.next_event(), h11.Event):
                events.append(event)
                if isinstance(event, h11.EndOfMessage):
                    break
        except h11.RemoteProtocolError:
            if not any(isinstance(event, h11.Data) for event in events):
                raise
        return events

    def _wait(self, harness: socket.socket) -> None:
        if isinstance(self.line, ssl.SSLSocket) and self.line.pending():
            return
        poll = select.poll()
        poll.register(self.line, select.POLLIN)
        poll.register(harness, 0)  # a harness that has only ended its own half may still read
        ready = dict(poll.poll(self._waits.answer * 1000))
        if not ready:
            raise TimeoutError
        if self.line.fileno() not in ready:
            raise Gone


class Pool:
    """The connections of one relay. Safe for many threads."""

    def __init__(self, place: Place, cords: Cords, waits: Waits, trust: ssl.SSLContext | None) -> None:
        self.place = place
        self._cords, self._waits, self._trust = cords, waits, trust
        self._lock = Lock()
        self._idle: list[Wire] = []

    def take(self) -> Wire:
        """A connection that was kept, or a new one. Raises Unreachable, and Severed when the relay is closed."""
        while (kept := self._kept()) is not None:
            if kept.is_fresh():
                return kept
            self.end(kept)
        try:
            return Wire(self._dialled(), self.place, self._waits)
        except OSError as error:
            raise Unreachable(self.place, error) from error

    def give(self, wire: Wire) -> None:
        """Keep a connection whose answer is read to its end; end it where it cannot be used again."""
        talk = wire.talk
        if talk.trailing_data[0] or talk.our_state is not h11.DONE or talk.their_state is not h11.DONE:
            self.end(wire)  # what was said unasked is no answer to the next question
            return
        talk.start_next_cycle()
        wire.since = time.monotonic()
        with self._lock:
            full = len(self._idle) >= MOST_KEPT
            if not full:
                self._idle.append(wire)
        if full:
            self.end(wire)

    def end(self, wire: Wire) -> None:
        """Hang up."""
        self._cords.drop(wire.line)

    def close(self) -> None:
        """Hang up every connection that is kept."""
        while (wire := self._kept()) is not None:
            self.end(wire)

    def _kept(self) -> Wire | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _dialled(self) -> socket.socket:
        until = time.monotonic() + self._waits.connect
        failure: OSError = OSError("no address")
        for family, kind, protocol, _, where in self._cords.addresses(
            self.place.host, self.place.port, self._waits.connect
        ):
            line = socket.socket(family, kind, protocol)
            self._cords.hold(line)
            try:
                line.settimeout(max(0.001, until - time.monotonic()))
                line.connect(where)
                line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return self._secured(line) if self.place.secure else line
            except OSError as error:
                self._cords.drop(line)
                failure = error
        raise failure

    def _secured(self, line: socket.socket) -> socket.socket:
        context = self._trust or _trust()
        context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF  # anybody on the way could have cut it there
        secured = context.wrap_socket(
            line, server_hostname=self.place.host, do_handshake_on_connect=False, suppress_ragged_eofs=False
        )
        self._cords.swap(line, secured)
        try:
            secured.do_handshake()
        except OSError:
            self._cords.drop(secured)
            raise
        return secured


@functools.cache
def _trust() -> ssl.SSLContext:
    """The machine's authorities; read once, since that takes as long as many requests."""
    context = ssl.create_default_context()
    with suppress(NotImplementedError):
        context.set_alpn_protocols(["http/1.1"])
    return context
