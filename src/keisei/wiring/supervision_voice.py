"""A voice that never keeps its speaker waiting: lines are written by a thread of its own."""

import os
import select
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

MOST: Final = 10_000
"""Lines that wait for a reader who is slow; what comes beyond is left out, and that is said."""
LAST_S: Final = 2.0
"""How long the reader of the last lines is waited for."""


class Voice:
    """Writes lines to a descriptor, in order. A reader that went away is not missed."""

    def __init__(self, descriptor: int, left_out: Callable[[int], str]) -> None:
        """Ready to speak. `left_out` words that so many lines were not written."""
        self._descriptor, self._left_out = descriptor, left_out
        self._lines: deque[str] = deque()
        self._missed = 0
        self._closed = False
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._write, name="voice", daemon=True)
        self._thread.start()

    def say(self, line: str) -> None:
        """Have a line written, soon."""
        with self._news:
            if len(self._lines) < MOST:
                self._lines.append(line)
            else:
                self._missed += 1
            self._news.notify()

    def close(self) -> None:
        """Have the rest written, unless nobody reads."""
        with self._news:
            self._closed = True
            self._news.notify()
        self._thread.join(LAST_S)

    def _write(self) -> None:
        while (text := self._next()) is not None:
            data = text.encode("utf-8", "backslashreplace")
            try:
                while data:
                    data = data[self._written(data) :]
            except OSError:
                return self._keep_silent()
        return None

    def _written(self, data: bytes) -> int:
        """How much was taken. A terminal may have been told by another program not to wait; then it is waited for."""
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLOUT)
            poll.poll()
            return 0

    def _next(self) -> str | None:
        """What is to be written; None at the end."""
        with self._news:
            self._news.wait_for(lambda: self._lines or self._closed)
            lines = [f"{each}\n" for each in self._lines]
            self._lines.clear()
            missed, self._missed = self._missed, 0
        if missed:
            lines.append(f"{self._left_out(missed)}\n")
        return "".join(lines) or None

    def _keep_silent(self) -> None:
        """Nobody reads any more; keep nothing."""
        with self._news:
            self._lines.clear()
        while self._next() is not None:
            pass
