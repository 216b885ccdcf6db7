"""Which moments are due, and when the next one is."""

import os
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.records.intent import TaskIntent
from keisei.records.schedule import RecurringScheduleRecord
from keisei.rules.schedule import (
    LAST,
    brought_forward,
    due_moments,
    duration_text,
    following,
    patience,
    realigned,
    resumed,
    seconds_of,
    slot_stamp,
)

NOW = datetime(2026, 3, 29, 0, 59, 30, tzinfo=UTC)
"""Half a minute before the clocks of Europe are put forward."""
INTERVALS = st.integers(1, 315_360_000)
MOMENTS = st.datetimes(datetime(1971, 1, 1), datetime(2500, 1, 1)).map(lambda each: each.replace(tzinfo=UTC))  # noqa: DTZ001


def schedule(*, next_run_at=NOW, interval=60, last=None, once=False):
    return RecurringScheduleRecord(
        schedule_id="s",
        name="s",
        enabled=True,
        interval_seconds=interval,
        next_run_at=next_run_at,
        last_run_at=last,
        task=TaskIntent(task_type="t", source="x", payload={}),
        created_at=NOW,
        updated_at=NOW,
        once=once,
    )


@given(MOMENTS, MOMENTS, INTERVALS)
def test_every_due_moment_is_counted_and_none_that_is_not(begin, now, interval):
    due = due_moments(schedule(next_run_at=begin, interval=interval), now)

    if begin > now:
        assert due is None
        return
    step = timedelta(seconds=interval)
    assert due.first == begin
    assert due.last == begin + (due.times - 1) * step
    assert due.last <= now < due.last + step


@given(MOMENTS, INTERVALS, st.lists(st.integers(0, 10**9), max_size=20))
def test_evaluations_in_a_row_count_no_moment_twice(begin, interval, steps):
    record, now, last = schedule(next_run_at=begin, interval=interval), begin, None
    for step in steps:
        now += timedelta(seconds=step)
        due = due_moments(record, now)
        if due is None:
            continue
        assert last is None or due.first > last
        last = due.last
        record = replace(record, next_run_at=following(now, interval))
        assert record.next_run_at > now


def test_years_of_seconds_cost_no_loop():
    due = due_moments(schedule(next_run_at=datetime(1971, 1, 1, tzinfo=UTC), interval=1), NOW)

    assert due.times == (NOW - due.first) // timedelta(seconds=1) + 1


def test_a_schedule_that_fires_once_has_one_moment_however_late():
    assert due_moments(schedule(once=True, interval=1), NOW + timedelta(days=900)).times == 1


def test_nothing_is_due_a_moment_too_early_and_something_is_on_time():
    assert due_moments(schedule(), NOW - timedelta(microseconds=1)) is None
    assert due_moments(schedule(), NOW).times == 1


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"])
def test_summer_time_is_no_matter(monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        due = due_moments(schedule(interval=30), NOW + timedelta(hours=3))
        stamp = slot_stamp(due.last)
    finally:
        monkeypatch.undo()
        time.tzset()

    assert due.times == 361
    assert stamp == "2026-03-29T03:59:30.000Z"
    assert os.environ.get("TZ") != zone or zone == "UTC"


def test_a_clock_that_was_set_back_brings_the_next_moment_back():
    ran = schedule(next_run_at=NOW + timedelta(days=365), last=NOW + timedelta(days=364))

    assert realigned(ran, NOW) == NOW + timedelta(seconds=60)
    assert realigned(replace(ran, next_run_at=NOW + timedelta(seconds=60)), NOW) is None
    assert realigned(replace(ran, last_run_at=NOW), NOW) is None
    assert realigned(replace(ran, last_run_at=None), NOW) is None, "somebody wants it to begin then"


@given(MOMENTS, MOMENTS, MOMENTS, INTERVALS)
def test_realigning_never_puts_a_schedule_off(begin, last, now, interval):
    record = schedule(next_run_at=begin, last=last, interval=interval)

    found = realigned(record, now)

    assert found is None or (now < found < record.next_run_at and last > now)


@given(MOMENTS, MOMENTS, INTERVALS)
def test_what_is_switched_on_again_keeps_in_step_and_never_fires_at_once(begin, now, interval):
    record = schedule(next_run_at=begin, interval=interval)

    found = resumed(record, now)

    assert found > now
    assert (found - begin) % timedelta(seconds=interval) == timedelta(0)
    assert found == begin or found - now <= timedelta(seconds=interval)


def test_one_that_fires_once_waits_its_whole_delay_again():
    assert resumed(schedule(once=True), NOW + timedelta(days=1)) == NOW + timedelta(days=1, seconds=60)


def test_a_look_ahead_brings_one_slot_forward_and_no_more():
    year = NOW + timedelta(days=365)
    record = schedule(next_run_at=NOW + timedelta(seconds=30))

    assert brought_forward(record, year, NOW).times == 1
    assert brought_forward(record, year, NOW).last == record.next_run_at
    assert brought_forward(record, NOW + timedelta(seconds=29), NOW) is None
    assert brought_forward(replace(record, next_run_at=NOW + timedelta(seconds=61)), year, NOW) is None
    assert brought_forward(replace(record, next_run_at=NOW), year, NOW) is None, "that one is due anyway"


def test_the_calendar_has_an_end():
    assert following(LAST, 1) == LAST


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("5m", 300), ("2h", 7200), ("1d", 86_400), ("3650d", 315_360_000)]
)
def test_durations_say_their_unit(text, seconds):
    assert seconds_of(text) == seconds
    assert seconds_of(duration_text(seconds)) == seconds


@pytest.mark.parametrize("text", ["5", "", "5x", "-5m", "1.5h", "5 m", "0s", "3651d", "٣m", "9" * 40 + "d", "5m\n"])
def test_what_is_no_duration_is_none(text):
    assert seconds_of(text) is None


@pytest.mark.parametrize(("seconds", "slots"), [(1, 600), (60, 10), (200, 3), (601, 3), (86_400, 3)])
def test_patience_is_some_slots_and_some_minutes(seconds, slots):
    assert patience(seconds) == slots
