"""The harness's end of a relay: its requests taken apart, its answers put together, every wait with an end."""

import socket
import time
from collections.abc import Iterator

import h11

from keisei.records.relay import Protocol
from keisei.sandbox.relay_cord import Gone, Waits
from keisei.sandbox.relay_place import size_of
from keisei.sandbox.relay_request import LARGEST, Rejected, failure

HEAD = 65_536
"""Bytes of the head of a request."""
PIECE = 65_536


class Harness:
    """One connection of a harness."""

    def __init__(self, line: socket.socket, protocol: Protocol, waits: Waits) -> None:
        self.line = line
        self._protocol, self._waits = protocol, waits
        self._talk = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD)

    def request(self) -> h11.Request | None:
        """The head of its next request; None where it hung up, or was silent for long. Raises Rejected and OSError."""
        begun = bool(self._talk.trailing_data[0])
        until = time.monotonic() + (self._waits.head if begun else self._waits.idle)
        while True:
            event = self._event()
            if isinstance(event, h11.Request):
                if size_of(event) + len(event.target) > HEAD:
                    raise Rejected(431, f"keisei: the head of a request may hold {HEAD} bytes")
                return event
            if event is not h11.NEED_DATA:
                return None
            try:
                self._receive(until)
            except TimeoutError:
                if not begun:
                    return None
                raise Rejected(408, "keisei: the head of the request did not come in time") from None
            if not begun:
                begun, until = True, time.monotonic() + self._waits.head

    def body(self) -> Iterator[bytes]:
        """The body of that request, as it comes. Raises Rejected where it is too long, late or none."""
        until = time.monotonic() + self._waits.body
        size = 0
        while not isinstance(event := self._event(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                size += len(event.data)
                if size > LARGEST:
                    raise Rejected(413, f"keisei: a request may hold {LARGEST} bytes")
                yield bytes(event.data)
            else:
                self._wait_for_body(until)

    def send(self, *events: h11.Event) -> None:
        """Send parts of an answer, together and at once. Raises Gone."""
        data = b"".join([self._talk.send(event) or b"" for event in events])
        try:
            self.line.settimeout(self._waits.answer)
            self.line.sendall(data)
        except OSError as error:
            raise Gone from error

    def refuse(self, refusal: Rejected, method: bytes) -> None:
        """Say why in the protocol's form, and end the connection; where an answer has begun, just that."""
        if self._talk.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return
        body = failure(self._protocol, refusal.status, refusal.message)
        headers = [
            (b"Content-Type", b"application/json"),
            (b"Content-Length", str(len(body)).encode()),
            (b"Connection", b"close"),
        ]
        data = [] if method == b"HEAD" else [h11.Data(data=body)]
        self.send(h11.Response(status_code=refusal.status, headers=headers), *data, h11.EndOfMessage())
        self._linger()

    def turn(self) -> bool:
        """Make ready for the next request. False where there can be none."""
        if self._talk.our_state is not h11.DONE or self._talk.their_state is not h11.DONE:
            return False
        self._talk.start_next_cycle()
        return True

    def _event(self) -> object:
        try:
            return self._talk.next_event()
        except h11.RemoteProtocolError as error:
            raise Rejected(error.error_status_hint, f"keisei: this is no request: {error}") from error

    def _receive(self, until: float) -> None:
        self.line.settimeout(max(0.001, until - time.monotonic()))
        self._talk.receive_data(self.line.recv(PIECE))

    def _wait_for_body(self, until: float) -> None:
        if self._talk.they_are_waiting_for_100_continue:
            self.send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
        try:
            self._receive(until)
        except TimeoutError:
            raise Rejected(408, "keisei: the body of the request did not come in time") from None

    def _linger(self) -> None:
        """Read a little of what is still coming: a connection that ends with bytes unread is reset, its answer lost."""
        self.line.shutdown(socket.SHUT_WR)
        until = time.monotonic() + self._waits.linger
        while (left := until - time.monotonic()) > 0:
            self.line.settimeout(left)
            if not self.line.recv(PIECE):
                return
