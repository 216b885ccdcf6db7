"""Observe: an event with everything it starts, planned as one value that the store writes or does not."""

from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from keisei.engine.intake import Defaults, Origin, Registry, accept, refuse_reserved
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.records.beside import Beside
from keisei.records.error import OperatorError, Refused
from keisei.records.event import EventType
from keisei.records.id import TaskId, WorkflowId
from keisei.records.intent import TaskIntent
from keisei.records.move import NewEntry, NewEvent, NewTask
from keisei.records.observation import Observation
from keisei.records.progression import Workflow, WorkflowMove, WorkflowStart
from keisei.records.sensor import ProposedWorkflow, SensorEvent

STALE: Final = "its freshness deadline had passed"
OUTSIDE: Final = ("sensor:", "webhook:")
"""How those are named that are no person."""


class Judge(NamedTuple):
    """What an observation is judged by."""

    store: Store
    registry: Registry
    defaults: Defaults
    new_id: Callable[[], str]
    actor: str
    now: datetime


class _Begun(NamedTuple):
    """What an event does to a workflow."""

    event: NewEvent
    start: WorkflowStart | None = None
    wake: WorkflowMove | None = None
    reason: str | None = None
    workflow_id: WorkflowId | None = None


def planned(event: SensorEvent, judge: Judge) -> tuple[Observation, WorkflowId | None]:
    """The event with everything it starts. Raises where a proposal could not run."""
    names = {"sensor_id": event.sensor_id, "event_id": event.event_id}
    recorded = NewEvent(
        event_type="sensor_event_recorded", detail={**names, "dedupe_key": event.dedupe_key, "actor": judge.actor}
    )
    if event.freshness_deadline is not None and event.freshness_deadline < judge.now:
        detail = {**names, "freshness_deadline": event.freshness_deadline.isoformat()}
        events = (recorded, NewEvent(event_type="sensor_event_stale", detail=detail))
        return Observation(event=event, status="stale", reason=STALE, beside=Beside(events=events)), None
    task = _task(event, judge)
    begun = None if event.proposed_workflow is None else _workflow(event, event.proposed_workflow, judge)
    events = (recorded, *_created(event, task), *((begun.event,) if begun else ()))
    rows = () if judge.actor.startswith(OUTSIDE) else (_ordered(event, task, judge),)
    observation = Observation(
        event=event,
        reason=begun.reason if begun else None,
        task_id=task.task.task_id if task else None,
        start=begun.start if begun else None,
        wake=begun.wake if begun else None,
        beside=Beside(tasks=(task,) if task else (), events=events, ledger=rows),
    )
    return observation, begun.workflow_id if begun else None


def _ordered(event: SensorEvent, task: NewTask | None, judge: Judge) -> NewEntry:
    """The row of an event that a person told of by hand: it is an order, by whatever name it comes."""
    body = {
        "event_id": event.event_id,
        "dedupe_key": event.dedupe_key,
        "task_id": task.task.task_id if task is not None else None,
        "instance_key": event.proposed_workflow.instance_key if event.proposed_workflow is not None else None,
    }
    return NewEntry(kind="sensor_event_told", actor=judge.actor, subject=event.sensor_id, body=body)


def _created(event: SensorEvent, task: NewTask | None) -> tuple[NewEvent, ...]:
    if task is None:
        return ()
    detail = {"sensor_event_id": event.event_id, "sensor_id": event.sensor_id, "event_id": event.event_id}
    return (NewEvent(event_type="sensor_task_created", task_id=task.task.task_id, detail=detail),)


def _task(event: SensorEvent, judge: Judge) -> NewTask | None:
    if event.proposed_task is None:
        return None
    _refuse_reserved(event.proposed_task)
    origin = Origin(sensor_event_id=event.event_id)
    task_id = TaskId(judge.new_id())
    return accept(event.proposed_task, judge.registry, judge.defaults, origin=origin, task_id=task_id, now=judge.now)


def _refuse_reserved(intent: TaskIntent) -> None:
    """Raises OperatorError: the event asks for what it will never get, so its sensor need not say it again."""
    try:
        refuse_reserved(intent)
    except Refused as error:
        raise OperatorError(error.message, error.hint) from error


def _workflow(event: SensorEvent, proposed: ProposedWorkflow, judge: Judge) -> _Begun:
    """A workflow that is not there is created, one that is there is told or woken, one that is over is left alone."""
    from keisei.engine.workflow import plan_start, plan_wake  # noqa: PLC0415 - most events propose none

    there = judge.store.instance(proposed.instance_key)
    actor = f"sensor:{event.sensor_id}"
    office = Office(judge.store, lambda: judge.registry, judge.defaults, judge.new_id)
    if there is None:
        start = plan_start(
            office,
            workflow_type=proposed.template,
            instance_key=proposed.instance_key,
            state=proposed.state,
            context=proposed.context,
            actor=actor,
        )
        made = start.workflow.record
        told = _told("sensor_workflow_created", event, made.workflow_id, made.instance_key)
        return _Begun(told, start=start, workflow_id=made.workflow_id)
    _check_template(there, proposed)
    known = there.record
    if known.status == "completed":
        reason = f"workflow {known.workflow_id} is completed"
        told = _told("sensor_workflow_deduped", event, known.workflow_id, known.instance_key, reason=reason)
        return _Begun(told, reason=reason, workflow_id=known.workflow_id)
    wake = plan_wake(office, there, context=proposed.context, actor=actor)
    kind: EventType = "sensor_workflow_woken" if known.status == "blocked" else "sensor_workflow_deduped"
    told = _told(kind, event, known.workflow_id, known.instance_key)
    return _Begun(told, wake=wake, workflow_id=known.workflow_id)


def _check_template(there: Workflow, proposed: ProposedWorkflow) -> None:
    if there.record.workflow_type != proposed.template:
        message = f"instance `{proposed.instance_key}` is a workflow of type `{there.record.workflow_type}`"
        raise OperatorError(f"{message}, not `{proposed.template}`", "choose another instance_key")


def _told(kind: EventType, event: SensorEvent, workflow_id: WorkflowId, key: str, **more: str) -> NewEvent:
    detail = {"sensor_event_id": event.event_id, "workflow_id": workflow_id, "instance_key": key}
    return NewEvent(event_type=kind, detail=detail | more)
