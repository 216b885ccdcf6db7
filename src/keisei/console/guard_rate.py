"""Rates: how often somebody may do something, and how many things may go on at once. Remembers a bounded number."""

import ipaddress
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

MOST: Final = 4096
"""Addresses that are remembered; the one that was quiet longest is forgotten."""


class Buckets:
    """A bucket of tokens for everybody: each use takes one, and they come back with time."""

    def __init__(self, per_s: float, burst: int, clock: Callable[[], float], most: int = MOST) -> None:
        """All are full."""
        self._per_s, self._burst, self._clock, self._most = per_s, burst, clock, most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def spend(self, key: str) -> float:
        """Take one; how many seconds to wait where there is none, else 0."""
        now = self._clock()
        left, then = self._left.pop(key, (float(self._burst), now))
        left = min(float(self._burst), left + max(0.0, now - then) * self._per_s)
        wait = 0.0 if left >= 1 else (1 - left) / self._per_s
        self._left[key] = (left if wait else left - 1, now)
        while len(self._left) > self._most:
            self._left.popitem(last=False)
        return wait


class Streams:
    """Answers that go on for long."""

    def __init__(self, most: int, most_each: int) -> None:
        """None goes on."""
        self._most, self._most_each = most, most_each
        self._each: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._each.total()

    def enter(self, key: str) -> str | None:
        """One more of somebody's; else why not."""
        if self._each[key] >= self._most_each:
            return f"{self._most_each} streams of this session are open; close a tab"
        if len(self) >= self._most:
            return f"{self._most} streams are open, which is all there are"
        self._each[key] += 1
        return None

    def leave(self, key: str) -> None:
        """One less."""
        self._each[key] -= 1
        if self._each[key] <= 0:
            del self._each[key]


def neighbourhood(host: str) -> str:
    """Whom an address stands for: with IPv6 one house has 2 to the 64 of them."""
    try:
        number = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host[:64]
    if isinstance(number, ipaddress.IPv6Address) and number.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(number) >> 64 << 64, 64)))
    return str(number)
