"""Workflow: many tasks in order. What a verified task signals moves it on, or an operator does; nobody else."""

from functools import cache
from typing import Any, Final

from keisei.contracts.check import build, data_of
from keisei.contracts.words import nearest
from keisei.engine.commission import asks_before
from keisei.engine.control import RACES
from keisei.engine.move import By, beside_of, commissioned, move_of, stay_of
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.records.error import KeiseiError, OperatorError, Refused, WorldFault
from keisei.records.id import WorkflowId
from keisei.records.move import NewEvent
from keisei.records.problem import printable
from keisei.records.progression import Workflow, WorkflowMove, WorkflowStart
from keisei.records.task import TaskRecord
from keisei.records.workflow import WorkflowDefinition, WorkflowRecord, WorkflowState
from keisei.rules import progression as moves
from keisei.rules.canonical import canonical, digest
from keisei.rules.progression import Course

ENGINE: Final = "engine"
"""Who moves workflows that move by themselves."""
MOST_MOVES: Final = 500
"""Moves of one tick; what is left waits for the next."""
LONGEST_KEY: Final = 256


def advance(office: Office) -> int:
    """Carry on every workflow that something has happened to, as far as it goes. How many moves that were.

    One whose next task cannot be asked for is blocked with the reason, and harms no other.
    """
    store, office = office.store, office._replace(registry=cache(office.registry))
    seen: set[tuple[WorkflowId, int]] = set()
    moved = 0
    while moved < MOST_MOVES:
        fresh = [each for each in store.stirred() if (each.record.workflow_id, each.version) not in seen]
        if not fresh:
            break
        seen.update((each.record.workflow_id, each.version) for each in fresh)
        moved += sum(_moved(office, each) for each in fresh)
    if moved:
        store.ring()
    return moved


def _moved(office: Office, workflow: Workflow) -> bool:
    """Whether it moved. What cannot be written harms nobody else: the row is left as it is."""
    try:
        return _carried_on(office, workflow)
    except WorldFault:
        raise
    except KeiseiError:
        return False


def _carried_on(office: Office, workflow: Workflow) -> bool:
    """Whether it moved. Files that change while they are read are left to the next tick."""
    store, now = office.store, office.store.now()
    visits = store.visits(workflow.record.workflow_id)
    task = store.task(workflow.task_id) if workflow.task_id is not None else None
    course = moves.proceed(workflow, stay_of(workflow, visits), task, now)
    if course.workflow is workflow:
        return False
    try:
        course, tasks = commissioned(office, course, visits, now)
    except WorldFault as fault:
        if fault.retryable:
            return False
        course, tasks = moves.block(course, fault.message, now), ()
    except KeiseiError as error:
        course, tasks = moves.block(course, error.message, now), ()
    return store.move_workflow(move_of(office, workflow, course, tasks, By(ENGINE)))


def create(  # noqa: PLR0913 - a workflow begins with all of these
    office: Office,
    *,
    workflow_type: str,
    instance_key: str,
    state: str | None = None,
    context: dict[str, Any] | None = None,
    actor: str,
) -> tuple[Workflow, bool]:
    """Begin a workflow; one whose key is known stays as it is. The workflow, and whether it is new.

    Raises KeiseiError where it could not begin: an unknown type or state, a first task that what it knows does not fit,
    a key that an instance of another type has.
    """
    store = office.store
    for _ in range(RACES):
        known_one = store.instance(instance_key)
        if known_one is not None:
            return _same_type(known_one, workflow_type), False
        start = plan_start(
            office,
            workflow_type=workflow_type,
            instance_key=instance_key,
            state=state,
            context=context,
            actor=actor,
        )
        if store.start_workflow(start):
            store.ring()
            return known(store, start.workflow.record.workflow_id), True
    raise Refused(f"somebody else begins `{printable(instance_key)}` at the same time", "try again")


def _same_type(workflow: Workflow, workflow_type: str) -> Workflow:
    record = workflow.record
    if record.workflow_type != workflow_type:
        message = f"`{printable(record.instance_key)}` is an instance of `{record.workflow_type}` already"
        raise Refused(message, f"workflow {record.workflow_id} has this key; choose another one")
    return workflow


def plan_start(  # noqa: PLR0913 - a workflow begins with all of these
    office: Office,
    *,
    workflow_type: str,
    instance_key: str,
    state: str | None,
    context: dict[str, Any] | None,
    actor: str,
) -> WorkflowStart:
    """A workflow as it begins, in its first state and with its first task. Raises KeiseiError where it could not."""
    store, registry = office.store, office.registry()
    office = office._replace(registry=lambda: registry)
    definition = registry.workflow(workflow_type)
    first = known_state(definition, state) if state is not None else definition.initial_state
    now = store.now()
    record = WorkflowRecord(
        workflow_id=WorkflowId(office.new_id()),
        workflow_type=definition.workflow_type,
        instance_key=_fit_key(instance_key),
        current_state=first,
        context=_fit_context(context),
        status="active",
        created_at=now,
        updated_at=now,
        completed_at=None,
        definition_hash=digest(data_of(definition)),
    )
    build("workflow.record", data_of(record))  # raises for what could not be read again
    told = {"workflow_id": record.workflow_id, "workflow_type": record.workflow_type, "instance_key": instance_key}
    created = NewEvent(event_type="workflow_created", detail={**told, "state": first, "actor": actor})
    course = Course(
        workflow=Workflow(record=record, definition=definition, awaits="entry"), stay=None, happened=(created,)
    )
    course, tasks = commissioned(office, moves.enter(course, first, now), (), now)
    return WorkflowStart(
        workflow=course.workflow, visits=course.visits, beside=beside_of(office, course, tasks, By(actor))
    )


def known_state(definition: WorkflowDefinition, name: str) -> str:
    """The name of a state. Raises OperatorError with the nearest one where there is none."""
    if moves.state_named(definition, name) is None:
        names = [each.state_id for each in definition.states]
        message = f"workflow `{definition.workflow_type}` has no state `{printable(name)}`"
        raise OperatorError(message, nearest(name, names) or f"it has {', '.join(names)}")
    return name


def _fit_key(key: str) -> str:
    """The key. Raises OperatorError for one that cannot be shown and typed again."""
    if not key.strip() or len(key) > LONGEST_KEY or printable(key) != key:
        message = f"`{printable(key)[:LONGEST_KEY]}` is no instance key"
        raise OperatorError(message, f"one line of at most {LONGEST_KEY} characters that can be printed")
    return key


def _fit_context(context: dict[str, Any] | None) -> dict[str, Any] | None:
    try:
        canonical(context)
    except ValueError as error:
        raise OperatorError(f"the context cannot be kept: {error}", "give one JSON object") from error
    return context


def plan_wake(office: Office, workflow: Workflow, *, context: dict[str, Any] | None, actor: str) -> WorkflowMove | None:
    """A known workflow learns more; one that is blocked asks again. None where it is completed: nothing wakes that.

    Raises KeiseiError where what it knows by then does not fit its next task.
    """
    if workflow.awaits == "nothing":
        return None
    store, now = office.store, office.store.now()
    visits = store.visits(workflow.record.workflow_id)
    course = Course(workflow=workflow, stay=stay_of(workflow, visits))
    course = moves.merged(course, _fit_context(context) or {}, now)
    if workflow.awaits == "person":
        course = moves.resume(course, now, actor, asks=asks_before(store, workflow))
    course, tasks = commissioned(office, course, visits, now)
    return move_of(office, workflow, course, tasks, By(actor))


def known(store: Store, name: str) -> Workflow:
    """A workflow by its id, else by its key. Raises OperatorError for what is neither."""
    found = store.workflow(WorkflowId(name)) or store.instance(name)
    if found is None:
        message = f"no workflow has the id or the key `{printable(name)}`"
        raise OperatorError(message, "`keisei workflow instances --all` shows all")
    return found


def state_of(store: Store, task: TaskRecord) -> WorkflowState | None:
    """The state that waits for this very task; None for any other task, whatever it says of itself."""
    ref = task.workflow_ref
    workflow = store.workflow(ref.workflow_id) if ref is not None else None
    if workflow is None or workflow.task_id != task.task_id:
        return None
    return moves.current_state(workflow)
