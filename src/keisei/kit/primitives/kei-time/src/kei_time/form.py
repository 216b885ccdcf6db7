"""The other forms of a moment: RFC 2822, and seconds or milliseconds since 1970."""

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import floor

from kei_time.context import Context
from kei_time.moment import DAYS, EPOCH, RANGE, Reading, reading_of

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
RFC2822 = re.compile(
    r"(?:(?P<name>[A-Za-z]{3})\s*,\s*)?(?P<day>[0-9]{1,2})[\s-](?P<month>[A-Za-z]{3})[\s-](?P<year>[0-9]{4}|[0-9]{2})"
    r"\s+(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?"
    r"\s+(?P<offset>[+-][0-9]{4}|[A-Za-z]{1,3})(?:\s+\([^()]*\))?",
    re.ASCII,
)
NUMBER = re.compile(r"[+-]?[0-9]{1,20}(?:\.[0-9]{1,9})?", re.ASCII)
DATE_DIGITS = re.compile(r"[0-9]{8}", re.ASCII)
OLD_ZONES = {"UT": 0, "GMT": 0, "UTC": 0, "Z": 0, "EDT": -4, "EST": -5, "CDT": -5, "CST": -6, "MDT": -6, "MST": -7}
OLD_ZONES |= {"PDT": -7, "PST": -8}
SECONDS_BELOW = 100_000_000_000
"""A number below this counts seconds (it is reached in the year 5138), one from here on milliseconds."""
CENTURY = 50
"""Years of two digits: below this they are of our century, as RFC 2822 says."""


def form_of(value: str | float) -> str:
    """Which form a value has, by its looks: eight digits as a text are a date and no number."""
    if isinstance(value, str) and not _is_number(value):
        return "rfc2822" if RFC2822.fullmatch(value.strip()) else "iso"
    return "unix-seconds" if abs(Fraction(str(value))) < SECONDS_BELOW else "unix-milliseconds"


def _is_number(text: str) -> bool:
    return NUMBER.fullmatch(text.strip()) is not None and not DATE_DIGITS.fullmatch(text.strip())


def unix_moment(context: Context, value: str | float, unit: str) -> datetime:
    """A count since 1970 as a moment, down to microseconds. Raises BadMoment, OutOfRange."""
    if isinstance(value, str) and not NUMBER.fullmatch(value.strip()):
        raise context.error("BadMoment", f"{value!r} is no count since 1970")
    micros = Fraction(str(value)) * (1_000_000 if unit == "unix-seconds" else 1000)
    try:
        return EPOCH + timedelta(microseconds=floor(micros))
    except OverflowError as error:
        raise context.error("OutOfRange", f"{value}: {RANGE}") from error


def mail_reading(context: Context, text: str) -> Reading:
    """The clock reading of an RFC 2822 text, as mail and HTTP have it. Raises BadMoment, OutOfRange."""
    found = RFC2822.fullmatch(text.strip())
    month = MONTHS.index(found["month"].lower()) + 1 if found and found["month"].lower() in MONTHS else 0
    offset = None if found is None else _offset(found["offset"])
    if found is None or not month or offset is None:
        raise context.error("BadMoment", f"{text!r} is no date of RFC 2822, as Wed, 22 Apr 2026 15:30:00 +0200")
    year = int(found["year"])
    if len(found["year"]) < 4:  # noqa: PLR2004
        year += 2000 if year < CENTURY else 1900
    part = dict.fromkeys(("week", "ordinal", "basic", "fraction")) | found.groupdict()
    part |= {"year": f"{year:04}", "month": str(month), "offset": offset}
    reading = reading_of(context, text, part)
    if found["name"] and DAYS[reading.wall.weekday()][:3].lower() != found["name"].lower():
        raise context.error("BadMoment", f"{text!r}: that day is a {DAYS[reading.wall.weekday()]}")
    return reading._replace(zone=reading.zone or UTC)


def _offset(text: str) -> str | None:
    if text[0] in "+-":
        return text
    hours = OLD_ZONES.get(text.upper())
    return None if hours is None else f"{hours:+03}"
