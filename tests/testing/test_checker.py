"""The checker finds each kind of fault in a history and its tables, and nothing where there is none."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from keisei.records.attempt import TaskAttempt
from keisei.records.event import RuntimeEvent
from keisei.records.outbox import OutboxItem
from keisei.testing.checker import check
from keisei.testing.history import Line, Tables
from keisei.testing.queue import new_outcome, new_task

NOW = datetime(2026, 1, 1, tzinfo=UTC)

HISTORY = """\
Q t1 - 1 1
A t1 - 1 2
S t1 a1 10 3
L t1 a1 10 4
S t1 a2 11 20
E t1 a2 11 25
W t1 a2 2 26 completed
X t1 a2 2 27 a2/external_message/0
"""
EVENTS = (
    ("task_enqueued", "t1", None),
    ("task_claimed", "t1", "a1"),
    ("task_started", "t1", "a1"),
    ("task_attempt_finished", "t1", "a1"),
    ("task_retry_scheduled", "t1", "a1"),
    ("task_claimed", "t1", "a2"),
    ("task_started", "t1", "a2"),
    ("task_attempt_finished", "t1", "a2"),
    ("task_finished", "t1", "a2"),
    ("dispatch_idle", None, None),
)


def history(text=HISTORY):
    return [Line.parse(line) for line in text.splitlines()]


def attempt(name, fence, exit_status="ok"):
    return TaskAttempt(
        attempt_id=name,
        task_id="t1",
        adapter_id="a",
        adapter_kind="k",
        model=None,
        runner_id="r",
        started_at=NOW,
        ended_at=NOW if exit_status else None,
        exit_status=exit_status,
        retry_class="none",
        fence=fence,
    )


def told(events=EVENTS):
    return [
        RuntimeEvent(id=n, event_type=kind, task_id=task, attempt_id=name, detail={}, created_at=NOW)
        for n, (kind, task, name) in enumerate(events, 1)
    ]


def done(**changes):
    fields = {"status": "completed", "outcome": new_outcome("completed"), "finished_at": NOW, "attempt_count": 2}
    return new_task("t1", NOW, **(fields | changes))


def item(**changes):
    fields = {"key": "a2/external_message/0", "kind": "external_message", "attempt_id": "a2", "status": "delivered"}
    return OutboxItem(**({"task_id": "t1", "payload": {}, "created_at": NOW} | fields | changes))


def tables(**changes):
    fields = {
        "tasks": [done()],
        "attempts": [attempt("a1", 2, "lost"), attempt("a2", 3)],
        "events": told(),
        "outbox": [item()],
        "postponed": {},
    }
    return Tables(**(fields | changes))


def test_a_run_without_fault_has_no_complaint():
    assert check(history(), tables()) == []


def without(kind, name=None):
    return told([event for event in EVENTS if event[0] != kind or (name and event[2] != name)])


STUCK = {"status": "retryable_failure", "finished_at": None, "outcome": None}
FOLLOW_UP = item(key="a2/follow_up_task/0", kind="follow_up_task")
CHILD = new_task("t2", NOW, status="operator_canceled", finished_at=NOW, parent_task_id="t1")
BORN = [*EVENTS, ("task_enqueued", "t2", None), ("task_operator_canceled", "t2", None)]


@pytest.mark.parametrize(
    ("rule", "lines", "found"),
    [
        pytest.param(1, HISTORY + "A t2 - 1 30", {}, id="accepted-and-not-there"),
        pytest.param(1, HISTORY.replace("Q t1 - 1 1\n", ""), {}, id="there-and-not-asked-for"),
        pytest.param(1, HISTORY, {"tasks": [done(), done()]}, id="there-twice"),
        pytest.param(2, HISTORY, {"tasks": [done(**STUCK)]}, id="stuck"),
        pytest.param(2, HISTORY, {"tasks": [done(**STUCK | {"status": "blocked"})]}, id="blocked-without-a-reason"),
        pytest.param(2, HISTORY, {"attempts": [attempt("a1", 2, "lost"), attempt("a2", 3, None)]}, id="open-attempt"),
        pytest.param(3, HISTORY + "S t1 a9 12 30", {}, id="started-without-a-row"),
        pytest.param(3, HISTORY.replace("L t1 a1", "S t1 a1"), {}, id="an-attempt-started-twice"),
        pytest.param(3, HISTORY.replace("E t1 a2 11 25\n", ""), {}, id="ok-and-never-ended"),
        pytest.param(4, HISTORY + "L t1 a1 10 21", {}, id="two-at-once"),
        pytest.param(4, HISTORY + "E t1 a1 10 21", {}, id="an-end-after-the-next-start"),
        pytest.param(5, HISTORY + "W t1 a1 2 30 completed", {}, id="ended-by-two"),
        pytest.param(5, HISTORY + "W t1 a2 2 30 blocked", {}, id="settled-as-two-things"),
        pytest.param(
            5, HISTORY.replace("completed", "operator_canceled"), {}, id="told-another-end-than-the-table-has"
        ),
        pytest.param(5, HISTORY, {"attempts": [attempt("a1", 2), attempt("a2", 3, "error")]}, id="completed-in-error"),
        pytest.param(5, HISTORY, {"attempts": []}, id="completed-by-nobody"),
        pytest.param(6, HISTORY + "X t1 a1 2 28 a1/external_message/0", {}, id="an-effect-without-a-row"),
        pytest.param(6, HISTORY, {"outbox": [item(attempt_id="a1")]}, id="a-row-of-a-lost-attempt"),
        pytest.param(6, HISTORY, {"outbox": [item(status="refused")]}, id="a-refused-row-that-left"),
        pytest.param(
            6,
            HISTORY,
            {"tasks": [done(), CHILD, replace(CHILD, task_id="t3")], "outbox": [item(), FOLLOW_UP]},
            id="one-delivery-and-two-follow-ups",
        ),
        pytest.param(6, HISTORY, {"outbox": [item(), FOLLOW_UP]}, id="a-delivery-without-its-follow-up"),
        pytest.param(7, HISTORY, {"events": without("task_enqueued")}, id="no-beginning"),
        pytest.param(7, HISTORY, {"events": without("task_claimed", "a2")}, id="a-claim-not-told"),
        pytest.param(7, HISTORY, {"events": without("task_attempt_finished", "a1")}, id="an-end-not-told"),
        pytest.param(7, HISTORY, {"events": without("task_finished")}, id="over-and-not-told"),
        pytest.param(7, HISTORY, {"events": told([*EVENTS, EVENTS[1]])}, id="claimed-after-the-end"),
        pytest.param(7, HISTORY, {"tasks": [done(attempt_count=3)]}, id="counts-more-than-there-were"),
        pytest.param(7, HISTORY, {"tasks": [done(attempt_count=1)]}, id="counts-fewer-than-there-were"),
        pytest.param(7, HISTORY, {"tasks": [done(max_attempts=1)]}, id="tried-too-often"),
        pytest.param(7, HISTORY, {"attempts": [attempt("a1", 3, "lost"), attempt("a2", 3)]}, id="a-fence-twice"),
        pytest.param(8, HISTORY, {"damage": ["row 3 missing from index"]}, id="a-broken-file"),
    ],
)
def test_each_fault_is_found_under_its_rule(rule, lines, found):
    assert rule in {complaint.rule for complaint in check(history(lines), tables(**found))}


def test_artifacts_that_are_not_there_are_found():
    complaints = check(history(), tables(), resolves=lambda task: task.task_id != "t1")

    assert [complaint.rule for complaint in complaints] == [5]


def test_a_follow_up_with_its_delivery_is_no_fault():
    found = tables(tasks=[done(), CHILD], outbox=[item(), FOLLOW_UP], events=told(BORN))

    assert check(history(), found) == []


def test_an_effect_that_arrives_twice_under_one_key_is_one_effect():
    assert check([*history(), history()[-1]], tables()) == []


def test_an_intake_whose_answer_was_lost_may_or_may_not_have_happened():
    assert check(history(HISTORY.replace("A t1 - 1 2\n", "") + "Q t2 - 1 30"), tables()) == []


def test_work_that_is_under_way_is_no_fault_before_the_end():
    running = new_task("t1", NOW, status="running", attempt_count=2)
    attempts = [attempt("a1", 2, "lost"), attempt("a2", 3, None)]
    found = tables(tasks=[running], attempts=attempts, events=told(EVENTS[:7]), outbox=[])

    assert check(history()[:5], found, recovered=False) == []
    assert {complaint.rule for complaint in check(history()[:5], found)} == {2}


def test_a_task_that_was_claimed_before_its_moment_is_found_unless_the_clock_was_set_back():
    early = done(attempt_count=1, available_at=NOW + timedelta(seconds=1))
    events = told([EVENTS[0], *EVENTS[5:]])
    found = tables(tasks=[early], attempts=[attempt("a2", 3)], events=events)
    lines = history(HISTORY.replace("S t1 a1 10 3\nL t1 a1 10 4\n", ""))

    assert [complaint.rule for complaint in check(lines, found)] == [7]
    assert check(lines, found, steady=False) == []


def test_a_postponed_attempt_is_not_counted():
    assert check(history(), tables(tasks=[done(attempt_count=1)], postponed={"t1": 1})) == []
    assert check(history(), tables(tasks=[done(attempt_count=1)], postponed=None)) == []


@pytest.mark.parametrize(
    "text", ["", "S t1 a1", "Z t1 a1 1 1", "S t1 a1 1 1 word", "W t1 a1 1 1", "S t1 a1 one 1", "S t1 a1 1 soon"]
)
def test_a_line_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        Line.parse(text)


def test_a_line_is_written_as_it_is_read():
    later = Line("W", "t", "a", 7, (NOW + timedelta(microseconds=1)).timestamp(), "completed")

    assert Line.parse(later.render()) == later
    assert Line.parse("Q t - 7 1.5").render() == "Q t - 7 1.500000"
