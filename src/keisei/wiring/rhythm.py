"""Rhythm: what is done once in a while."""

import time


class Rhythm:
    """When things were last done. One thread uses it."""

    def __init__(self) -> None:
        """Everything is due."""
        self._last: dict[str, float] = {}

    def is_time(self, what: str, every_s: float) -> bool:
        """Whether it was never done, or long enough ago; then it counts as done."""
        now = time.monotonic()
        if what in self._last and now - self._last[what] < every_s:
            return False
        self._last[what] = now
        return True

    def forget(self) -> None:
        """Everything is due again."""
        self._last.clear()
