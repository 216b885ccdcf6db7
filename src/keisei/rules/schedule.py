"""Schedules: which moments are due, and when the next one is. Pure, in UTC, as quick after years as after seconds."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from keisei.records.schedule import RecurringScheduleRecord

LAST: Final = datetime.max.replace(tzinfo=UTC)
"""No moment is later."""
UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
DURATION: Final = re.compile(r"([0-9]{1,12})([smhd])", re.ASCII)
LONGEST_S: Final = 315_360_000
"""The longest interval that a schedule may have."""
PATIENCE: Final = 3
"""So many slots in a row that cannot be queued switch a schedule off,"""
PATIENCE_S: Final = 600
"""and not within this time: who edits a file may leave it broken for some minutes, and that stops no schedule."""


class Due(NamedTuple):
    """The moments that have come."""

    times: int
    first: datetime
    last: datetime


def due_moments(record: RecurringScheduleRecord, until: datetime) -> Due | None:
    """The moments up to `until`; None where there is none. A schedule that fires once has one, however late it is."""
    behind = until - record.next_run_at
    if behind < timedelta(0):
        return None
    interval = timedelta(seconds=record.interval_seconds)
    more = 0 if record.once else behind // interval
    return Due(1 + more, record.next_run_at, record.next_run_at + more * interval)


def following(moment: datetime, interval_seconds: int) -> datetime:
    """One interval after a moment; the end of the calendar where there is none."""
    try:
        return moment + timedelta(seconds=interval_seconds)
    except OverflowError:
        return LAST


def brought_forward(record: RecurringScheduleRecord, until: datetime, now: datetime) -> Due | None:
    """The one next moment, where it lies ahead, at most one interval from now and not after `until`.

    Only one, so that no look into the future moves a schedule further than its next slot.
    """
    ahead = now < record.next_run_at <= min(until, following(now, record.interval_seconds))
    return Due(1, record.next_run_at, record.next_run_at) if ahead else None


def realigned(record: RecurringScheduleRecord, now: datetime) -> datetime | None:
    """The next moment after the clock was set back; None where nothing has to change."""
    if record.last_run_at is None or record.last_run_at <= now:
        return None
    soon = following(now, record.interval_seconds)
    return soon if soon < record.next_run_at else None


def resumed(record: RecurringScheduleRecord, now: datetime) -> datetime:
    """The next moment of a schedule that is switched on again: in step with before, and never at once.

    Moments that passed while it was off were not due. One that fires once waits for its whole delay again.
    """
    if record.next_run_at > now:
        return record.next_run_at
    if record.once:
        return following(now, record.interval_seconds)
    steps = (now - record.next_run_at) // timedelta(seconds=record.interval_seconds) + 1
    return following(record.next_run_at, steps * record.interval_seconds)


def patience(interval_seconds: int) -> int:
    """How many slots in a row may fail to be queued before a schedule is switched off."""
    return max(PATIENCE, PATIENCE_S // interval_seconds)


def slot_stamp(moment: datetime) -> str:
    """A due moment as it stands in sources and keys: UTC, milliseconds, Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_of(text: str) -> int | None:
    """A duration such as `90s`, `5m`, `2h` or `1d`, in seconds; None for anything else, a bare number included."""
    found = DURATION.fullmatch(text)
    if found is None:
        return None
    seconds = int(found[1]) * UNITS[found[2]]
    return seconds if 1 <= seconds <= LONGEST_S else None


def duration_text(seconds: int) -> str:
    """The same the other way round, in the largest unit that leaves no rest."""
    unit = next(name for name in ("d", "h", "m", "s") if seconds % UNITS[name] == 0)
    return f"{seconds // UNITS[unit]}{unit}"
