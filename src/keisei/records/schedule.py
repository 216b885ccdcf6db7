"""Schedules: rows that decide when work should exist. They enqueue ordinary intents and run nothing."""

from typing import Annotated

from msgspec import Meta

from keisei.records.form import Record, Text, Timestamp
from keisei.records.id import ScheduleId
from keisei.records.intent import TaskIntent


class RecurringScheduleRecord(Record, frozen=True, kw_only=True):
    """One schedule. Missed slots are coalesced into one task; each slot leaves a row."""

    schedule_id: ScheduleId
    """Its id."""
    name: Text
    """Its name, unique."""
    enabled: bool
    """Whether it fires."""
    interval_seconds: Annotated[int, Meta(ge=1, le=315_360_000)]
    """The time between two slots."""
    next_run_at: Timestamp
    """The next slot."""
    last_run_at: Timestamp | None
    """The newest slot that fired."""
    task: TaskIntent
    """What each slot asks for."""
    created_at: Timestamp
    """When it was made."""
    updated_at: Timestamp
    """When it last changed."""
