"""kei-time::between."""

from kei_time.context import Context, Data
from kei_time.duration import SECOND, duration_text
from kei_time.moment import RANGE, read_moment
from kei_time.step import MICRO, UNITS, span
from kei_time.zone import zone_of

DEFAULT = ("days", "hours", "minutes", "seconds")


def run(given: Data, context: Context) -> Data:
    """How far it is from one moment to another. Raises BadMoment, OutOfRange, NoZone, UnknownZone."""
    start, end = (read_moment(context, given[name], {}, given.get("zone")) for name in ("start", "end"))
    zone = zone_of(context, given["zone"]) if "zone" in given else start.zone
    units = frozenset(given.get("units", DEFAULT))
    try:
        found = span(start.instant, end.instant, zone, units)
    except OverflowError as error:
        raise context.error("OutOfRange", f"{given['start']} to {given['end']}: {RANGE}") from error
    return {
        "sign": found.sign,
        "parts": {name: found.parts[name] for name in UNITS if name in units},
        "rest_s": _seconds(found.rest),
        "duration": duration_text(found.dates, found.time, negative=found.sign < 0),
        "total_s": _seconds((end.instant - start.instant) // MICRO),
    }


def _seconds(micros: int) -> float:
    """Microseconds as seconds, whole where they are."""
    whole, rest = divmod(micros, SECOND)
    return micros / SECOND if rest else whole
