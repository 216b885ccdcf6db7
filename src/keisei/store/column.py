"""Columns that a move of a task writes: everything of a task that ever changes, its place in the queue included."""

from typing import Any

from keisei.records.task import TaskRecord
from keisei.rules.task import ready
from keisei.store.clock import maybe_microseconds, microseconds, moment
from keisei.store.row import json, maybe_text

MOVED = """status = :status, ready = :ready, attempt_count = :attempt_count, max_attempts = :max_attempts,
    available_at = :available_at, updated_at = :updated_at, started_at = :started_at, finished_at = :finished_at,
    outcome = :outcome, last_error = :last_error, cancel_at = NULL, cancel_reason = NULL"""
"""The rank stays: it is fixed when the task enters."""


def moved_params(task: TaskRecord, now_us: int) -> dict[str, Any]:
    """What `MOVED` writes."""
    return {
        "status": task.status,
        "ready": ready(task, moment(now_us)),
        "attempt_count": task.attempt_count,
        "max_attempts": task.max_attempts,
        "available_at": microseconds(task.available_at),
        "updated_at": microseconds(task.updated_at),
        "started_at": maybe_microseconds(task.started_at),
        "finished_at": maybe_microseconds(task.finished_at),
        "outcome": None if task.outcome is None else json(task.outcome),
        "last_error": maybe_text(task.last_error),
    }
