"""Slots: what became of the moments at which a schedule was due. Internal: no published schema."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from keisei.records.beside import NOTHING, Beside
from keisei.records.id import ScheduleId, TaskId
from keisei.records.schedule import RecurringScheduleRecord

SlotStatus = Literal["enqueued", "coalesced", "skipped"]
"""A task was queued; the moment was missed and is one with a later one; nothing was queued, and the row says why."""


class Slot(Struct, frozen=True, kw_only=True):
    """One due moment, or a run of missed ones that became one."""

    schedule_id: ScheduleId
    """Whose."""
    status: SlotStatus
    """What became of it."""
    first_due_at: datetime
    """The moment; the first of them where there are many."""
    due_at: datetime
    """The moment; the last of them where there are many."""
    count: int = 1
    """How many moments it stands for; more than one only where they were coalesced or skipped together."""
    reason: str | None = None
    """Why nothing was queued."""
    task_id: TaskId | None = None
    """The task that was queued."""
    recorded_at: datetime
    """When the schedule was evaluated."""


class Schedule(Struct, frozen=True, kw_only=True):
    """A schedule as the store has it."""

    schedule_id: ScheduleId
    """Its id."""
    name: str
    """Its name, unique."""
    record: RecurringScheduleRecord | None
    """What it says; None where the row cannot be read."""
    fault: str | None = None
    """Why the row cannot be read."""
    task_id: TaskId | None = None
    """The newest task it has queued."""
    version: int
    """Grows with every change; who writes says which one it has seen."""


class SlotQuery(Struct, frozen=True, kw_only=True):
    """Which slots to list, newest first."""

    schedule_id: ScheduleId | None = None
    """Only of this schedule."""
    before: int | None = None
    """Older than this place: the `next` of the page before."""
    limit: int = 50
    """At most so many."""


class SlotPage(Struct, frozen=True, kw_only=True):
    """A page of slots."""

    slots: tuple[Slot, ...]
    """Newest first."""
    next: int | None = None
    """Where older ones begin; None where there are none. It stays good when slots come and go."""


class ScheduleOrder(Struct, frozen=True, kw_only=True):
    """A schedule is made or changed."""

    record: RecurringScheduleRecord
    """What it says from now on."""
    was: int | None
    """The version it must have; None where it must not be there yet, neither its id nor its name."""
    beside: Beside = NOTHING
    """Written with it."""


class Firing(Struct, frozen=True, kw_only=True):
    """A schedule was due and is evaluated: its rows, its task and its next moment, in one transaction."""

    schedule_id: ScheduleId
    """Which."""
    was: int
    """The version it must have; otherwise nothing is written."""
    record: RecurringScheduleRecord | None
    """What it says from now on; None switches off a row that cannot be read."""
    slots: tuple[Slot, ...]
    """What became of the moments."""
    task_id: TaskId | None = None
    """The task that is queued with it, which stands in `beside`."""
    beside: Beside = NOTHING
    """Written with it."""
