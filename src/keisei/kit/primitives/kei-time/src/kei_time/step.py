"""Steps: a moment and a duration make a moment; two moments make a duration. One is the other backwards."""

from calendar import monthrange
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from typing import NamedTuple

from kei_time.duration import HOUR, MINUTE, SECOND, Duration
from kei_time.zone import Placed, placed

MICRO = timedelta(microseconds=1)
UNITS = ("years", "months", "weeks", "days", "hours", "minutes", "seconds", "milliseconds")
EXACT = {"hours": HOUR, "minutes": MINUTE, "seconds": SECOND, "milliseconds": 1000}
WEEK = 7
LAST_YEAR = 9999


class Span(NamedTuple):
    """How far it is from one moment to another."""

    sign: int
    """-1 where the other is earlier, 0 where it is the same, 1 where it is later."""
    parts: dict[str, int]
    """Whole counts of the units that were asked for."""
    dates: dict[str, int]
    """Those of them that the calendar counts."""
    time: int
    """Microseconds beside the dates."""
    rest: int
    """Microseconds that no unit holds."""


def stepped(start: datetime, zone: tzinfo, by: Duration) -> Placed:
    """The moment (UTC) a duration later, dates counted on the zone's clock. Raises OverflowError outside 1 to 9999.

    Months first: a day that the month does not have becomes its last (`day-clamped`). Then days, on the clock; then
    time, as it passes.
    """
    notes: tuple[str, ...] = ()
    if by.months or by.days:
        before = start.astimezone(zone).replace(tzinfo=None, fold=0)
        after = _in_month(before, by.months)
        notes = ("day-clamped",) if after.day != before.day else ()
        start, more = placed(after + timedelta(days=by.days), zone)
        notes += more
    return Placed(start + timedelta(microseconds=by.micros), notes)


def _in_month(wall: datetime, months: int) -> datetime:
    year, month = divmod(wall.year * 12 + wall.month - 1 + months, 12)
    if not 1 <= year <= LAST_YEAR:
        message = f"year {year}"
        raise OverflowError(message)
    return wall.replace(year=year, month=month + 1, day=min(wall.day, monthrange(year, month + 1)[1]))


class Way(NamedTuple):
    """From one moment to another, both UTC, on a zone's clock."""

    start: datetime
    end: datetime
    zone: tzinfo

    @property
    def sign(self) -> int:
        """Which way time goes on it."""
        return (self.end > self.start) - (self.end < self.start)

    def months(self) -> int:
        """The most whole months that do not lead past the end."""
        here, there = (each.astimezone(self.zone) for each in (self.start, self.end))
        many = (there.year - here.year) * 12 + there.month - here.month
        return self._most(many * self.sign, lambda count: Duration(months=count))

    def days(self, months: int) -> int:
        """The most whole days that do not lead past the end, after so many months."""
        here = stepped(self.start, self.zone, Duration(months * self.sign)).instant.astimezone(self.zone)
        many = (self.end.astimezone(self.zone).date() - here.date()).days
        return self._most(many * self.sign, lambda count: Duration(months, count))

    def _most(self, guess: int, duration: Callable[[int], Duration]) -> int:
        """The guess counts dates alone, so it is at most a step too far, or two where a clock jumps over a day."""
        count = max(0, guess)
        while count and self.is_past(duration(count)):
            count -= 1
        return count

    def is_past(self, by: Duration) -> bool:
        """Whether a duration leads past the end."""
        try:
            instant = stepped(self.start, self.zone, by.times(self.sign)).instant
        except OverflowError:
            return True
        return instant > self.end if self.sign > 0 else instant < self.end


def span(start: datetime, end: datetime, zone: tzinfo, units: frozenset[str]) -> Span:
    """How many whole units it is from `start` to `end`, the largest first, both UTC.

    A step of it, backwards where the sign says so, leads from `start` to `end` exactly. Raises OverflowError where the
    zone's clock has no year for one of them.
    """
    way = Way(start, end, zone)
    months = way.months() if units & {"years", "months"} else 0
    months -= 0 if "months" in units else months % 12
    days = way.days(months) if units & {"weeks", "days"} else 0
    days -= 0 if "days" in units else days % WEEK
    time = abs(end - stepped(start, zone, Duration(months, days).times(way.sign)).instant) // MICRO
    dates = _split({"years": 12, "months": 1}, months, units)[0] | _split({"weeks": WEEK, "days": 1}, days, units)[0]
    exact, rest = _split(EXACT, time, units)
    return Span(way.sign, dates | exact, dates, time, rest)


def _split(sizes: dict[str, int], amount: int, units: frozenset[str]) -> tuple[dict[str, int], int]:
    found = {}
    for name, size in sizes.items():
        if name in units:
            found[name], amount = divmod(amount, size)
    return found, amount


def moments_every(start: datetime, zone: tzinfo, by: Duration, after: datetime, count: int) -> list[datetime]:
    """The first moments after `after` of: start, one duration later, two durations later, and so on.

    Each is counted from the start, so that the 31st does not become the 28th for good. Fewer where the years end.
    """
    first, found = _first(start, zone, by, after), list[datetime]()
    for index in range(first, first + count):
        try:
            found.append(stepped(start, zone, by.times(index)).instant)
        except OverflowError:
            break
    return found


def _first(start: datetime, zone: tzinfo, by: Duration, after: datetime) -> int:
    """How many durations after the start the first moment is that lies after `after`."""
    if start > after:
        return 0
    low, high = 0, 1
    while not _is_after(start, zone, by.times(high), after):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_after(start, zone, by.times(middle), after) else (middle, high)
    return high


def _is_after(start: datetime, zone: tzinfo, by: Duration, after: datetime) -> bool:
    """Whether a step leads behind a moment; one that leaves the years does."""
    try:
        return stepped(start, zone, by).instant > after
    except OverflowError:
        return True
