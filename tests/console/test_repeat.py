"""An order with an `Idempotency-Key` is carried out once."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from keisei.records.error import WorldFault
from keisei.records.move import TaskQuery
from tests.console.house import open_house

SCRIPT = {"task_type": "script", "payload": {"args": ["-c", "true"]}}


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


def _sent(house, key, body=SCRIPT):
    return house.client.post("/api/v1/tasks", json=body, headers={"Idempotency-Key": key})


def _tasks(house):
    return house.store.tasks(TaskQuery())


def test_the_same_again_is_answered_as_the_first_time(house):
    first, again = _sent(house, "k-1"), _sent(house, "k-1")
    assert first.status_code == 201
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert len(_tasks(house)) == 1


def test_another_key_is_another_order(house):
    assert _sent(house, "k-1").json() != _sent(house, "k-2").json()
    assert len(_tasks(house)) == 2


def test_a_key_that_was_used_for_something_else_is_refused(house):
    _sent(house, "k-1")
    told = _sent(house, "k-1", {**SCRIPT, "priority": 9})
    assert told.status_code == 422
    assert "used for something else" in told.json()["detail"]
    assert len(_tasks(house)) == 1


def test_what_failed_may_be_tried_again_under_its_key(house):
    assert _sent(house, "k-1", {"task_type": "nothing-like-it"}).status_code == 422
    assert _sent(house, "k-1").status_code == 201


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 201, "\x7f"])
def test_a_key_that_is_none_is_told(house, key):
    assert _sent(house, key).status_code == 422
    assert _tasks(house) == []


def test_many_at_once_are_one(house):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: _sent(house, "k-1").status_code, range(8)))
    assert set(answers) <= {201, 409}
    assert len(_tasks(house)) == 1


def test_what_was_carried_out_is_told_although_its_answer_cannot_be_kept(house, monkeypatch):
    def full(_answer):
        raise WorldFault("the disk is full")

    monkeypatch.setattr(house.store, "answer_request", full)
    assert _sent(house, "k-1").status_code == 201
    assert _sent(house, "k-1").status_code == 409
    assert len(_tasks(house)) == 1
