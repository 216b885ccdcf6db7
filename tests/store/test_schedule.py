"""Schedules in both stores: rows that cannot be read, and columns that say what the record says."""

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from keisei.records.error import KeiseiError
from keisei.records.schedule import RecurringScheduleRecord
from keisei.records.slot import Firing, ScheduleOrder
from keisei.testing import strategies
from keisei.testing.promise.schedule import HOUR, firing, found, made, record_of
from keisei.testing.promise.text import mended
from tests.store.desk import postgres_desk, sqlite_desk

COLUMNS = "SELECT schedule_id, name, enabled, next_run_at, last_run_at, record FROM schedules"
UNREADABLE = ["", "{", "[]", "{}", "null", '{"schedule_id":"s"}', "\\x00", '{"deeper":' * 5000]


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request, tmp_path):
    if request.param == "sqlite":
        with sqlite_desk(tmp_path) as found:
            yield found
    else:
        with postgres_desk(request.getfixturevalue("postgres_url")) as found:
            yield found


def assert_columns_agree(desk):
    for schedule_id, name, enabled, next_run_at, last_run_at, text in desk.sql(COLUMNS):
        record = msgspec.json.decode(text)
        assert (schedule_id, name, bool(enabled)) == (record["schedule_id"], record["name"], record["enabled"])
        schedule = record_of(found(desk, schedule_id))
        for us, moment in ((next_run_at, schedule.next_run_at), (last_run_at, schedule.last_run_at)):
            assert us == (None if moment is None else int(moment.timestamp() * 1_000_000))


def test_a_row_that_cannot_be_read_harms_only_itself(desk):
    good, bad = made(desk, name="a good one"), made(desk, name="bad")
    for text in UNREADABLE:
        desk.sql("UPDATE schedules SET record = ? WHERE name = 'bad'", text)

        first, second = desk.store.schedules()

        assert first == good
        assert (second.record, second.version, second.schedule_id) == (None, 1, bad.schedule_id)
        assert second.fault
        assert "\n" not in second.fault
        assert desk.store.schedule("bad") == second
        assert sorted(desk.store.due_schedules(), key=lambda each: each.name) == [good, second]


def test_a_row_that_cannot_be_read_is_switched_off_and_left_as_it_is(desk):
    bad = made(desk, name="bad")
    desk.sql("UPDATE schedules SET record = 'no record' WHERE name = 'bad'")

    assert desk.store.fire(Firing(schedule_id=bad.schedule_id, was=1, record=None, slots=()))

    assert desk.store.due_schedules() == []
    assert desk.sql("SELECT enabled, version, record FROM schedules") == [(0, 2, "no record")]


def test_a_row_that_cannot_be_read_is_put_right_or_deleted(desk):
    bad, worse = made(desk, name="bad"), made(desk, name="worse")
    desk.sql("UPDATE schedules SET record = 'no record'")

    assert desk.store.put_schedule(ScheduleOrder(record=record_of(bad), was=1))
    assert desk.store.drop_schedule(worse.schedule_id, 1, firing(desk, bad).beside)

    assert desk.store.schedules() == [replace(bad, version=2)]


@pytest.mark.parametrize("us", [-(2**62), 2**62])
def test_a_moment_that_does_not_exist_is_the_nearest_one(desk, us):
    made(desk)
    desk.sql("UPDATE schedules SET next_run_at = ?", us)

    moment = desk.store.next_slot()

    assert moment.year in {1, 9999}
    assert len(desk.store.schedules()) == 1


def test_a_moment_before_the_first_of_utc_is_read_as_that(desk):
    early = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
    schedule = made(desk, next_run_at=early)
    fired = firing(desk, schedule)
    slot = replace(fired.slots[0], first_due_at=early, due_at=early)

    assert desk.store.next_slot() == datetime.min.replace(tzinfo=UTC)
    assert desk.store.due_schedules() == [schedule]
    assert desk.store.fire(replace(fired, slots=(slot,)))

    assert [each.due_at for each in desk.store.slots(None)] == [datetime.min.replace(tzinfo=UTC)]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=strategies.of_type(RecurringScheduleRecord))
def test_any_schedule_is_kept_as_it_is_or_refused(desk, record):
    try:
        stored = desk.store.put_schedule(ScheduleOrder(record=record, was=None))
    except KeiseiError:
        assert desk.store.schedule(record.schedule_id) is None
        return
    assert not stored or mended(record_of(found(desk, record.schedule_id)), record)
    desk.store.due_schedules()
    desk.store.next_slot()


def test_the_columns_say_what_the_record_says(desk):
    schedule = made(desk, last_run_at=desk.clock.now() - HOUR)
    record = record_of(schedule)
    assert_columns_agree(desk)

    assert desk.store.put_schedule(ScheduleOrder(record=replace(record, enabled=False), was=1))
    assert_columns_agree(desk)
    assert desk.store.put_schedule(ScheduleOrder(record=replace(record, name="other", last_run_at=None), was=2))
    assert_columns_agree(desk)
    assert desk.store.fire(firing(desk, found(desk, "other")))
    assert_columns_agree(desk)
