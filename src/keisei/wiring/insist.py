"""Insisting: a database that is away for a while costs no work, as long as the lease holds."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from keisei.engine.ports import Store
from keisei.records.breaker import Breaker
from keisei.records.budget import Grant, Tally
from keisei.records.error import WorldFault
from keisei.records.id import TaskId
from keisei.records.move import Progress, Settled, Settlement
from keisei.records.task import TaskRecord

T = TypeVar("T")
FIRST_S: Final = 0.05
LONGEST_S: Final = 1.0


class Insistent:
    """The books of one attempt: what could not be written is written again, until the lease is gone."""

    def __init__(self, store: Store, is_lost: Callable[[], bool]) -> None:
        """`is_lost` says when there is no use in trying any more."""
        self._store, self._is_lost = store, is_lost

    def progress(self, progress: Progress) -> bool:
        """As the store's."""
        return self._insist(lambda: self._store.progress(progress))

    def settle(self, settlement: Settlement) -> Settled:
        """As the store's."""
        return self._insist(lambda: self._store.settle(settlement))

    def task(self, task_id: TaskId) -> TaskRecord | None:
        """As the store's."""
        return self._insist(lambda: self._store.task(task_id))

    def is_canceled(self, task_id: TaskId) -> bool:
        """As the store's."""
        return self._insist(lambda: self._store.is_canceled(task_id))

    def breakers(self) -> list[Breaker]:
        """As the store's."""
        return self._insist(self._store.breakers)

    def spent_by(self, task_id: TaskId) -> Tally:
        """As the store's."""
        return self._insist(lambda: self._store.spent_by(task_id))

    def grants(self, day: str | None, task_id: TaskId | None = None) -> list[Grant]:
        """As the store's."""
        return self._insist(lambda: self._store.grants(day, task_id))

    def _insist(self, work: Callable[[], T]) -> T:
        wait = FIRST_S
        while True:
            try:
                return work()
            except WorldFault as fault:
                if not fault.retryable or self._is_lost():
                    raise
            time.sleep(wait)
            wait = min(LONGEST_S, wait * 2)
