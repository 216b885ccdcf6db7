"""Sensors in both stores: rows that cannot be read, and moves that are taken back whole."""

import pytest
from hypothesis import HealthCheck, given, settings

from keisei.records.beside import NOTHING
from keisei.records.error import KeiseiError
from keisei.records.observation import Observation, SeenQuery
from keisei.records.sensor import SensorEvent
from keisei.testing import strategies
from keisei.testing.promise.sensor import asking, new_event, new_state
from keisei.testing.promise.text import mended
from tests.store.desk import postgres_desk, sqlite_desk


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request, tmp_path):
    if request.param == "sqlite":
        with sqlite_desk(tmp_path) as found:
            yield found
    else:
        with postgres_desk(request.getfixturevalue("postgres_url")) as found:
            yield found


@pytest.mark.parametrize("text", ["", "{", "[]", "{}"], ids=["empty", "torn", "list", "nothing"])
def test_an_event_that_cannot_be_read_is_left_out_and_still_known(desk, text):
    good, bad = new_event(desk), new_event(desk)
    desk.store.observe(Observation(event=good))
    first = desk.store.observe(asking(desk, bad))
    desk.sql("UPDATE sensor_events SET record = ? WHERE event_id = ?", text, bad.event_id)

    assert [seen.event for seen in desk.store.seen(SeenQuery())] == [good]
    again = desk.store.observe(Observation(event=bad))
    assert (again.status, again.task_id) == ("deduped", first.task_id)


@pytest.mark.parametrize("text", ["", "{", "[]", "1"], ids=["empty", "torn", "list", "number"])
def test_a_cursor_that_cannot_be_read_is_none_and_says_so(desk, text):
    state = new_state(desk, cursor={"page": 1}, failures=2)
    assert desk.store.put_sensor(state, NOTHING)
    desk.sql("UPDATE sensors SET cursor = ?", text)

    (read,) = desk.store.sensors()

    assert (read.cursor, read.failures, read.version) == (None, 2, 1)
    assert read.reason.startswith("its cursor cannot be read: ")
    assert desk.store.put_sensor(read, NOTHING)
    assert desk.store.sensor(state.sensor_id).cursor is None


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(event=strategies.of_type(SensorEvent))
def test_any_event_is_kept_as_it_is_or_refused(desk, event):
    try:
        answer = desk.store.observe(Observation(event=event))
    except KeiseiError:
        assert desk.store.seen(SeenQuery(sensor_id=event.sensor_id, event_id=event.event_id)) == []
        return
    if answer.status == "recorded":
        (seen,) = desk.store.seen(SeenQuery(sensor_id=event.sensor_id, event_id=event.event_id))
        assert mended(seen.event, event)


def test_one_observation_reads_no_other(tmp_path):
    """Both keys have their index, whatever has been seen before."""
    with sqlite_desk(tmp_path) as desk:
        for sql in (
            "UPDATE sensor_events SET repeats = 0 WHERE sensor_id = '' AND dedupe_key = ''",
            "UPDATE sensor_events SET repeats = 0 WHERE sensor_id = '' AND event_id = ''",
        ):
            ((*_, step),) = desk.sql(f"EXPLAIN QUERY PLAN {sql}")
            assert step.startswith("SEARCH sensor_events USING")
