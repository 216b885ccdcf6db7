"""Queued: which tasks stand behind a move, where some of those it asks for were known by their key already."""

from collections.abc import Sequence

from keisei.records.id import TaskId
from keisei.records.move import Enqueued, NewTask


def real_ids(asked: Sequence[NewTask], queued: Sequence[Enqueued]) -> dict[TaskId, TaskId]:
    """The id of the task that is there, by the id that was asked for."""
    return {new.task.task_id: done.task_id for new, done in zip(asked, queued, strict=True)}


def real_id(task_id: TaskId | None, real: dict[TaskId, TaskId]) -> TaskId | None:
    """The task that is there; one that the move did not ask for is itself."""
    return None if task_id is None else real.get(task_id, task_id)
