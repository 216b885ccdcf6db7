"""Slow things: what may take long is done a few at a time, so that pages always find a thread."""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from keisei.console.premises import Premises
from keisei.records.error import WorldFault

MOST: Final = 8
"""At once, of all kinds; the server has forty threads."""


class Slow:
    """The places there are. Any thread may ask."""

    def __init__(self, _premises: Premises) -> None:
        """Nobody is there yet."""
        self._places = threading.BoundedSemaphore(MOST)
        self._turn = threading.Lock()
        self._busy: set[str] = set()

    @contextmanager
    def place(self, what: str) -> Iterator[None]:
        """A place for one thing, by its name: the same is not done twice at once. Raises WorldFault: come again."""
        with self._turn:
            if what in self._busy:
                raise WorldFault(f"{what} is under way already", "look again in a moment", retryable=True)
            if not self._places.acquire(blocking=False):
                raise WorldFault("too much is under way at once", "try again in a moment", retryable=True)
            self._busy.add(what)
        try:
            yield
        finally:
            with self._turn:
                self._busy.discard(what)
            self._places.release()

    def close(self) -> None:
        """There is nothing to give back."""


def slowly(premises: Premises, what: str) -> AbstractContextManager[None]:
    """A place among the slow things of this console."""
    return premises.keep(Slow).place(what)
