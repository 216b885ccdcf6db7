"""Switches: ends one attempt from outside, whatever it is doing, and keeps its tree's lease."""

import threading
from typing import Protocol


class Endable(Protocol):
    """A running program."""

    def cancel(self) -> None:
        """Have it ended."""

    def renew(self, seconds: float) -> None:
        """Let it run for so long from now."""


class Switch:
    """One attempt's switch. Any thread may pull it, before, while or after something runs."""

    def __init__(self) -> None:
        """Nothing runs yet."""
        self.pulled = threading.Event()
        self._lock = threading.Lock()
        self._running: Endable | None = None

    def attach(self, running: Endable | None) -> None:
        """Say what runs; None where nothing does any more. What starts after the pull is ended at once."""
        with self._lock:
            self._running = running
        if running is not None and self.pulled.is_set():
            running.cancel()

    def pull(self) -> None:
        """End it. A second pull does nothing more."""
        self.pulled.set()
        with self._lock:
            if self._running is not None:
                self._running.cancel()

    def renew(self, seconds: float) -> None:
        """Let what runs go on for so long."""
        with self._lock:
            if self._running is not None:
                self._running.renew(seconds)
