"""Moments: read from ISO 8601, told in RFC 3339. None is ever without an offset."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from kei_time.context import Context, Data
from kei_time.zone import is_ambiguous, offset_of, offset_text, offset_zone, placed, zone_name, zone_of

DATE = (
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})|-W(?P<week>[0-9]{2})-(?P<weekday>[1-7])"
    r"|-(?P<ordinal>[0-9]{3})|(?P<basic>[0-9]{4}))"
)
TIME = (
    r"(?P<hour>[0-9]{2})(?::?(?P<minute>[0-9]{2})(?::?(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,30}))?)?)?"
    r"\s?(?P<offset>[Zz]|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?"
)
ISO = re.compile(f"{DATE}(?:[Tt ]{TIME})?", re.ASCII)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MIDNIGHT, LEAP = 24, 60
MICRO_DIGITS = 6
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
RANGE = "moments lie in the years 1 to 9999, UTC"


class Read(NamedTuple):
    """A moment as a text gave it."""

    instant: datetime
    """The moment, UTC."""
    zone: tzinfo
    """The zone it was given in."""
    notes: tuple[str, ...] = ()
    """What had to be decided."""

    def local(self) -> datetime:
        """On the clock of its zone. Raises OverflowError where that has no such year."""
        return self.instant.astimezone(self.zone)


class Reading(NamedTuple):
    """What a text says, before it is placed in time."""

    wall: datetime
    zone: tzinfo | None
    notes: tuple[str, ...]


def read_moment(context: Context, text: str, options: Data, zone: str | None = None) -> Read:
    """The moment of an ISO 8601 text. `options` may say how a gap and a fold are taken: see `place`.

    Raises BadMoment, OutOfRange, NoZone, UnknownZone, MissingTime, AmbiguousTime.
    """
    found = ISO.fullmatch(text.strip())
    if found is None:
        raise context.error("BadMoment", f"{text!r} is no moment; write for example 2026-04-22T15:30:00Z")
    return place(context, reading_of(context, text, found.groupdict()), options, zone)


def reading_of(context: Context, text: str, part: Data) -> Reading:
    """The parts of a text as a clock reading. Raises BadMoment, OutOfRange."""
    notes: tuple[str, ...] = ("midnight",) if part["hour"] is None else ()
    try:
        day = _date(part)
        hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
        fraction = (part["fraction"] or "").rstrip("0")
        at_end = hour == MIDNIGHT and not (minute or second or fraction)
        more = timedelta(days=at_end, seconds=second == LEAP and minute == LEAP - 1)
        clock = time(
            0 if at_end else hour, minute, second - more.seconds, int(fraction[:MICRO_DIGITS].ljust(MICRO_DIGITS, "0"))
        )
        zone = None if part["offset"] is None else offset_zone(part["offset"].upper().replace("Z", "+00"))
        notes += ("leap-second",) * bool(more.seconds) + ("fraction-cut",) * bool(fraction[MICRO_DIGITS:])
        return Reading(datetime.combine(day, clock) + more, zone, notes)
    except ValueError as error:
        raise context.error("BadMoment", f"{text!r} is no moment: {error}") from error
    except OverflowError as error:
        raise context.error("OutOfRange", f"{text!r}: {RANGE}") from error


def _date(part: Data) -> date:
    year = int(part["year"])
    if part["week"] is not None:
        return date.fromisocalendar(year, int(part["week"]), int(part["weekday"]))
    if part["ordinal"] is not None:
        found = date(year, 1, 1) + timedelta(days=int(part["ordinal"]) - 1)
        if found.year != year:
            message = f"{year} has no day {part['ordinal']}"
            raise ValueError(message)
        return found
    month, day = (part["month"], part["day"]) if part["basic"] is None else (part["basic"][:2], part["basic"][2:])
    return date(year, int(month), int(day))


def place(context: Context, reading: Reading, options: Data, zone: str | None) -> Read:
    """A clock reading, placed: by its own offset, or else in the zone that is named.

    Options: `gap` is `move` (the default) or `refuse`, `fold` is `earlier` (the default), `later` or `refuse`.
    Raises NoZone, UnknownZone, MissingTime, AmbiguousTime, OutOfRange.
    """
    where = reading.zone or (None if zone is None else zone_of(context, zone))
    if where is None:
        raise context.error("NoZone", f"{reading.wall.isoformat()} names no offset; add one, or say the zone")
    try:
        instant, notes = placed(reading.wall, where, later=options.get("fold") == "later")
    except OverflowError as error:
        raise context.error("OutOfRange", f"{reading.wall.isoformat()}: {RANGE}") from error
    if "gap-moved" in notes and options.get("gap") == "refuse":
        raise context.error("MissingTime", f"clocks in {zone_name(where)} never show {reading.wall.isoformat()}")
    if notes and "gap-moved" not in notes and options.get("fold") == "refuse":
        raise context.error("AmbiguousTime", f"clocks in {zone_name(where)} show {reading.wall.isoformat()} twice")
    return Read(instant, where, reading.notes + notes)


def told(context: Context, instant: datetime, zone: tzinfo) -> Data:
    """A moment as every verb tells it. Raises OutOfRange where the zone's clock has no year for it."""
    try:
        local = instant.astimezone(zone)
    except OverflowError as error:
        raise context.error("OutOfRange", f"{written(instant)} in {zone_name(zone)}: {RANGE}") from error
    return {
        "moment": written(local),
        "utc": written(instant),
        "unix_ms": (instant - EPOCH) // timedelta(milliseconds=1),
        "zone": zone_name(zone),
        "offset": offset_text(offset_of(local)),
        "weekday": DAYS[local.weekday()],
        "ambiguous": is_ambiguous(local),
    }


def written(moment: datetime) -> str:
    """RFC 3339. It knows no offsets with seconds, which clocks had long ago: such a moment is written in UTC."""
    if offset_of(moment).seconds % 60:
        moment = moment.astimezone(UTC)
    return moment.isoformat().replace("+00:00", "Z")
