"""Hints: how long a harness says that one has to wait. Anything beyond a week, or before now, is no hint."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import NamedTuple

LONGEST_S = 7 * 24 * 3600.0
"""The longest wait that is believed."""
LOOKED_AT = 4000
"""Characters of a message; a hint further behind is not the harness's."""
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
NOON = 12
ZONES = frozenset({"UTC", "GMT", "ETC/UTC"})
"""Harnesses are started with TZ=UTC; a clock of another zone is an operator's choice and not guessed at."""
THOUSANDTHS = 10**12
"""A number of seconds since 1970 that is larger counts thousandths."""

_FLAGS = re.ASCII | re.IGNORECASE
_UNIT = r"(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|weeks?)"
_ONE = rf"\d{{1,9}}(?:\.\d{{1,6}})?\s?{_UNIT}(?![a-z])"
_SPAN = rf"(?P<span>{_ONE}(?:,?\s(?:and\s)?{_ONE}|{_ONE}){{0,4}})"
_WAIT = re.compile(
    rf"(?:try again|check in again|retry(?:ing)?|resets?|available(?: again)?|wait)\s(?:in\s|after\s|for\s)?{_SPAN}",
    _FLAGS,
)
_AFTER = re.compile(
    r"retry[- _]after(?:[- _](?P<named>ms|seconds))?[\"']?\s?[:=]?\s?[\"']?"
    rf"(?:{_SPAN}|(?P<bare>\d{{1,9}}(?:\.\d{{1,6}})?)\b)",
    _FLAGS,
)
_PART = re.compile(rf"(?P<number>\d{{1,9}}(?:\.\d{{1,6}})?)\s?(?P<unit>{_UNIT})", _FLAGS)
_EPOCH = re.compile(r"limit reached\|(?P<epoch>\d{9,13})\b", _FLAGS)
_ISO = re.compile(
    r"(?:resets?|again|until)(?:\sat)?\s"
    r"(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)?)",
    _FLAGS,
)
_CLOCK = re.compile(
    r"(?:resets?|again|until)(?:\sat)?\s"
    rf"(?:(?P<month>{'|'.join(MONTHS)})[a-z]{{0,6}}\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s(?P<year>\d{{4}}))?(?:,|\sat)?\s)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s?(?P<half>[ap]m)\b"
    r"(?:\s\((?P<zone>[^()]{0,80})\))?",
    _FLAGS,
)


class Hint(NamedTuple):
    """What a message says of the time to wait; neither, where it says nothing that can be believed."""

    retry_after_s: float | None = None
    resets_at: datetime | None = None


def hint_in(message: str, now: datetime) -> Hint:
    """The hint in what a harness printed at `now`: a wait, else a moment. A clock time without a zone is in UTC."""
    said = message[:LOOKED_AT]
    after = _AFTER.search(said)
    if after is not None:
        return Hint(retry_after_s=_believed(_after(after)))
    wait = _WAIT.search(said)
    if wait is not None:
        return Hint(retry_after_s=_believed(_span(wait["span"])))
    return Hint(resets_at=_moment(said, now))


def hint_of_header(value: str, now: datetime) -> Hint:
    """The hint in an HTTP `Retry-After` header: seconds, or a date."""
    if re.fullmatch(r"\s*\d{1,9}\s*", value, re.ASCII):
        return Hint(retry_after_s=_believed(float(value)))
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return Hint()
    return Hint(resets_at=_ahead(_aware(moment), now))


def hint_of_epoch(value: object, now: datetime) -> Hint:
    """The hint in a number of seconds, or thousandths of them, since 1970."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < THOUSANDTHS * 1000:
        return Hint()
    seconds = value / 1000 if value >= THOUSANDTHS else value
    try:
        return Hint(resets_at=_ahead(datetime.fromtimestamp(seconds, UTC), now))
    except (ValueError, OverflowError, OSError):
        return Hint()


def _after(found: re.Match[str]) -> float:
    if found["span"]:
        return _span(found["span"])
    return float(found["bare"]) * (0.001 if (found["named"] or "").lower() == "ms" else 1)


def _span(span: str) -> float:
    return sum(float(part["number"]) * UNITS[_unit(part["unit"].lower())] for part in _PART.finditer(span))


def _unit(word: str) -> str:
    return "ms" if word.startswith(("ms", "milli")) else word[0]


def _believed(wait_s: float) -> float | None:
    return wait_s if 0 < wait_s <= LONGEST_S else None


def _moment(said: str, now: datetime) -> datetime | None:
    if epoch := _EPOCH.search(said):
        return hint_of_epoch(int(epoch["epoch"]), now).resets_at
    if iso := _ISO.search(said):
        return _iso(iso["iso"], now)
    clock = _CLOCK.search(said)
    return _clock(clock, now) if clock else None


def _iso(said: str, now: datetime) -> datetime | None:
    try:
        return _ahead(_aware(datetime.fromisoformat(said)), now)
    except (ValueError, OverflowError):
        return None


def _clock(found: re.Match[str], now: datetime) -> datetime | None:
    """The next time that clock and calendar say so."""
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if (found["zone"] or "UTC").upper() not in ZONES or not 1 <= hour <= NOON:
        return None
    hour = hour % NOON + (NOON if found["half"].lower() == "pm" else 0)
    try:
        moment = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if not found["month"]:
            return _ahead(moment if moment > now else moment + timedelta(days=1), now)
        moment = moment.replace(month=MONTHS.index(found["month"].lower()) + 1, day=int(found["day"]))
        if found["year"]:
            moment = moment.replace(year=int(found["year"]))
        elif moment < now:
            moment = moment.replace(year=moment.year + 1)
    except (ValueError, OverflowError):
        return None
    return _ahead(moment, now)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _ahead(moment: datetime, now: datetime) -> datetime | None:
    """The moment in UTC where it lies ahead and within what is believed."""
    wait_s = (moment - now).total_seconds()
    return moment.astimezone(UTC) if 0 < wait_s <= LONGEST_S else None
