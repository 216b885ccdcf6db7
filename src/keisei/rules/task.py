"""Tasks: the closed state machine. One table of moves, one function a move; the database says the same again.

A task is always claimable (now or at a moment that is known), leased, terminal, or blocked with a reason and an order
that frees it. There is no other place.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from msgspec.structs import replace

from keisei.records.error import IllegalMove
from keisei.records.outcome import TaskOutcome
from keisei.records.task import TaskRecord, TaskStatus

MOVES: Mapping[TaskStatus, frozenset[TaskStatus]] = {
    "pending": frozenset({"running", "blocked", "operator_canceled"}),
    "running": frozenset(
        {"pending", "completed", "retryable_failure", "permanent_failure", "blocked", "operator_canceled"}
    ),
    "retryable_failure": frozenset({"running", "pending", "blocked", "operator_canceled"}),
    "blocked": frozenset({"pending", "permanent_failure", "operator_canceled"}),
    "completed": frozenset(),
    "permanent_failure": frozenset(),
    "operator_canceled": frozenset(),
}
"""Every move there is. A move from a status to itself is none."""

Ready = Literal[0, 1, 2, 3, 4]
DELAYED, CLAIMABLE, RUNNING, TERMINAL, PARKED = 0, 1, 2, 3, 4
"""What the claim's index is made of: due later, due now, in somebody's hands, over, waiting for a person."""

AGEING_S = 900
"""Waiting this long weighs as much as one step of priority, so that nothing starves."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ONE_MORE = 1
"""Tries that an operator's order gives to a task which has used up its own."""


def ready(task: TaskRecord, now: datetime) -> Ready:
    """Where the task stands for the claim."""
    if task.status in ("pending", "retryable_failure"):
        return 1 if task.available_at <= now else 0
    if task.status == "running":
        return 2
    return 4 if task.status == "blocked" else 3


def rank(priority: int, available_at: datetime) -> int:
    """The place in the queue, smaller first, in microseconds: priority, then age, then ageing, in one number.

    It is fixed at intake and a retry keeps it, so the claim reads it from an index and never computes it.
    """
    return (available_at - EPOCH) // timedelta(microseconds=1) - priority * AGEING_S * 1_000_000


def claim(task: TaskRecord, now: datetime) -> TaskRecord:
    """A task that is due and has tries left is taken. Raises IllegalMove otherwise."""
    if ready(task, now) != CLAIMABLE or task.attempt_count >= task.max_attempts:
        raise IllegalMove(f"task {task.task_id} is {task.status}, due {task.available_at}: it cannot be claimed")
    return _moved(task, "running", now, attempt_count=task.attempt_count + 1, started_at=task.started_at or now)


def complete(task: TaskRecord, outcome: TaskOutcome, now: datetime) -> TaskRecord:
    """A running task whose every finding held is over."""
    return _moved(task, "completed", now, outcome=outcome, finished_at=now, last_error=None)


def retry(task: TaskRecord, outcome: TaskOutcome, error: str, at: datetime, now: datetime) -> TaskRecord:
    """A running task failed, has tries left, and is claimable again at `at`. Raises IllegalMove without tries."""
    if task.attempt_count >= task.max_attempts:
        raise IllegalMove(f"task {task.task_id} has used up its {task.max_attempts} attempts")
    return _moved(task, "retryable_failure", now, outcome=outcome, last_error=error, available_at=at)


def fail(task: TaskRecord, outcome: TaskOutcome, error: str, now: datetime) -> TaskRecord:
    """A running or blocked task cannot succeed any more."""
    return _moved(task, "permanent_failure", now, outcome=outcome, last_error=error, finished_at=now)


def block(task: TaskRecord, outcome: TaskOutcome, error: str, now: datetime) -> TaskRecord:
    """A running task waits for a person; `free` is the order that ends the wait."""
    _must_be(task, "running")
    return _moved(task, "blocked", now, outcome=outcome, last_error=error)


def park(task: TaskRecord, reason: str, now: datetime) -> TaskRecord:
    """A task that waits for its turn waits for a person instead: nothing was tried, and its outcome stays as it was."""
    _must_be(task, "pending", "retryable_failure")
    return _moved(task, "blocked", now, last_error=reason)


def postpone(task: TaskRecord, error: str, at: datetime, now: datetime) -> TaskRecord:
    """A running task goes back to the queue until `at`, and the attempt does not count."""
    _must_be(task, "running")
    return _moved(
        task,
        "pending",
        now,
        last_error=error,
        available_at=at,
        attempt_count=max(0, task.attempt_count - 1),
    )


def cancel(task: TaskRecord, outcome: TaskOutcome, reason: str, now: datetime) -> TaskRecord:
    """An operator ends a task, whatever it waits for. Model output never leads here."""
    return _moved(task, "operator_canceled", now, outcome=outcome, last_error=reason, finished_at=now)


def free(task: TaskRecord, now: datetime, tries: int = ONE_MORE) -> TaskRecord:
    """An operator's order: a blocked or waiting task is claimable now, with at least `tries` left."""
    _must_be(task, "blocked", "retryable_failure")
    return _moved(
        task,
        "pending",
        now,
        available_at=min(task.available_at, now) if task.status == "blocked" else now,
        max_attempts=max(task.max_attempts, task.attempt_count + tries),
    )


def _must_be(task: TaskRecord, *fitting: TaskStatus) -> None:
    """Where two moves lead to one status, which one it is depends on where the task comes from."""
    if task.status not in fitting:
        raise IllegalMove(f"task {task.task_id} is {task.status}, not {' or '.join(fitting)}")


def _moved(task: TaskRecord, to: TaskStatus, now: datetime, **changes: Any) -> TaskRecord:  # noqa: ANN401 - fields
    if to not in MOVES[task.status]:
        raise IllegalMove(f"task {task.task_id} is {task.status} and cannot become {to}")
    return replace(task, status=to, updated_at=max(now, task.updated_at), lease=None, **changes)
