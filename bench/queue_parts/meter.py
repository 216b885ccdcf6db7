"""The meter of a peer's drain: from the first task's start to the last one's end, with the processor time between."""

import threading
import time

from tree import tree_cpu_s


class Meter:
    """Counts ends; threads may share it."""

    def __init__(self, tasks: int, server: int) -> None:
        """`server` is the process of the database server; 0 where there is none."""
        self.tasks = tasks
        self.done = threading.Event()
        self._server = server
        self._lock = threading.Lock()
        self._ended = 0
        self._first: float | None = None
        self._last = 0.0
        self._cpu = 0.0

    def begin(self) -> None:
        """A task's work begins."""
        if self._first is None:
            self._cpu, self._first = self._spent(), time.monotonic()

    def end(self) -> None:
        """A task is over."""
        with self._lock:
            self._ended += 1
            if self._ended == self.tasks:
                self._last = time.monotonic()
                self._cpu = self._spent() - self._cpu
                self.done.set()

    def report(self) -> dict[str, float]:
        """What is printed. Raises AssertionError where tasks are missing."""
        assert self._first is not None
        assert self._ended == self.tasks, f"{self._ended} of {self.tasks} tasks ended"
        return {"seconds": self._last - self._first, "cpu_s": self._cpu}

    def _spent(self) -> float:
        return time.process_time() + (tree_cpu_s(self._server) if self._server else 0.0)
