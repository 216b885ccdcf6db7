"""Streams: what is heard of a program while it runs, and what is kept of it."""

from collections.abc import Callable
from typing import Literal

Name = Literal["stdout", "stderr"]

OnOutput = Callable[[Name, bytes], None]
"""Called with every piece of output as it comes, also beyond the cap, in the thread that waits."""


class Stream:
    """The beginning of one stream, up to a cap."""

    def __init__(self, cap: int) -> None:
        """Nothing was heard yet."""
        self.data = bytearray()
        self.truncated = False
        self._cap = cap

    def add(self, piece: bytes) -> None:
        """Keep what there is room for."""
        room = max(0, self._cap - len(self.data))
        self.data += piece[:room]
        self.truncated = self.truncated or len(piece) > room
