"""Shapes that only the original's routes tell: its state, its tasks, its events, its pause."""

from typing import Any

from keisei.console.premises import Premises
from keisei.engine.control import ALL
from keisei.engine.ports import Store
from keisei.records.event import RuntimeEvent
from keisei.records.move import EventQuery
from keisei.records.project import ProjectRunner
from keisei.records.task import TaskRecord
from keisei.wiring.compat_shape import brief_event, maybe_stamp, stamp, status_of


def state(premises: Premises) -> dict[str, Any]:
    """How things stand."""
    told, pause = _state(premises.store), paused(premises.store)
    return {
        "runtime_name": premises.home.name,
        "runtime_state": "paused" if pause["paused"] else told["runtime_state"],
        "counts": told["counts"],
        "dispatch_paused": pause,
        "last_event": told["last_event"],
    }


def _state(store: Store) -> dict[str, Any]:
    counts, last = store.counts(), store.events(EventQuery(newest=True, limit=1))
    return {
        "runtime_state": "running" if counts["running"] else "idle",
        "counts": {
            "queued": counts["pending"] + counts["retryable_failure"],
            "running": counts["running"],
            "completed": counts["completed"],
            "blocked": counts["blocked"],
            "retryable_failure": counts["retryable_failure"],
            "permanent_failure": counts["permanent_failure"],
            "operator_canceled": counts["operator_canceled"],
        },
        "last_event": brief_event(last[-1]) if last else None,
    }


def dashboard(premises: Premises) -> dict[str, Any]:
    """The first thing that the stream tells."""
    return state(premises) | {"runtime_policy": (premises.home.file.runner or ProjectRunner()).policy}


def news(premises: Premises, events: list[RuntimeEvent]) -> dict[str, Any]:
    """What the stream tells of some events."""
    status = _state(premises.store) | {"recent": status_of(premises.store)["recent"]}
    return {"events": [event_shape(each) for each in events], "status": status, "state": state(premises)}


def paused(store: Store) -> dict[str, Any]:
    """Whether nothing is taken, and why."""
    found = next((each for each in store.pauses() if each.scope == ALL), None)
    if found is None:
        return {"paused": False, "reason": None, "updated_at": None}
    return {"paused": True, "reason": found.reason or None, "updated_at": stamp(found.since)}


def task_shape(task: TaskRecord) -> dict[str, Any]:
    """A task, as its list tells it."""
    outcome = task.outcome
    return {
        "task_id": task.task_id,
        "kind": task.task_type,
        "source": task.source,
        "subject": task.subject,
        "description": task.description,
        "priority": task.priority,
        "payload": task.payload,
        "status": task.status,
        "requested_profile": task.requested_profile_id,
        "created_at": stamp(task.created_at),
        "updated_at": stamp(task.updated_at),
        "started_at": maybe_stamp(task.started_at),
        "finished_at": maybe_stamp(task.finished_at),
        "attempt_count": task.attempt_count,
        "max_attempts": task.max_attempts,
        "available_at": stamp(task.available_at),
        "last_error": task.last_error,
        "artifact_paths": list(outcome.artifact_paths) if outcome else [],
        "operator_summary": outcome.operator_summary if outcome else None,
        "machine_status": outcome.machine_status if outcome else None,
    }


def event_shape(event: RuntimeEvent) -> dict[str, Any]:
    """An event, as its list tells it."""
    return {
        "id": event.id,
        "event_type": event.event_type,
        "task_id": event.task_id,
        "attempt_id": event.attempt_id,
        "detail": event.detail,
        "created_at": stamp(event.created_at),
    }
