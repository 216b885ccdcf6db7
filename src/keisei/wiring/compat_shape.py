"""Shapes of the original: our records as its commands print them."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from keisei.contracts.check import data_of
from keisei.contracts.dialect import INTENT
from keisei.engine.ports import Store
from keisei.records.event import RuntimeEvent
from keisei.records.id import TaskId
from keisei.records.intent import TaskIntent
from keisei.records.move import EventQuery, TaskQuery
from keisei.records.observation import Seen
from keisei.records.progression import Workflow
from keisei.records.schedule import RecurringScheduleRecord
from keisei.records.task import TaskRecord

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
    events = store.events(EventQuery(newest=True, limit=LOOKED_AT))
    return {
        "counts": [{"status": name, "count": count} for name, count in sorted(store.counts().items()) if count],
        "recent": [_recent(store, each) for each in _changed(store, events)],
        "lastEvent": _event(events[-1]) if events else None,
    }


def _changed(store: Store, events: Iterable[RuntimeEvent]) -> list[TaskRecord]:
    """The tasks that changed last: whatever changes a task leaves an event. Where too few are left, the newest ones."""
    ids: dict[TaskId, None] = {each.task_id: None for each in reversed(list(events)) if each.task_id is not None}
    ids |= {each.task_id: None for each in store.tasks(TaskQuery(limit=RECENT)) if each.task_id not in ids}
    found = (store.task(each) for each in ids)
    return [each for each, _ in zip((each for each in found if each is not None), range(RECENT), strict=False)]


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


def _event(last: RuntimeEvent) -> dict[str, Any]:
    return {
        "event_type": last.event_type,
        "task_id": last.task_id,
        "attempt_id": last.attempt_id,
        "created_at": stamp(last.created_at),
    }
