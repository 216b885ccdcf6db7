"""Schedules: when work begins by itself, and what became of every moment, missed ones too."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta, Struct
from msgspec.structs import replace

from keisei.console.asking import Key, Limit
from keisei.console.cursor import Place
from keisei.console.page import Missing, Page, page
from keisei.console.premises import Premises
from keisei.console.runner import lively
from keisei.console.schedule_order import ORDERS
from keisei.records.error import AuthorError
from keisei.records.id import ScheduleId, TaskId
from keisei.records.intent import TaskIntent
from keisei.records.schedule import RecurringScheduleRecord
from keisei.records.slot import Schedule, Slot, SlotQuery, SlotStatus
from keisei.rules.schedule import duration_text

__all__ = ["ORDERS", "PAGES"]

STRIP: Final = 30
"""Slots of a strip."""


class SchedulesAsk(Struct, frozen=True, kw_only=True):
    """Nothing is asked."""


class Tick(Struct, frozen=True, kw_only=True):
    """One slot of a strip."""

    status: SlotStatus
    """What became of it."""
    count: int
    """How many moments it stands for."""
    due_at: datetime
    """The moment; the last of them where there are many."""
    task_id: TaskId | None
    """The task that was queued."""


class Strip(Struct, frozen=True, kw_only=True):
    """The last slots of a schedule, oldest first."""

    ticks: tuple[Tick, ...]
    """The slots."""
    enqueued: int
    """How many moments became a task."""
    missed: int
    """How many moments were missed and are one with a later one."""
    skipped: int
    """How many moments became nothing, with a reason."""


class ScheduleLine(Struct, frozen=True, kw_only=True):
    """A schedule in a list."""

    schedule_id: ScheduleId
    """Its id."""
    name: str
    """Its name."""
    record: RecurringScheduleRecord | None
    """What it says; None where the row cannot be read."""
    every: str | None
    """The time between two slots, in words."""
    fault: str | None
    """Why the row cannot be read."""
    simple: bool
    """Its task says no more than type, payload, subject and priority: a form can hold all of it."""
    task_id: TaskId | None
    """The newest task it has queued."""
    strip: Strip
    """Its last slots."""


class SchedulesPage(Struct, frozen=True, kw_only=True):
    """Every schedule."""

    items: tuple[ScheduleLine, ...]
    """By name."""
    paused: bool
    """All runners are paused: no schedule fires until they go on."""
    runners: int
    """How many runners look at schedules."""


class ScheduleAsk(Struct, frozen=True, kw_only=True):
    """Which schedule, and which of its slots."""

    schedule_id: Key
    """Its id, or its name."""
    after: Place | None = None
    """Where to go on: the `next` of the answer before."""
    limit: Limit = 50
    """At most so many."""


class SchedulePage(Struct, frozen=True, kw_only=True):
    """One schedule."""

    line: ScheduleLine | None
    """The schedule; None where it was deleted and only its slots are left."""
    schedule_id: ScheduleId
    """Its id."""
    strip: Strip
    """Its last slots."""
    items: tuple[Slot, ...]
    """What became of the moments at which it was due, newest first."""
    next: str | None
    """Where older ones begin."""


class ScheduleNewAsk(Struct, frozen=True, kw_only=True):
    """Which schedule is to be changed, where one is."""

    name: Annotated[str, Meta(max_length=200)] | None = None
    """Its name."""


class ScheduleNewPage(Struct, frozen=True, kw_only=True):
    """What a schedule may queue."""

    task_types: tuple[str, ...]
    """Task types of the library."""
    before: ScheduleLine | None
    """The schedule as it is, where there is one of that name."""


def show_schedules(premises: Premises, _asks: SchedulesAsk) -> SchedulesPage:
    """Every schedule: how often, when next, when last, and what became of its last slots."""
    store = premises.store
    return SchedulesPage(
        items=tuple(_line(premises, each) for each in store.schedules()),
        paused=any(each.scope == "all" for each in store.pauses()),
        runners=lively(premises),
    )


def show_schedule(premises: Premises, asks: ScheduleAsk) -> SchedulePage:
    """One schedule with every slot: what was queued, what was missed and coalesced, what was skipped and why."""
    store = premises.store
    found = store.schedule(asks.schedule_id)
    schedule_id = found.schedule_id if found is not None else ScheduleId(asks.schedule_id)
    newest = store.slots(schedule_id, STRIP)
    if found is None and not newest:
        raise Missing(f"no schedule is called `{asks.schedule_id}`", "/schedules shows all")
    told = store.find_slots(SlotQuery(schedule_id=schedule_id, before=asks.after, limit=asks.limit))
    return SchedulePage(
        line=None if found is None else _line(premises, found),
        schedule_id=schedule_id,
        strip=_strip(newest),
        items=told.slots,
        next=None if told.next is None else str(told.next),
    )


def show_new(premises: Premises, asks: ScheduleNewAsk) -> ScheduleNewPage:
    """What a schedule may queue, and the schedule that is to be changed."""
    before = premises.store.schedule(asks.name) if asks.name else None
    try:
        types = tuple(sorted(premises.catalog().names("task-type")))
    except AuthorError:  # lint's matter: a type can still be typed
        types = ()
    return ScheduleNewPage(task_types=types, before=None if before is None else _line(premises, before))


def _line(premises: Premises, schedule: Schedule) -> ScheduleLine:
    record = schedule.record
    every = None
    if record is not None:
        every = f"{'once, after ' if record.once else ''}{duration_text(record.interval_seconds)}"
    return ScheduleLine(
        schedule_id=schedule.schedule_id,
        name=schedule.name,
        record=record,
        every=every,
        fault=schedule.fault,
        simple=record is not None and _is_simple(record.task),
        task_id=schedule.task_id,
        strip=_strip(premises.store.slots(schedule.schedule_id, STRIP)),
    )


def _is_simple(task: TaskIntent) -> bool:
    bare = TaskIntent(task_type=task.task_type, source=task.source, payload=task.payload)
    return replace(task, subject=None, priority=None) == bare


def _strip(newest: Sequence[Slot]) -> Strip:
    ticks = [Tick(status=each.status, count=each.count, due_at=each.due_at, task_id=each.task_id) for each in newest]
    counts = dict.fromkeys(("enqueued", "coalesced", "skipped"), 0)
    for each in newest:
        counts[each.status] += each.count
    return Strip(
        ticks=tuple(reversed(ticks)),
        enqueued=counts["enqueued"],
        missed=counts["coalesced"],
        skipped=counts["skipped"],
    )


PAGES: Final[tuple[Page, ...]] = (
    page("/schedules", "schedules.html", show_schedules),
    page("/schedules/new", "schedule_new.html", show_new),
    page("/schedules/{schedule_id:path}", "schedule.html", show_schedule),
)
