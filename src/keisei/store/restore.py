"""Restore: tasks that were made elsewhere enter as they were."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from keisei.records.beside import Beside
from keisei.records.error import ContractViolation
from keisei.records.move import NewTask
from keisei.records.task import TERMINAL, TaskRecord
from keisei.store.column import moved_params
from keisei.store.enqueue import COLUMNS, LARGEST, task_rows
from keisei.store.work import Work, write_beside

_columns = (*COLUMNS, "started_at", "finished_at", "outcome", "last_error")
_names = ", ".join(_columns)
_values = ", ".join(f":{column}" for column in _columns)
_INSERT = f"INSERT INTO tasks ({_names}) VALUES ({_values}) ON CONFLICT DO NOTHING RETURNING 1"  # noqa: S608 - constants


def restore(work: Work, tasks: Sequence[TaskRecord], beside: Beside) -> list[bool]:
    """Write tasks as they were, in any status but running; which were new. Ids and keys that are known write nothing.

    Raises ContractViolation, with nothing written, for a task that could not be there: all that are wrong are named.
    """
    if wrong := [fault for task in tasks if (fault := _fault(task))]:
        raise ContractViolation("task.record", wrong)
    rows = [_params(task, work.now_us) for task in tasks]
    new = [bool(work.run(_INSERT, row)) for row in rows]
    write_beside(work, beside)
    return new


def _fault(task: TaskRecord) -> str | None:
    """What keeps a task from being in the tables, in a sentence."""
    over = task.status in TERMINAL
    if task.status == "running":
        return f"task {task.task_id} is running: nobody here runs it"
    if not over and task.finished_at is not None:
        return f"task {task.task_id} is {task.status} and has a finished_at"
    if not 0 <= task.attempt_count <= LARGEST or task.attempt_count > task.max_attempts:
        return f"task {task.task_id} was tried {task.attempt_count} times and may be tried {task.max_attempts} times"
    if task.status in ("pending", "retryable_failure") and task.attempt_count == task.max_attempts:
        return f"task {task.task_id} is {task.status} and has used up its {task.max_attempts} attempts"
    return None


def _params(task: TaskRecord, now_us: int) -> dict[str, Any]:
    """What is written: the row of a task that enters, and what became of it since."""
    fresh = replace(
        task, status="pending", attempt_count=0, started_at=None, finished_at=None, outcome=None, last_error=None
    )
    (row,) = task_rows([NewTask(task=fresh, breaker_id=task.requested_adapter_id)], now_us)
    return {**dict(zip(COLUMNS, row, strict=True)), **moved_params(task, now_us)}
