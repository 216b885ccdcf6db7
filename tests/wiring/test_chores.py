"""Chores: what a runner does beside, and that it waits between."""

from datetime import timedelta
from itertools import count

import pytest

from keisei.engine import schedule
from keisei.engine.control import pause
from keisei.engine.office import Office
from keisei.wiring import rhythm
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
    schedule.upsert(Office(house.store, house.shop.registry, defaults_of(house.home), new_id), due, "test", print)
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
    schedule.upsert(Office(house.store, house.shop.registry, defaults_of(house.home), new_id), data, "test", print)
    chores = house.runner()._hall.chores

    chores.begin_work(ended=False)

    assert chores.due_at() == house.store.next_slot()


def test_every_end_is_looked_at_for_loops_sooner_or_later(house, monkeypatch):
    chores, clock, looks = house.runner()._hall.chores, count(step=0.6), []
    monkeypatch.setattr(rhythm.time, "monotonic", lambda: now)
    monkeypatch.setattr(chores._detector, "look", lambda *_: looks.append(now))

    for ended in (True, True, False, False, False, False):
        now = next(clock)
        chores.go_on(ended=ended)

    assert looks == [0, 1.2]


def _stamp(moment):
    return moment.isoformat().replace("+00:00", "Z")
