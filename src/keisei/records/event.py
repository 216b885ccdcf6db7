"""Events: prunable lines of what happened. What must be provable is in the ledger."""

from typing import Literal

from keisei.records.form import JsonObject, Positive, Record, Timestamp
from keisei.records.id import AttemptId, TaskId

SeedEvent = Literal[
    "task_enqueued",
    "task_claimed",
    "bundle_compiled",
    "task_retry_scheduled",
    "task_attempt_finished",
    "task_started",
    "task_finished",
    "schedule_upserted",
    "schedule_task_created",
    "sensor_event_recorded",
    "sensor_event_deduped",
    "sensor_task_created",
    "sensor_workflow_created",
    "sensor_workflow_deduped",
    "workflow_transitioned",
    "workflow_completed",
    "workflow_task_created",
    "dispatch_idle",
    "dispatch_locked",
    "boot_sweep_reclaimed",
    "dispatch_lock_stale_cleared",
]
"""The 21 names of the original runtime, unchanged."""

OurEvent = Literal[
    "adapter_fallback_used",
    "capability_checked",
    "delivery_made",
    "dispatch_pause_cleared",
    "dispatch_pause_enabled",
    "dispatch_paused",
    "gate_denied",
    "landing_made",
    "library_indexed",
    "operator_ordered",
    "rate_limit_rescheduled",
    "task_operator_canceled",
]
"""What keisei adds."""

EventType = Literal[SeedEvent, OurEvent]


class RuntimeEvent(Record, frozen=True, kw_only=True):
    """One line."""

    id: Positive
    """Grows; a reader asks for what came after it."""
    event_type: EventType
    """What happened."""
    task_id: TaskId | None = None
    """The task it happened to."""
    attempt_id: AttemptId | None = None
    """The attempt it happened in."""
    detail: JsonObject
    """More, by event type."""
    created_at: Timestamp
    """When."""
