"""kei-time::parse."""

from kei_time.context import Context, Data
from kei_time.form import form_of, mail_reading, unix_moment
from kei_time.moment import Read, place, read_moment, told
from kei_time.zone import zone_of


def run(given: Data, context: Context) -> Data:
    """The moment that a text or number means, and which form that was.

    Raises BadMoment, OutOfRange, NoZone, UnknownZone, MissingTime, AmbiguousTime.
    """
    form = given.get("form") or form_of(given["value"])
    read = _read(context, given, form)
    return told(context, read.instant, read.zone) | {"form": form, "notes": list(read.notes)}


def _read(context: Context, given: Data, form: str) -> Read:
    value, zone = given["value"], given.get("zone")
    if form.startswith("unix"):
        return Read(unix_moment(context, value, form), zone_of(context, zone or "UTC"))
    if form == "rfc2822":
        return place(context, mail_reading(context, str(value)), given, zone)
    return read_moment(context, str(value), given, zone)
