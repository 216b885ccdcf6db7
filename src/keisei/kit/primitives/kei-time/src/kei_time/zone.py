"""Zones: their names, and what a clock on the wall there means."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from kei_time.context import Context

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*", re.ASCII)
OFFSET = re.compile(r"([+-])([0-9]{2})(?::?([0-9]{2})(?::?([0-9]{2}))?)?", re.ASCII)
OWN = ("localtime", "posixrules", "posix", "right", "Factory")
"""Names that mean something else on every machine, or count leap seconds."""
MINUTE = timedelta(minutes=1)


class Placed(NamedTuple):
    """A clock reading, placed in time."""

    instant: datetime
    """The moment, UTC."""
    notes: tuple[str, ...]
    """What had to be decided: `gap-moved`, `fold-earlier`, `fold-later`."""


def zone_of(context: Context, name: str) -> tzinfo:
    """The zone of a name such as `Europe/Berlin`, `UTC`, `Z` or `+02:00`. Raises UnknownZone."""
    if name in {"UTC", "Z", "z"}:
        return UTC
    try:
        found = offset_zone(name) or _zone(name)
    except ValueError as error:
        raise context.error("UnknownZone", f"{name!r} is no offset of a zone") from error
    if found is None:
        raise context.error("UnknownZone", f"no zone is called {name!r}; names look like Europe/Berlin, UTC or +02:00")
    return found


def offset_zone(text: str) -> tzinfo | None:
    """A fixed offset such as `+02:00`, None for other text. Raises ValueError where it is a day or more."""
    found = OFFSET.fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds = (int(each or 0) for each in found.groups()[1:])
    if hours > 23 or minutes > 59 or seconds > 59:  # noqa: PLR2004
        message = f"{text} is no offset"
        raise ValueError(message)
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return timezone(-offset if found[1] == "-" else offset) if offset else UTC


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo | None:
    """A zone of the machine's database, or else of the package `tzdata`; None where neither has it."""
    if not NAME.fullmatch(name) or name.partition("/")[0] in OWN:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None
    except OSError:  # a confined process may see that the machine has a database, and not be allowed to read it
        return _packaged(name)


def _packaged(name: str) -> ZoneInfo | None:
    try:
        with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
            return ZoneInfo.from_file(file, key=name)
    except (OSError, ValueError, ImportError):
        return None


def zone_name(zone: tzinfo) -> str:
    """What a zone is called: its key, `UTC`, or its offset."""
    if isinstance(zone, ZoneInfo):
        return zone.key
    return "UTC" if zone is UTC else offset_text(zone.utcoffset(None) or timedelta())


def offset_text(offset: timedelta) -> str:
    """An offset as `+02:00`, with seconds where there are some."""
    sign, rest = ("-", -offset) if offset < timedelta() else ("+", offset)
    hours, minutes = divmod(rest // MINUTE, 60)
    seconds = (rest % MINUTE).seconds
    return f"{sign}{hours:02}:{minutes:02}" + (f":{seconds:02}" if seconds else "")


def offset_of(moment: datetime) -> timedelta:
    """The offset of an aware moment."""
    return moment.utcoffset() or timedelta()


def is_ambiguous(moment: datetime) -> bool:
    """Whether its zone's clock shows this reading twice."""
    return offset_of(moment.replace(fold=0)) > offset_of(moment.replace(fold=1))


def placed(wall: datetime, zone: tzinfo, *, later: bool = False) -> Placed:
    """The moment at which a clock in the zone shows `wall`.

    A reading that is skipped is moved forward by as much as the clock jumps; of one that comes twice the earlier is
    taken unless `later`. Raises OverflowError outside of the years 1 to 9999.
    """
    first, second = (wall.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if offset_of(first) < offset_of(second):
        return Placed(first.astimezone(UTC), ("gap-moved",))
    if offset_of(first) > offset_of(second):
        return Placed((second if later else first).astimezone(UTC), ("fold-later" if later else "fold-earlier",))
    return Placed(first.astimezone(UTC), ())
