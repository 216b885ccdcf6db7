"""kei-time::shift."""

from kei_time.context import Context, Data
from kei_time.duration import duration_of
from kei_time.moment import RANGE, read_moment, told
from kei_time.step import stepped
from kei_time.zone import zone_of


def run(given: Data, context: Context) -> Data:
    """The moment a duration later. Raises BadMoment, BadDuration, OutOfRange, NoZone, UnknownZone."""
    read = read_moment(context, given["moment"], {}, given.get("zone"))
    zone = zone_of(context, given["zone"]) if "zone" in given else read.zone
    by = duration_of(context, given["by"])
    try:
        instant, notes = stepped(read.instant, zone, by)
    except OverflowError as error:
        raise context.error("OutOfRange", f"{given['moment']} and {given['by']}: {RANGE}") from error
    return told(context, instant, zone) | {"notes": [*read.notes, *notes]}
