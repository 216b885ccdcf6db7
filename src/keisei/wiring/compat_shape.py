"""Shapes of the original: our records as its commands print them."""

import json
from datetime import UTC, datetime
from typing import Any, Final

from keisei.contracts.check import data_of
from keisei.contracts.dialect import INTENT
from keisei.engine.ports import Store
from keisei.engine.schedule import Ticked
from keisei.records.error import OperatorError
from keisei.records.event import RuntimeEvent
from keisei.records.id import TaskId
from keisei.records.intent import TaskIntent
from keisei.records.move import EventQuery, TaskQuery
from keisei.records.observation import Seen
from keisei.records.progression import Workflow
from keisei.records.schedule import RecurringScheduleRecord
from keisei.records.task import TaskRecord, TaskStatus

RECENT: Final = 5
LOOKED_AT: Final = 1000
"""Events that are searched for the tasks that changed last."""
ORIGINALS: Final = {ours: theirs for theirs, ours in reversed(INTENT.items())}
"""The original's word for each key of an intent."""


def stamp(moment: datetime) -> str:
    """As the original writes times: milliseconds and Z."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def maybe_stamp(moment: datetime | None) -> str | None:
    """Likewise; None where there is none."""
    return None if moment is None else stamp(moment)


def moment_of(text: str, said: str) -> datetime:
    """A moment in UTC; one without a zone is meant in UTC. Raises OperatorError, which names what was `said`."""
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise OperatorError(f"{said} `{text}` is no time", "write it as 2026-01-31T09:00:00Z") from error


def intent_shape(intent: TaskIntent) -> dict[str, Any]:
    """An intent in the original's words."""
    return {ORIGINALS.get(name, name): value for name, value in data_of(intent).items()}


def schedule_shape(schedule: RecurringScheduleRecord) -> dict[str, Any]:
    """A schedule, as `schedule-create` prints it."""
    return {
        "schedule_id": schedule.schedule_id,
        "name": schedule.name,
        "enabled": schedule.enabled,
        "interval_seconds": schedule.interval_seconds,
        "next_run_at": stamp(schedule.next_run_at),
        "last_run_at": maybe_stamp(schedule.last_run_at),
        "task": intent_shape(schedule.task),
        "created_at": stamp(schedule.created_at),
        "updated_at": stamp(schedule.updated_at),
    }


def ticked_shape(done: Ticked) -> dict[str, Any]:
    """What one look at the schedules did, as `schedule-tick` prints it."""
    return {
        "schedulesEvaluated": done.evaluated,
        "tasksCreated": len(done.task_ids),
        "taskIds": list(done.task_ids),
    }


def seen_shape(seen: Seen) -> dict[str, Any]:
    """A sensor event, as `sensor-event` prints it."""
    event = seen.event
    return {
        "sensor_event_id": event.event_id,
        "sensor_id": event.sensor_id,
        "event_id": event.event_id,
        "observed_at": stamp(event.observed_at),
        "source_ref": event.source_ref,
        "dedupe_key": event.dedupe_key,
        "payload": event.payload,
        "task_id": seen.task_id,
        "workflow_id": seen.workflow_id,
        "created_at": stamp(seen.recorded_at),
    }


def workflow_shape(workflow: Workflow) -> dict[str, Any]:
    """A workflow's row. The last two keys are ours: the original knows no workflow that stands still."""
    record = workflow.record
    return {
        "id": record.workflow_id,
        "template": record.workflow_type,
        "instance_key": record.instance_key,
        "current_state": record.current_state,
        "context_json": None if record.context is None else json.dumps(record.context, ensure_ascii=False),
        "created_at": stamp(record.created_at),
        "updated_at": stamp(record.updated_at),
        "completed_at": maybe_stamp(record.completed_at),
        "status": record.status,
        "reason": record.reason,
    }


def whole_workflow(workflow: Workflow) -> dict[str, Any]:
    """A workflow's row with its context, read."""
    return workflow_shape(workflow) | {"context": workflow.record.context}


def status_of(store: Store) -> dict[str, Any]:
    """Counts, the tasks that changed last, the last event."""
    last = store.events(EventQuery(newest=True, limit=1))
    return {
        "counts": [{"status": name, "count": count} for name, count in sorted(store.counts().items()) if count],
        "recent": [_recent(store, each) for each in changed_tasks(store, RECENT)],
        "lastEvent": brief_event(last[-1]) if last else None,
    }


def changed_tasks(store: Store, limit: int, statuses: tuple[TaskStatus, ...] = ()) -> list[TaskRecord]:
    """The tasks that changed last, newest change first; only of these statuses, where any are named.

    Whatever changes a task leaves an event, and so many of those are searched; where too few are left, the newest tasks
    are taken too.
    """
    events = store.events(EventQuery(newest=True, limit=LOOKED_AT))
    newest = store.tasks(TaskQuery(statuses=statuses, limit=limit))
    ids: dict[TaskId, None] = {each.task_id: None for each in reversed(events) if each.task_id is not None}
    known = {each.task_id: each for each in newest}
    ids |= dict.fromkeys(known)
    found: list[TaskRecord] = []
    for task_id in ids:
        task = known.get(task_id) or store.task(task_id)
        if task is not None and (not statuses or task.status in statuses):
            found.append(task)
        if len(found) == limit:
            break
    return sorted(found, key=lambda each: each.updated_at, reverse=True)


def _recent(store: Store, task: TaskRecord) -> dict[str, Any]:
    attempts = store.attempts(task.task_id, LOOKED_AT)
    bundle = store.bundle(attempts[-1].attempt_id) if attempts else None
    return {
        "task_id": task.task_id,
        "kind": task.task_type,
        "status": task.status,
        "updated_at": stamp(task.updated_at),
        "attempt_id": attempts[-1].attempt_id if attempts else None,
        "bundle_hash": bundle.bundle_hash if bundle is not None else None,
    }


def brief_event(last: RuntimeEvent) -> dict[str, Any]:
    """An event, as `status` prints the last one."""
    return {
        "event_type": last.event_type,
        "task_id": last.task_id,
        "attempt_id": last.attempt_id,
        "created_at": stamp(last.created_at),
    }
