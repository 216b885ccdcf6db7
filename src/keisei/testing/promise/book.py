"""Book: where promises are entered, and how several parties do something at once."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

from keisei.testing.queue import Desk

T = TypeVar("T")
Promise: TypeAlias = Callable[[Desk], None]

PROMISES: dict[str, Promise] = {}
"""Every promise by its name. A store that breaks one raises AssertionError from it."""

PARTIES = 8
"""How many meet in a race."""


def promise(check: Promise) -> Promise:
    """Enter a promise under its own name."""
    PROMISES[check.__name__.replace("_", "-")] = check
    return check


def at_once(action: Callable[..., T], *columns: Iterable[Any]) -> list[T]:
    """As `map`, a thread a call, all begun at one moment; what each returned. Raises what the first of them raised."""
    rows = list(zip(*columns, strict=True))
    gate = threading.Barrier(len(rows))

    def begin(row: tuple[Any, ...]) -> T:
        gate.wait()
        return action(*row)

    with ThreadPoolExecutor(len(rows)) as pool:
        return list(pool.map(begin, rows))
