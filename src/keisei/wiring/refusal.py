"""Refusals: how often it is written down that somebody was turned away. Somebody who never stops fills no ledger."""

import threading
from collections.abc import Callable
from typing import Final

MOST: Final = 20
"""Refusals a minute that are written down; others are counted."""
MINUTE_S: Final = 60.0


class Brake:
    """Lets some through a minute; others are counted."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """None came yet."""
        self._clock, self._lock = clock, threading.Lock()
        self._began, self._passed, self._counted = clock(), 0, 0

    def passed(self) -> int | None:
        """How many before this one were only counted; None where this one is only counted too."""
        with self._lock:
            now = self._clock()
            if now - self._began >= MINUTE_S:
                self._began, self._passed = now, 0
            if self._passed >= MOST:
                self._counted += 1
                return None
            self._passed += 1
            counted, self._counted = self._counted, 0
            return counted


class Refusals:
    """Written down as they come, but not without end: after some in a minute they are only counted."""

    def __init__(self, write: Callable[[str, int], None], clock: Callable[[], float]) -> None:
        """`write` is given the reason, and how many before it were only counted."""
        self._write, self._brake = write, Brake(clock)

    def add(self, reason: str) -> None:
        """One more."""
        counted = self._brake.passed()
        if counted is not None:
            self._write(reason, counted)
