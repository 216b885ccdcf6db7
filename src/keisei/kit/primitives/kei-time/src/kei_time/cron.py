"""Timetables in cron's five fields: minute, hour, day of month, month, day of week."""

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from heapq import heappop, heappush
from typing import NamedTuple

from kei_time.context import Context
from kei_time.zone import placed

ITEM = re.compile(r"(?:\*|([0-9]{1,2}|[a-z]{3})(?:-([0-9]{1,2}|[a-z]{3}))?)(?:/([0-9]{1,2}))?", re.ASCII)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
SHORT = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
SUNDAY = 7
LAST_YEAR = 9999


class Field(NamedTuple):
    """One of the five."""

    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()
    """Names of its numbers, from the lowest."""

    def number(self, text: str) -> int:
        """A number or a name as a number; -1 for what is neither."""
        if text.isdecimal():
            return int(text)
        return self.words.index(text) + self.low if text in self.words else -1


class Cron(NamedTuple):
    """A timetable."""

    times: tuple[time, ...]
    """Of a day that counts."""
    days: frozenset[int]
    """Days of the month."""
    months: frozenset[int]
    """Months."""
    weekdays: frozenset[int]
    """Days of the week, Monday 1, Sunday 7."""
    both: bool
    """Whether a day must fit month and week; otherwise one of the two is enough."""

    def has(self, day: date) -> bool:
        """Whether it is a day of the timetable."""
        fits = day.day in self.days, day.isoweekday() in self.weekdays
        return day.month in self.months and (all(fits) if self.both else any(fits))

    def can_be(self) -> bool:
        """Whether there ever is such a day: the 31st of February never comes."""
        return not self.both or any(min(self.days) <= LONGEST[month - 1] for month in self.months)


FIELDS = (
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day of month", 1, 31),
    Field("month", 1, 12, MONTHS),
    Field("day of week", 0, 7, DAYS),
)


def cron_of(context: Context, text: str) -> Cron:
    """The timetable of an expression. Raises BadRule."""
    expression = SHORT.get(text.strip().lower(), text.strip().lower())
    fields = expression.split()
    if len(fields) != len(FIELDS):
        message = f"{text!r} is no rule: cron has five fields, not {len(fields)}, and a duration begins with P"
        raise context.error("BadRule", message)
    minutes, hours, days, months, weekdays = (
        _numbers(context, given, known) for given, known in zip(fields, FIELDS, strict=True)
    )
    return Cron(
        times=tuple(time(hour, minute) for hour in sorted(hours) for minute in sorted(minutes)),
        days=days,
        months=months,
        weekdays=frozenset(day or SUNDAY for day in weekdays),
        # As cron has it: where both are restricted, either is enough. What begins with a star is not restricted.
        both=fields[2].startswith("*") or fields[4].startswith("*"),
    )


def _numbers(context: Context, text: str, field: Field) -> frozenset[int]:
    found: set[int] = set()
    for item in text.split(","):
        match = ITEM.fullmatch(item)
        if match is None:
            raise context.error("BadRule", f"{item!r} is no {field.name}; write *, 5, 1-5, */15 or a list of them")
        first, last, step = match.groups()
        if step is not None and first is not None and last is None:
            raise context.error("BadRule", f"{item!r} steps without a range; write {first}-{field.high}/{step}")
        begin, end = (field.low, field.high) if first is None else map(field.number, (first, last or first))
        if not field.low <= begin <= end <= field.high or step in {"0", "00"}:
            bounds = f"it goes from {field.low} to {field.high}, and no step is 0"
            raise context.error("BadRule", f"{item!r} is no {field.name}; {bounds}")
        found.update(range(begin, end + 1, int(step or 1)))
    return frozenset(found)


def moments(cron: Cron, zone: tzinfo, after: datetime) -> Iterator[datetime]:
    """The moments (UTC) of a timetable after a moment, in order, each once, until the years end.

    A time that the clock skips is moved forward by as much as the clock jumps; one that it shows twice counts once,
    the first time. So a time that was moved may come after a later one of the same day: they wait in a heap.
    """
    waiting: list[datetime] = []
    last = after
    for day in _days(cron, after.astimezone(zone).date()):
        while waiting and waiting[0] < _begin(day, zone):
            instant = heappop(waiting)
            if instant > last:
                last = instant
                yield instant
        for clock in cron.times:
            try:
                instant = placed(datetime.combine(day, clock), zone).instant
            except OverflowError:
                continue
            if instant > after:
                heappush(waiting, instant)
    yield from sorted({each for each in waiting if each > last})


def _begin(day: date, zone: tzinfo) -> datetime:
    """When a day begins there. Nothing of it is earlier, whatever its clock does."""
    try:
        return placed(datetime.combine(day, time()), zone).instant
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _days(cron: Cron, first: date) -> Iterator[date]:
    """The days of a timetable, from two days before: a clock can jump over a whole day."""
    start = first - timedelta(days=2) if first > date(1, 1, 3) else date.min
    for year in range(start.year, LAST_YEAR + 1):
        for month in sorted(cron.months):
            if (year, month) < (start.year, start.month):
                continue
            for number in range(1, monthrange(year, month)[1] + 1):
                day = date(year, month, number)
                if day >= start and cron.has(day):
                    yield day
