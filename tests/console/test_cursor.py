"""Cursors: a list that cannot go on where it is asked to says so; nobody takes it for the end."""

import pytest

from keisei.records.move import NewTask
from keisei.testing.queue import new_task
from tests.console.house import open_house

LISTS = ("/tasks", "/attempts", "/landings", "/approvals", "/workflows", "/pipes")
"""Those that go on behind one of their rows."""
PLACES = ("/events", "/ledger", "/schedules/nightly", "/sensors/webhook:gh")
"""Those that go on at a place, which stays good when its row is gone."""
PROJECT = '[project]\nname = "house"\n[webhooks.gh]\nkind = "github"\nsecret-env = "KS_SECRET"\n'


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with open_house(tmp_path_factory.mktemp("cursor"), project=PROJECT) as opened:
        told = {"every": "1d", "task_type": "script", "payload": {"args": ["-c", "true"]}}
        assert opened.order("/schedules", name="nightly", **told).status_code == 200
        yield opened


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("cursor", ["nobody", "%00", "%F0%9F%8C%B1", "0"])
def test_a_row_that_is_not_there_is_refused_to_programs_and_to_people(house, path, cursor):
    answer = house.client.get(f"/api/v1{path}?after={cursor}")

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "after")
    assert house.client.get(f"{path}?after={cursor}").status_code == 422


@pytest.mark.parametrize("path", PLACES)
@pytest.mark.parametrize("cursor", ["nobody", "%00", "-1", "1.5", "9" * 30])
def test_what_is_no_place_is_refused_to_programs_and_to_people(house, path, cursor):
    assert house.client.get(f"/api/v1{path}?after={cursor}").status_code == 422
    assert house.client.get(f"{path}?after={cursor}").status_code == 422


@pytest.mark.parametrize("path", LISTS + PLACES)
def test_a_program_that_says_nothing_behind_the_word_is_refused(house, path):
    assert house.client.get(f"/api/v1{path}?after=").status_code == 422


def test_the_last_row_of_a_list_is_its_end_and_no_fault(house):
    house.store.enqueue([NewTask(task=new_task("only", house.store.now()))])

    assert house.api("/tasks", after="only")["items"] == []
    assert house.api("/tasks", after="only", text="elsewhere")["items"] == []
