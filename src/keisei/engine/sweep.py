"""Sweep: attempts whose runner is gone are settled as lost, or resumed where their harness has returned."""

from collections.abc import Callable
from typing import Protocol

from keisei.engine.ports import Store
from keisei.engine.settle import Chance, canceled, lost
from keisei.records.breaker import Breaker
from keisei.records.budget import Grant, Tally
from keisei.records.id import RunnerId, TaskId
from keisei.records.move import Claimed, Progress, Settled, Settlement, Sweep
from keisei.records.task import TaskRecord
from keisei.rules.refusal import Refusals

CANCELED = "canceled by an operator"
Salvage = Callable[[Claimed], Refusals | None]
"""Ends what is left of an attempt whose runner is gone, keeps what it had written, and says what its gate refused."""


class Books(Protocol):
    """What an attempt writes, a part of the store."""

    def progress(self, progress: Progress) -> bool:
        """Write how far it has come."""

    def settle(self, settlement: Settlement) -> Settled:
        """Close it."""

    def task(self, task_id: TaskId) -> TaskRecord | None:
        """Its task."""

    def is_canceled(self, task_id: TaskId) -> bool:
        """Whether somebody wants it ended."""

    def breakers(self) -> list[Breaker]:
        """What is known of adapters."""

    def spent_by(self, task_id: TaskId) -> Tally:
        """What its task has spent."""

    def grants(self, day: str | None, task_id: TaskId | None = None) -> list[Grant]:
        """What was granted to its task."""


def recover(store: Store, sweep: Sweep, chance: Chance, salvage: Salvage) -> list[Claimed]:
    """Settle what was lost; the attempts whose harness has returned come back, to be judged and never run again.

    `salvage` ends what is left of an attempt and keeps what it had written, before it is settled.
    """
    by = sweep.runner_id or RunnerId("operator")
    resumable = []
    for claimed in store.sweep(sweep):
        if claimed.returned:
            resumable.append(claimed)
        else:
            refused = salvage(claimed)
            conclude(store, lost(claimed, by, chance, refused), claimed, chance)
    return resumable


def conclude(store: Books, found: Settlement, claimed: Claimed, chance: Chance) -> Settled:
    """Settle, and settle as cancelled where an operator was quicker."""
    settled = store.settle(found)
    if settled != "canceled":
        return settled
    task = store.task(claimed.task.task_id)
    reason = (task.last_error if task is not None else None) or CANCELED
    return store.settle(canceled(found, claimed, reason, chance.now))
