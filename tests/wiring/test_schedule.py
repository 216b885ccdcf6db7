"""Schedules at work: every due moment is one row, whatever clocks, crashes and people do."""

import threading
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.engine import schedule as schedules
from keisei.records.answer import ApprovalQuery
from keisei.records.error import ContractViolation, KeiseiError, OperatorError, Refused, WorldFault
from keisei.records.task import TERMINAL
from keisei.rules.schedule import patience
from tests.wiring.observatory import TASK, Observatory


@pytest.fixture
def sky(tmp_path):
    made = Observatory(tmp_path)
    yield made
    made.close()


def approvals(sky):
    return sky.store.approvals(ApprovalQuery())


# --- moments ----------------------------------------------------------------------------------------------------------


def test_a_due_schedule_queues_one_ordinary_task(sky):
    made = sky.upsert(name="nightly").record
    now = sky.clock.now()

    ticked = sky.tick()

    (task,) = sky.tasks()
    assert ticked.task_ids == (task.task_id,)
    assert ticked.evaluated == 1
    assert task.source == "schedule:nightly:2026-01-01T00:00:00.000Z"
    assert task.idempotency_key == f"schedule:{made.schedule_id}:2026-01-01T00:00:00.000Z"
    assert task.schedule_id == made.schedule_id
    assert task.available_at == now
    assert sky.schedule("nightly").record.next_run_at == now + timedelta(seconds=60)
    assert sky.schedule("nightly").task_id == task.task_id
    assert sky.events("schedule_task_created") == [
        {"schedule_id": made.schedule_id, "schedule_name": "nightly", "due_at": "2026-01-01T00:00:00.000Z"}
    ]
    assert sky.tick().evaluated == 0


def test_a_source_that_the_task_names_is_kept(sky):
    sky.upsert(task=TASK | {"source": "team:night"})
    sky.tick()

    assert sky.tasks()[0].source == "team:night:2026-01-01T00:00:00.000Z"


def test_missed_moments_are_one_task_and_a_row_that_counts_them(sky):
    sky.upsert()
    sky.tick()
    sky.finish(sky.tasks()[0].task_id)
    sky.clock.advance(60 * 10 + 30)

    sky.tick()

    assert sky.slots() == [("enqueued", 1), ("coalesced", 9), ("enqueued", 1)]
    (told,) = sky.events("schedule_slots_coalesced")
    assert told["count"] == 9
    assert told["reason"] == "missed, and one with 2026-01-01T00:10:00.000Z"
    assert sky.schedule().record.next_run_at == sky.clock.now() + timedelta(seconds=60)
    assert len(sky.tasks()) == 2


def test_ten_years_of_seconds_are_two_rows(sky):
    sky.upsert(interval_seconds=1)
    sky.clock.advance(10 * 365 * 86_400)

    sky.tick()

    assert sky.slots() == [("coalesced", 10 * 365 * 86_400), ("enqueued", 1)]


def test_a_slot_is_skipped_while_the_task_before_it_is_not_finished(sky):
    sky.upsert()
    sky.tick()
    sky.clock.advance(200)

    sky.tick()

    assert sky.slots() == [("enqueued", 1), ("skipped", 3)]
    newest = sky.store.slots(None, 1)[0]
    assert newest.reason == f"task {sky.tasks()[0].task_id} of an earlier slot is pending"
    assert sky.events("schedule_slots_skipped")[0]["count"] == 3
    sky.finish(sky.tasks()[0].task_id)
    sky.clock.advance(60)
    sky.tick()
    assert sky.slots()[2:] == [("enqueued", 1)]


def test_a_slot_is_queued_all_the_same_where_that_is_wanted(sky):
    sky.upsert(overlap="queue")
    sky.tick()
    sky.clock.advance(60)
    sky.tick()

    assert len([each for each in sky.tasks() if each.status not in TERMINAL]) == 2


def test_once_is_once(sky):
    sky.upsert(once=True, interval_seconds=1800)
    assert sky.tick().evaluated == 0
    sky.clock.advance(1800 * 3)

    sky.tick()
    sky.clock.advance(1800 * 3)
    sky.tick()

    assert sky.slots() == [("enqueued", 1)]
    assert not sky.schedule().record.enabled


def test_a_paused_dispatcher_evaluates_nothing_and_coalesces_afterwards(sky):
    sky.upsert()
    sky.pause()
    sky.clock.advance(300)

    assert sky.tick().evaluated == 0
    assert sky.slots() == []
    sky.pause(paused=False)
    sky.tick()
    assert sky.slots() == [("coalesced", 5), ("enqueued", 1)]


# --- clocks -----------------------------------------------------------------------------------------------------------


def test_a_clock_that_was_set_back_stops_nothing(sky):
    sky.upsert(overlap="queue")
    sky.clock.jump(4 * 365 * 86_400)
    sky.tick()
    sky.clock.jump(-4 * 365 * 86_400)

    assert sky.tick().evaluated == 0
    assert sky.schedule().record.next_run_at == sky.clock.now() + timedelta(seconds=60)
    version = sky.schedule().version
    sky.tick()
    assert sky.schedule().version == version, "where nothing changes nothing is written"
    sky.clock.advance(60)
    assert sky.tick().evaluated == 1
    assert sky.schedule().record.last_run_at == sky.clock.now()


def test_a_skipped_slot_of_the_future_does_not_silence_a_schedule_either(sky):
    sky.upsert()
    sky.tick()
    sky.clock.jump(4 * 365 * 86_400)
    sky.tick()
    assert sky.slots()[-1][0] == "skipped"
    sky.clock.jump(-4 * 365 * 86_400)
    sky.finish(sky.tasks()[0].task_id)
    sky.tick()
    sky.clock.advance(60)

    assert len(sky.tick().task_ids) == 1


def test_a_moment_that_comes_a_second_time_is_a_second_task(sky):
    sky.upsert(overlap="queue")
    sky.tick()
    sky.clock.jump(-60)
    sky.tick()
    sky.clock.advance(60)

    sky.tick()

    assert len(sky.tasks()) == 2
    assert len({each.idempotency_key for each in sky.tasks()}) == 2


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("advance"), st.integers(0, 10_000)),
        st.tuples(st.just("ahead"), st.integers(0, 10**8)),
        st.tuples(st.just("finish"), st.just(0)),
        st.tuples(st.just("pause"), st.booleans()),
    ),
    max_size=12,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, st.integers(1, 5000), st.sampled_from(["skip", "queue"]))
def test_every_due_moment_stands_in_exactly_one_row(tmp_path_factory, steps, interval, overlap):
    sky = Observatory(tmp_path_factory.mktemp("sky"))
    sky.upsert(interval_seconds=interval, overlap=overlap)
    expected = 0
    paused = False
    for what, value in [*steps, ("pause", False)]:
        if what == "advance":
            sky.clock.advance(value)
        elif what == "ahead":
            sky.clock.jump(value)
        elif what == "finish" and sky.schedule().task_id is not None:
            task = sky.store.task(sky.schedule().task_id)
            if task.status not in TERMINAL:
                sky.finish(task.task_id)
        elif what == "pause":
            paused = value
            sky.pause(paused=paused)
        before = sky.schedule().record.next_run_at
        sky.tick()
        if not paused and before <= sky.clock.now():
            expected += (sky.clock.now() - before) // timedelta(seconds=interval) + 1
            assert sky.schedule().record.next_run_at > sky.clock.now()
    rows = sky.store.slots(None, 1000)
    covered = sorted((each.first_due_at, each.due_at) for each in rows)

    assert sum(each.count for each in rows) == expected
    assert all(one[1] < other[0] for one, other in pairwise(covered))
    assert all(each.due_at - each.first_due_at == (each.count - 1) * timedelta(seconds=interval) for each in rows)
    assert len([each for each in rows if each.status == "enqueued"]) == len(sky.tasks())
    sky.close()


# --- looking as if it were another time -------------------------------------------------------------------------------


def test_a_look_into_2030_fires_the_next_slot_and_moves_nothing_to_2030(sky):
    sky.upsert(overlap="queue")
    sky.tick()
    year = sky.clock.now() + timedelta(days=4 * 365)

    assert len(sky.tick(at=year).task_ids) == 1
    assert sky.schedule().record.next_run_at == sky.clock.now() + timedelta(seconds=120)
    assert sky.tick(at=year).evaluated == 0
    sky.clock.advance(60)
    assert sky.tick().evaluated == 0, "that slot was brought forward"
    sky.clock.advance(60)
    assert sky.tick().evaluated == 1
    assert sky.slots() == [("enqueued", 1)] * 3


def test_a_look_ahead_skips_nothing(sky):
    sky.upsert()
    sky.tick()

    assert sky.tick(at=sky.clock.now() + timedelta(days=1)).evaluated == 0
    assert sky.slots() == [("enqueued", 1)]
    assert sky.schedule().record.next_run_at == sky.clock.now() + timedelta(seconds=60)


def test_a_look_into_the_past_counts_moments_up_to_it(sky):
    sky.upsert(overlap="queue")
    begin = sky.clock.now()
    sky.clock.advance(600)

    sky.tick(at=begin + timedelta(seconds=120))

    assert sky.slots() == [("coalesced", 2), ("enqueued", 1)]
    assert sky.schedule().record.next_run_at == begin + timedelta(seconds=180)
    sky.tick()
    assert sum(count for _, count in sky.slots()) == 11


# --- poison -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        {"task": {}},
        {"task": None},
        {"task": "x"},
        {"task": TASK | {"payload": []}},
        {"task": TASK | {"task_type": "nope"}},
        {"task": TASK | {"requested_profile_id": "nope"}},
        {"task": TASK | {"requested_adapter_id": "nope"}},
        {"task": TASK | {"skill_ids": ["nope"]}},
        {"task": TASK | {"payload": {"args": "no list"}}},
        {"task": TASK | {"priority": "high"}},
        {"task": TASK | {"max_attempts": 0}},
        {"task": TASK | {"available_at": "2030-01-01T00:00:00Z"}},
        {"task": TASK | {"idempotency_key": "k"}},
        {"interval_seconds": 0},
        {"interval_seconds": -1},
        {"interval_seconds": 0.5},
        {"interval_seconds": "60"},
        {"interval_seconds": 10**12},
        {"interval_seconds": None},
        {"next_run_at": "soon"},
        {"next_run_at": "2026-01-01T00:00:00"},
        {"next_run_at": "0001-01-01T00:00:00+23:00"},
        {"name": ""},
        {"name": "a\nb"},
        {"name": "x" * 200},
        {"name": 7},
        {"schedule_id": "a\0b"},
        {"delay": -1},
        {"delay": "5m"},
        {"overlap": "maybe"},
        {"unknown": 1},
    ],
    ids=str,
)
def test_a_poison_schedule_is_refused_at_the_door(sky, data):
    with pytest.raises(KeiseiError):
        sky.upsert(**data)

    assert sky.store.schedules() == []


@pytest.mark.parametrize("data", [None, [], "x", 7, {}])
def test_what_is_no_schedule_at_all_is_refused_in_words(sky, data):
    with pytest.raises(ContractViolation):
        schedules.upsert(sky.office, data, "a")


@pytest.mark.parametrize("record", ["", "{}", "null", "not json", '{"task": {}}', "[" * 5000])
def test_a_row_that_cannot_be_read_harms_only_itself(sky, record):
    sky.upsert(name="bad", next_run_at="2025-01-01T00:00:00Z")
    sky.upsert(name="good")
    sky.sql("UPDATE schedules SET record = ? WHERE name = 'bad'", record)

    sky.tick()

    assert [each.source.split(":")[1] for each in sky.tasks()] == ["good"]
    assert sky.slots("bad") == [("skipped", 1)]
    assert [(each.kind, each.key) for each in approvals(sky)] == [
        ("schedule", f"schedule:{sky.schedule('bad').schedule_id}")
    ]
    sky.clock.advance(60)
    sky.tick()
    assert sky.slots("bad") == [("skipped", 1)], "it is switched off"
    assert len(approvals(sky)) == 1
    schedules.delete(sky.store, "bad", "poison", "operator:test")
    assert [each.name for each in sky.store.schedules()] == ["good"]


def test_a_task_that_cannot_be_read_harms_only_its_own_schedule(sky):
    sky.upsert(name="bad")
    sky.upsert(name="good", overlap="queue")
    sky.tick()
    sky.sql("UPDATE tasks SET body = 'x' WHERE task_id = ?", sky.schedule("bad").task_id)
    sky.clock.advance(60)

    assert len(sky.tick().task_ids) == 1
    assert sky.slots("good") == [("enqueued", 1)] * 2
    assert sky.slots("bad") == [("enqueued", 1), ("skipped", 1)]


def test_a_store_that_is_away_uses_up_no_slot(sky, monkeypatch):
    sky.upsert()
    sky.tick()
    sky.clock.advance(60)

    def away(_task_id):
        raise WorldFault("the database does not answer", retryable=True)

    with monkeypatch.context() as gone:
        gone.setattr(sky.store, "task", away)
        with pytest.raises(WorldFault):
            sky.tick()
    assert sky.slots() == [("enqueued", 1)]


def test_a_row_whose_columns_say_something_else_than_its_record_is_put_right(sky):
    sky.upsert(name="late", next_run_at="2026-06-01T00:00:00Z")
    sky.upsert(name="off", enabled=False)
    sky.sql("UPDATE schedules SET next_run_at = 0, enabled = 1")

    assert sky.tick().evaluated == 0
    assert sky.store.due_schedules() == []
    assert sky.tasks() == []
    assert sky.store.next_slot().isoformat() == "2026-06-01T00:00:00+00:00"


def test_an_unreadable_row_is_replaced_by_adding_it_again(sky):
    made = sky.upsert()
    sky.sql("UPDATE schedules SET record = 'x'")

    again = sky.upsert()

    assert again.schedule_id == made.schedule_id
    assert again.record is not None
    assert len(sky.tick().task_ids) == 1


def test_a_task_whose_type_is_gone_skips_and_then_asks_a_person(sky):
    types = sky.root / ".keisei" / "task-types"
    (types / "schemas").mkdir(parents=True)
    (types / "schemas" / "any.json").write_text('{"type": "object"}')
    own = types / "own.toml"
    own.write_text(
        'task_type = "own"\ndescription = "d"\npayload_schema_id = "schemas/any.json"\n'
        'default_profile_id = "script"\ndefault_adapter_id = "script"\n'
    )
    sky.upsert(name="own", task={"task_type": "own", "payload": {}})
    sky.upsert(name="other", overlap="queue")
    text = own.read_text()
    own.unlink()

    for _ in range(patience(60) - 1):
        sky.tick()
        sky.clock.advance(60)
        assert sky.schedule("own").record.enabled
    assert approvals(sky) == []
    sky.tick()

    assert sky.slots("own") == [("skipped", 1)] * patience(60)
    assert "no task-type is called `own`" in sky.store.slots(sky.schedule("own").schedule_id, 1)[0].reason
    assert not sky.schedule("own").record.enabled
    assert [each.kind for each in approvals(sky)] == ["schedule"]
    assert len(sky.tasks()) == patience(60), "the other one goes on"
    own.write_text(text)
    schedules.resume(sky.store, "own", "it is back", "operator:test")
    sky.clock.advance(60)
    assert len(sky.tick().task_ids) == 2
    own.unlink()
    sky.finish(sky.schedule("own").task_id)
    sky.clock.advance(60)
    sky.tick()
    assert sky.schedule("own").record.enabled, "it has all its patience again"


@pytest.mark.parametrize("source", ["workflow:w:plan", "task:t"])
def test_a_schedule_speaks_for_no_workflow_and_no_task(sky, source):
    with pytest.raises(Refused, match="only the runtime writes"):
        sky.upsert(task=TASK | {"source": source})

    assert sky.store.schedules() == []


def test_a_file_that_is_broken_for_some_minutes_switches_nothing_off(sky):
    sky.upsert(interval_seconds=1, overlap="queue")
    file = sky.root / "keisei.toml"
    text = file.read_text()
    file.write_text(f"{text}[[[")

    for _ in range(60):
        sky.tick()
        sky.clock.advance(5)
    assert sky.tasks() == []
    file.write_text(text)

    assert len(sky.tick().task_ids) == 1
    assert approvals(sky) == []


def test_files_that_cannot_be_read_at_all_use_up_nothing(sky):
    sky.upsert()

    def broken():
        raise OperatorError("keisei.toml is broken")

    assert schedules.tick(sky.office._replace(registry=broken)).evaluated == 0
    assert sky.slots() == []
    assert sky.tick().evaluated == 1


# --- orders -----------------------------------------------------------------------------------------------------------


def test_saying_the_same_twice_fires_nothing_and_keeps_the_next_slot(sky):
    first = sky.upsert(overlap="queue")
    sky.tick()
    sky.clock.advance(30)

    again = sky.upsert()

    assert again.schedule_id == first.schedule_id
    assert again.record.next_run_at == first.record.next_run_at + timedelta(seconds=60)
    assert again.record.overlap == "queue", "what is not named stays"
    assert sky.tick().evaluated == 0
    assert again.task_id is not None


def test_another_interval_or_moment_counts_from_now(sky):
    sky.upsert()
    sky.tick()

    assert sky.upsert(interval_seconds=5).record.next_run_at == sky.clock.now() + timedelta(seconds=5)
    assert sky.upsert(delay=7).record.next_run_at == sky.clock.now() + timedelta(seconds=7)
    moment = "2026-06-01T02:00:00+02:00"
    assert sky.upsert(next_run_at=moment).record.next_run_at.isoformat() == "2026-06-01T00:00:00+00:00"


def test_a_file_that_names_a_moment_long_ago_can_be_handed_over_again(sky):
    moment = "2025-12-31T23:00:00Z"
    sky.upsert(overlap="queue", next_run_at=moment)
    sky.tick()
    before = sky.schedule().record.next_run_at

    again = sky.upsert(next_run_at=moment)

    assert again.record.next_run_at == before
    assert sky.tick().evaluated == 0
    assert sky.slots() == [("coalesced", 60), ("enqueued", 1)]


def test_an_order_to_begin_later_stands_although_the_clock_was_set_back(sky):
    sky.upsert()
    sky.clock.jump(86_400)
    sky.tick()
    sky.clock.jump(-86_400)

    sky.upsert(next_run_at="2026-06-01T00:00:00Z")
    sky.tick()

    assert sky.schedule().record.next_run_at.isoformat() == "2026-06-01T00:00:00+00:00"


def test_the_originals_words_are_taken_with_one_warning(sky):
    task = {"kind": "script", "source": "who:what", "payload": {"args": ["-c", "true"]}, "requested_profile": "script"}

    made = sky.upsert(enabled=True, next_run_at=None, schedule_id=None, task=task)

    assert made.record.task.task_type == "script"
    assert sky.notes == [
        "schedule.record: `kind` is now `task_type`; `requested_profile` is now `requested_profile_id`"
    ]


def test_an_id_of_ones_own_is_kept_and_names_are_unique(sky):
    made = sky.upsert(schedule_id="mine")
    renamed = sky.upsert(schedule_id="mine", name="other")

    assert made.schedule_id == renamed.schedule_id == "mine"
    assert [each.name for each in sky.store.schedules()] == ["other"]
    with pytest.raises(Refused, match="is called `other` already"):
        sky.upsert(schedule_id="yours", name="other")
    with pytest.raises(OperatorError, match="one line"):
        sky.upsert(schedule_id="mine", name="a\nb")


def test_paused_is_paused_and_resumed_in_step(sky):
    sky.upsert(overlap="queue")
    sky.tick()
    schedules.pause(sky.store, "s", "holiday", "operator:test")
    begin = sky.clock.now()
    sky.clock.advance(60 * 10 + 15)
    assert sky.tick().evaluated == 0
    assert sky.schedule().record.disabled_reason == "holiday"

    resumed = schedules.resume(sky.store, "s", "back", "operator:test")

    assert resumed.record.enabled
    assert resumed.record.disabled_reason is None
    assert resumed.record.next_run_at == begin + timedelta(seconds=660)
    assert sky.tick().evaluated == 0
    sky.clock.advance(45)
    assert sky.tick().evaluated == 1
    assert sky.slots() == [("enqueued", 1)] * 2


def test_adding_it_again_does_not_switch_a_paused_one_on(sky):
    sky.upsert()
    schedules.pause(sky.store, "s", "holiday", "operator:test")

    assert not sky.upsert().record.enabled
    assert sky.upsert(enabled=True).record.enabled


def test_a_deleted_schedule_leaves_its_rows(sky):
    made = sky.upsert()
    sky.tick()

    schedules.delete(sky.store, "s", "done", "operator:test")

    assert sky.schedule() is None
    assert len(sky.store.slots(made.schedule_id)) == 1
    assert len(sky.tasks()) == 1
    with pytest.raises(OperatorError, match="no schedule is called"):
        schedules.pause(sky.store, "s", "x", "a")


def test_every_order_is_an_event_and_a_ledger_row(sky):
    made = sky.upsert()
    schedules.pause(sky.store, "s", "r1", "operator:test")
    schedules.resume(sky.store, "s", "r2", "operator:test")
    schedules.delete(sky.store, "s", "r3", "operator:test")
    sky.store.unsealed()

    rows = [(each.kind, each.actor, each.subject) for each in sky.store.entries()]
    assert [kind for kind, actor, subject in rows if (actor, subject) == ("operator:test", made.schedule_id)] == [
        "schedule_upserted",
        "schedule_paused",
        "schedule_resumed",
        "schedule_deleted",
    ]
    assert sky.events("schedule_upserted") == [{"name": "s", "schedule_id": made.schedule_id}]
    assert sky.events("schedule_paused")[0]["reason"] == "r1"
    assert sky.events("operator_ordered")[0]["order"] == "resume"
    assert sky.events("schedule_deleted")[0]["reason"] == "r3"


# --- many at once -----------------------------------------------------------------------------------------------------


def test_of_many_runners_one_fires_each_slot(sky):
    for number in range(5):
        sky.upsert(name=f"s{number}", overlap="queue")
    start = threading.Barrier(4)

    def run():
        start.wait()
        for _ in range(3):
            sky.tick()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(sky.tasks()) == 5
    assert sky.slots() == [("enqueued", 1)] * 5


def test_a_schedule_that_changed_meanwhile_is_left_to_the_next_look(sky):
    sky.upsert()
    (stale,) = sky.store.due_schedules()
    sky.upsert(interval_seconds=120)

    class Late:
        def __getattr__(self, name):
            return getattr(sky.store, name)

        def due_schedules(self, _limit):
            return [stale]

    assert schedules.tick(sky.office._replace(store=Late())).evaluated == 0
    assert sky.tasks() == []


def test_a_row_that_cannot_be_written_does_not_stop_the_others(sky):
    sky.upsert(name="a", next_run_at="2025-01-01T00:00:00Z")
    sky.upsert(name="b")

    class Stubborn:
        def __getattr__(self, name):
            return getattr(sky.store, name)

        def fire(self, firing):
            if firing.record.name == "a":
                raise ContractViolation("schedule.record", ["it cannot be written"])
            return sky.store.fire(replace(firing))

    assert schedules.tick(sky.office._replace(store=Stubborn())).evaluated == 1
    assert sky.slots("b") == [("enqueued", 1)]
