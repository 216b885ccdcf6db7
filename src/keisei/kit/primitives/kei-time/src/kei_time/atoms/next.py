"""kei-time::next."""

from datetime import datetime, tzinfo
from itertools import islice

from kei_time.context import Context, Data
from kei_time.cron import cron_of, moments
from kei_time.duration import Duration, duration_of
from kei_time.moment import RANGE, read_moment, told
from kei_time.step import moments_every
from kei_time.zone import zone_of


def run(given: Data, context: Context) -> Data:
    """The next moments of a rule. Raises BadMoment, BadRule, Never, NoZone, OutOfRange, UnknownZone."""
    zone = zone_of(context, given.get("zone", "UTC"))
    after = read_moment(context, given["after"], {}, given.get("zone")).instant
    rule = given["rule"].strip()
    try:
        found = (_every if rule[:1] in {"P", "p", "+", "-"} else _cron)(context, given, zone, after)
    except OverflowError as error:
        raise context.error("OutOfRange", f"{given['after']} in {given.get('zone', 'UTC')}: {RANGE}") from error
    if not found:
        raise context.error("Never", f"{given['rule']!r} has no moment after {given['after']}")
    return {"moments": [told(context, each, zone) for each in found]}


def _cron(context: Context, given: Data, zone: tzinfo, after: datetime) -> list[datetime]:
    if "start" in given:
        raise context.error("BadRule", "`start` belongs to a duration; a cron expression says its times itself")
    cron = cron_of(context, given["rule"])
    return list(islice(moments(cron, zone, after), int(given.get("count", 1)))) if cron.can_be() else []


def _every(context: Context, given: Data, zone: tzinfo, after: datetime) -> list[datetime]:
    by = duration_of(context, given["rule"], "BadRule")
    if by <= Duration():
        raise context.error("BadRule", f"{given['rule']!r} leads nowhere: the duration must be longer than nothing")
    begin = given["start" if "start" in given else "after"]
    start = read_moment(context, begin, {}, given.get("zone")).instant
    return moments_every(start, zone, by, after, int(given.get("count", 1)))
