"""Tasks: queued work, as the engine keeps it."""

from typing import Any, ClassVar, Literal

from keisei.records.form import JsonObject, Natural, Positive, Record, Text, Timestamp, when
from keisei.records.id import (
    AdapterId,
    AgentId,
    AttemptId,
    ProfileId,
    RunnerId,
    ScheduleId,
    SensorEventId,
    SkillId,
    TaskId,
)
from keisei.records.intent import Budget, EvidenceRequirements, Priority, WorkflowRef
from keisei.records.outcome import TaskOutcome

TaskStatus = Literal[
    "pending", "running", "completed", "retryable_failure", "permanent_failure", "blocked", "operator_canceled"
]
TERMINAL: frozenset[TaskStatus] = frozenset({"completed", "permanent_failure", "operator_canceled"})
"""A task in one of these never changes again."""


class Lease(Record, frozen=True, kw_only=True):
    """A view: the open attempt joined to its runner's heartbeat."""

    attempt_id: AttemptId
    """The open attempt."""
    runner_id: RunnerId
    """Who runs it."""
    fence: Positive
    """Grows with every claim; an older fence settles nothing."""
    expires_at: Timestamp
    """When the runner's heartbeat runs out."""


class TaskRecord(Record, frozen=True, kw_only=True):
    """Engine state, not author input."""

    INVARIANTS: ClassVar[tuple[dict[str, Any], ...]] = (
        when({"status": {"enum": sorted(TERMINAL)}}, {"properties": {"finished_at": {"type": "string"}}}),
        *(
            when(
                {"status": {"const": status}, "outcome": {"type": "object"}},
                {"properties": {"outcome": {"properties": {"status": {"const": status}}}}},
            )
            for status in sorted(TERMINAL)
        ),
        when({"status": {"const": "completed"}}, {"properties": {"outcome": {"type": "object"}}}),
    )

    task_id: TaskId
    """Its id."""
    task_type: Text
    """Which task type."""
    source: Text
    """Who or what asked."""
    subject: str | None
    """One line for people."""
    description: str | None
    """What is wanted, at length."""
    priority: Priority
    """Queue order only, higher first."""
    payload: JsonObject
    """The grounded input."""
    requested_profile_id: ProfileId
    """The profile it runs under."""
    requested_adapter_id: AdapterId | None
    """The adapter asked for, else the profile's."""
    requested_model: str | None
    """The model asked for, else the profile's, else the adapter's."""
    status: TaskStatus
    """Where it stands; moved only by named moves."""
    max_attempts: Positive
    """How often it may be tried."""
    attempt_count: Natural
    """How often it was tried. A rate limit does not count."""
    available_at: Timestamp
    """The task is not claimed before this moment. A retry moves it forward; priority never does."""
    created_at: Timestamp
    """When it was taken in."""
    updated_at: Timestamp
    """When a row of it last changed."""
    started_at: Timestamp | None
    """When its first attempt began."""
    finished_at: Timestamp | None
    """When it reached a terminal state."""
    outcome: TaskOutcome | None
    """What it became."""
    last_error: str | None
    """The newest error, for people."""
    skill_ids: tuple[SkillId, ...] = ()
    """Skills beside the profile's."""
    workflow_ref: WorkflowRef | None = None
    """The workflow state that asked."""
    evidence_requirements: EvidenceRequirements | None = None
    """What must be on disk before it may complete."""
    schedule_id: ScheduleId | None = None
    """The schedule that asked."""
    sensor_event_id: SensorEventId | None = None
    """The observation that asked."""
    parent_task_id: TaskId | None = None
    """The task it follows up or replaces."""
    idempotency_key: str | None = None
    """The key it was deduplicated by."""
    budget: Budget | None = None
    """What it may spend."""
    agent: AgentId | None = None
    """The durable identity it runs under."""
    lease: Lease | None = None
    """Who holds it, while it runs."""

    def __post_init__(self) -> None:
        """Refuse a terminal task without an end, and an outcome that says something else than the task."""
        if self.status in TERMINAL and self.finished_at is None:
            message = f"a task that is `{self.status}` has a finished_at"
            raise ValueError(message)
        if self.status == "completed" and self.outcome is None:
            message = "a task that is `completed` has an outcome"
            raise ValueError(message)
        if self.status in TERMINAL and self.outcome is not None and self.outcome.status != self.status:
            message = f"a task that is `{self.status}` cannot have the outcome `{self.outcome.status}`"
            raise ValueError(message)
