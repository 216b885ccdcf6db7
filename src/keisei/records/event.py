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
    "approval_asked",
    "approval_decided",
    "approval_overdue",
    "budget_exhausted",
    "budget_granted",
    "capability_checked",
    "delivery_failed",
    "delivery_made",
    "delivery_retried",
    "dispatch_pause_cleared",
    "dispatch_pause_enabled",
    "dispatch_paused",
    "gate_denied",
    "landing_held",
    "landing_made",
    "landing_queued",
    "landing_rejected",
    "landing_reverted",
    "library_indexed",
    "loop_detected",
    "operator_ordered",
    "rate_limit_rescheduled",
    "schedule_deleted",
    "schedule_paused",
    "schedule_slots_coalesced",
    "schedule_slots_skipped",
    "sensor_event_refused",
    "sensor_event_stale",
    "sensor_failed",
    "sensor_held_back",
    "sensor_paused",
    "sensor_ran",
    "sensor_workflow_woken",
    "task_operator_canceled",
    "workflow_blocked",
    "workflow_created",
    "workflow_resumed",
    "workflow_upgraded",
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
