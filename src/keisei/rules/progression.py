"""Progression: where a workflow goes next. Every function takes a course and returns the one after it."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from keisei.records.event import EventType
from keisei.records.id import TaskId, WorkflowId
from keisei.records.move import NewEvent
from keisei.records.progression import Visit, Workflow
from keisei.records.task import TaskRecord
from keisei.records.workflow import WorkflowDefinition, WorkflowState

ENDED: Final = frozenset({"permanent_failure", "operator_canceled"})
"""Ends of a task that carry no signal."""
PLAIN: Final = re.compile("[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
"""Ids that may name a folder."""
REASON: Final = 2_000
"""Characters of a reason that are kept."""


class Course(Struct, frozen=True, kw_only=True):
    """A workflow within one move: where it stands by now, and everything that led there."""

    workflow: Workflow
    """As it is now."""
    stay: Visit | None
    """The stay it is in; None before the first, and where a state could not be entered."""
    visits: tuple[Visit, ...] = ()
    """Stays that began or ended."""
    happened: tuple[NewEvent, ...] = ()
    """What is to be told."""
    asks: bool = False
    """Its state wants a task: nothing else can happen before that is asked for."""
    person: bool = False
    """It stands still, and nothing else tells a person so."""


def state_named(definition: WorkflowDefinition, name: str) -> WorkflowState | None:
    """A state by its name."""
    return next((each for each in definition.states if each.state_id == name), None)


def current_state(workflow: Workflow) -> WorkflowState | None:
    """The state it stands in; None where its definition has no such state."""
    return state_named(workflow.definition, workflow.record.current_state)


def signals_of(state: WorkflowState) -> tuple[str, ...]:
    """Every signal that leads out of a state."""
    return (*(each.signal for each in state.transitions), *state.completion_signals)


def emits(state: WorkflowState) -> bool:
    """Whether entering it asks for a task."""
    return state.task_type is not None and state.emits_task_intent is not False


def source_of(workflow_id: str, state_id: str) -> str:
    """The source of the tasks that a state asks for. Nobody but the runtime may choose a source."""
    return f"workflow:{workflow_id}:{state_id}"


def workflow_behind(task: TaskRecord) -> WorkflowId | None:
    """The workflow that has asked for a task; None where the task only says so, or the id is no plain name."""
    ref = task.workflow_ref
    if ref is None or task.source != source_of(ref.workflow_id, ref.state_id):
        return None
    return ref.workflow_id if PLAIN.fullmatch(ref.workflow_id) else None


def proceed(workflow: Workflow, stay: Visit | None, task: TaskRecord | None, now: datetime) -> Course:
    """As far as it goes by itself: by the end of its task, by a task that was freed, or into the state it awaits.

    Where nothing can happen the workflow is the same object. A completed workflow never moves.
    """
    course = Course(workflow=workflow, stay=stay)
    if workflow.awaits == "entry":
        return enter(course, workflow.record.current_state, now)
    if workflow.awaits == "task":
        return _judged(course, task, now)
    if workflow.awaits == "person" and task is not None:
        return _stirred(course, task, now)
    return course


def _judged(course: Course, task: TaskRecord | None, now: datetime) -> Course:
    """The task it waits for has ended, or has not."""
    if task is None:
        return block(course, f"task {course.workflow.task_id} is gone", now)
    if task.status == "completed":
        return _answered(course, task, now)
    if task.status == "blocked" or task.status in ENDED:
        return _failed(course, task, now)
    return course


def _stirred(course: Course, task: TaskRecord, now: datetime) -> Course:
    """The task that had blocked it was freed, or will never be."""
    if task.status == "blocked":
        return course
    if task.status in ENDED:
        return _failed(course, task, now)
    return _judged(_awake(course, now, awaits="task", reason=f"task {task.task_id} goes on"), task, now)


def _failed(course: Course, task: TaskRecord, now: datetime) -> Course:
    state = course.workflow.record.current_state
    reason = f"task {task.task_id} of state `{state}` is {task.status}: {task.last_error or 'no reason was recorded'}"
    return block(course, reason, now, task)


def _answered(course: Course, task: TaskRecord, now: datetime) -> Course:
    """A completed task's signal is followed; an end needs none."""
    state = current_state(course.workflow)
    signal = task.outcome.workflow_signal if task.outcome is not None else None
    actor = f"task:{task.task_id}"
    if state is not None and not signals_of(state):
        return finish(course, now, actor)
    if state is not None and signal in signals_of(state):
        return follow(course, signal, now, actor)
    said = "without a signal" if signal is None else f"with the signal `{signal}`"
    reason = (
        f"task {task.task_id} is completed {said}, which leads nowhere from `{course.workflow.record.current_state}`"
    )
    return block(course, reason, now)


def follow(course: Course, signal: str, now: datetime, actor: str) -> Course:
    """Leave the state by one of its signals. Raises KeyError for another."""
    state = current_state(course.workflow)
    ways = {each.signal: each.next_state for each in state.transitions} if state is not None else {}
    if state is not None and signal in state.completion_signals:
        return finish(course, now, actor, signal)
    return go_to(course, ways[signal], now, actor, signal)


def go_to(course: Course, target: str, now: datetime, actor: str, signal: str | None = None) -> Course:
    """Leave the state and enter another."""
    left = _left(course, now, actor, signal)
    previous = left.workflow.record.current_state
    record = replace(left.workflow.record, current_state=target)
    moved = _changed(left, now, record=record, task_id=None, asks=0)
    visit = moved.workflow.visit + (0 if is_used_up(moved.workflow, target) else 1)
    told = {"new_state": target, "previous_state": previous, "signal": signal, "visit": visit, "actor": actor}
    return enter(_told(moved, "workflow_transitioned", told), target, now)


def is_used_up(workflow: Workflow, name: str) -> bool:
    """Whether a state was entered as often as it may be."""
    state = state_named(workflow.definition, name)
    most = state.max_visits if state is not None else None
    return most is not None and workflow.record.visits.get(name, 0) >= most


def enter(course: Course, name: str, now: datetime) -> Course:
    """Begin a stay in a state. One that is unknown, or was entered as often as it may be, blocks the workflow."""
    state = state_named(course.workflow.definition, name)
    if state is None:
        return block(course, f"state `{name}` is not in the definition it follows", now)
    count = course.workflow.record.visits.get(name, 0)
    if is_used_up(course.workflow, name):
        reason = f"state `{name}` was entered {count} times, as often as it may be"
        return block(replace(course, stay=None), reason, now)
    record = replace(
        course.workflow.record,
        current_state=name,
        visits={**course.workflow.record.visits, name: count + 1},
        status="active",
        reason=None,
    )
    entered = _changed(course, now, record=record, awaits="signal", task_id=None, asks=0)
    stay = Visit(workflow_id=record.workflow_id, state=name, visit=count + 1, entered_at=now)
    return settle_in(_stayed(entered, stay), now)


def settle_in(course: Course, now: datetime, actor: str | None = None) -> Course:
    """What a state wants of one that stands in it: a task, a signal, or nothing, and then it is the end."""
    state = current_state(course.workflow)
    if state is None:
        return block(course, f"state `{course.workflow.record.current_state}` is not in the definition it follows", now)
    if emits(state):
        return replace(course, asks=True)
    if signals_of(state):
        return _changed(course, now, awaits="signal", task_id=None)
    return finish(course, now, actor)


def asked(course: Course, task_id: TaskId, now: datetime) -> Course:
    """The task that its state wants is queued."""
    ask = course.workflow.asks + 1
    waiting = _changed(course, now, awaits="task", task_id=task_id, asks=ask)
    told = {"workflow_state": waiting.workflow.record.current_state, "visit": waiting.workflow.visit, "ask": ask}
    stay = course.stay
    kept = waiting if stay is None else _stayed(waiting, replace(stay, task_id=task_id))
    return _told(replace(kept, asks=False), "workflow_task_created", told, task_id)


def finish(course: Course, now: datetime, actor: str | None = None, signal: str | None = None) -> Course:
    """The workflow is over."""
    left = _left(course, now, actor, signal)
    record = replace(left.workflow.record, status="completed", completed_at=now, reason=None)
    over = _changed(left, now, record=record, awaits="nothing", task_id=None)
    told = {"state": record.current_state, "signal": signal, "actor": actor}
    return _told(replace(over, asks=False, person=False), "workflow_completed", told)


def block(course: Course, reason: str, now: datetime, task: TaskRecord | None = None) -> Course:
    """The workflow stands still until a person does something.

    A task that is blocked speaks for itself, and is kept in mind: when it is freed the workflow goes on.
    """
    waits = task is not None and task.status == "blocked"
    told = {"state": course.workflow.record.current_state, "visit": course.workflow.visit, "reason": reason[:REASON]}
    record = replace(course.workflow.record, status="blocked", reason=reason[:REASON])
    kept = task.task_id if task is not None and waits else None
    still = _changed(course, now, record=record, awaits="person", task_id=kept)
    by = task.task_id if task is not None else None
    return _told(replace(still, asks=False, person=not waits), "workflow_blocked", told, by)


def resume(course: Course, now: datetime, actor: str, *, asks: int) -> Course:
    """A person lets it go on: its stay is open again, and its state wants what it wants.

    `asks` counts the tasks that this stay has asked for before.
    """
    awake = _awake(course, now, awaits="signal", actor=actor)
    stay = awake.stay
    opened = awake if stay is None else _stayed(awake, replace(stay, left_at=None, signal=None, actor=None))
    return settle_in(_changed(opened, now, task_id=None, asks=asks), now, actor)


def _awake(course: Course, now: datetime, *, awaits: str, **told: str) -> Course:
    record = replace(course.workflow.record, status="active", reason=None)
    awake = _changed(course, now, record=record, awaits=awaits)
    detail = {"state": record.current_state, "visit": awake.workflow.visit, **told}
    return _told(replace(awake, person=False), "workflow_resumed", detail)


def merged(course: Course, context: dict[str, Any], now: datetime) -> Course:
    """It knows more: what is said anew stands above what it knew. The same where nothing is new."""
    known = course.workflow.record.context or {}
    if all(key in known and known[key] == value for key, value in context.items()):
        return course
    record = replace(course.workflow.record, context={**known, **context})
    return _changed(course, now, record=record)


def redefined(course: Course, definition: WorkflowDefinition, sha256: str, now: datetime, actor: str) -> Course:
    """It follows another definition from here on; it stands where it stood."""
    before = course.workflow.record.definition_hash
    record = replace(course.workflow.record, definition_hash=sha256)
    other = _changed(course, now, record=record, definition=definition)
    told = {"state": record.current_state, "definition_hash": sha256, "previous_hash": before, "actor": actor}
    return _told(other, "workflow_upgraded", told)


def _left(course: Course, now: datetime, actor: str | None, signal: str | None) -> Course:
    if course.stay is None or course.stay.left_at is not None:
        return replace(course, stay=None)
    ended = replace(course.stay, left_at=now, signal=signal, actor=actor)
    return replace(_stayed(course, ended), stay=None)


def _stayed(course: Course, stay: Visit) -> Course:
    others = tuple(each for each in course.visits if (each.state, each.visit) != (stay.state, stay.visit))
    return replace(course, stay=stay, visits=(*others, stay))


def _changed(course: Course, now: datetime, **changes: Any) -> Course:  # noqa: ANN401 - fields of a workflow
    changes["record"] = replace(changes.get("record", course.workflow.record), updated_at=now)
    return replace(course, workflow=replace(course.workflow, **changes))


def _told(course: Course, event: EventType, detail: Mapping[str, object], task_id: TaskId | None = None) -> Course:
    said = {name: value for name, value in detail.items() if value is not None}
    told = {"workflow_id": course.workflow.record.workflow_id, **said}
    return replace(course, happened=(*course.happened, NewEvent(event_type=event, task_id=task_id, detail=told)))
