"""Approvals: what needs a person. Each says why, shows its evidence, and has a moment by which somebody should look."""

from typing import Any, ClassVar, Literal

from keisei.records.form import JsonObject, Record, Text, Timestamp, default, when
from keisei.records.id import ApprovalId, AttemptId, ScheduleId, TaskId, WorkflowId

ApprovalKind = Literal[
    "task", "question", "workflow", "budget", "loop", "adapter", "schedule", "sensor", "message", "landing"
]
"""What waits: a blocked task, a question of its agent, a workflow that stands still, work that no budget covers, work
that goes round in circles, an adapter that nobody may use, a schedule or a sensor that was switched off, a message that
could not be delivered, a verified candidate that may land."""

ApprovalStatus = Literal["open", "approved", "rejected", "answered", "resolved", "expired"]
"""Resolved: what it waited for came about by another order, so nobody has to decide any more."""


class ApprovalRecord(Record, frozen=True, kw_only=True):
    """One thing that needs a person. It is never removed: what was decided stays to be read."""

    INVARIANTS: ClassVar[tuple[dict[str, Any], ...]] = (
        # Without a status it is open, so that this one holds where there is none.
        {"if": {"properties": {"status": {"const": "open"}}}, "then": {"properties": {"decided_at": {"type": "null"}}}},
        when({"status": {"not": {"const": "open"}}}, {"properties": {"decided_at": {"type": "string"}}}),
    )

    approval_id: ApprovalId
    """Its id."""
    kind: ApprovalKind
    """What waits."""
    key: Text
    """What it is about: while one with this key is open, no second one is made."""
    reason: Text
    """Why a person is needed, in a sentence."""
    status: ApprovalStatus = default("open")
    """Whether it still waits."""
    task_id: TaskId | None = None
    """The task it is about."""
    attempt_id: AttemptId | None = None
    """The attempt whose evidence shows why."""
    workflow_id: WorkflowId | None = None
    """The workflow it is about."""
    schedule_id: ScheduleId | None = None
    """The schedule it is about."""
    questions: tuple[str, ...] = ()
    """What the agent wants to know, as it wrote it."""
    detail: JsonObject = {}
    """More, by kind: what was spent, which outcome repeats."""
    evidence: tuple[str, ...] = ()
    """Evidence files of the attempt that are worth a look."""
    deadline: Timestamp | None = None
    """When somebody should have looked; after it somebody is told again."""
    created_at: Timestamp
    """When it began to wait."""
    reminded_at: Timestamp | None = None
    """When the deadline had passed and somebody was told again."""
    decided_at: Timestamp | None
    """When it was decided."""
    decided_by: str | None = None
    """Who decided."""
    answer: str | None = None
    """What they said; an answer is given to the next attempt."""

    def __post_init__(self) -> None:
        """Refuse one that is decided and does not say when, or waits and says it."""
        if (self.status == "open") != (self.decided_at is None):
            message = "decided_at is set exactly when the status is not `open`"
            raise ValueError(message)
