"""Load: what a connection has in memory, and what all of a server's have together. Whoever has too much must wait."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

AGAIN_S: Final = 0.01
"""How often it is asked whether there is room again: only somebody who does not read lets us wait."""


class Heap:
    """Messages that are kept for somebody, and their bytes. Part of a larger one, or the whole."""

    def __init__(self, most: int, size: int, whole: "Heap | None" = None) -> None:
        """It is full with so many, or so many bytes, or where the whole is."""
        self._most, self._size, self._whole = most, size, whole
        self._count = self._bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether no more should come. What is on its way may still be added."""
        own = self._count >= self._most or self._bytes >= self._size
        return own or (self._whole is not None and self._whole.is_full)

    def add(self, size: int, count: int = 1) -> None:
        """One more, with so many bytes."""
        self._count, self._bytes = self._count + count, self._bytes + size
        if self._whole is not None:
            self._whole.add(size, count)

    def take(self, size: int) -> None:
        """One less."""
        self.add(-size, -1)

    @contextmanager
    def holding(self, size: int) -> Iterator[None]:
        """One more, for a while."""
        self.add(size)
        try:
            yield
        finally:
            self.take(size)


class Load:
    """Of one connection, or of all: requests that are not settled yet, and messages that are not written yet."""

    def __init__(self, most: int, size: int, whole: "Load | None" = None) -> None:
        """So many of each, and so many bytes."""
        self.coming: Heap = Heap(most, size, None if whole is None else whole.coming)
        self.going: Heap = Heap(most, size, None if whole is None else whole.going)

    async def room(self, is_over: Callable[[], bool]) -> None:
        """Wait until a message more can be taken, or the connection is over."""
        while (self.coming.is_full or self.going.is_full) and not is_over():  # noqa: ASYNC110 - a hang-up is no event
            await asyncio.sleep(AGAIN_S)

    async def room_to_answer(self) -> None:
        """Wait until a call more can be made: its answer has room."""
        while self.going.is_full:  # noqa: ASYNC110 - as above
            await asyncio.sleep(AGAIN_S)


CURRENT: Final[ContextVar[Load | None]] = ContextVar("load", default=None)
"""The load of the connection that a call came over; None where it is not ours."""
