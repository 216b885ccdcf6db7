"""Loops: tasks that come from one place, ask the same and end the same, over and over. Pure.

Work that begins by itself can go round in circles, and every round of it succeeds. What people queue by hand is theirs
to repeat.
"""

import re
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from keisei.records.task import TaskRecord
from keisei.rules.canonical import digest

SCOPE: Final = "loop:"
"""What the scope of a pause begins with that holds for one lineage alone."""
HELD: Final = "held: work like this goes round in circles"
"""How the reason begins why a task of a paused lineage is not run."""
MOMENT: Final = re.compile(r":\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$")
"""What a schedule puts behind the source of its tasks."""
FINISHED: Final = frozenset({"completed", "permanent_failure"})
"""Ends that count. A blocked task waits for a person anyway, and a cancelled one has met one."""


class Lineage(Struct, frozen=True, kw_only=True):
    """Where a task comes from and what it asks."""

    task_type: str
    """Its type."""
    source: str
    """Who asked, without the moment."""
    subject: str | None
    """One line for people."""
    payload: dict[str, Any] | None
    """What it asks; None for a step of a workflow, whose payload counts its visits."""

    @property
    def scope(self) -> str:
        """The scope of its pause, and the key of its approval."""
        told = [self.task_type, self.source, self.subject, self.payload]
        return f"{SCOPE}{_digest(told)[:32]}"


def begins_by_itself(task: TaskRecord, depth: Callable[[], int]) -> bool:
    """Whether no person has asked for it: a schedule, a sensor, a workflow or another task has.

    A task that a person tries again has a parent too; `depth` tells how many tasks stand above it.
    """
    if any((task.schedule_id, task.sensor_event_id, task.workflow_ref)):
        return True
    return task.parent_task_id is not None and depth() > 0


def lineage_of(task: TaskRecord) -> Lineage:
    """Where it comes from. Equal lineages are the same work asked for again."""
    return Lineage(
        task_type=task.task_type,
        source=MOMENT.sub("", task.source),
        subject=task.subject,
        payload=None if task.workflow_ref is not None else task.payload,
    )


def outcome_hash(task: TaskRecord) -> str:
    """What it came to, in one word. Equal hashes are the same end."""
    outcome = task.outcome
    if outcome is None:
        return _digest([task.status, task.last_error])
    files = [list(outcome.file_changes), list(outcome.artifact_paths)]
    return _digest([task.status, outcome.operator_summary, outcome.workflow_signal, *files])


class Run:
    """Ends of one lineage that were the same, without another one in between."""

    def __init__(self, after: int) -> None:
        """`after` of them are a loop."""
        self._after = after
        self._outcome = ""
        self._moments: deque[datetime] = deque(maxlen=after)

    def add(self, outcome: str, at: datetime) -> None:
        """One more end."""
        if outcome != self._outcome:
            self._outcome = outcome
            self._moments.clear()
        self._moments.append(at)

    def is_loop(self, since: datetime | None = None) -> bool:
        """Whether there are enough of them, none before `since`."""
        return len(self._moments) >= self._after and (since is None or self._moments[0] > since)


def _digest(told: list[Any]) -> str:
    """A hash of any JSON; what has no canonical form is told apart by its own words."""
    try:
        return digest(told)
    except (ValueError, OverflowError, RecursionError):
        return digest(repr(told).encode("utf-8", "replace").decode("utf-8"))
