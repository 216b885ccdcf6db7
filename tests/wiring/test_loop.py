"""Runs that succeed all night long and do nothing: paused by the real runner, held, and let go by a person."""

from keisei.engine.approval import approve
from keisei.engine.intake import Origin, accept, read_intent
from keisei.engine.office import Office
from keisei.records.answer import ApprovalQuery
from keisei.records.id import TaskId
from keisei.records.move import EventQuery
from keisei.wiring.fresh import new_id
from keisei.wiring.registry import defaults_of
from tests.wiring.house import House

ME = "operator:me"
SAME = """echo '{"status": "completed", "operator_summary": "nothing to do"}'"""


def observed(house, script=SAME, **origin):
    """A task that a sensor has asked for."""
    intent = read_intent({"task_type": "answering", "source": "sensor:mail", "payload": {"args": ["-c", script]}})
    origin = Origin(**({"sensor_event_id": "e1"} | origin))
    task = accept(
        intent,
        house.shop.registry(),
        defaults_of(house.home),
        origin=origin,
        task_id=TaskId(new_id()),
        now=house.store.now(),
    )
    return house.store.enqueue([task])[0].task_id


def test_a_loop_is_paused_held_and_let_go(tmp_path):
    house = House(tmp_path, runner="loop-after = 3")
    for _ in range(3):
        observed(house)
        house.run()
    (approval,) = house.store.approvals(ApprovalQuery())
    assert (approval.kind, approval.reason) == (
        "loop",
        "3 tasks in a row ended alike (completed): nothing to do",
    )

    held = observed(house)
    other = observed(house, SAME.replace("nothing", "something"))
    house.run()

    assert house.task(held).status == "blocked"
    assert house.task(held).last_error.startswith("held: work like this goes round in circles")
    assert house.attempts(held)[-1].bundle_id is None  # it was never begun
    assert house.task(other).status == "completed"
    assert house.store.approvals(ApprovalQuery()) == [approval]  # one question for all of them

    office = Office(house.store, house.shop.registry, defaults_of(house.home), new_id)
    approve(office, approval.approval_id, "it is fine", ME)
    house.run()

    assert house.task(held).status == "completed"
    assert house.store.pauses() == []
    assert len(house.store.events(EventQuery(event_type="loop_detected"))) == 1
    house.close()


def test_a_paused_loop_does_not_pause_dispatch(tmp_path):
    house = House(tmp_path, runner="loop-after = 2")
    for _ in range(2):
        observed(house)
        house.run()
    assert house.store.pauses() != []

    task = house.script(SAME)
    house.run()

    assert house.task(task).status == "completed"
    assert [each for each in house.lines if each.event == "paused"] == []
    house.close()


def test_work_that_changes_goes_on(tmp_path):
    house = House(tmp_path, runner="loop-after = 2")
    for number in range(4):
        observed(house, SAME.replace("nothing", f"{number} things"))
        house.run()

    assert house.store.approvals(ApprovalQuery(statuses=())) == []
    house.close()


def test_a_batch_that_a_person_queues_is_no_loop(tmp_path):
    house = House(tmp_path, runner="loop-after = 2")
    tasks = [house.script(SAME) for _ in range(6)]

    house.run()

    assert {house.task(each).status for each in tasks} == {"completed"}
    assert house.store.approvals(ApprovalQuery(statuses=())) == []
    house.close()
