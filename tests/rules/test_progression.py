"""Progression: a workflow moves by signals of its state alone, never leaves its definition, and ends or waits."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.records.id import TaskId, WorkflowId
from keisei.records.intent import WorkflowRef
from keisei.records.outcome import TaskOutcome
from keisei.records.progression import Visit, Workflow
from keisei.records.task import TaskRecord
from keisei.records.workflow import WorkflowRecord
from keisei.rules import progression as moves
from keisei.rules.progression import Course, proceed
from keisei.rules.workflow import workflow_faults
from tests.rules.test_workflow import DEFINITIONS, state, workflow

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
MACHINE = {
    "completed": "ok",
    "blocked": "blocked",
    "permanent_failure": "failed",
    "operator_canceled": "canceled",
}


def tasked(*states, **options):
    """A definition whose states ask for tasks, but for ends."""
    return workflow(*(replace(each, task_type="t") if moves.signals_of(each) else each for each in states), **options)


LOOP = tasked(
    state("plan", {"go": "work"}, cap=2),
    state("work", {"again": "work", "back": "plan", "out": "end"}, done=["done"], cap=3),
    state("end"),
)


def instance(definition=LOOP, **changes):
    record = WorkflowRecord(
        workflow_id=WorkflowId("w1"),
        workflow_type=definition.workflow_type,
        instance_key="key",
        current_state=changes.pop("state", definition.initial_state),
        context=None,
        status=changes.pop("status", "active"),
        created_at=NOW,
        updated_at=NOW,
        completed_at=None,
        visits=changes.pop("visits", {}),
    )
    return Workflow(record=record, definition=definition, **({"awaits": "entry"} | changes))


def task(status="completed", signal=None, task_id="t1", **more):
    over = status in ("completed", "permanent_failure", "operator_canceled")
    outcome = None
    if status in MACHINE:
        outcome = TaskOutcome(
            status=status, machine_status=MACHINE[status], operator_summary="words", workflow_signal=signal
        )
    given = {
        "task_id": TaskId(task_id),
        "task_type": "t",
        "source": "workflow:w1:plan",
        "subject": None,
        "description": None,
        "priority": 5,
        "payload": {},
        "requested_profile_id": "p",
        "requested_adapter_id": None,
        "requested_model": None,
        "status": status,
        "max_attempts": 3,
        "attempt_count": 1,
        "available_at": NOW,
        "created_at": NOW,
        "updated_at": NOW,
        "started_at": NOW,
        "finished_at": NOW if over else None,
        "outcome": outcome,
        "last_error": "it broke",
    }
    return TaskRecord(**(given | more))


def waiting(state="plan", visits=None, definition=LOOP):
    """An instance that waits for task t1, and its stay."""
    counts = visits or {state: 1}
    found = instance(definition, state=state, visits=counts, awaits="task", task_id=TaskId("t1"), asks=1)
    return found, Visit(workflow_id="w1", state=state, visit=counts[state], entered_at=NOW, task_id=TaskId("t1"))


def names(course):
    return [each.event_type for each in course.happened]


# --- entering ---


def test_a_state_that_asks_for_a_task_is_entered_and_wants_it():
    course = proceed(instance(), None, None, LATER)

    assert course.asks
    assert course.workflow.record.visits == {"plan": 1}
    assert course.visits == (Visit(workflow_id="w1", state="plan", visit=1, entered_at=LATER),)
    asked = moves.asked(course, TaskId("t1"), LATER)
    assert (asked.workflow.awaits, asked.workflow.task_id, asked.workflow.asks) == ("task", "t1", 1)
    assert asked.visits == (Visit(workflow_id="w1", state="plan", visit=1, entered_at=LATER, task_id="t1"),)
    assert asked.happened[0].detail == {"workflow_id": "w1", "workflow_state": "plan", "visit": 1, "ask": 1}


def test_a_state_without_a_task_waits_for_a_signal():
    course = proceed(instance(workflow(state("a", {"go": "b"}), state("b"))), None, None, LATER)

    assert (course.workflow.awaits, course.workflow.record.status, course.asks) == ("signal", "active", False)


def test_a_state_may_have_a_task_and_not_ask_for_it():
    quiet = replace(state("a", {"go": "b"}), task_type="t", emits_task_intent=False)

    assert proceed(instance(workflow(quiet, state("b"))), None, None, LATER).workflow.awaits == "signal"


def test_a_single_end_completes_at_once():
    course = proceed(instance(workflow(state("only"))), None, None, LATER)

    assert course.workflow.record.completed_at == LATER
    assert course.visits == (Visit(workflow_id="w1", state="only", visit=1, entered_at=LATER, left_at=LATER),)
    assert names(course) == ["workflow_completed"]


def test_a_state_that_is_not_there_blocks():
    course = proceed(instance(state="lost"), None, None, LATER)

    assert course.workflow.record.reason == "state `lost` is not in the definition it follows"
    assert course.person


# --- by the end of a task ---


def test_a_signal_is_followed_and_the_next_state_wants_its_task():
    course = proceed(*waiting(), task(signal="go"), LATER)

    assert course.asks
    assert (course.workflow.record.current_state, course.workflow.record.visits) == ("work", {"plan": 1, "work": 1})
    left, entered = course.visits
    assert (left.left_at, left.signal, left.actor) == (LATER, "go", "task:t1")
    assert (entered.state, entered.visit, entered.left_at) == ("work", 1, None)
    assert course.happened[0].detail == {
        "workflow_id": "w1",
        "new_state": "work",
        "previous_state": "plan",
        "signal": "go",
        "visit": 1,
        "actor": "task:t1",
    }


def test_a_transition_into_an_end_and_the_end_are_one_move():
    course = proceed(*waiting("work"), task(signal="out"), LATER)

    assert names(course) == ["workflow_transitioned", "workflow_completed"]
    assert [(each.state, each.left_at) for each in course.visits] == [("work", LATER), ("end", LATER)]
    assert (course.workflow.awaits, course.workflow.task_id) == ("nothing", None)


def test_a_completion_signal_completes_where_it_is():
    course = proceed(*waiting("work"), task(signal="done"), LATER)

    assert (course.workflow.record.status, course.workflow.record.current_state) == ("completed", "work")
    assert names(course) == ["workflow_completed"]


def test_an_end_with_a_task_completes_when_that_is_completed():
    last = replace(state("b"), task_type="t")
    definition = tasked(state("a", {"go": "b"}), last)
    definition = replace(definition, states=(definition.states[0], last))

    assert proceed(*waiting("a", definition=definition), task(signal="go"), LATER).asks
    assert proceed(*waiting("b", definition=definition), task(), LATER).workflow.record.status == "completed"


@pytest.mark.parametrize("signal", [None, "GO", "done", "plan", ""])
def test_a_completed_task_without_a_signal_of_its_state_blocks(signal):
    course = proceed(*waiting(), task(signal=signal), LATER)

    assert (course.workflow.record.status, course.workflow.task_id, course.person) == ("blocked", None, True)
    assert "task t1 is completed" in course.workflow.record.reason


@pytest.mark.parametrize("status", ["pending", "running", "retryable_failure"])
def test_a_task_that_is_not_over_moves_nothing(status):
    found, stay = waiting()

    assert proceed(found, stay, task(status), LATER).workflow is found


@pytest.mark.parametrize(
    ("status", "kept", "person"),
    [("blocked", "t1", False), ("permanent_failure", None, True), ("operator_canceled", None, True)],
)
def test_a_task_that_fails_blocks_and_a_person_is_asked_once(status, kept, person):
    course = proceed(*waiting(), task(status), LATER)

    assert course.workflow.record.reason == f"task t1 of state `plan` is {status}: it broke"
    assert (course.workflow.awaits, course.workflow.task_id, course.person) == ("person", kept, person)
    assert names(course) == ["workflow_blocked"]


def test_a_task_that_is_gone_blocks():
    assert proceed(*waiting(), None, LATER).workflow.record.reason == "task t1 is gone"


def test_a_state_that_was_entered_as_often_as_it_may_be_is_not_entered_again():
    course = proceed(*waiting("work", {"plan": 1, "work": 3}), task(signal="again"), LATER)

    record = course.workflow.record
    assert record.reason == "state `work` was entered 3 times, as often as it may be"
    assert (record.visits, record.current_state, record.status) == ({"plan": 1, "work": 3}, "work", "blocked")
    assert (course.workflow.task_id, course.person, course.asks) == (None, True, False)


# --- blocked, and on again ---


def blocked_by(status):
    course = proceed(*waiting(), task(status), LATER)
    return course.workflow, course.stay


@pytest.mark.parametrize("status", ["pending", "running", "retryable_failure"])
def test_a_blocked_task_that_was_freed_wakes_its_workflow(status):
    course = proceed(*blocked_by("blocked"), task(status), LATER)

    assert (course.workflow.record.status, course.workflow.record.reason) == ("active", None)
    assert (course.workflow.awaits, course.workflow.task_id) == ("task", "t1")
    assert names(course) == ["workflow_resumed"]


def test_a_blocked_task_that_was_freed_and_completed_moves_it_on_at_once():
    course = proceed(*blocked_by("blocked"), task(signal="go"), LATER)

    assert names(course) == ["workflow_resumed", "workflow_transitioned"]
    assert course.workflow.record.current_state == "work"


def test_a_blocked_task_that_stays_blocked_moves_nothing():
    found, stay = blocked_by("blocked")

    assert proceed(found, stay, task("blocked"), LATER).workflow is found


def test_a_blocked_task_that_is_cancelled_asks_a_person_about_the_workflow():
    course = proceed(*blocked_by("blocked"), task("operator_canceled"), LATER)

    assert (course.workflow.task_id, course.person) == (None, True)
    assert "operator_canceled" in course.workflow.record.reason


def test_resuming_asks_again_in_the_same_stay():
    found, stay = blocked_by("permanent_failure")

    course = moves.resume(Course(workflow=found, stay=stay), LATER, "operator:me", asks=4)
    asked = moves.asked(course, TaskId("t2"), LATER)

    assert course.asks
    assert (asked.workflow.record.visits, asked.workflow.asks) == ({"plan": 1}, 5)
    assert asked.visits[-1] == Visit(workflow_id="w1", state="plan", visit=1, entered_at=NOW, task_id=TaskId("t2"))


def test_context_is_merged_shallowly_and_only_where_it_is_new():
    found, stay = waiting()
    course = Course(workflow=found, stay=stay)

    first = moves.merged(course, {"a": {"x": 1}, "b": 2}, LATER)
    second = moves.merged(first, {"a": {"y": 1}}, LATER)

    assert second.workflow.record.context == {"a": {"y": 1}, "b": 2}
    assert moves.merged(second, {"b": 2}, LATER) is second


# --- what a task says of itself ---


@pytest.mark.parametrize(
    ("workflow_id", "source", "believed"),
    [
        ("w1", "workflow:w1:plan", "w1"),
        ("w1", "task:t9", None),
        ("w1", "workflow:w2:plan", None),
        ("../../etc", "workflow:../../etc:plan", None),
        ("a/b", "workflow:a/b:plan", None),
        (".", "workflow:.:plan", None),
        ("", "workflow::plan", None),
    ],
)
def test_a_task_belongs_to_a_workflow_that_has_asked_for_it(workflow_id, source, believed):
    ref = WorkflowRef(workflow_id=workflow_id, state_id="plan", instance_key="k")

    assert moves.workflow_behind(task(workflow_ref=ref, source=source)) == believed


def test_a_task_without_a_workflow_belongs_to_none():
    assert moves.workflow_behind(task()) is None


# --- always ---


@settings(max_examples=300, deadline=None, database=None)
@given(DEFINITIONS, st.binary(min_size=1, max_size=40))
def test_whatever_tasks_say_a_workflow_stays_inside_its_definition(definition, said):
    if workflow_faults(definition):
        return
    definition = tasked(*definition.states, begin=definition.initial_state)
    states = {each.state_id: each for each in definition.states}
    found, stay, count = instance(definition), None, 0
    known = {}
    for number, byte in enumerate(said):
        now = NOW + timedelta(seconds=number)
        course = proceed(found, stay, _said(found, states, byte), now)
        if course.asks:
            count += 1
            course = moves.asked(course, TaskId(f"t{count}"), now)
        _check(course, states, found, now)
        known |= {(each.state, each.visit): each for each in course.visits}
        found, stay = course.workflow, course.stay
    assert sum(found.record.visits.values()) == len(known)
    assert sum(each.left_at is None for each in known.values()) <= 1


def _said(found, states, byte):
    """Any end of its task, with any signal of any state."""
    statuses = ["completed"] * 5 + ["blocked", "pending", "operator_canceled"]
    words = ["go", "back", "again", "done", "nonsense", None]
    own = moves.signals_of(states[found.record.current_state])
    signal = own[byte % len(own)] if own and byte < 200 else words[byte % len(words)]
    return task(statuses[byte % len(statuses)], signal, found.task_id or "none") if found.task_id else None


def _check(course, states, before, now):
    record = course.workflow.record
    assert record.current_state in states
    for name, visits in record.visits.items():
        assert visits <= (states[name].max_visits or visits)
    assert {"entry": "active", "task": "active", "signal": "active", "person": "blocked", "nothing": "completed"}[
        course.workflow.awaits
    ] == record.status
    assert (course.workflow.awaits != "task") or course.workflow.task_id is not None
    assert (record.status == "blocked") == (record.reason is not None)
    if before.awaits == "nothing":
        assert course.workflow is before
    if course.workflow is before:
        assert (course.visits, course.happened) == ((), ())
    else:
        assert record.updated_at == now
        assert course.happened
