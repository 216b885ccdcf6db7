"""The bench: the one forge of a console, how much it does at once, and drafts that wait for the page after an order."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import msgspec
from msgspec import Struct

from keisei.console.memory import Memory
from keisei.console.premises import Premises
from keisei.records.draft import AtomDraft
from keisei.records.error import WorldFault
from keisei.wiring.forge import Forge
from keisei.wiring.forge_result import TriedOut, Undone, Written
from keisei.wiring.fresh import new_id

MOST: Final = 2
"""Trials and writes side by side: each starts processes."""
PATIENCE_S: Final = 3.0
"""Who waits holds a thread, too."""


class KeptDraft(Struct, frozen=True, kw_only=True):
    """A draft and what was done with it, for the page after an order. Internal."""

    draft: AtomDraft
    """As the form had it."""
    looked: bool = False
    """Whether somebody asked what it would become."""
    tried: TriedOut | None = None
    """How it was tried."""
    written: Written | None = None
    """How it was written."""
    undone: Undone | None = None
    """What was taken back."""


class ForgeBench:
    """The forge of one console. Any thread may use it."""

    def __init__(self, premises: Premises) -> None:
        """Raises OperatorError, AuthorError where the project has no place for atoms."""
        self.forge = Forge(premises.settings, start=premises.start)
        self.memory: Memory[KeptDraft] = Memory()
        self._places = threading.BoundedSemaphore(MOST)

    @contextmanager
    def place(self) -> Iterator[None]:
        """A place among those who start processes. Raises WorldFault where none comes free."""
        if not self._places.acquire(timeout=PATIENCE_S):
            raise WorldFault("others are trying and writing atoms just now", "ask again in a moment", retryable=True)
        try:
            yield
        finally:
            self._places.release()

    def remember(self, kept: KeptDraft) -> str:
        """Keep it for the page that is returned."""
        key = new_id()
        self.memory.keep(key, kept, len(msgspec.json.encode(kept)))
        return f"/forge?kept={key}"

    def close(self) -> None:
        """Nothing: a forge holds nothing open."""
