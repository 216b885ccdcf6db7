"""A person decides, is asked and is told again: each decision with what follows from it, or a sentence why not."""

from datetime import timedelta
from itertools import count

import pytest
from msgspec.structs import replace

from keisei.engine import control
from keisei.engine import schedule as schedules
from keisei.engine import sensor as sensors
from keisei.engine.approval import answer, answers_of, approve, ask, raise_breakers, reject, remind
from keisei.engine.intake import Defaults
from keisei.engine.office import Office
from keisei.engine.post import redeliver
from keisei.engine.settle import Chance, Ended, lost, settlement
from keisei.records.answer import ApprovalQuery
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import Beside
from keisei.records.breaker import Breaker
from keisei.records.error import OperatorError, Refused
from keisei.records.finding import FindingRecord
from keisei.records.intent import TaskIntent
from keisei.records.move import EventQuery
from keisei.records.observation import SensorState
from keisei.records.outbox import OutboxItem
from keisei.records.outcome import TaskOutcome
from keisei.records.project import ProjectApprovals
from keisei.records.schedule import RecurringScheduleRecord
from keisei.records.slot import ScheduleOrder
from keisei.rules.delivery import is_notice
from keisei.rules.retry import Backoff
from tests.store.desk import sqlite_desk

ME = "operator:me"
HOUR_S = 3600
POLICY = ProjectApprovals(notify=("console", "phone"))
ALL = ApprovalQuery(statuses=(), limit=1000)


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


def chance(desk, new_id, policy=POLICY):
    backoff = Backoff(first_s=0, cap_s=0)
    return Chance(backoff=backoff, jitter=0, now=desk.store.now(), new_id=new_id, approvals=policy)


def ended(claimed, status="blocked", **more):
    machine = {"blocked": "blocked", "retryable_failure": "needs_retry", "completed": "ok"}[status]
    outcome = TaskOutcome(status=status, machine_status=machine, operator_summary=f"it is {status}")
    return Ended(claimed=claimed, exit_status="ok", outcome=outcome, **more)


def blocked(desk, new_id, policy=POLICY, task=None, **more):
    """A task that waits for a person, and its approval."""
    claimed = desk.running(**(task or {}))
    assert desk.store.settle(settlement(ended(claimed, **more), chance(desk, new_id, policy))) == "settled"
    (approval,) = desk.store.approvals(ApprovalQuery(task_id=claimed.task.task_id))
    return claimed, approval


def messages(desk):
    return [each.key for each in reversed(desk.store.outbox(None, 100))]


def events(desk, kind):
    return [each.detail for each in desk.store.events(EventQuery(event_type=kind, limit=1000))]


# --- asking -----------------------------------------------------------------------------------------------------------


def test_a_blocked_task_asks_a_person_with_reason_evidence_deadline_and_a_message_a_channel(desk, new_id):
    claimed, approval = blocked(
        desk, new_id, evidence={"stdout.log": "0" * 64, "before.json": "0" * 64, "last-message.txt": "0" * 64}
    )

    assert (approval.kind, approval.key, approval.status) == ("task", f"task:{claimed.task.task_id}", "open")
    assert approval.reason == "it is blocked"
    assert approval.attempt_id == claimed.attempt.attempt_id
    assert approval.evidence == ("last-message.txt", "stdout.log")
    assert approval.deadline == approval.created_at + timedelta(hours=24)
    keys = [f"approval:{approval.approval_id}/{channel}" for channel in ("console", "phone")]
    assert messages(desk) == keys
    message = desk.store.outbox_item(keys[1]).payload
    assert message["channel"] == "phone"
    assert (message["about"], message["approval_id"]) == ("approval", approval.approval_id)
    assert message["task_id"] == claimed.task.task_id
    assert approval.reason in message["text"]
    assert [each["approval_id"] for each in events(desk, "approval_asked")] == [approval.approval_id]


def test_questions_of_the_agent_make_it_a_question(desk, new_id):
    _, approval = blocked(desk, new_id, questions=("Which port?", "And why?"))

    assert (approval.kind, approval.questions) == ("question", ("Which port?", "And why?"))


@pytest.mark.parametrize("status", ["retryable_failure", "completed"])
def test_a_task_that_goes_on_or_is_done_asks_nobody(desk, new_id, status):
    claimed = desk.running(max_attempts=3)

    desk.store.settle(settlement(ended(claimed, status, questions=("Really?",)), chance(desk, new_id)))

    assert desk.store.approvals(ALL) == []
    assert messages(desk) == []


def test_tries_that_are_used_up_ask_a_person(desk, new_id):
    claimed, approval = blocked(desk, new_id, task={"max_attempts": 1}, status="retryable_failure")

    assert approval.kind == "task"
    assert approval.reason.startswith("attempts used up (1 of 1)")
    assert desk.read(claimed.task.task_id).status == "blocked"


def test_a_role_that_fails_fast_asks_nobody(desk, new_id):
    claimed = desk.running(max_attempts=1)
    broken = FindingRecord(
        finding_id="f1",
        attempt_id=claimed.attempt.attempt_id,
        capability="scope::files-whitelist",
        status="violated",
        severity="block",
        reason="outside",
        run_from="merged",
        duration_ms=1,
        created_at=desk.store.now(),
    )
    end = ended(claimed, "retryable_failure", findings=(broken,), escalation="fail-fast")

    desk.store.settle(settlement(end, chance(desk, new_id)))

    assert desk.read(claimed.task.task_id).status == "permanent_failure"
    assert desk.store.approvals(ALL) == []


def test_a_role_that_notifies_keeps_its_own_message_beside_the_approval(desk, new_id):
    claimed, approval = blocked(desk, new_id, escalation="orchestrator-notify")

    notices = [f"{claimed.attempt.attempt_id}/external_message/{-number}" for number, _ in enumerate(POLICY.notify, 1)]
    assert messages(desk) == [*notices, *(f"approval:{approval.approval_id}/{each}" for each in POLICY.notify)]
    told = [desk.store.outbox_item(each) for each in notices]
    assert [each.payload["channel"] for each in told] == list(POLICY.notify)
    assert all(map(is_notice, told))


def test_a_task_whose_runner_was_lost_for_the_last_time_asks_a_person(desk, new_id):
    claimed = desk.running(max_attempts=1)
    begun = replace(claimed, attempt=replace(claimed.attempt, bundle_id="b"))

    desk.store.settle(lost(begun, "runner-x", chance(desk, new_id)))

    (approval,) = desk.store.approvals(ALL)
    assert "was lost" in approval.reason


def test_a_task_that_is_held_because_somebody_is_asked_already_asks_nobody_else(desk, new_id):
    claimed = desk.running()

    desk.store.settle(settlement(ended(claimed, asks=False), chance(desk, new_id)))

    assert desk.read(claimed.task.task_id).status == "blocked"
    assert desk.store.approvals(ALL) == []


def test_a_task_that_has_used_up_its_budget_is_not_tried_again_but_asks(desk, new_id):
    claimed, approval = blocked(desk, new_id, status="retryable_failure", overspent="its budget is used up (5 of 5)")

    assert (approval.kind, approval.key) == ("budget", f"budget:{claimed.task.task_id}")
    assert approval.reason == "its budget is used up (5 of 5): it is retryable_failure"
    assert desk.read(claimed.task.task_id).status == "blocked"


def test_a_task_that_is_blocked_for_another_reason_is_no_matter_of_budget(desk, new_id):
    _, approval = blocked(desk, new_id, overspent="its budget is used up")

    assert approval.kind == "task"


def test_a_reason_of_any_length_is_cut(desk, new_id):
    claimed = desk.running()
    end = ended(claimed)
    end = replace(end, outcome=replace(end.outcome, operator_summary="x" * 100_000))

    desk.store.settle(settlement(end, chance(desk, new_id)))

    (approval,) = desk.store.approvals(ALL)
    assert len(approval.reason) == 2000


# --- deciding ---------------------------------------------------------------------------------------------------------


def test_approving_frees_the_task_in_the_same_breath(desk, new_id, office):
    claimed, approval = blocked(desk, new_id, task={"max_attempts": 1})

    done = approve(office, approval.approval_id, "go on", ME)

    task = desk.read(claimed.task.task_id)
    assert (task.status, task.max_attempts) == ("pending", 2)
    assert desk.store.approval(approval.approval_id) == done
    assert (done.status, done.decided_by, done.answer) == ("approved", ME, "go on")
    assert (
        events(desk, "approval_decided")[0] | {"status": "approved", "actor": ME} == events(desk, "approval_decided")[0]
    )
    assert ("approval_decided", approval.approval_id) in desk.ledger()
    assert ("task_freed", task.task_id) in desk.ledger()


def test_rejecting_cancels_the_task(desk, new_id):
    claimed, approval = blocked(desk, new_id)

    done = reject(desk.store, approval.approval_id, "not needed", ME)

    task = desk.read(claimed.task.task_id)
    assert (task.status, task.last_error) == ("operator_canceled", "not needed")
    assert done.status == "rejected"
    assert desk.store.approvals(ApprovalQuery()) == []


def test_an_answer_frees_the_task_and_is_kept_for_its_next_attempt(desk, new_id):
    claimed, approval = blocked(desk, new_id, questions=("Which port?",))

    done = answer(desk.store, approval.approval_id, "  8080, please \n", ME)

    assert desk.read(claimed.task.task_id).status == "pending"
    assert (done.status, done.answer) == ("answered", "8080, please")
    assert answers_of(desk.store, claimed.task.task_id) == (done,)


def test_answers_come_back_in_the_order_they_were_given(desk, new_id):
    claimed, approval = blocked(desk, new_id, questions=("1?",))
    answer(desk.store, approval.approval_id, "one", ME)
    (again,) = desk.claim(desk.runner())
    desk.store.settle(settlement(ended(again, questions=("2?",)), chance(desk, new_id)))
    (second,) = desk.store.approvals(ApprovalQuery())

    answer(desk.store, second.approval_id, "two", ME)

    assert [each.answer for each in answers_of(desk.store, claimed.task.task_id)] == ["one", "two"]


@pytest.mark.parametrize(
    "text", ["", " \n", "x" * 10_001, "a\0b", "\udcff"], ids=["empty", "blank", "long", "nul", "half"]
)
def test_an_answer_that_nobody_could_read_is_refused(desk, new_id, text):
    _, approval = blocked(desk, new_id)

    with desk.unchanged(), pytest.raises(Refused):
        answer(desk.store, approval.approval_id, text, ME)


def test_nothing_is_decided_twice(desk, new_id, office):
    _, approval = blocked(desk, new_id)
    reject(desk.store, approval.approval_id, "", "operator:first")

    for order in (
        lambda: approve(office, approval.approval_id, "", ME),
        lambda: reject(desk.store, approval.approval_id, "", ME),
        lambda: answer(desk.store, approval.approval_id, "yes", ME),
    ):
        with desk.unchanged(), pytest.raises(Refused, match="was rejected by operator:first"):
            order()


def test_an_id_that_nobody_has_is_a_mistake(office):
    with pytest.raises(OperatorError, match="no approval has the id"):
        approve(office, "nobody", "", ME)


@pytest.mark.parametrize(
    ("order", "status"),
    [(control.free, "pending"), (control.cancel, "operator_canceled")],
    ids=["freed", "canceled"],
)
def test_another_order_resolves_what_was_asked(desk, new_id, order, status):
    claimed, approval = blocked(desk, new_id)

    order(desk.store, claimed.task.task_id, "by hand", ME)

    assert desk.read(claimed.task.task_id).status == status
    found = desk.store.approval(approval.approval_id)
    assert (found.status, found.decided_by) == ("resolved", ME)


# --- other kinds ------------------------------------------------------------------------------------------------------


def asked(desk, kind, subject, **more):
    """An open approval of a kind."""
    approval = ApprovalRecord(
        approval_id=f"approval-{kind}",
        kind=kind,
        key=f"{kind}:{subject}",
        reason="because",
        created_at=desk.store.now(),
        decided_at=None,
        **more,
    )
    assert ask(desk.store, approval, POLICY)
    return approval.approval_id


def broken_adapter(desk):
    """An adapter that was not let in."""
    claimed = desk.running()
    breaker = Breaker(
        adapter_id="model", failures=1, kind="auth", reason="401", needs_person=True, updated_at=desk.store.now()
    )
    desk.settle(claimed, "pending", breaker=breaker)


def schedule(desk, schedule_id="s1", name="nightly", **changes):
    now = desk.store.now()
    record = RecurringScheduleRecord(
        schedule_id=schedule_id,
        name=name,
        enabled=False,
        interval_seconds=60,
        next_run_at=now,
        last_run_at=None,
        task=TaskIntent(task_type="note", source=f"schedule:{name}", payload={}),
        created_at=now,
        updated_at=now,
        disabled_reason="it failed",
        **changes,
    )
    assert desk.store.put_schedule(ScheduleOrder(record=record, was=None))


def test_an_approved_schedule_is_switched_on(desk, office):
    schedule(desk)
    approval_id = asked(desk, "schedule", "s1", schedule_id="s1")

    approve(office, approval_id, "", ME)

    record = desk.store.schedule("nightly").record
    assert (record.enabled, record.disabled_reason) == (True, None)
    assert desk.store.approval(approval_id).status == "approved"


def test_a_rejected_schedule_stays_off_and_nobody_is_asked_any_more(desk):
    schedule(desk)
    approval_id = asked(desk, "schedule", "s1", schedule_id="s1")

    reject(desk.store, approval_id, "leave it", ME)

    assert not desk.store.schedule("nightly").record.enabled
    assert desk.store.approvals(ApprovalQuery()) == []


def test_an_approved_sensor_is_switched_on_with_no_failures_behind_it(desk, office):
    state = SensorState(sensor_id="github", next_run_at=desk.store.now(), failures=5, reason="no", paused=True)
    assert desk.store.put_sensor(state, Beside())
    approval_id = asked(desk, "sensor", "github")

    approve(office, approval_id, "", ME)

    sensor = desk.store.sensor("github")
    assert (sensor.paused, sensor.failures) == (False, 0)


def test_an_approved_message_is_sent_again(desk, office):
    item = OutboxItem(
        key="notice/1",
        kind="external_message",
        task_id=None,
        attempt_id=None,
        payload={"channel": "phone", "text": "hello"},
        created_at=desk.store.now(),
    )
    desk.store.ask(Beside(outbox=(item,)))
    assert desk.store.give_up("notice/1", "nobody answers", Beside())
    approval_id = asked(desk, "message", "notice/1")

    done = approve(office, approval_id, "try again", ME)

    assert desk.store.outbox_item("notice/1").status == "pending"
    assert (done.status, done.decided_by) == ("approved", ME)
    assert len(events(desk, "approval_decided")) == 1
    (retried,) = events(desk, "delivery_retried")
    assert (retried["kind"], retried["previous_status"]) == ("external_message", "dead")


def test_a_message_that_has_left_meanwhile_is_not_sent_again(desk, office):
    item = OutboxItem(
        key="m", kind="external_message", task_id=None, attempt_id=None, payload={}, created_at=desk.store.now()
    )
    desk.store.ask(Beside(outbox=(item,)))
    approval_id = asked(desk, "message", "m")

    with desk.unchanged(), pytest.raises(Refused, match="only what is dead or refused"):
        approve(office, approval_id, "", ME)


def test_an_order_resolves_what_was_asked_about_a_schedule_a_sensor_a_message(desk):
    schedule(desk)
    assert desk.store.put_sensor(SensorState(sensor_id="eye", next_run_at=desk.store.now(), paused=True), Beside())
    item = OutboxItem(
        key="m", kind="external_message", task_id=None, attempt_id=None, payload={}, created_at=desk.store.now()
    )
    desk.store.ask(Beside(outbox=(replace(item, status="dead", reason="gone"),)))
    asks = [asked(desk, "schedule", "s1", schedule_id="s1"), asked(desk, "sensor", "eye"), asked(desk, "message", "m")]

    schedules.resume(desk.store, "nightly", "by hand", ME)
    sensors.resume(desk.store, "eye", "by hand", ME)
    redeliver(desk.store, "m", "by hand", ME)

    found = [desk.store.approval(each) for each in asks]
    assert {(each.status, each.decided_by, each.answer) for each in found} == {("resolved", ME, "by hand")}
    assert [subject for kind, subject in desk.ledger() if kind == "approval_decided"] == asks


def test_what_is_held_again_at_once_stays_open(desk, office, monkeypatch):
    schedule(desk)
    approval_id = asked(desk, "schedule", "s1", schedule_id="s1")
    monkeypatch.setattr("keisei.engine.approval.lift", lambda *_given: None)

    with desk.unchanged(), pytest.raises(Refused, match="held again at once"):
        approve(office, approval_id, "", ME)

    assert desk.store.approval(approval_id).status == "open"


def test_what_is_no_task_is_not_answered(desk):
    schedule(desk)
    approval_id = asked(desk, "schedule", "s1", schedule_id="s1")

    with desk.unchanged(), pytest.raises(Refused, match="is about a schedule"):
        answer(desk.store, approval_id, "42", ME)


def test_that_a_message_could_not_be_delivered_is_told_by_no_other_message(desk):
    item = OutboxItem(
        key="m", kind="external_message", task_id=None, attempt_id=None, payload={}, created_at=desk.store.now()
    )
    desk.store.ask(Beside(outbox=(item,)))
    desk.store.give_up("m", "gone", Beside())
    asked(desk, "message", "m")

    remind(desk.store, POLICY)
    desk.clock.advance(48 * HOUR_S)
    remind(desk.store, POLICY)

    assert messages(desk) == ["m"]
    assert len(events(desk, "approval_overdue")) == 1


# --- adapters: an outage that nobody sees, because the alert goes when it ends ---------------------------------------


def test_an_adapter_that_is_not_let_in_asks_once_however_many_runners_look(desk, new_id):
    broken_adapter(desk)

    assert raise_breakers(desk.store, POLICY, new_id) == 1
    assert raise_breakers(desk.another(), POLICY, new_id) == 0

    (approval,) = desk.store.approvals(ALL)
    assert (approval.kind, approval.key, approval.reason) == (
        "adapter",
        "adapter:model",
        "adapter `model` is left alone: 401",
    )
    assert messages(desk) == [f"approval:{approval.approval_id}/{channel}" for channel in POLICY.notify]


def test_approving_lets_the_adapter_be_used_again(desk, new_id, office):
    broken_adapter(desk)
    raise_breakers(desk.store, POLICY, new_id)
    (approval,) = desk.store.approvals(ApprovalQuery())

    approve(office, approval.approval_id, "logged in", ME)

    assert desk.store.breakers() == []
    assert raise_breakers(desk.store, POLICY, new_id) == 0


def test_the_record_of_an_outage_survives_the_recovery(desk, new_id):
    broken_adapter(desk)
    raise_breakers(desk.store, POLICY, new_id)
    desk.store.reset_breaker("model", ME)

    remind(desk.store, POLICY)

    (approval,) = desk.store.approvals(ALL)
    assert (approval.status, approval.decided_by) == ("resolved", "engine:approval")
    assert approval.reason.endswith("401")


def test_a_rejected_adapter_is_not_asked_about_until_it_fails_anew(desk, new_id):
    broken_adapter(desk)
    raise_breakers(desk.store, POLICY, new_id)
    (approval,) = desk.store.approvals(ApprovalQuery())
    desk.clock.advance(5)
    reject(desk.store, approval.approval_id, "we know", ME)

    assert raise_breakers(desk.store, POLICY, new_id) == 0
    desk.clock.advance(5)
    desk.store.wake_due()
    broken_adapter(desk)
    assert raise_breakers(desk.store, POLICY, new_id) == 1


# --- deadlines --------------------------------------------------------------------------------------------------------


def test_what_is_overdue_is_told_again_once(desk, new_id):
    _, approval = blocked(desk, new_id)
    assert remind(desk.store, POLICY) == 0
    desk.clock.advance(25 * HOUR_S)

    assert [remind(desk.store, POLICY) for _ in range(3)] == [1, 0, 0]

    assert messages(desk)[2:] == [f"approval:{approval.approval_id}/{each}/overdue" for each in POLICY.notify]
    assert [each["approval_id"] for each in events(desk, "approval_overdue")] == [approval.approval_id]
    assert desk.store.approval(approval.approval_id).status == "open"


def test_what_is_overdue_is_rejected_where_the_project_says_so(desk, new_id):
    claimed, approval = blocked(desk, new_id)
    policy = ProjectApprovals(on_deadline="reject")
    desk.clock.advance(25 * HOUR_S)

    assert [remind(desk.store, policy) for _ in range(2)] == [1, 0]

    found = desk.store.approval(approval.approval_id)
    assert (found.status, found.decided_by) == ("expired", "engine:deadline")
    assert desk.read(claimed.task.task_id).status == "operator_canceled"


def bare(desk, schedule_id="s1"):
    """An approval about a schedule, as moves raise it that know no policy."""
    approval = ApprovalRecord(
        approval_id=f"bare-{schedule_id}",
        kind="schedule",
        key=f"schedule:{schedule_id}",
        reason="off",
        schedule_id=schedule_id,
        created_at=desk.store.now(),
        decided_at=None,
    )
    assert desk.store.ask(Beside(approvals=(approval,)))
    return approval


def test_what_was_raised_without_a_policy_is_announced_once_with_deadline_messages_and_event(desk):
    schedule(desk)
    approval = bare(desk)

    remind(desk.store, POLICY)
    remind(desk.another(), POLICY)

    assert messages(desk) == ["approval:bare-s1/console", "approval:bare-s1/phone"]
    assert desk.store.approval("bare-s1") == replace(approval, deadline=approval.created_at + timedelta(hours=24))
    assert [each["approval_id"] for each in events(desk, "approval_asked")] == ["bare-s1"]
    desk.clock.advance(25 * HOUR_S)
    assert [remind(desk.store, POLICY) for _ in range(2)] == [1, 0]


def test_what_nobody_has_announced_in_time_is_told_again_at_once(desk):
    schedule(desk)
    bare(desk)
    desk.clock.advance(25 * HOUR_S)

    assert [remind(desk.store, POLICY) for _ in range(2)] == [1, 0]

    assert (len(events(desk, "approval_asked")), len(events(desk, "approval_overdue"))) == (1, 1)


@pytest.mark.parametrize("policy", [POLICY, ProjectApprovals(on_deadline="reject")], ids=["remind", "reject"])
def test_what_is_overdue_is_looked_after_however_many_newer_ones_wait(desk, monkeypatch, policy):
    monkeypatch.setattr("keisei.engine.approval.MOST", 2)
    for number in range(7):
        schedule(desk, schedule_id=f"s{number}", name=f"nightly {number}")
        bare(desk, f"s{number}")
    desk.clock.advance(25 * HOUR_S)

    assert sum(remind(desk.store, policy) for _ in range(7)) == 7

    assert len(desk.store.approvals(ApprovalQuery(undated=True))) == 0
    assert len(desk.store.approvals(ApprovalQuery(overdue_at=desk.store.now()))) == 0


def test_only_who_asks_first_tells_of_it(desk):
    broken_adapter(desk)
    asked(desk, "adapter", "model")

    again = replace(desk.store.approval("approval-adapter"), approval_id="another")
    with desk.unchanged():
        assert not ask(desk.store, again, POLICY)


def test_a_row_that_cannot_be_read_harms_no_other(desk, new_id):
    asked(desk, "sensor", "eye")
    claimed, approval = blocked(desk, new_id)
    desk.sql("UPDATE approvals SET record = 'nope' WHERE approval_id = 'approval-sensor'")
    desk.clock.advance(25 * HOUR_S)

    assert remind(desk.store, POLICY) == 1

    assert [each.approval_id for each in desk.store.approvals(ApprovalQuery())] == [approval.approval_id]
    with pytest.raises(OperatorError, match="the stored approval approval-sensor cannot be read"):
        reject(desk.store, "approval-sensor", "", ME)
    desk.sql("UPDATE approvals SET record = '{}'")
    control.cancel(desk.store, claimed.task.task_id, "", ME)
    assert desk.read(claimed.task.task_id).status == "operator_canceled"


def test_one_approval_whose_subject_is_gone_harms_no_other(desk, new_id):
    asked(desk, "schedule", "never-was", schedule_id="never-was")
    asked(desk, "workflow", "never-was", workflow_id="never-was")
    _, approval = blocked(desk, new_id)
    desk.clock.advance(25 * HOUR_S)

    assert remind(desk.store, POLICY) == 1

    assert [each.approval_id for each in desk.store.approvals(ApprovalQuery())] == [approval.approval_id]


@pytest.mark.parametrize("channel", ["x" * 2000, "a\0b", "é" * 600, "\ud800"], ids=["long", "nul", "wide", "half"])
def test_a_channel_whose_name_no_key_can_hold_keeps_no_task_from_being_settled(desk, new_id, channel):
    policy = ProjectApprovals(notify=(channel, "console"))
    claimed = desk.running()
    outcome = TaskOutcome(status="blocked", machine_status="blocked", operator_summary="stuck")
    ended = Ended(claimed=claimed, exit_status="ok", outcome=outcome, escalation="orchestrator-notify")

    assert desk.store.settle(settlement(ended, replace(chance(desk, new_id), approvals=policy))) == "settled"

    assert len(messages(desk)) == 4
