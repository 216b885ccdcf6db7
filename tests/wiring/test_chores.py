"""Chores: what a runner does beside, and that it waits between."""

from datetime import timedelta

import pytest

from keisei.engine import schedule
from keisei.engine.control import pause
from keisei.wiring.fresh import new_id
from keisei.wiring.registry import defaults_of
from tests.wiring.house import House


@pytest.fixture
def house(tmp_path):
    made = House(tmp_path)
    yield made
    made.close()


def test_a_paused_runner_with_a_schedule_that_is_due_does_not_spin(house):
    due = {"name": "due", "interval_seconds": 60, "task": {"task_type": "answering", "source": "s", "payload": {}}}
    schedule.upsert(house.store, house.shop.registry, defaults_of(house.home), new_id, due, "test", print)
    pause(house.store, "lunch", "test")
    runner = house.runner()
    chores = runner._hall.chores

    chores.begin_work(ended=False)

    assert house.store.next_slot() <= house.store.now()
    assert chores.due_at() is None
    assert house.tasks() == []


def test_a_runner_waits_for_the_next_slot(house):
    later = {"name": "later", "interval_seconds": 60, "next_run_at": _stamp(house.store.now() + timedelta(minutes=1))}
    data = later | {"task": {"task_type": "answering", "source": "s", "payload": {}}}
    schedule.upsert(house.store, house.shop.registry, defaults_of(house.home), new_id, data, "test", print)
    chores = house.runner()._hall.chores

    chores.begin_work(ended=False)

    assert chores.due_at() == house.store.next_slot()


def _stamp(moment):
    return moment.isoformat().replace("+00:00", "Z")
