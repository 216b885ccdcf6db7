"""Steward: the one thread of a crew. It starts the hosts, passes a cancel on and sends idle workers home.

The kernel ends a host when the thread that started it ends, however that came about: so hosts are started by a thread
that lives as long as the crew. And a cancel may be said in a signal handler, which may hold no lock: so it is only put
on a queue there, and done here.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")


class Job(Generic[T]):
    """Something to be done by the steward while somebody waits for it."""

    def __init__(self, work: Callable[[], T], undo: Callable[[T], object]) -> None:
        """`undo` takes back what nobody waits for any more."""
        self._work, self._undo = work, undo
        self._lock = threading.Lock()
        self._left = False
        self._result: SimpleQueue[tuple[T, None] | tuple[None, BaseException]] = SimpleQueue()

    def do(self) -> None:
        """Do it. Never raises."""
        try:
            made = self._work()
        except BaseException as error:  # noqa: BLE001 - whoever waits is told
            self._result.put((None, error))
            return
        with self._lock:
            if not self._left:
                self._result.put((made, None))
                return
        self._undo(made)

    def result(self) -> T:
        """Wait for it. Whoever is interrupted here leaves nothing behind."""
        try:
            made, error = self._result.get()
        except BaseException:
            with self._lock:
                self._left = True
                done = not self._result.empty()
            if done and (made := self._result.get()[0]) is not None:
                self._undo(made)
            raise
        if error is not None:
            raise error
        return made  # type: ignore[return-value]


class Steward:
    """A thread that does what it is told, one thing after another, and looks around every now and then."""

    def __init__(self, look_around: Callable[[], None], every_s: float) -> None:
        """The thread begins with the first thing to do."""
        self._look_around, self._every_s = look_around, every_s
        self._tasks: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def ensure(self) -> None:
        """Have the thread running."""
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._serve, name="atom workers", daemon=True)
                    self._thread.start()

    def say(self, task: Callable[[], object]) -> None:
        """Have it done, whenever the thread comes to it. May be said in a signal handler."""
        self._tasks.put(task)

    def close(self) -> None:
        """End the thread, behind everything it was told."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._tasks.put(None)
            thread.join()

    def _serve(self) -> None:
        while True:
            try:
                task = self._tasks.get(timeout=self._every_s)
            except Empty:
                task = self._look_around
            if task is None:
                return
            with suppress(Exception):  # nobody waits for it; what matters is that the next thing is done
                task()
