"""Flights: one tool call on its way, with every atom it calls, so that these and no others can be ended."""

import threading
from collections.abc import Callable

from keisei.engine.ports import Following, Workers
from keisei.records.invocation import Answer, CallOrder
from keisei.workers import answer
from keisei.workers.following import Stream

AGAIN_S = 0.05
"""How often a cancel is said again while the call goes on: it may not have come to the workers yet."""


class Flight:
    """The workers as one tool call sees them. Implements the port Workers; any thread may cancel it."""

    def __init__(self, workers: Workers) -> None:
        """Nothing is called yet."""
        self._workers = workers
        self._lock = threading.Lock()
        self._called: dict[str, int] = {}
        self._is_canceled = False
        self.also: Callable[[], None] | None = None
        """Told of a cancel too: whoever decides what is called next."""

    @property
    def is_canceled(self) -> bool:
        """Whether it is to end."""
        return self._is_canceled

    def call(self, order: CallOrder) -> Answer:
        """Run an atom, as long as nobody cancels. Raises MissingProgram."""
        if not self._begin(order.invocation_id):
            return answer.canceled(order.spec)
        try:
            return self._workers.call(order)
        finally:
            self._end(order.invocation_id)

    def follow(self, order: CallOrder) -> Following:
        """Start a stream, likewise. Its id stays known: to end what is over does no harm. Raises MissingProgram."""
        if not self._begin(order.invocation_id):
            return Stream(order.spec, answer.canceled(order.spec))
        return self._workers.follow(order)

    def cancel(self, invocation_id: str | None = None) -> None:
        """End everything it calls, now and later; or one call. Safe to say twice."""
        if invocation_id is not None:
            self._workers.cancel(invocation_id)
            return
        is_first, self._is_canceled = not self._is_canceled, True
        self.ring()
        if is_first and self.also is not None:
            self.also()

    def ring(self) -> None:
        """Say the cancel again."""
        with self._lock:
            called = list(self._called)
        for each in called:
            self._workers.cancel(each)

    def _begin(self, invocation_id: str) -> bool:
        with self._lock:
            self._called[invocation_id] = self._called.get(invocation_id, 0) + 1
        return not self._is_canceled

    def _end(self, invocation_id: str) -> None:
        with self._lock:
            left = self._called.pop(invocation_id, 1) - 1
            if left:
                self._called[invocation_id] = left


class Flights:
    """All of one desk, by the ids of their tool calls."""

    def __init__(self) -> None:
        """None is on its way."""
        self._changed = threading.Condition()
        self._all: dict[str, Flight] = {}
        self._bell: threading.Thread | None = None
        self._is_closed = False

    def begin(self, key: str, workers: Workers) -> Flight:
        """One more, or the one that is expected; canceled from its beginning where everything is being closed."""
        with self._changed:
            flight = self._all.setdefault(key, Flight(workers))
            if self._is_closed:
                flight.cancel()
        return flight

    def end(self, key: str) -> None:
        """It is over."""
        with self._changed:
            self._all.pop(key, None)
            self._changed.notify_all()

    def cancel(self, key: str) -> None:
        """End one, for certain. Returns at once; nothing where it is over or did not begin."""
        with self._changed:
            flight = self._all.get(key)
        if flight is not None:
            flight.cancel()
            self._ring_on()

    def close(self) -> None:
        """End all and wait for them; whoever begins after this is canceled. Safe to say twice."""
        with self._changed:
            self._is_closed = True
            flying = list(self._all.values())
        for flight in flying:
            flight.cancel()
        if flying:
            self._ring_on()
        with self._changed:
            self._changed.wait_for(lambda: not self._all)

    def _ring_on(self) -> None:
        with self._changed:
            if self._bell is None:
                self._bell = threading.Thread(target=self._ring, name="mcp bell", daemon=True)
                self._bell.start()

    def _ring(self) -> None:
        while True:
            with self._changed:
                self._changed.wait(AGAIN_S)
                canceled = [flight for flight in self._all.values() if flight.is_canceled]
                if not canceled:
                    self._bell = None
                    return
            for flight in canceled:
                flight.ring()
