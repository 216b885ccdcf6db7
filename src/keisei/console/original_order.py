"""Orders of the original: queue a message, cancel, pause, make a schedule, look at schedules, record an event."""

import re
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from keisei.console.asking import Key, Reason
from keisei.console.original_ask import asked
from keisei.console.original_shape import paused
from keisei.console.premises import Premises
from keisei.console.visitor import Visitor
from keisei.engine import control, schedule
from keisei.engine.intake import Origin
from keisei.library.catalog import Catalog
from keisei.records.error import OperatorError
from keisei.records.id import TaskId
from keisei.records.task_spec import SpecBody, SpecTask, TaskSpec
from keisei.wiring.compat_registry import queue_intent
from keisei.wiring.compat_sensor import observed
from keisei.wiring.compat_shape import moment_of, schedule_shape, stamp, ticked_shape
from keisei.wiring.instruction import checked_spec, intent_of
from keisei.wiring.registry import CatalogRegistry, defaults_of

Told = tuple[int, dict[str, Any]]
Words = Annotated[str, Meta(max_length=100_000, pattern=r"^[^\x00]*$")]
Name = Annotated[str, Meta(max_length=200, pattern=r"^[^\x00]*$")]
KIND: Final = "operator"
"""The task type of a message, where the project has one of this name."""
SOURCE: Final = "operator-ui"
ROLE: Final = "read-only"
"""The role of a message that names no profile: it names no files either, so nothing is written."""
SKILL: Final = re.compile(r"(?:^|\s)/([a-zA-Z][\w-]*)(?![\w/.-])")
"""A skill that is called by its name in the words of a message; `/etc/hosts` is none."""
SUBJECT: Final = 120
FILES: Final = "a message names no files: write a task type `operator`, or order it at /tasks/new"
CREATED: Final = 201


class Message(Struct, frozen=True, kw_only=True):
    """What an operator says, and to whom."""

    message: Words = ""
    """The words."""
    subject: Words = ""
    """One line for people; by default the beginning of the words."""
    description: Words = ""
    """What is wanted, at length."""
    priority: Annotated[int, Meta(ge=-1000, le=1000)] | None = None
    """Higher first."""
    parent_id: Name = ""
    """The task that it follows."""
    skill_refs: tuple[Name, ...] = ()
    """Skills beside those that the words call."""
    requested_profile: Name = ""
    """The profile."""
    requested_adapter: Name = ""
    """The adapter; by default the profile's."""
    max_attempts: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """How often it may be tried."""
    kind: Name = ""
    """Kept in the payload as `kind_override`; it changes nothing."""


class Why(Struct, frozen=True, kw_only=True):
    """Why somebody orders something."""

    reason: Reason = ""
    """In words."""


class Pausing(Why, frozen=True, kw_only=True):
    """Stop or go on."""

    paused: bool
    """Whether nothing is to be taken."""


class Moment(Struct, frozen=True, kw_only=True):
    """When it is to be as if it were."""

    at: Key | None = None
    """An ISO 8601 time."""


def queue(premises: Premises, body: dict[str, Any], visitor: Visitor) -> Told:
    """Queue a message as a task."""
    said = asked(Message, body)
    words = said.message.strip()
    if not words:
        raise OperatorError("message is required")
    registry = premises.registry()
    skills = _skills(registry, said, words)
    intent = _intent(registry, said, words, skills) | {
        "source": SOURCE,
        "subject": said.subject.strip() or words.splitlines()[0][:SUBJECT],
        "skill_ids": skills,
        "priority": said.priority,
        "max_attempts": said.max_attempts,
    }
    data = {name: value for name, value in intent.items() if value is not None}
    origin = _origin(premises, said, visitor.actor)
    done = queue_intent(premises.store, registry, defaults_of(premises.home), data, origin).task
    return CREATED, {"ok": True, "task_id": done.task_id, "kind": done.task_type, "source": done.source}


def _skills(registry: CatalogRegistry, said: Message, words: str) -> list[str]:
    """Skills that are asked for. A `/word` that names none is a word."""
    called = [each for each in SKILL.findall(words) if registry.has_skill(each)]
    return list(dict.fromkeys((*(each.strip() for each in said.skill_refs if each.strip()), *called)))


def _origin(premises: Premises, said: Message, actor: str) -> Origin:
    if not said.parent_id.strip():
        return Origin(ordered_by=actor)
    parent = premises.store.task(TaskId(said.parent_id.strip()))
    if parent is None:
        raise OperatorError(f"parent_id: no task has the id `{said.parent_id}`")
    depth = premises.store.depth(parent.task_id)
    return Origin(parent_task_id=parent.task_id, depth=depth, ordered_by=actor)


def _intent(registry: CatalogRegistry, said: Message, words: str, skills: list[str]) -> dict[str, Any]:
    """What is asked for: of the project's own type for messages, else as one instruction for one agent."""
    if registry.catalog.found("task-type", KIND) is None:
        return _instruction(registry.catalog, said, words)
    payload = {
        "message": words,
        "skill_refs": skills or None,
        "parent_id": said.parent_id.strip() or None,
        "kind_override": said.kind or None,
    }
    keys = registry.payload_keys(registry.task_type(KIND))
    return {
        "task_type": KIND,
        "description": said.description.strip() or f"Operator UI: {words}",
        "payload": {
            name: value for name, value in payload.items() if value is not None and (keys is None or name in keys)
        },
        "requested_profile_id": said.requested_profile.strip() or None,
        "requested_adapter_id": said.requested_adapter.strip() or None,
    }


def _instruction(catalog: Catalog, said: Message, words: str) -> dict[str, Any]:
    profile = said.requested_profile.strip() or None
    role = ROLE if profile is None else catalog.loaded("profile", profile).record.role
    spec = TaskSpec(
        task=SpecTask(role=role, profile=profile, adapter=said.requested_adapter.strip() or None),
        body=SpecBody(text=words),
    )
    intent = intent_of(checked_spec(catalog, spec, FILES), SOURCE).intent
    return intent | {"description": said.description.strip() or None}  # the words stand in the prompt already


def cancel(premises: Premises, task_id: str, body: dict[str, Any], visitor: Visitor) -> Told:
    """End a task; one that runs is asked to end."""
    reason = asked(Why, body).reason.strip() or "canceled by an operator"
    task = control.cancel(premises.store, TaskId(task_id), reason, visitor.actor)
    return 200, {"ok": True, "task_id": task.task_id, "status": task.status}


def pause(premises: Premises, body: dict[str, Any], visitor: Visitor) -> Told:
    """Take nothing new, or take work again."""
    if not isinstance(body.get("paused"), bool):
        raise OperatorError("paused boolean is required")
    said, store = asked(Pausing, body), premises.store
    reason = said.reason.strip()
    if said.paused:
        control.pause(store, reason or "paused by an operator", visitor.actor)
        return 200, {"ok": True, **paused(store)}
    control.resume(store, reason or "resumed by an operator", visitor.actor)
    return 200, {"ok": True, "paused": False, "reason": None, "updated_at": stamp(store.now())}


def put_schedule(premises: Premises, body: dict[str, Any], visitor: Visitor) -> Told:
    """Make a schedule, or change the one of that name."""
    record = schedule.upsert(premises.office(), body, visitor.actor).record
    return CREATED, {"ok": True, "schedule": None if record is None else schedule_shape(record)}


def tick(premises: Premises, body: dict[str, Any], visitor: Visitor) -> Told:
    """Queue what is due."""
    at = asked(Moment, body).at
    done = schedule.look(premises.office(), visitor.actor, at=None if at is None else moment_of(at, "at"))
    return 200, ticked_shape(done)


def record_event(premises: Premises, body: dict[str, Any], visitor: Visitor) -> Told:
    """Record an event with what it proposes."""
    told = observed(premises.office(), body, visitor.actor)
    return CREATED if told["accepted"] else 200, told
