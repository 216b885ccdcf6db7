"""Intents: work that is asked for, by a person, a sensor, a schedule or a workflow."""

from typing import Annotated

from msgspec import Meta

from keisei.records.form import JsonObject, Positive, Record, Text, Timestamp
from keisei.records.id import AdapterId, AgentId, ProfileId, SkillId, WorkflowId

Priority = Annotated[int, Meta(ge=-1000, le=1000)]


class WorkflowRef(Record, frozen=True, kw_only=True):
    """The workflow state that asked."""

    workflow_id: WorkflowId
    """Which workflow."""
    state_id: Text
    """Which state of it."""
    instance_key: Text
    """Which instance."""


class Delay(Record, frozen=True, kw_only=True):
    """Simple and relative: run in so many minutes."""

    delay_minutes: Annotated[float, Meta(ge=0, le=5_256_000)]
    """Minutes from intake until the task may be claimed."""


class EvidenceRequirements(Record, frozen=True, kw_only=True):
    """What must be on disk before the task may complete."""

    required_artifacts: tuple[str, ...] = ()
    """Artifact paths that must exist, be new and not be written by the runtime."""
    require_file_change_verification: bool | None = None
    """Claimed file changes must equal the real diff."""
    require_adapter_audit: bool | None = None
    """Transcript and gate decisions must agree."""


class Budget(Record, frozen=True, kw_only=True):
    """What a task may spend; reserved before dispatch."""

    max_cost_usd: Annotated[float, Meta(ge=0)] | None = None
    """Money, in US dollars."""
    max_tokens: Positive | None = None
    """Tokens of all four kinds together."""


class TaskIntent(Record, frozen=True, kw_only=True):
    """The portable unit that asks for work."""

    task_type: Text
    """Which task type; the registry knows its payload schema and policy."""
    source: Text
    """Who or what asks, for example `operator:ui`."""
    subject: str | None = None
    """One line for people."""
    description: str | None = None
    """What is wanted, at length."""
    priority: Priority | None = None
    """Queue order only, higher first. Never chooses a model."""
    requested_profile_id: ProfileId | None = None
    """A profile, unless the task type's default is meant."""
    requested_adapter_id: AdapterId | None = None
    """An adapter, unless the profile's default is meant."""
    requested_model: str | None = None
    """A model, where the task needs a certain one."""
    skill_ids: tuple[SkillId, ...] = ()
    """Skills beside the profile's."""
    workflow_ref: WorkflowRef | None = None
    """The workflow state that asked."""
    schedule: Delay | None = None
    """Run later, relatively."""
    available_at: Timestamp | None = None
    """Run not before; for trusted callers. Wins over `schedule`."""
    payload: JsonObject
    """The grounded input."""
    evidence_requirements: EvidenceRequirements | None = None
    """What must be on disk before the task may complete."""
    idempotency_key: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    """The same key twice is the same task."""
    max_attempts: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """How often it may be tried."""
    budget: Budget | None = None
    """What it may spend."""
    agent: AgentId | None = None
    """The durable identity it runs under."""
