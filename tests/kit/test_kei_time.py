"""kei-time: what its pages promise."""

import json
from datetime import UTC, datetime, timedelta
from importlib import import_module
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft7Validator

from tests.kit.desk import Declared, output_of, spec_of

VERBS = ("now", "parse", "convert", "shift", "between", "next")
BERLIN = "Europe/Berlin"
ZONES = ("UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "America/St_Johns", "+05:45")
moments = st.datetimes(datetime(1972, 1, 1), datetime(2060, 1, 1)).map(lambda each: each.replace(tzinfo=UTC))  # noqa: DTZ001
zones = st.sampled_from(ZONES)
quick = settings(max_examples=60, deadline=None)


class Call:
    """What a verb is given: one invocation."""

    def __init__(self, verb):
        self.atom = f"kei-time::{verb}"

    def error(self, code, message):
        assert code in {error.code for error in spec_of(self.atom).manifest.errors}
        return Declared(code, message)


def call(verb, **given):
    """What the verb returns; input and output fit their schemas."""
    atom = f"kei-time::{verb}"
    Draft7Validator(spec_of(atom).input_schema, validate_formats=True).validate(given)
    output = import_module(f"kei_time.atoms.{verb}").run(given, Call(verb))
    output_of(atom).validate(output)
    json.dumps(output, allow_nan=False).encode()
    return output


def refused(verb, **given):
    with pytest.raises(Declared) as error:
        call(verb, **given)
    return error.value.code


def moment(verb, **given):
    return call(verb, **given)["moment"]


def listed(rule, after, zone="UTC", count=1, **given):
    return [each["moment"] for each in call("next", rule=rule, after=after, zone=zone, count=count, **given)["moments"]]


# --- now and parse ----------------------------------------------------------------------------------------------------


def test_now_is_now_in_any_zone():
    before = datetime.now(UTC)
    told = call("now", zone="Asia/Kathmandu")
    after = datetime.now(UTC)

    assert before <= datetime.fromisoformat(told["moment"]) <= after
    assert (told["offset"], told["zone"]) == ("+05:45", "Asia/Kathmandu")
    assert call("now")["zone"] == "UTC"


@pytest.mark.parametrize(
    ("value", "form", "expected"),
    [
        ("2026-04-22T15:30:00Z", "iso", "2026-04-22T15:30:00Z"),
        ("2026-04-22 15:30:00.5 +02:00", "iso", "2026-04-22T15:30:00.500000+02:00"),
        ("20260422T153000Z", "iso", "2026-04-22T15:30:00Z"),
        ("2026-04-22t15z", "iso", "2026-04-22T15:00:00Z"),
        ("2026-04-22T15:30-0330", "iso", "2026-04-22T15:30:00-03:30"),
        ("2026-W17-3T00:00Z", "iso", "2026-04-22T00:00:00Z"),
        ("2026-112T24:00Z", "iso", "2026-04-23T00:00:00Z"),
        ("Wed, 22 Apr 2026 15:30:00 +0200", "rfc2822", "2026-04-22T15:30:00+02:00"),
        ("22 apr 26 15:30 EST", "rfc2822", "2026-04-22T15:30:00-05:00"),
        ("Sunday", None, "BadMoment"),
        ("Wed, 22 Apr 2026 15:30:00 -0000 (a note)", "rfc2822", "2026-04-22T15:30:00Z"),
        (0, "unix-seconds", "1970-01-01T00:00:00Z"),
        (-1.5, "unix-seconds", "1969-12-31T23:59:58.500000Z"),
        (1776871800, "unix-seconds", "2026-04-22T15:30:00Z"),
        (99999999999, "unix-seconds", "5138-11-16T09:46:39Z"),
        (100000000000, "unix-milliseconds", "1973-03-03T09:46:40Z"),
        ("1776871800123", "unix-milliseconds", "2026-04-22T15:30:00.123000Z"),
        (1e300, None, "OutOfRange"),
        ("99999999999999999999", None, "OutOfRange"),
        ("0001-01-01T00:00:00+14:00", None, "OutOfRange"),
        ("9999-12-31T24:00:00Z", None, "OutOfRange"),
        ("9999-12-31T23:59:59-00:01", None, "OutOfRange"),
        ("0000-01-01T00:00:00Z", None, "BadMoment"),
        ("2026-02-30T00:00:00Z", None, "BadMoment"),
        ("2025-366T00:00:00Z", None, "BadMoment"),
        ("2026-W54-1T00:00:00Z", None, "BadMoment"),
        ("2026-04-22T25:00:00Z", None, "BadMoment"),
        ("2026-04-22T24:00:01Z", None, "BadMoment"),
        ("2026-04-22T15:30:60Z", None, "BadMoment"),
        ("2026-04-22T15:30:00+24:00", None, "BadMoment"),
        ("2026-04-22T15:30:00+02:60", None, "BadMoment"),
        ("2026-04-22T15:30:00", None, "NoZone"),
        ("2026-04-22", None, "NoZone"),
        ("20260422", None, "NoZone"),
        ("Thu, 22 Apr 2026 15:30:00 +0200", None, "BadMoment"),
        ("22 Foo 2026 15:30:00 +0200", None, "BadMoment"),
        ("22 Apr 2026 15:30:00 XYZ", None, "BadMoment"),
        ("04/05/2026", None, "BadMoment"),
        ("tomorrow", None, "BadMoment"),
        ("٢٠٢٦-04-22T15:30:00Z", None, "BadMoment"),
        ("\0", None, "BadMoment"),
    ],
)
def test_a_value_is_read_by_its_looks_and_says_which(value, form, expected):
    if form is None:
        assert refused("parse", value=value) == expected
        return
    told = call("parse", value=value)
    assert (told["moment"], told["form"]) == (expected, form)


def test_a_form_can_be_said_and_a_zone_is_for_what_names_none():
    assert moment("parse", value="20260422", form="unix-seconds") == "1970-08-23T11:53:42Z"
    assert moment("parse", value=1000, form="unix-milliseconds") == "1970-01-01T00:00:01Z"
    assert refused("parse", value="soon", form="unix-seconds") == "BadMoment"
    assert refused("parse", value=5, form="rfc2822") == "BadMoment"
    assert call("parse", value="2026-04-22", zone=BERLIN)["notes"] == ["midnight"]
    assert moment("parse", value="2026-04-22", zone=BERLIN) == "2026-04-22T00:00:00+02:00"
    assert moment("parse", value=0, zone=BERLIN) == "1970-01-01T01:00:00+01:00"
    assert moment("parse", value="2026-04-22T00:00Z", zone=BERLIN) == "2026-04-22T00:00:00Z"


def test_what_is_lost_in_reading_is_told():
    told = call("parse", value="2016-12-31T23:59:60.1234567Z")

    assert (told["moment"], told["notes"]) == ("2017-01-01T00:00:00.123456Z", ["leap-second", "fraction-cut"])
    assert call("parse", value="2026-01-01T00:00:00.1234560000Z")["notes"] == []


NO_ZONES = ["Europe/Atlantis", "europe/berlin", "../UTC", "/etc/localtime", "Europe", "localtime", "right/UTC", "UTC/"]
NO_ZONES += ["Europe/Berlin\0", "+24:00", "+1:00", "+01:99", "tzdata.zi", "zone.tab", "leapseconds", "Zürich"]


@pytest.mark.parametrize("zone", NO_ZONES)
def test_a_zone_that_is_none_is_refused(zone):
    assert refused("now", zone=zone) == "UnknownZone"


def test_a_zone_is_read_from_the_package_where_the_machine_forbids_its_own(monkeypatch):
    zone = import_module("kei_time.zone")

    class Forbidden(ZoneInfo):
        def __new__(cls, _):
            raise PermissionError

    monkeypatch.setattr(zone, "ZoneInfo", Forbidden)
    monkeypatch.setattr(Forbidden, "from_file", ZoneInfo.from_file)
    found = zone._zone.__wrapped__(BERLIN)
    assert datetime(2026, 7, 1, tzinfo=found).utcoffset() == timedelta(hours=2)
    assert zone._zone.__wrapped__("Europe/Atlantis") is None


# --- gaps and folds ---------------------------------------------------------------------------------------------------


def test_a_reading_that_is_skipped_is_moved_and_told():
    gap = {"value": "2026-03-29T02:30", "zone": BERLIN}

    told = call("parse", **gap)
    assert (told["moment"], told["notes"]) == ("2026-03-29T03:30:00+02:00", ["gap-moved"])
    assert refused("parse", **gap, gap="refuse") == "MissingTime"
    assert refused("convert", moment="2026-03-29T02:30", to="UTC", gap="refuse", **{"from": BERLIN}) == "MissingTime"


def test_a_reading_that_comes_twice_is_the_first_unless_said():
    twice = {"moment": "2026-10-25T02:30:00", "from": BERLIN, "to": "UTC"}

    assert call("convert", **twice)["utc"] == "2026-10-25T00:30:00Z"
    assert call("convert", **twice)["notes"] == ["fold-earlier"]
    assert call("convert", **twice, fold="later")["utc"] == "2026-10-25T01:30:00Z"
    assert refused("convert", **twice, fold="refuse") == "AmbiguousTime"
    for utc, offset in (("00:30", "+02:00"), ("01:30", "+01:00")):
        told = call("convert", moment=f"2026-10-25T{utc}Z", to=BERLIN)
        assert (told["moment"], told["ambiguous"]) == (f"2026-10-25T02:30:00{offset}", True)
    assert call("convert", moment="2026-10-25T02:30Z", to=BERLIN)["ambiguous"] is False


def test_an_offset_with_seconds_is_written_in_utc():
    told = call("convert", moment="1880-01-01T00:00:00Z", to=BERLIN)

    assert (told["moment"], told["offset"]) == ("1880-01-01T00:00:00Z", "+00:53:28")


def test_the_years_end():
    assert refused("convert", moment="9999-12-31T23:30Z", to=BERLIN) == "OutOfRange"
    assert refused("convert", moment="0001-01-01T00:30Z", to="-01:00") == "OutOfRange"
    assert refused("shift", moment="9999-12-31T23:30Z", by="PT1H") == "OutOfRange"
    assert refused("shift", moment="2026-01-01T00:00Z", by="P999999999999Y") == "OutOfRange"
    assert refused("shift", moment="2026-01-01T00:00Z", by="-PT999999999999H") == "OutOfRange"
    assert refused("shift", moment="2026-01-01T00:00Z", by="P999999999999W") == "OutOfRange"
    assert refused("between", start="9999-12-31T23:30Z", end="2026-01-01T00:00Z", zone=BERLIN) == "OutOfRange"
    assert refused("next", rule="@daily", after="9999-12-31T23:30Z", zone=BERLIN) == "OutOfRange"


@quick
@given(moments, zones, zones)
def test_there_and_back_is_the_same_moment(instant, one, other):
    there = call("convert", moment=instant.isoformat(), to=one)
    back = call("convert", moment=there["moment"], to=other)

    assert back["utc"] == there["utc"]
    assert datetime.fromisoformat(back["moment"]) == instant


# --- shift and between ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "by", "expected", "notes"),
    [
        ("2026-01-31T09:00+01:00", "P1M", "2026-02-28T09:00:00+01:00", ["day-clamped"]),
        ("2024-01-31T09:00+01:00", "P1M", "2024-02-29T09:00:00+01:00", ["day-clamped"]),
        ("2024-02-29T09:00+01:00", "P1Y", "2025-02-28T09:00:00+01:00", ["day-clamped"]),
        ("2026-03-31T09:00+02:00", "-P1M", "2026-02-28T09:00:00+01:00", ["day-clamped"]),
        ("2026-01-31T09:00+01:00", "P1M1D", "2026-03-01T09:00:00+01:00", ["day-clamped"]),
        ("2026-03-28T09:00+01:00", "P1D", "2026-03-29T09:00:00+02:00", []),
        ("2026-03-28T09:00+01:00", "PT24H", "2026-03-29T10:00:00+02:00", []),
        ("2026-03-28T02:30+01:00", "P1D", "2026-03-29T03:30:00+02:00", ["gap-moved"]),
        ("2026-10-24T02:30+02:00", "P1D", "2026-10-25T02:30:00+02:00", ["fold-earlier"]),
        ("2026-10-25T02:30+01:00", "P0D", "2026-10-25T02:30:00+01:00", []),
        ("2026-10-25T02:30+02:00", "PT1H", "2026-10-25T02:30:00+01:00", []),
        ("2026-04-22T09:00+02:00", "p2w", "2026-05-06T09:00:00+02:00", []),
        ("2026-04-22T09:00+02:00", "-PT1.5H", "2026-04-22T07:30:00+02:00", []),
        ("2026-04-22T09:00+02:00", "PT0,000001S", "2026-04-22T09:00:00.000001+02:00", []),
    ],
)
def test_months_then_days_by_the_clock_then_time_as_it_passes(start, by, expected, notes):
    told = call("shift", moment=start, by=by, zone=BERLIN)

    assert (told["moment"], told["notes"]) == (expected, notes)


def test_a_step_without_a_zone_is_counted_on_the_offset():
    assert moment("shift", moment="2026-03-28T09:00:00+01:00", by="P1D") == "2026-03-29T09:00:00+01:00"
    assert refused("shift", moment="2026-03-28T09:00:00", by="P1D") == "NoZone"


@pytest.mark.parametrize(
    "by",
    ["P12", "PT1", "12D", "P1DT ", "PT1S1M", "P-1D", "P1.5D", "PT1.5H1M", "PxD", "--P1D", "P1Y1", "P1H", "P\uff11D"],
)
def test_a_duration_that_is_none_is_refused(by):
    assert refused("shift", moment="2026-01-01T00:00Z", by=by) == "BadDuration"


@pytest.mark.parametrize(
    ("start", "end", "units", "parts", "duration"),
    [
        ("2026-01-31", "2026-03-01", ["months", "days"], {"months": 1, "days": 1}, "P1M1D"),
        ("2026-03-01", "2026-01-31", ["months", "days"], {"months": 1, "days": 1}, "-P1M1D"),
        ("2020-02-29", "2026-02-28", ["years", "months", "days"], {"years": 6, "months": 0, "days": 0}, "P6Y"),
        ("2020-03-29", "2026-02-28", ["years", "months", "days"], {"years": 5, "months": 11, "days": 0}, "P5Y11M"),
        ("2020-03-15", "2026-02-28", ["years", "months", "days"], {"years": 5, "months": 11, "days": 13}, "P5Y11M13D"),
        ("2020-02-28", "2026-02-28", ["years"], {"years": 6}, "P6Y"),
        ("2026-01-01", "2026-12-31", ["years"], {"years": 0}, "PT8736H"),
        ("2026-03-28T12:00", "2026-03-29T12:00", ["hours"], {"hours": 23}, "PT23H"),
        ("2026-03-28T12:00", "2026-03-29T12:00", ["days", "hours"], {"days": 1, "hours": 0}, "P1D"),
        ("2026-04-01", "2026-04-20", ["weeks"], {"weeks": 2}, "P2WT120H"),
        ("2026-04-01", "2026-04-01", ["seconds"], {"seconds": 0}, "PT0S"),
        ("2026-04-01T00:00:00.5", "2026-04-01T00:01:30.75", ["minutes"], {"minutes": 1}, "PT1M30.25S"),
    ],
)
def test_a_difference_is_counted_in_the_units_asked_for(start, end, units, parts, duration):
    told = call("between", start=start, end=end, units=units, zone=BERLIN)

    assert (told["parts"], told["duration"]) == (parts, duration)


def test_the_sign_the_rest_and_the_total():
    told = call("between", start="2026-04-22T15:30:00Z", end="2026-04-22T14:00:00.5Z", units=["hours"])

    assert told == {
        "sign": -1,
        "parts": {"hours": 1},
        "rest_s": 1799.5,
        "duration": "-PT1H29M59.5S",
        "total_s": -5399.5,
    }
    assert call("between", start="2026-01-01T00:00Z", end="2026-01-01T00:00Z")["sign"] == 0


units = st.sets(st.sampled_from(["years", "months", "weeks", "days", "hours", "minutes", "seconds"]), min_size=1)


@quick
@given(moments, moments, zones, units)
def test_a_difference_leads_from_the_start_to_the_end(start, end, zone, units):
    told = call("between", start=start.isoformat(), end=end.isoformat(), zone=zone, units=sorted(units))

    assert (
        call("shift", moment=start.isoformat(), by=told["duration"], zone=zone)["utc"]
        == (call("convert", moment=end.isoformat(), to="UTC")["utc"])
    )
    assert told["total_s"] == pytest.approx((end - start).total_seconds())
    assert told["parts"].keys() == units


# --- next -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("*/15 9-17 * * mon-fri", ["2026-04-27T09:00:00Z", "2026-04-27T09:15:00Z"]),
        ("0 0 1 jan,jul *", ["2026-07-01T00:00:00Z", "2027-01-01T00:00:00Z"]),
        ("30 6 * * 0", ["2026-04-26T06:30:00Z", "2026-05-03T06:30:00Z"]),
        ("30 6 * * 5-7", ["2026-04-25T06:30:00Z", "2026-04-26T06:30:00Z"]),
        ("0 12 13 * 5", ["2026-05-01T12:00:00Z", "2026-05-08T12:00:00Z"]),
        ("0 12 */10 * 5", ["2026-05-01T12:00:00Z", "2026-07-31T12:00:00Z"]),
        ("0 0 29 2 *", ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]),
        ("@hourly", ["2026-04-24T19:00:00Z", "2026-04-24T20:00:00Z"]),
        ("1-10/4,58 18 * * *", ["2026-04-24T18:58:00Z", "2026-04-25T18:01:00Z"]),
    ],
)
def test_cron_says_when(rule, expected):
    assert listed(rule, "2026-04-24T18:30:00Z", count=2) == expected


def test_only_what_comes_after_is_listed():
    assert listed("0 9 * * *", "2026-04-24T09:00:00Z") == ["2026-04-25T09:00:00Z"]
    assert listed("0 9 * * *", "2026-04-24T08:59:59.999999Z") == ["2026-04-24T09:00:00Z"]
    assert listed("PT1H", "2026-04-24T09:00:00Z", start="2026-04-24T12:30:00Z", count=2) == [
        "2026-04-24T12:30:00Z",
        "2026-04-24T13:30:00Z",
    ]


def test_a_time_that_is_skipped_fires_moved_and_no_moment_twice():
    assert listed("30 2 * * *", "2026-03-28T12:00Z", BERLIN, 2) == [
        "2026-03-29T03:30:00+02:00",
        "2026-03-30T02:30:00+02:00",
    ]
    assert listed("0,30 2-3 * * *", "2026-03-28T12:00Z", BERLIN, 3) == [
        "2026-03-29T03:00:00+02:00",
        "2026-03-29T03:30:00+02:00",
        "2026-03-30T02:00:00+02:00",
    ]
    assert listed("15 2,3 29 3 *", "2026-03-28T12:00Z", BERLIN, 2)[0] == "2026-03-29T03:15:00+02:00"
    assert listed("45,15 2,3 29 3 *", "2026-03-28T12:00Z", BERLIN, 2)[1] == "2026-03-29T03:45:00+02:00"


def test_a_time_that_comes_twice_fires_the_first_time_only():
    assert listed("30 2 * * *", "2026-10-24T12:00Z", BERLIN, 2) == [
        "2026-10-25T02:30:00+02:00",
        "2026-10-26T02:30:00+01:00",
    ]
    assert listed("30 2 * * *", "2026-10-25T00:45Z", BERLIN) == ["2026-10-26T02:30:00+01:00"]


def test_a_day_that_a_zone_skips_fires_on_the_next():
    """Samoa had no 30 December 2011."""
    assert listed("0 9 * * *", "2011-12-29T20:00Z", "Pacific/Apia", 2) == [
        "2011-12-31T09:00:00+14:00",
        "2012-01-01T09:00:00+14:00",
    ]
    assert listed("0 9 30 12 *", "2011-12-29T20:00Z", "Pacific/Apia") == ["2011-12-31T09:00:00+14:00"]


def test_an_interval_is_counted_from_its_start():
    assert listed("P1M", "2026-02-10T00:00Z", start="2026-01-31T09:00Z", count=3) == [
        "2026-02-28T09:00:00Z",
        "2026-03-31T09:00:00Z",
        "2026-04-30T09:00:00Z",
    ]
    assert listed("P1D", "2026-03-28T08:00Z", BERLIN, 2, start="2000-01-01T09:00") == [
        "2026-03-29T09:00:00+02:00",
        "2026-03-30T09:00:00+02:00",
    ]
    assert listed("PT0.000001S", "2026-03-28T08:00Z", start="0001-01-01T00:00Z") == ["2026-03-28T08:00:00.000001Z"]


@pytest.mark.parametrize("rule", ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 30,31 2 */2"])
def test_a_date_that_never_comes_is_said(rule):
    assert refused("next", rule=rule, after="0001-01-01T00:00Z", count=100) == "Never"


def test_the_list_ends_with_the_years():
    assert listed("0 0 * * *", "9999-12-29T12:00Z", count=9) == ["9999-12-30T00:00:00Z", "9999-12-31T00:00:00Z"]
    assert listed("0 0 1 1 *", "0001-01-01T00:00Z", "+14:00")[0] == "0002-01-01T00:00:00+14:00"
    assert refused("next", rule="0 0 1 1 *", after="9999-06-01T00:00Z") == "Never"
    assert refused("next", rule="P1Y", after="9999-06-01T00:00Z") == "Never"


NO_RULES = ["* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "*/0 * * * *"]
NO_RULES += [
    "5-1 * * * *",
    "5/15 * * * *",
    "a * * * *",
    "* * * foo *",
    "* * L * *",
    "* * ? * *",
    "1,, * * * *",
    "@reboot",
]
NO_RULES += ["-1 * * * *", "\u0661 * * * *", "P0D", "-P1D", "PT0.0000001S", "P1X", "+x * * * *"]


@pytest.mark.parametrize("rule", NO_RULES)
def test_a_rule_that_is_none_is_refused(rule):
    assert refused("next", rule=rule, after="2026-01-01T00:00Z") == "BadRule"


def test_a_start_belongs_to_an_interval():
    given = {"after": "2026-01-01T00:00Z", "start": "2026-01-01T00:00Z"}

    assert refused("next", rule="@daily", **given) == "BadRule"


FIELD = {"minute": "0 */7 15,45 59 *", "hour": "* 2 1-3 */5 0", "day": "* 1 29-31 */3", "week": "* 0 mon-fri 6,7"}
fields = st.tuples(*(st.sampled_from(FIELD[name].split()) for name in ("minute", "hour", "day")))
weekdays = st.sampled_from(FIELD["week"].split())


@quick
@given(moments, zones, fields, weekdays)
def test_moments_of_a_timetable_are_in_order_and_on_it(after, zone, days, weekday):
    rule = f"{' '.join(days)} * {weekday}"
    found = [datetime.fromisoformat(each) for each in listed(rule, after.isoformat(), zone, 20)]

    assert found[0] > after
    assert all(one < other for one, other in pairwise(found))
    cron = import_module("kei_time.cron").cron_of(Call("next"), rule)
    place = import_module("kei_time.zone")
    clock = place.zone_of(Call("next"), zone)
    asked = {wall for each in found for wall in (_before(each.astimezone(clock), back) for back in (0, 30, 60, 1440))}
    slots = {place.placed(wall, clock).instant for wall in asked if cron.has(wall.date()) and wall.time() in cron.times}
    assert {each.astimezone(UTC) for each in found} <= slots


def _before(local, minutes):
    """The reading of the clock, or one that was skipped by so many minutes."""
    return local.replace(tzinfo=None, fold=0) - timedelta(minutes=minutes)


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_the_page_declares_what_the_verb_does(verb):
    manifest = spec_of(f"kei-time::{verb}").manifest
    effects = [(effect.op, effect.domain) for effect in manifest.side_effects]

    assert manifest.kind == ("query" if verb == "now" else "transform")
    assert effects == ([("read", "clock")] if verb == "now" else [])


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "now"])
def test_examples_give_what_the_schema_shows(verb):
    spec = spec_of(f"kei-time::{verb}")

    made = [call(verb, **example) for example in spec.input_schema["examples"]]
    assert made[:2] == spec.output_schema["examples"]
    assert spec.manifest.output.example == made[0]
