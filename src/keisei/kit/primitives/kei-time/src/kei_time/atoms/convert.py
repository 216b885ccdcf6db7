"""kei-time::convert."""

from kei_time.context import Context, Data
from kei_time.moment import read_moment, told
from kei_time.zone import zone_of


def run(given: Data, context: Context) -> Data:
    """The same moment on another zone's clock.

    Raises BadMoment, OutOfRange, NoZone, UnknownZone, MissingTime, AmbiguousTime.
    """
    read = read_moment(context, given["moment"], given, given.get("from"))
    return told(context, read.instant, zone_of(context, given["to"])) | {"notes": list(read.notes)}
