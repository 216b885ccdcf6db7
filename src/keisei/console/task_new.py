"""New tasks: what can be asked for, and the two orders that ask: any task type, or one instruction for one agent."""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from keisei.console.asking import Fault, Key, Unfit
from keisei.console.premises import Premises
from keisei.console.visitor import Visitor
from keisei.engine.intake import Origin, accept, read_intent
from keisei.library.catalog import Catalog
from keisei.records.error import KeiseiError, OperatorError
from keisei.records.form import JsonObject, Timestamp
from keisei.records.id import TaskId
from keisei.records.intent import Priority
from keisei.records.task_spec import SpecBody, SpecScope, SpecTask, SpecVerification, TaskSpec
from keisei.wiring.fresh import new_id
from keisei.wiring.instruction import checked_spec, intent_of
from keisei.wiring.registry import CatalogRegistry, defaults_of

Line = Annotated[str, Meta(max_length=500)]
Words = Annotated[str, Meta(max_length=100_000)]
Once = Annotated[str, Meta(min_length=8, max_length=128)]
Dollars = Annotated[float, Meta(gt=0, le=1_000_000_000)]
Tokens = Annotated[int, Meta(ge=1, le=10**15)]
ROLE: Final = "edit-local"
"""The role of an instruction that names none, as on the command line."""
SCOPE: Final = "name what it may write, as in `src/**`"


class Choice(Struct, frozen=True, kw_only=True):
    """One thing of the authored files that can be chosen."""

    name: str
    """Its name."""
    description: str | None = None
    """What it is for; what is wrong with its file, where something is."""


class NewTaskType(Struct, frozen=True, kw_only=True):
    """The task type that was chosen."""

    name: str
    """Its name."""
    description: str | None
    """What it is for."""
    profile: str | None
    """The profile of tasks that name none."""
    example: JsonObject
    """A payload that fits, to begin with."""
    payload_schema: JsonObject
    """What a payload must look like."""


class NewTaskAsk(Struct, frozen=True, kw_only=True):
    """Which task type to begin with."""

    task_type: Key | None = None
    """Its name; without one, an instruction for an agent is asked for."""


class NewTaskPage(Struct, frozen=True, kw_only=True):
    """What can be asked for."""

    once: str
    """For the `once` of one order: another one each time."""
    types: tuple[Choice, ...]
    """Task types."""
    chosen: NewTaskType | None
    """The one that was chosen."""
    roles: tuple[Choice, ...]
    """Roles that an agent can be given."""
    profiles: tuple[str, ...]
    """Profiles."""
    adapters: tuple[str, ...]
    """Adapters."""
    agents: tuple[str, ...]
    """Durable identities."""


class NewTaskOrder(Struct, frozen=True, kw_only=True):
    """A task of any type. Its source is whoever orders it."""

    task_type: Key
    """Which task type."""
    subject: Line | None = None
    """One line for people."""
    description: Words | None = None
    """What is wanted, at length."""
    payload: JsonObject = {}
    """What the task type asks for."""
    priority: Priority | None = None
    """Higher first."""
    profile: Key | None = None
    """The profile; by default the task type's."""
    adapter: Key | None = None
    """The adapter; by default the profile's."""
    agent: Key | None = None
    """The durable identity; by default the project's."""
    key: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    """The same key twice is the same task."""
    once: Once | None = None
    """Where there is no key: the same order with the same word is one task, however often it is sent."""
    not_before: Timestamp | None = None
    """It is not run before this moment."""
    max_attempts: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """How often it may be tried."""


class InstructionOrder(Struct, frozen=True, kw_only=True):
    """One instruction for one agent."""

    instruction: Words
    """What is to be done."""
    role: Key = ROLE
    """What the agent may do."""
    write: tuple[Words, ...] = ()
    """Files it may write, as globs; several may stand in one text, a line each."""
    deny: tuple[Words, ...] = ()
    """Files it may not write all the same; likewise."""
    profile: Key | None = None
    """The profile; by default the one of task type agent-task."""
    adapter: Key | None = None
    """The adapter; by default the profile's."""
    model: Key | None = None
    """The model; by default the profile's."""
    agent: Key | None = None
    """The durable identity; by default the project's."""
    check: Line | None = None
    """A command that must exit 0 afterwards."""
    test: Line | None = None
    """A test command that must exit 0 afterwards."""
    budget_usd: Dollars | None = None
    """Money it may spend, in US dollars."""
    max_tokens: Tokens | None = None
    """Tokens it may spend."""
    once: Once | None = None
    """The same order with the same word is one task, however often it is sent."""


class TaskQueued(Struct, frozen=True, kw_only=True):
    """What became of it at the door."""

    task_id: TaskId
    """The task; the earlier one where the key was known."""
    queued: bool
    """False: the key was known, and nothing new was queued."""


def new_task(premises: Premises, asks: NewTaskAsk) -> NewTaskPage:
    """What can be asked for: task types with an example, roles, profiles, adapters."""
    catalog = premises.catalog()
    return NewTaskPage(
        once=new_id(),
        types=tuple(_choices(catalog, "task-type")),
        chosen=None if asks.task_type is None else _chosen(catalog, asks.task_type),
        roles=tuple(_choices(catalog, "role")),
        profiles=tuple(catalog.names("profile")),
        adapters=_adapters(catalog),
        agents=tuple(catalog.names("agent")),
    )


def _choices(catalog: Catalog, kind: str) -> Iterator[Choice]:
    for name in catalog.names(kind):
        try:
            record = catalog.loaded(kind, name).record
            told = record.role.description if kind == "role" else record.description
        except KeiseiError as error:
            told = f"its file needs an edit: {error.message}"
        yield Choice(name=name, description=told)


def _adapters(catalog: Catalog) -> tuple[str, ...]:
    try:
        return tuple(sorted(catalog.adapters))
    except KeiseiError:  # the page of adapters says what is wrong with the file
        return ()


def _chosen(catalog: Catalog, name: str) -> NewTaskType:
    registry = CatalogRegistry(catalog)
    spec = registry.task_type(name)
    schema = dict(registry.payload_schema(spec))
    examples = [each for each in schema.get("examples") or () if isinstance(each, dict)]
    return NewTaskType(
        name=spec.task_type,
        description=spec.description,
        profile=spec.default_profile_id,
        example=examples[0] if examples else dict.fromkeys(schema.get("required") or (), ""),
        payload_schema=schema,
    )


def queue_task(premises: Premises, asks: NewTaskOrder, visitor: Visitor) -> TaskQueued:
    """Queue a task of any type."""
    told = {
        "task_type": asks.task_type,
        "source": visitor.actor,
        "subject": asks.subject,
        "description": asks.description,
        "payload": asks.payload,
        "priority": asks.priority,
        "requested_profile_id": asks.profile,
        "requested_adapter_id": asks.adapter,
        "agent": asks.agent,
        "idempotency_key": asks.key or _once(asks, asks.once, visitor),
        "available_at": None if asks.not_before is None else asks.not_before.isoformat(),
        "max_attempts": asks.max_attempts,
    }
    wanted = {name: value for name, value in told.items() if value is not None}
    return _queued(premises, premises.catalog(), wanted, visitor.actor)


def queue_instruction(premises: Premises, asks: InstructionOrder, visitor: Visitor) -> TaskQueued:
    """Give one instruction to one agent."""
    if not asks.instruction.strip():
        raise OperatorError("the instruction is empty", "say what is to be done")
    spec = TaskSpec(
        task=SpecTask(role=asks.role, profile=asks.profile, adapter=asks.adapter, model=asks.model, agent=asks.agent),
        scope=SpecScope(files_whitelist=tuple(_globs(asks.write)), files_denylist=tuple(_globs(asks.deny))),
        verification=SpecVerification(check=asks.check, test=asks.test),
        body=SpecBody(text=asks.instruction.replace("\r\n", "\n")),
    )
    limits = {"max_cost_usd": asks.budget_usd, "max_tokens": asks.max_tokens}
    budget = {name: value for name, value in limits.items() if value is not None}
    catalog = premises.catalog()
    intent = intent_of(checked_spec(catalog, spec, SCOPE), visitor.actor, budget).intent
    key = _once(asks, asks.once, visitor)
    wanted = intent if key is None else {**intent, "idempotency_key": key}
    return _queued(premises, catalog, wanted, visitor.actor)


def _once(asks: Struct, once: str | None, visitor: Visitor) -> str | None:
    """The key of an order that may be sent twice. All it says is in it: who edits a form and sends it means another."""
    if once is None:
        return None
    said = visitor.actor.encode("utf-8", "replace") + b"\0" + msgspec.json.encode(asks)
    return f"once:{hashlib.sha256(said).hexdigest()}"


def _queued(premises: Premises, catalog: Catalog, intent: dict[str, Any], actor: str) -> TaskQueued:
    """The task, in the queue. Raises OperatorError, ContractViolation, Refused for what could not run later."""
    store, defaults = premises.store, defaults_of(premises.home)
    registry, task_id = CatalogRegistry(catalog), TaskId(new_id())
    origin = Origin(ordered_by=actor)
    task = accept(read_intent(intent), registry, defaults, origin=origin, task_id=task_id, now=store.now())
    done = store.enqueue([task])[0]
    store.ring()
    return TaskQueued(task_id=done.task_id, queued=done.created)


def task_form(words: list[tuple[str, str]]) -> dict[str, Any]:
    """What the form of a task says: its payload is a text, and its moment is one of UTC. Raises Unfit."""
    told: dict[str, Any] = {
        name: word for name, word in words if word.strip() and name in NewTaskOrder.__struct_fields__
    }
    if "payload" in told:
        told["payload"] = _payload(told["payload"])
    if "not_before" in told:
        told["not_before"] = _moment(told["not_before"])
    return told


def _payload(text: str) -> Any:  # noqa: ANN401 - any JSON: whether it is an object is seen where all fields are
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Unfit([Fault("payload", f"this is not JSON: {error}")]) from None


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise Unfit([Fault("not_before", "this is no moment; write 2026-01-31T18:00, in UTC")]) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _globs(given: Iterable[str]) -> Iterator[str]:
    """Globs, one a line."""
    for text in given:
        yield from (line.strip() for line in text.splitlines() if line.strip())
