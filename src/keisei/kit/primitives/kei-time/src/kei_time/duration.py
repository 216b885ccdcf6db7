"""Durations of ISO 8601, such as P1M, P2W, -P1DT12H or PT0.5S."""

import re
from fractions import Fraction
from typing import NamedTuple

from kei_time.context import Context

SECOND, MINUTE, HOUR = 1_000_000, 60_000_000, 3_600_000_000
WHOLE, PARTIAL = r"[0-9]{1,12}", r"[0-9]{1,12}(?:[.,][0-9]{1,9})?"
DURATION = re.compile(
    rf"(?P<sign>[+-]?)P(?=.)(?:(?P<years>{WHOLE})Y)?(?:(?P<months>{WHOLE})M)?(?:(?P<weeks>{WHOLE})W)?"
    rf"(?:(?P<days>{WHOLE})D)?(?:T(?=.)(?:(?P<hours>{PARTIAL})H)?(?:(?P<minutes>{PARTIAL})M)?"
    rf"(?:(?P<seconds>{PARTIAL})S)?)?",
    re.ASCII,
)


class Duration(NamedTuple):
    """How much later: months by the calendar, then days by the clock, then time as it passes."""

    months: int = 0
    days: int = 0
    micros: int = 0

    def times(self, factor: int) -> "Duration":
        """So many times as much."""
        return Duration(*(each * factor for each in self))


def duration_of(context: Context, text: str, code: str = "BadDuration") -> Duration:
    """The duration of a text. Raises the error of this code."""
    found = DURATION.fullmatch(text.strip().upper())
    part = {} if found is None else {name: each.replace(",", ".") for name, each in found.groupdict("").items()}
    given = [each for name, each in part.items() if each and name != "sign"]
    if found is None or any("." in each for each in given[:-1]):
        message = f"{text!r} is no duration; write for example P1M, P2W, PT90M or -P1DT12H"
        raise context.error(code, f"{message}; only the last part may have a fraction" if given else message)
    whole = {name: int(part[name] or 0) for name in ("years", "months", "weeks", "days")}
    exact = sum(
        Fraction(part[name] or 0) * unit for name, unit in (("hours", HOUR), ("minutes", MINUTE), ("seconds", SECOND))
    )
    made = Duration(whole["years"] * 12 + whole["months"], whole["weeks"] * 7 + whole["days"], int(exact))
    return made.times(-1 if part["sign"] == "-" else 1)


def duration_text(part: dict[str, int], micros: int, *, negative: bool) -> str:
    """A duration in ISO 8601: counts of years, months, weeks and days, and the rest as time."""
    days = "".join(f"{part[name]}{name[0].upper()}" for name in ("years", "months", "weeks", "days") if part.get(name))
    hours, rest = divmod(micros, HOUR)
    minutes, rest = divmod(rest, MINUTE)
    clock = "".join(f"{count}{letter}" for count, letter in ((hours, "H"), (minutes, "M")) if count)
    if rest:
        seconds, fraction = divmod(rest, SECOND)
        clock += f"{seconds}" + (f".{fraction:06}".rstrip("0") if fraction else "") + "S"
    text = days + (f"T{clock}" if clock else "")
    return ("-P" if negative else "P") + text if text else "PT0S"
