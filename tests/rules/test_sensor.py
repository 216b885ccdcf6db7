"""What sensors say, and when they run."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.records.observation import SensorState
from keisei.records.project import ProjectSensor
from keisei.rules.sensor import (
    LONGEST_WAIT_S,
    PATIENCE,
    OutputFault,
    Unreadable,
    claimed,
    failed,
    is_due,
    said,
    succeeded,
    tail,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TABLE = ProjectSensor(every_s=60.0, deadline_s=30.0)


@pytest.mark.parametrize(
    ("output", "events", "cursor"),
    [
        (b"", [], None),
        (b" \n", [], None),
        (b'{"a": 1}', [{"a": 1}], None),
        (b'[{"a": 1}, {"a": 2}]', [{"a": 1}, {"a": 2}], None),
        (b'{"a": 1}\n{"a": 2}\n{"cursor": {"n": 3}}\n', [{"a": 1}, {"a": 2}], {"n": 3}),
        (b'{"cursor": {"n": 3}}', [], {"n": 3}),
        (b'{"events": [{"a": 1}], "cursor": {"n": 3}}', [{"a": 1}], {"n": 3}),
        (b'[{"a": 1}, {"cursor": {"n": 1}}, {"cursor": {"n": 2}}]', [{"a": 1}], {"n": 2}),
        (b'{"cursor": null}\n{"a": 1}', [{"a": 1}], None),
        (b'{"cursor": 1, "a": 2}', [{"cursor": 1, "a": 2}], None),
        (b"{}", [{}], None),
        (b"[]", [], None),
        (b"7", [7], None),
    ],
)
def test_events_come_as_an_array_an_object_or_lines(output, events, cursor):
    assert said(output) == (events, cursor)


def test_one_line_that_is_no_json_takes_its_own_place_and_no_other():
    found = said(b'{"a": 1}\nreceived: soon\n{"a": 2}\n').events

    assert [found[0], found[2]] == [{"a": 1}, {"a": 2}]
    assert isinstance(found[1], Unreadable)


@pytest.mark.parametrize(
    "output",
    [b"hello", b"hello\nworld", b"\xff\xfe", b'{"cursor": 7}', b'{"events": 7}', b"[" * 100_000, b"NaN"],
    ids=["words", "lines", "bytes", "cursor", "events", "deep", "nan"],
)
def test_output_that_is_none_at_all_fails_the_run(output):
    with pytest.raises(OutputFault):
        said(output)


@given(st.binary(max_size=200))
def test_any_output_is_events_or_a_fault(output):
    try:
        found = said(output)
    except OutputFault:
        return
    assert isinstance(found.events, list)


def test_nobody_else_runs_it_before_its_run_must_be_over():
    running = claimed(None, "s", TABLE, NOW)
    slow = claimed(None, "s", ProjectSensor(every_s=1.0, deadline_s=30.0), NOW)

    assert running.next_run_at == NOW + timedelta(seconds=60)
    assert slow.next_run_at > NOW + timedelta(seconds=30)
    assert not is_due(slow, ProjectSensor(every_s=1.0), NOW + timedelta(seconds=30))


def test_a_sensor_that_was_never_run_is_due():
    assert is_due(None, TABLE, NOW)


def test_a_paused_sensor_is_never_due():
    assert not is_due(SensorState(sensor_id="s", next_run_at=NOW, paused=True), TABLE, NOW + timedelta(days=1))


def test_a_clock_that_was_set_back_does_not_silence_a_sensor():
    ahead = SensorState(sensor_id="s", next_run_at=NOW + timedelta(days=365))

    assert is_due(ahead, TABLE, NOW)


def test_failures_wait_longer_every_time_and_then_for_a_person():
    state, waits = claimed(None, "s", TABLE, NOW), []
    for _ in range(PATIENCE):
        assert not state.paused
        state = failed(state, TABLE, "dead network", NOW)
        waits.append((state.next_run_at - NOW).total_seconds())

    assert waits == sorted(waits)
    assert waits[0] > TABLE.every_s
    assert waits[-1] <= LONGEST_WAIT_S
    assert (state.paused, state.failures, state.reason) == (True, PATIENCE, "dead network")


def test_a_rare_sensor_is_not_run_more_often_because_it_fails():
    rare = ProjectSensor(every_s=86_400.0)

    assert failed(claimed(None, "s", rare, NOW), rare, "x", NOW).next_run_at == NOW + timedelta(days=1)


def test_success_forgets_failures_and_keeps_a_cursor_that_is_not_said():
    state = failed(SensorState(sensor_id="s", next_run_at=NOW, cursor={"n": 1}), TABLE, "x", NOW)

    after = succeeded(state, TABLE, None, NOW)

    assert (after.failures, after.reason, after.cursor) == (0, None, {"n": 1})
    assert succeeded(state, TABLE, {"n": 2}, NOW).cursor == {"n": 2}
    assert after.next_run_at == NOW + timedelta(seconds=60)


def test_of_a_long_complaint_the_end_is_kept():
    assert tail("a" * 1000 + "the error").endswith("the error")
    assert len(tail("a" * 1000)) < 600
