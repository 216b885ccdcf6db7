"""Work that goes round in circles is paused and a person is asked; whatever else repeats is left alone."""

from itertools import count

import pytest
from msgspec.structs import replace

from keisei.engine import control
from keisei.engine.approval import approve, reject, remind
from keisei.engine.intake import Defaults
from keisei.engine.loop import Detector, paused_by_loop
from keisei.engine.office import Office
from keisei.engine.settle import Chance, Ended, settlement
from keisei.records.answer import ApprovalQuery
from keisei.records.intent import TaskIntent, WorkflowRef
from keisei.records.move import EventQuery
from keisei.records.outcome import TaskOutcome
from keisei.records.project import ProjectApprovals
from keisei.records.schedule import RecurringScheduleRecord
from keisei.records.slot import ScheduleOrder
from keisei.rules.retry import Backoff
from tests.store.desk import sqlite_desk

ME = "operator:me"
AFTER = 3
POLICY = ProjectApprovals()
BY_SENSOR = {"sensor_event_id": "e1"}


@pytest.fixture
def desk(tmp_path):
    with sqlite_desk(tmp_path) as made:
        yield made


@pytest.fixture
def new_id():
    numbers = count(1)
    return lambda: f"fresh-{next(numbers):04}"


@pytest.fixture
def office(desk, new_id):
    return Office(desk.store, lambda: None, Defaults(), new_id)


@pytest.fixture
def detector():
    return Detector(AFTER)


def finish(desk, new_id, summary="nothing to do", status="completed", kind="ollama-generate", **task):
    """One task from its claim to its end."""
    claimed = desk.running(**({"max_attempts": 1} | task))
    machine = {"completed": "ok", "permanent_failure": "failed"}[status]
    outcome = TaskOutcome(status=status, machine_status=machine, operator_summary=summary)
    attempt = {"adapter_kind": kind}
    end = Ended(claimed=_with(claimed, attempt), exit_status="ok", outcome=outcome)
    chance = Chance(backoff=Backoff(), jitter=0, now=desk.store.now(), new_id=new_id)
    assert desk.store.settle(settlement(end, chance)) == "settled"
    desk.clock.advance(1)
    return desk.read(claimed.task.task_id)


def _with(claimed, changes):
    return replace(claimed, attempt=replace(claimed.attempt, **changes))


def loops(desk):
    return desk.store.approvals(ApprovalQuery(statuses=(), limit=100))


def test_identical_ends_in_a_row_pause_what_they_come_from_and_ask(desk, detector, new_id):
    tasks = [finish(desk, new_id, **BY_SENSOR) for _ in range(AFTER)]

    assert detector.look(desk.store, new_id) == 1

    (approval,) = loops(desk)
    assert (approval.kind, approval.status) == ("loop", "open")
    assert approval.reason == "3 tasks in a row ended alike (completed): nothing to do"
    assert approval.task_id == tasks[-1].task_id
    assert [each.scope for each in desk.store.pauses()] == [approval.key]
    assert paused_by_loop(desk.store, tasks[0]).startswith("held: work like this goes round in circles: 3 tasks")
    (event,) = desk.store.events(EventQuery(event_type="loop_detected"))
    assert event.detail["approval_id"] == approval.approval_id
    assert ("loop_detected", tasks[-1].task_id) in desk.ledger()
    assert [each.key for each in desk.store.outbox(None, 10)] == [f"approval:{approval.approval_id}/console"]


def test_one_fewer_is_no_loop(desk, detector, new_id):
    for _ in range(AFTER - 1):
        finish(desk, new_id, **BY_SENSOR)

    assert detector.look(desk.store, new_id) == 0
    assert (desk.store.pauses(), loops(desk)) == ([], [])


@pytest.mark.parametrize(
    "changes",
    [
        [{}, {"summary": "something else"}, {}, {}],
        [{}, {"status": "permanent_failure"}, {}, {}],
        [{}, {}, {"subject": "another"}],
        [{}, {}, {"source": "another"}],
        [{}, {}, {"task_type": "another"}],
        [{}, {}, {"payload": {"file": "another"}}],
    ],
    ids=["outcome", "status", "subject", "source", "type", "payload"],
)
def test_what_differs_is_no_loop(desk, detector, new_id, changes):
    for each in changes:
        finish(desk, new_id, **(BY_SENSOR | each))

    assert detector.look(desk.store, new_id) == 0
    assert loops(desk) == []


def test_what_people_queue_is_theirs_to_repeat(desk, detector, new_id):
    for _ in range(AFTER * 2):
        task = finish(desk, new_id)

    assert detector.look(desk.store, new_id) == 0
    assert paused_by_loop(desk.store, task) is None


@pytest.mark.parametrize(
    "origin",
    [{"schedule_id": "s1"}, {"parent_task_id": "t0", "depth": 1}, BY_SENSOR],
    ids=["schedule", "follow-up", "sensor"],
)
def test_whatever_begins_by_itself_counts(desk, detector, new_id, origin):
    for _ in range(AFTER):
        finish(desk, new_id, **origin)

    assert detector.look(desk.store, new_id) == 1


def test_a_task_that_a_person_tries_again_and_again_is_theirs_too(desk, detector, new_id):
    for _ in range(AFTER):
        finish(desk, new_id, parent_task_id="t0")

    assert detector.look(desk.store, new_id) == 0


def test_steps_of_a_workflow_count_although_their_payloads_count_visits(desk, detector, new_id):
    ref = WorkflowRef(workflow_id="w1", state_id="verify", instance_key="k")
    for visit in range(AFTER):
        finish(desk, new_id, workflow_ref=ref, source="workflow:w1:verify", payload={"visit": visit})

    assert detector.look(desk.store, new_id) == 1


def test_moments_behind_the_source_of_a_schedule_do_not_hide_a_loop(desk, detector, new_id):
    for minute in range(AFTER):
        finish(desk, new_id, schedule_id="s1", source=f"schedule:nightly:2026-01-31T00:0{minute}:00.000Z")

    assert detector.look(desk.store, new_id) == 1


def test_a_program_on_a_schedule_is_meant_to_repeat(desk, detector, new_id):
    for _ in range(AFTER * 2):
        finish(desk, new_id, schedule_id="s1", kind="script")

    assert detector.look(desk.store, new_id) == 0


def test_a_project_that_wants_no_detector_has_none(desk, new_id):
    for _ in range(AFTER * 5):
        finish(desk, new_id, **BY_SENSOR)

    assert Detector(0).look(desk.store, new_id) == 0


def test_one_end_is_no_loop_whatever_the_project_says(desk, new_id):
    detector = Detector(1)

    finish(desk, new_id, **BY_SENSOR)
    assert detector.look(desk.store, new_id) == 0
    finish(desk, new_id, **BY_SENSOR)
    assert detector.look(desk.store, new_id) == 1


def test_ends_are_counted_across_looks(desk, detector, new_id):
    found = []
    for _ in range(AFTER):
        finish(desk, new_id, **BY_SENSOR)
        found.append(detector.look(desk.store, new_id))

    assert found == [0, 0, 1]


def test_many_runners_pause_and_ask_once(desk, new_id):
    for _ in range(AFTER):
        finish(desk, new_id, **BY_SENSOR)

    assert [Detector(AFTER).look(desk.another(), new_id) for _ in range(4)] == [1, 0, 0, 0]

    assert len(loops(desk)) == 1
    assert len(desk.store.events(EventQuery(event_type="dispatch_pause_enabled"))) == 1
    assert len(desk.store.events(EventQuery(event_type="loop_detected"))) == 1


def test_a_runner_that_starts_later_looks_back(desk, new_id):
    for _ in range(AFTER):
        finish(desk, new_id, **BY_SENSOR)

    assert Detector(AFTER).look(desk.store, new_id) == 1


def test_approving_lets_it_go_on_and_counts_anew(desk, detector, new_id, office):
    for _ in range(AFTER):
        task = finish(desk, new_id, **BY_SENSOR)
    detector.look(desk.store, new_id)
    (approval,) = loops(desk)

    approve(office, approval.approval_id, "it is fine", ME)

    assert desk.store.pauses() == []
    assert paused_by_loop(desk.store, task) is None
    assert Detector(AFTER).look(desk.store, new_id) == 0  # what ended before somebody looked is settled
    desk.clock.advance(1)
    for _ in range(AFTER):
        finish(desk, new_id, **BY_SENSOR)
    assert detector.look(desk.store, new_id) == 1


def test_rejecting_leaves_it_paused(desk, detector, new_id):
    for _ in range(AFTER):
        task = finish(desk, new_id, **BY_SENSOR)
    detector.look(desk.store, new_id)
    (approval,) = loops(desk)

    reject(desk.store, approval.approval_id, "good riddance", ME)

    assert paused_by_loop(desk.store, task) is not None
    assert detector.look(desk.store, new_id) == 0


def test_lifting_the_pause_by_another_order_resolves_the_question(desk, detector, new_id):
    for _ in range(AFTER):
        finish(desk, new_id, **BY_SENSOR)
    detector.look(desk.store, new_id)
    (approval,) = loops(desk)

    control.resume(desk.store, "go on", ME, approval.key)
    remind(desk.store, POLICY)

    assert [each.status for each in loops(desk)] == ["resolved"]


def test_what_was_held_meanwhile_goes_on_with_it(desk, detector, new_id, office):
    for _ in range(AFTER):
        finish(desk, new_id, **BY_SENSOR)
    detector.look(desk.store, new_id)
    (approval,) = loops(desk)
    held = hold(desk, new_id, **BY_SENSOR)
    other = hold(desk, new_id, reason="for another reason", **BY_SENSOR)

    approve(office, approval.approval_id, "", ME)

    assert desk.read(held).status == "pending"
    assert desk.read(other).status == "blocked"


def hold(desk, new_id, reason=None, **task):
    """A task that is claimed, and not run."""
    claimed = desk.running(**task)
    summary = reason or paused_by_loop(desk.store, claimed.task)
    outcome = TaskOutcome(status="blocked", machine_status="blocked", operator_summary=summary)
    chance = Chance(backoff=Backoff(), jitter=0, now=desk.store.now(), new_id=new_id)
    end = Ended(claimed=claimed, exit_status="error", outcome=outcome, asks=False)
    desk.store.settle(settlement(end, chance))
    return claimed.task.task_id


def test_a_schedule_that_feeds_a_loop_is_switched_off_and_on_again(desk, detector, new_id, office):
    now = desk.store.now()
    record = RecurringScheduleRecord(
        schedule_id="s1",
        name="nightly",
        enabled=True,
        interval_seconds=60,
        next_run_at=now,
        last_run_at=None,
        task=TaskIntent(task_type="note", source="schedule:nightly", payload={}),
        created_at=now,
        updated_at=now,
    )
    assert desk.store.put_schedule(ScheduleOrder(record=record, was=None))
    for _ in range(AFTER):
        finish(desk, new_id, schedule_id="s1")

    detector.look(desk.store, new_id)
    off = desk.store.schedule("s1").record
    (approval,) = loops(desk)
    approve(office, approval.approval_id, "", ME)

    assert (off.enabled, off.disabled_reason.startswith("it feeds a loop: ")) == (False, True)
    assert desk.store.schedule("s1").record.enabled


def test_a_payload_without_a_canonical_form_harms_nothing(desk, detector, new_id):
    for _ in range(AFTER):
        finish(desk, new_id, payload={"n": 2**60}, **BY_SENSOR)

    assert detector.look(desk.store, new_id) == 1
