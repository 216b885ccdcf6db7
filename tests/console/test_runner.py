"""Runners: who is heard and who is not, and the orders that stop and let go on."""

from datetime import timedelta

import pytest

from keisei.records.move import ClaimOrder, NewTask
from keisei.records.runner import RunnerRecord
from keisei.testing.queue import new_task
from tests.console.house import VIEWER, open_house


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


def register(house, runner_id="runner-1", lease_s=600.0, host="host"):
    now = house.store.now()
    told = {"boot_id": "boot", "pid": 7, "born": "1", "version": "0", "slots": 2, "lease_s": lease_s, "host": host}
    house.store.register(RunnerRecord(runner_id=runner_id, started_at=now, heartbeat_at=now, **told))
    return runner_id


def run_one(house, runner_id):
    house.store.enqueue([NewTask(task=new_task("task-1", house.store.now()))])
    (claimed,) = house.store.claim(ClaimOrder(runner_id=runner_id, attempt_ids=("attempt-1",)))
    return claimed


def test_without_a_runner_the_page_says_how_to_start_one(house):
    assert house.api("/runners") == {"items": [], "pauses": [], "loops": [], "more": False}
    assert "keisei up" in house.page("/runners")


def test_a_runner_is_shown_with_what_it_has_in_its_hands(house):
    run_one(house, register(house, host="<b>host</b>"))

    (line,) = house.api("/runners")["items"]
    shown = house.page("/runners")

    assert (line["alive"], line["running"], line["paused"]) == (True, 1, None)
    assert "1 of 2" in shown
    assert "&lt;b&gt;host&lt;/b&gt;" in shown


def test_a_runner_that_is_silent_for_longer_than_its_lease_is_not_called_alive(house, monkeypatch):
    register(house, lease_s=5.0)
    later = house.store.now() + timedelta(seconds=6)
    monkeypatch.setattr(house.premises, "now", lambda: later)

    assert house.api("/runners")["items"][0]["alive"] is False


def test_runners_that_have_ended_are_shown_when_they_are_asked_for(house):
    house.store.leave(register(house))

    assert house.api("/runners")["items"] == []
    (line,) = house.api("/runners", gone="true")["items"]
    assert (line["alive"], line["runner"]["state"]) == (False, "stopped")


def test_claiming_is_paused_and_resumed(house):
    register(house)

    assert house.order("/runners/pause", reason="the disk is full").json() == {"scope": "all", "paused": True}
    assert house.api("/runners")["items"][0]["paused"] == "the disk is full"
    assert "All runners are paused" in house.page("/runners")
    assert house.order("/runners/resume").json() == {"scope": "all", "paused": False}
    assert house.api("/runners")["pauses"] == []


def test_one_runner_is_paused_by_a_form_and_resumed(house):
    runner_id = register(house)

    answer = house.form("/runners/pause", runner_id=runner_id, reason="")

    assert (answer.status_code, answer.headers["location"]) == (303, "/runners")
    assert [each["scope"] for each in house.api("/runners")["pauses"]] == [runner_id]
    house.form("/runners/resume", runner_id=runner_id)
    assert house.api("/runners")["pauses"] == []


def test_a_runner_drains(house):
    runner_id = register(house)

    assert house.order(f"/runners/{runner_id}/drain").json() == {"runner_id": runner_id, "draining": True}
    assert house.api("/runners")["items"][0]["runner"]["state"] == "draining"
    (entry,) = house.store.entries()
    assert (entry.kind, entry.actor, entry.subject) == ("runner_drained", "operator:tester", runner_id)


def test_the_emergency_stop_ends_what_runs_and_says_who_ordered_it(house):
    run_one(house, register(house))

    assert house.order("/runners/estop", reason="it deletes files").json()["asked_to_end"] == ["task-1"]
    assert house.store.is_canceled("task-1")
    assert [each["reason"] for each in house.api("/runners")["pauses"]] == ["it deletes files"]
    assert {each.actor for each in house.store.entries()} == {"operator:tester"}


@pytest.mark.parametrize("path", ["/runners/pause", "/runners/resume"])
def test_a_runner_nobody_knows_takes_no_order(house, path):
    told = house.order(path, runner_id="nobody")

    assert told.status_code == 422
    assert "nobody" in told.json()["detail"]


def test_a_runner_nobody_knows_does_not_drain(house):
    assert house.order("/runners/no%00body/drain").status_code == 404


def test_a_runner_that_has_ended_does_not_drain(house):
    house.store.leave(register(house))

    assert house.order("/runners/runner-1/drain").status_code == 422


def test_a_viewer_stops_nothing(tmp_path):
    with open_house(tmp_path, visitor=VIEWER) as house:
        register(house)

        for each in ("pause", "resume", "estop", "runner-1/drain"):
            assert house.order(f"/runners/{each}").status_code == 403
            assert house.form(f"/runners/{each}").status_code == 403
        assert 'action="/runners/' not in house.page("/runners")
        assert house.store.pauses() == []
