"""Intake: what is asked for becomes a task that is queued, or one sentence that says why not."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from keisei.contracts.check import build
from keisei.contracts.dialect import translate
from keisei.contracts.registry import schema_id
from keisei.records.adapter import AdapterConfig
from keisei.records.error import OperatorError, Refused
from keisei.records.id import AdapterId, AgentId, ProfileId, ScheduleId, SensorEventId, TaskId
from keisei.records.intent import TaskIntent
from keisei.records.move import NewEntry, NewTask
from keisei.records.profile import SubagentProfile
from keisei.records.task import TaskRecord
from keisei.records.task_type import TaskTypeSpec
from keisei.records.workflow import WorkflowDefinition
from keisei.rules.canonical import digest
from keisei.rules.follow_up import ASKED, TASK_SOURCE

RESERVED_KEYS = ("workflow:", "schedule:", "respawn:", "again:", ASKED)
"""How keys begin that only the runtime gives: whoever could choose one would speak for a workflow, a schedule, a
landing, an operator or an attempt."""
RESERVED_SOURCES = ("workflow:", TASK_SOURCE)
"""Likewise for sources."""
ORDERED = "task_enqueued"
"""The row of a task that a person asked for; its subject is the task."""
TASK_FILE = schema_id("task.spec")
"""The schema of payloads that are task files."""
PRIORITY = 5
"""Of a task that names none, as in the original."""


class Registry(Protocol):
    """What intake asks of the authored files. Asking for what is not there raises OperatorError."""

    def task_type(self, name: str) -> TaskTypeSpec:
        """A task type."""

    def profile(self, name: str) -> SubagentProfile:
        """A profile."""

    def adapter(self, name: str) -> AdapterConfig:
        """An adapter."""

    def has_skill(self, name: str) -> bool:
        """Whether a skill exists."""

    def has_agent(self, name: str) -> bool:
        """Whether an agent exists."""

    def workflow(self, name: str) -> WorkflowDefinition:
        """A workflow definition, checked: every state can be reached and left."""

    def handoff(self, role: str) -> tuple[str, ...]:
        """Roles that may take over after this one."""

    def fitted(self, intent: TaskIntent) -> TaskIntent:
        """The intent with what this registry's own dialect declares elsewhere; the same where it has none."""

    def payload_keys(self, task_type: TaskTypeSpec) -> frozenset[str] | None:
        """The keys a payload may have; None where any may stand there."""

    def payload_complaints(self, task_type: TaskTypeSpec, payload: Mapping[str, Any]) -> list[str]:
        """Every way in which a payload differs from its type's schema."""


class Defaults(Struct, frozen=True, kw_only=True):
    """What a project gives to tasks that say nothing."""

    max_attempts: int = 3
    """How often a task may be tried."""
    agent: AgentId | None = None
    """The durable identity."""
    profile_id: ProfileId | None = None
    """The profile of types that name none."""


class Origin(Struct, frozen=True, kw_only=True):
    """Where an intent comes from, beside what it says of itself."""

    schedule_id: ScheduleId | None = None
    """The schedule that asked."""
    sensor_event_id: SensorEventId | None = None
    """The observation that asked."""
    parent_task_id: TaskId | None = None
    """The task it follows up or replaces."""
    depth: int = 0
    """How many tasks stand above it."""
    ordered_by: str | None = None
    """The person who asked, for the ledger; None where a part of the engine did, which tells of it itself."""


def read_intent(data: object, warn: Callable[[str], None] = lambda _sentence: None) -> TaskIntent:
    """The intent, from our form or the originals'. Raises ContractViolation with every difference."""
    translation = translate("task.intent", data)
    if translation.notes:
        warn(f"task.intent: {'; '.join(translation.notes)}")
    intent: TaskIntent = build("task.intent", translation.data)
    refuse_reserved(intent)
    return intent


def refuse_reserved(intent: TaskIntent) -> None:
    """Raises Refused for an intent from outside that takes a name which only the runtime gives."""
    key = intent.idempotency_key or ""
    for name, value, reserved in (("idempotency_key", key, RESERVED_KEYS), ("source", intent.source, RESERVED_SOURCES)):
        taken = next((each for each in reserved if value.startswith(each)), None)
        if taken is not None:
            raise Refused(f"{name} `{value}` begins with `{taken}`, which only the runtime writes", "choose another")


def accept(  # noqa: PLR0913 - an intent, who knows what it names, and what is added to it
    intent: TaskIntent, registry: Registry, defaults: Defaults, *, origin: Origin, task_id: TaskId, now: datetime
) -> NewTask:
    """The task of an intent. Raises OperatorError for anything that could not run later."""
    intent = registry.fitted(intent)
    spec = registry.task_type(intent.task_type)
    intent = _with_agent(intent, spec, origin)
    profile = registry.profile(_profile_id(intent, spec, defaults))
    chosen = _chosen_adapter(intent, spec)
    registry.adapter(chosen or profile.default_adapter_id)
    _check_names(intent, spec, registry)
    complaints = registry.payload_complaints(spec, intent.payload)
    if complaints:
        raise OperatorError(
            f"the payload does not fit task type `{spec.task_type}`: {'; '.join(complaints)}",
            f"`keisei task-type show {spec.task_type}` names its schema",
        )
    task = TaskRecord(
        task_id=task_id,
        task_type=intent.task_type,
        source=intent.source,
        subject=intent.subject,
        description=intent.description,
        priority=PRIORITY if intent.priority is None else intent.priority,
        payload=intent.payload,
        requested_profile_id=profile.profile_id,
        requested_adapter_id=chosen,
        requested_model=intent.requested_model,
        status="pending",
        max_attempts=intent.max_attempts or defaults.max_attempts,
        attempt_count=0,
        available_at=_available_at(intent, now),
        created_at=now,
        updated_at=now,
        started_at=None,
        finished_at=None,
        outcome=None,
        last_error=None,
        skill_ids=intent.skill_ids,
        workflow_ref=intent.workflow_ref,
        evidence_requirements=intent.evidence_requirements,
        schedule_id=origin.schedule_id,
        sensor_event_id=origin.sensor_event_id,
        parent_task_id=origin.parent_task_id,
        idempotency_key=intent.idempotency_key,
        budget=intent.budget,
        agent=intent.agent or defaults.agent,
    )
    # A task with fallbacks is never passed over for one adapter's breaker: the others are tried when it is claimed.
    lone = chosen or (None if profile.fallback_adapter_ids else profile.default_adapter_id)
    return NewTask(task=task, breaker_id=lone, depth=origin.depth, ledger=_ordered(task, origin))


def _with_agent(intent: TaskIntent, spec: TaskTypeSpec, origin: Origin) -> TaskIntent:
    """The intent with the agent that its task file names, where it names none itself. A child has its parent's."""
    if intent.agent is not None or origin.parent_task_id is not None or spec.payload_schema_id != TASK_FILE:
        return intent
    own = intent.payload.get("task")
    named = own.get("agent") if isinstance(own, dict) else None
    return replace(intent, agent=AgentId(named)) if isinstance(named, str) and named else intent


def _ordered(task: TaskRecord, origin: Origin) -> tuple[NewEntry, ...]:
    """The row of an order: who asked for what. What exactly, the digest of the payload proves."""
    if origin.ordered_by is None:
        return ()
    body = {
        "task_type": task.task_type,
        "source": task.source,
        "profile_id": task.requested_profile_id,
        "agent": task.agent,
        "payload_sha256": _digest(task.payload),
    }
    return (NewEntry(kind=ORDERED, actor=origin.ordered_by, subject=task.task_id, body=body),)


def _digest(payload: Mapping[str, Any]) -> str | None:
    """sha256 of its canonical JSON; None where it has none: then no bundle is made of it either."""
    try:
        return digest(payload)
    except (ValueError, OverflowError, RecursionError):
        return None


def _profile_id(intent: TaskIntent, spec: TaskTypeSpec, defaults: Defaults) -> ProfileId:
    found = intent.requested_profile_id or spec.default_profile_id or defaults.profile_id
    if found is None:
        raise OperatorError(
            f"task type `{spec.task_type}` has no default profile, and the intent names none",
            "add `requested_profile_id`; `keisei profile list` shows all",
        )
    return found


def _chosen_adapter(intent: TaskIntent, spec: TaskTypeSpec) -> AdapterId | None:
    """The intent's; else the type's, unless the intent chose a profile, whose own then holds."""
    if intent.requested_adapter_id is not None or intent.requested_profile_id is not None:
        return intent.requested_adapter_id
    return spec.default_adapter_id


def _check_names(intent: TaskIntent, spec: TaskTypeSpec, registry: Registry) -> None:
    for skill in intent.skill_ids:
        if spec.allowed_skill_ids is not None and skill not in spec.allowed_skill_ids:
            allowed = ", ".join(spec.allowed_skill_ids) or "none"
            raise OperatorError(
                f"task type `{spec.task_type}` does not allow the skill `{skill}`", f"allowed: {allowed}"
            )
        if not registry.has_skill(skill):
            raise OperatorError(f"no skill is called `{skill}`", "`keisei skill list` shows all")
    if intent.agent is not None and not registry.has_agent(intent.agent):
        raise OperatorError(f"no agent is called `{intent.agent}`", "`keisei agent list` shows all")


def _available_at(intent: TaskIntent, now: datetime) -> datetime:
    """In UTC, so that what is queued can be read again. Raises OperatorError for a moment that UTC does not have."""
    if intent.available_at is None:
        return now + timedelta(minutes=intent.schedule.delay_minutes) if intent.schedule is not None else now
    try:
        return intent.available_at.astimezone(UTC)
    except OverflowError as error:
        message = f"available_at {intent.available_at.isoformat()} is beyond the years 1 to 9999 in UTC"
        raise OperatorError(message, "say a moment that can come") from error
