"""Talk: one connection of a harness, request by request, each answered by the model's server or refused."""

import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

import h11

from keisei.records.relay import Upstream
from keisei.rules.hosted import hosted
from keisei.rules.metering import Meter
from keisei.sandbox.relay_cord import Gone, Severed, Waits
from keisei.sandbox.relay_harness import Harness
from keisei.sandbox.relay_place import Unreachable
from keisei.sandbox.relay_request import SPENT, SPENT_STATUS, Asked, Rejected, answered, asked, is_knock
from keisei.sandbox.relay_tally import Entry, Tally
from keisei.sandbox.relay_upstream import Pool, Wire

_UNFINISHED = "the harness hung up before the answer was complete"


class House(NamedTuple):
    """What every talk of a relay shares."""

    upstream: Upstream
    token: str
    pool: Pool
    tally: Tally
    waits: Waits
    closed: bool = False
    """The model is all the network there is: what its server would do elsewhere is not asked for."""
    on_answer: Callable[[int, Mapping[str, str]], None] | None = None
    """Is told how the model's server answers."""


class Cut(Exception):
    """The answer ends before its end, so that the harness sees it."""


class Talk:
    """One connection. Raises nothing for what the harness or the server does."""

    def __init__(self, line: socket.socket, house: House) -> None:
        self._house = house
        self._harness = Harness(line, house.upstream.protocol, house.waits)

    def run(self) -> None:
        """Answer until the harness has no more to ask, or says what nobody understands. The caller closes the line."""
        with suppress(OSError, Gone, Cut, Severed):
            while self._one() and self._harness.turn():
                continue

    def _one(self) -> bool:
        """One request and its answer. Whether another may follow."""
        entry, method = Entry("?", "?"), b""
        try:
            request = self._harness.request()
            if request is None:
                return False
            method = request.method
            entry = Entry(method.decode("ascii"), request.target.decode("latin-1"))
            self._serve(request, entry)
        except Rejected as refusal:
            entry.refuse(refusal.status, refusal.message)
            self._house.tally.settle(entry)
            self._harness.refuse(refusal, method)
            return False
        except Gone:
            entry.fault = entry.fault or _UNFINISHED
            raise
        finally:
            if method:
                self._house.tally.settle(entry)
        return True

    def _serve(self, request: h11.Request, entry: Entry) -> None:
        if is_knock(request):
            self._knocked(entry)
            return
        ask = asked(request, self._house.upstream, self._house.pool.place, self._house.token)
        if self._house.tally.is_spent():
            raise Rejected(SPENT_STATUS, SPENT)
        pieces = self._looked_at(ask)
        try:
            wire = self._house.pool.take()
        except Unreachable as error:
            raise Rejected(502, f"keisei: {error}") from error
        reusable = False
        try:
            reusable = self._exchange(wire, ask, pieces, entry)
        finally:
            if reusable:
                self._house.pool.give(wire)
            else:
                self._house.pool.end(wire)

    def _knocked(self, entry: Entry) -> None:
        for _ in self._harness.body():
            continue
        entry.answer(200)
        self._harness.send(h11.Response(status_code=200, headers=[(b"Content-Length", b"0")]), h11.EndOfMessage())

    def _looked_at(self, ask: Asked) -> Iterable[bytes]:
        """The body, as it comes; whole and looked at where it could ask for more than an answer. Raises Rejected."""
        if ask.form is None or (ask.form != "responses" and not self._house.closed):
            return self._harness.body()
        pieces = list(self._harness.body())
        found = hosted(b"".join(pieces), self._house.upstream.protocol, closed=self._house.closed)
        if found is not None:
            raise Rejected(SPENT_STATUS, f"keisei: this attempt may not ask for {found}")
        return pieces

    def _exchange(self, wire: Wire, ask: Asked, pieces: Iterable[bytes], entry: Entry) -> bool:
        """Ask the server and pass its answer on. Whether its connection can be used again."""
        whole = self._ask(wire, ask, pieces, entry)
        try:
            events = wire.read(self._harness.line)
        except Unreachable as error:
            raise Rejected(504 if error.late else 502, f"keisei: {error}") from error
        except Gone:
            entry.counts = ask.form is not None  # the server has begun, and nobody will hear what it costs
            raise
        while not self._pass_on(events, ask, entry):
            try:
                events = wire.read(self._harness.line)
            except Unreachable as error:
                entry.fault = str(error)
                raise Cut from error
        return whole

    def _ask(self, wire: Wire, ask: Asked, pieces: Iterable[bytes], entry: Entry) -> bool:
        """Send the request on as it comes. False where the server would not read all of it; it may have said why."""
        whole = wire.send(ask.head)
        for piece in pieces:
            entry.asked += len(piece)
            whole = whole and wire.send(h11.Data(data=piece))
        return whole and wire.send(h11.EndOfMessage())

    def _pass_on(self, events: list[h11.Event], ask: Asked, entry: Entry) -> bool:
        """Send on what has come. Whether that was the end of it. Raises Cut when the allowance is used up before."""
        head, piece, end = _parts(events)
        parts: list[h11.Event] = []
        if head is not None:
            _begin(entry, ask, head)
            self._tell(ask, head)
            parts.append(h11.Response(status_code=head.status_code, headers=answered(head), reason=head.reason))
        is_spent = False
        if piece:
            parts.append(h11.Data(data=piece))
            is_spent = self._count(entry, piece)
        if end:
            parts.append(h11.EndOfMessage())
            self._house.tally.settle(entry)  # before the harness can know that it is over
        if parts:
            self._harness.send(*parts)
        if is_spent and not end:
            entry.fault = SPENT
            raise Cut
        return end

    def _tell(self, ask: Asked, head: h11.Response) -> None:
        if ask.form is not None and self._house.on_answer is not None:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
            self._house.on_answer(head.status_code, headers)

    def _count(self, entry: Entry, piece: bytes) -> bool:
        if entry.meter is None:
            return False
        entry.meter.feed(piece)
        return self._house.tally.note(entry)


def _parts(events: list[h11.Event]) -> tuple[h11.Response | None, bytes, bool]:
    """The head, the body and the end, as far as they are there. `100 Continue` is between the server and us."""
    head = next((event for event in events if isinstance(event, h11.Response)), None)
    piece = b"".join([bytes(event.data) for event in events if isinstance(event, h11.Data)])
    return head, piece, isinstance(events[-1], h11.EndOfMessage)


def _begin(entry: Entry, ask: Asked, response: h11.Response) -> None:
    entry.answer(response.status_code)
    entry.counts = ask.form is not None and 200 <= response.status_code < 300  # noqa: PLR2004 - all successes
    if ask.form is not None and entry.counts:
        headers = {name: value.decode("latin-1") for name, value in response.headers}
        is_plain = headers.get(b"content-encoding", "identity") == "identity"
        entry.meter = Meter(ask.form, headers.get(b"content-type", "") if is_plain else "")
