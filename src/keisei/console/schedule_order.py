"""Orders to schedules: make one or change it, switch it off and on, delete it, look at all of them now."""

from typing import Annotated, Any, Final, Literal
from urllib.parse import quote

from msgspec import Meta, Struct

from keisei.console.asking import Key, Reason
from keisei.console.page import Missing, Order, order
from keisei.console.premises import Premises
from keisei.console.slow import slowly
from keisei.console.visitor import Visitor
from keisei.console.workflow_order import LongText, as_object
from keisei.engine import schedule as timetable
from keisei.records.error import OperatorError
from keisei.records.form import JsonObject
from keisei.records.id import ScheduleId, TaskId
from keisei.records.schedule import RecurringScheduleRecord
from keisei.records.slot import Schedule
from keisei.rules.schedule import seconds_of

Duration = Annotated[str, Meta(max_length=20)]


class ScheduleAdd(Struct, frozen=True, kw_only=True):
    """A schedule is made, or changed: what is the same stays, its next slot too."""

    name: Annotated[str, Meta(min_length=1, max_length=128)]
    """Its name."""
    every: Duration | None = None
    """The time between two slots: 90s, 5m, 2h, 1d."""
    once_in: Duration | None = None
    """Fire once, after this time, instead of again and again."""
    first_in: Duration | None = None
    """With `every`: the first slot, if not at once."""
    overlap: Literal["skip", "queue"] | None = None
    """A slot while the task of an earlier one is not finished: skip it, or queue it too."""
    task_type: Annotated[str, Meta(min_length=1, max_length=200)]
    """The type of the task that each slot queues."""
    payload: JsonObject | LongText | None = None
    """Its payload: an object, or one as JSON text."""
    subject: Annotated[str, Meta(max_length=500)] | None = None
    """Its line for people."""
    priority: Annotated[int, Meta(ge=-1000, le=1000)] | None = None
    """Higher first."""


class ScheduleOrdered(Struct, frozen=True, kw_only=True):
    """What is said to a schedule."""

    schedule_id: Key
    """Which: its id, or its name."""
    reason: Reason = ""
    """Why."""


class ScheduleLook(Struct, frozen=True, kw_only=True):
    """Nothing is asked."""


class ScheduleDone(Struct, frozen=True, kw_only=True):
    """A schedule after an order."""

    schedule_id: ScheduleId
    """Its id."""
    name: str
    """Its name."""
    record: RecurringScheduleRecord | None
    """What it says; None where the row cannot be read."""


class ScheduleTicked(Struct, frozen=True, kw_only=True):
    """What one look at the schedules did."""

    evaluated: int
    """Schedules whose due moments were written down."""
    task_ids: tuple[TaskId, ...]
    """Tasks that were queued."""


def add(premises: Premises, asks: ScheduleAdd, visitor: Visitor) -> ScheduleDone:
    """Make a schedule, or change the one of that name."""
    if (asks.every is None) == (asks.once_in is None):
        raise OperatorError("say either how often it fires, or after which time it fires once", "as in 5m, 2h or 1d")
    if asks.first_in is not None and asks.every is None:
        raise OperatorError("`first_in` goes with `every`", "`once_in` says when already")
    task = {
        "task_type": asks.task_type,
        "payload": as_object(asks.payload, "the payload"),
        "subject": asks.subject,
        "priority": asks.priority,
    }
    once = asks.once_in is not None
    seconds = _seconds(asks.every or asks.once_in or "")
    data: dict[str, Any] = {
        "name": asks.name,
        "interval_seconds": seconds,
        "once": once,
        "task": {key: value for key, value in task.items() if value is not None},
        "delay": seconds if once else None if asks.first_in is None else _seconds(asks.first_in),
        "overlap": asks.overlap,
    }
    if once:
        data["enabled"] = True
    return _done(timetable.upsert(premises.office(), data, visitor.actor))


def pause(premises: Premises, asks: ScheduleOrdered, visitor: Visitor) -> ScheduleDone:
    """Switch a schedule off; what it has queued stays queued."""
    name = _known(premises, asks.schedule_id)
    return _done(timetable.pause(premises.store, name, asks.reason or "paused by an operator", visitor.actor))


def resume(premises: Premises, asks: ScheduleOrdered, visitor: Visitor) -> ScheduleDone:
    """Switch a schedule on again, in step with before; what passed meanwhile was not due."""
    name = _known(premises, asks.schedule_id)
    return _done(timetable.resume(premises.store, name, asks.reason or "resumed by an operator", visitor.actor))


def delete(premises: Premises, asks: ScheduleOrdered, visitor: Visitor) -> ScheduleDone:
    """Delete a schedule; its slots and its tasks stay."""
    name = _known(premises, asks.schedule_id)
    return _done(timetable.delete(premises.store, name, asks.reason or "deleted by an operator", visitor.actor))


def look(premises: Premises, _asks: ScheduleLook, visitor: Visitor) -> ScheduleTicked:
    """Look at the schedules once, as every runner does by itself."""
    with slowly(premises, "a look at the schedules"):
        ticked = timetable.look(premises.office(), visitor.actor)
    return ScheduleTicked(evaluated=ticked.evaluated, task_ids=ticked.task_ids)


def _known(premises: Premises, name: str) -> ScheduleId:
    found = premises.store.schedule(name)
    if found is None:
        raise Missing(f"no schedule is called `{name}`", "/schedules shows all")
    return found.schedule_id


def _seconds(text: str) -> int:
    seconds = seconds_of(text.strip())
    if seconds is None:
        raise OperatorError(f"`{text}` is no duration", "say 90s, 5m, 2h or 1d; at most ten years")
    return seconds


def _done(schedule: Schedule) -> ScheduleDone:
    return ScheduleDone(schedule_id=schedule.schedule_id, name=schedule.name, record=schedule.record)


def _after(done: ScheduleDone) -> str:
    return f"/schedules/{quote(done.schedule_id, safe='')}"


ORDERS: Final[tuple[Order, ...]] = (
    order("/schedules", add, _after),
    order("/schedules/tick", look, lambda _done: "/schedules"),
    order("/schedules/{schedule_id:path}/pause", pause, _after),
    order("/schedules/{schedule_id:path}/resume", resume, _after),
    order("/schedules/{schedule_id:path}/delete", delete, lambda _done: "/schedules"),
)
