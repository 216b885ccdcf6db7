"""Workflows: many tasks in order, as data."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from keisei.records.form import JsonObject, Positive, Record, Sha256, Text, Timestamp, when
from keisei.records.id import ProfileId, SkillId, WorkflowId

StateId = Annotated[str, Meta(min_length=1, max_length=64, pattern="^[a-z][a-z0-9_-]*$")]
Signal = Annotated[str, Meta(min_length=1, max_length=64, pattern="^[a-z][a-z0-9_-]*$")]


class Transition(Record, frozen=True, kw_only=True):
    """A signal and where it leads."""

    signal: Signal
    """Reported by a verified task."""
    next_state: StateId
    """Where the workflow goes."""


class WorkflowState(Record, frozen=True, kw_only=True):
    """One state."""

    state_id: StateId
    """Its name."""
    task_type: str | None = None
    """The task it asks for."""
    default_profile_id: ProfileId | None = None
    """The profile of that task."""
    default_skill_ids: tuple[SkillId, ...] = ()
    """The skills of that task."""
    transitions: tuple[Transition, ...] = ()
    """Where signals lead. A state without any is an end."""
    completion_signals: tuple[Signal, ...] = ()
    """Signals that complete the workflow from here."""
    emits_task_intent: bool | None = None
    """Whether entering it asks for a task; by default where `task_type` is set."""
    max_visits: Positive | None = None
    """After this many visits the workflow is blocked instead of looping."""


class WorkflowDefinition(Record, frozen=True, kw_only=True):
    """A kind of workflow."""

    workflow_type: Annotated[str, Meta(min_length=1, max_length=64, pattern="^[a-z][a-z0-9_-]*$")]
    """Its name; equals the file's."""
    description: str | None = None
    """What it is for."""
    initial_state: StateId
    """Where it begins."""
    states: Annotated[tuple[WorkflowState, ...], Meta(min_length=1)]
    """All its states."""


class WorkflowRecord(Record, frozen=True, kw_only=True):
    """One instance of a workflow."""

    INVARIANTS: ClassVar[tuple[dict[str, Any], ...]] = (
        when({"status": {"const": "completed"}}, {"properties": {"completed_at": {"type": "string"}}}),
        when({"status": {"not": {"const": "completed"}}}, {"properties": {"completed_at": {"type": "null"}}}),
    )

    workflow_id: WorkflowId
    """Its id."""
    workflow_type: Text
    """Which definition."""
    instance_key: Text
    """Unique: the same key is the same instance."""
    current_state: Text
    """Where it stands."""
    context: JsonObject | None
    """What it knows."""
    status: Literal["active", "completed", "blocked"]
    """Whether it goes on."""
    created_at: Timestamp
    """When it began."""
    updated_at: Timestamp
    """When it last moved."""
    completed_at: Timestamp | None
    """When it was completed."""
    visits: dict[str, int] = {}
    """How often each state was entered."""
    reason: str | None = None
    """Why it is blocked."""
    definition_hash: Sha256 | None = None
    """Which version of the definition it follows: the one it began with, whatever the file says by now."""

    def __post_init__(self) -> None:
        """Refuse a completed workflow without an end."""
        if (self.status == "completed") != (self.completed_at is not None):
            message = "completed_at is set exactly when the status is `completed`"
            raise ValueError(message)
