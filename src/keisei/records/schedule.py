"""Schedules: rows that decide when work should exist. They enqueue ordinary intents and run nothing."""

from typing import Annotated, Literal

from msgspec import Meta

from keisei.records.form import Record, Text, Timestamp, default
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
    """When it was last evaluated: a slot fired, or was skipped."""
    task: TaskIntent
    """What each slot asks for."""
    created_at: Timestamp
    """When it was made."""
    updated_at: Timestamp
    """When it last changed."""
    overlap: Literal["skip", "queue"] = default("skip")
    """What happens to a slot while the task of an earlier one is unfinished: nothing is queued, or one more task is."""
    once: bool = default(False)
    """Fires one time and is switched off then: `interval_seconds` is a delay."""
    disabled_reason: str | None = None
    """Why it was switched off, where the runtime or an operator said so."""
