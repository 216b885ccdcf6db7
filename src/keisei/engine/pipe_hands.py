"""Hands: the threads that call atoms for a pipe, and the one queue they all answer on."""

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from keisei.engine.invoke import Followed, InvokeOrder, Tools, follow
from keisei.records.invocation import Invoked


class Raised(NamedTuple):
    """A thread met something that nobody expected: our bug."""

    error: BaseException


class Item(NamedTuple):
    """A stream has an item, and is held until it is told to go on."""

    stream: "Stream"
    value: Any


class Ended(NamedTuple):
    """A stream is over."""

    stream: "Stream"
    invoked: Invoked


class Wake(NamedTuple):
    """Somebody wants attention."""


class Hands:
    """Some threads, started as they are needed. Everything they do is answered in `heard`."""

    def __init__(self, most: int) -> None:
        """Nothing runs yet."""
        self._most = most
        self._threads: list[threading.Thread] = []
        self._jobs: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._events: SimpleQueue[object] = SimpleQueue()
        self._given = 0

    def give(self, job: Callable[[], object]) -> None:
        """Have it done by the next hand that is free; what it returns is heard."""
        self._given += 1
        if self._given > len(self._threads) < self._most:
            thread = threading.Thread(target=self._work, name="pipe", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._jobs.put(job)

    def do(self, job: Callable[[], object]) -> None:
        """Do it here and now, without handing it over; what it returns is heard, what it raises is raised."""
        self._events.put(job())

    def tell(self, event: object) -> None:
        """Have something heard. Any thread may say it, a signal handler too."""
        self._events.put(event)

    def heard(self, timeout_s: float | None) -> list[object]:
        """What was answered meanwhile; waits for the first of it, not longer than that. Raises what a thread raised."""
        found: list[object] = []
        with suppress(Empty):
            found.append(self._events.get(timeout=timeout_s))
            while True:
                found.append(self._events.get_nowait())
        for event in found:
            if isinstance(event, Raised):
                raise event.error
        return found

    def close(self) -> None:
        """Wait until every hand is empty; nothing is given after that."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                event = job()
            except BaseException as error:  # noqa: BLE001 - told to whoever waits for the answer
                event = Raised(error)
            self._events.put(event)


class Stream:
    """A stream whose items are taken one by one. It has a thread of its own, which mostly waits."""

    def __init__(self, tools: Tools, order: InvokeOrder, tell: Callable[[object], None]) -> None:
        """Nothing runs yet."""
        self._tools, self._order, self._tell = tools, order, tell
        self._taken = threading.Semaphore(0)
        self._opening = threading.Lock()
        self._followed: Followed | None = None
        self._stopped = False
        self._thread = threading.Thread(target=self._follow, name="pipe-stream", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def take(self) -> None:
        """The last item is in good hands: the next one may come."""
        self._taken.release()

    def stop(self) -> None:
        """No more items. `Ended` is heard all the same."""
        with self._opening:
            self._stopped = True
        self._taken.release()
        if self._followed is not None:
            self._followed.close()

    def join(self) -> None:
        """Wait for its end, where it began."""
        if self._thread.ident is not None:
            self._thread.join()

    def _follow(self) -> None:
        try:
            self._tell(Ended(self, self._invoked()))
        except BaseException as error:  # noqa: BLE001 - told to whoever waits for the end
            self._tell(Raised(error))

    def _invoked(self) -> Invoked:
        followed = follow(self._tools, self._order)
        with self._opening:
            self._followed = followed
        with followed:
            for value in followed if not self._stopped else ():
                self._tell(Item(self, value))
                self._taken.acquire()
                if self._stopped:
                    break
        return followed.invoked
