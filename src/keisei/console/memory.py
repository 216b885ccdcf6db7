"""Memory: what the console remembers for the page after an order. The newest few things, and not for long."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")
MOST: Final = 100
"""Things that are remembered."""
BYTES: Final = 32 * 1024 * 1024
"""What they may take together."""
LONGEST_S: Final = 3600.0


class _Kept(NamedTuple, Generic[T]):
    value: T
    size: int
    until: float


class Memory(Generic[T]):
    """Things by their ids. The oldest go first; any thread may ask."""

    def __init__(self, *, most: int = MOST, size: int = BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is remembered yet."""
        self._most, self._room, self._clock = most, size, clock
        self._turn = threading.Lock()
        self._kept: OrderedDict[str, _Kept[T]] = OrderedDict()

    def keep(self, key: str, value: T, size: int, *, seconds: float = LONGEST_S) -> None:
        """Remember it for a while, as long as there is room; one that is too large alone is not remembered."""
        with self._turn:
            self._kept.pop(key, None)
            if size > self._room:
                return
            self._kept[key] = _Kept(value, size, self._clock() + seconds)
            taken = sum(each.size for each in self._kept.values())
            while len(self._kept) > self._most or taken > self._room:
                taken -= self._kept.popitem(last=False)[1].size

    def find(self, key: str) -> T | None:
        """What is remembered under an id; None where it is forgotten, or never was."""
        with self._turn:
            found = self._kept.get(key)
            if found is None:
                return None
            if found.until < self._clock():
                del self._kept[key]
                return None
            return found.value

    def take(self, key: str) -> T | None:
        """The same, and it is forgotten then: two who ask at once do not both get it."""
        with self._turn:
            found = self._kept.pop(key, None)
            return None if found is None or found.until < self._clock() else found.value
