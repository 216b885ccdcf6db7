"""Sensors: listed with how they are reached, run and switched off by hand, with everything they have observed."""

import pytest

from keisei.engine.sensor import observe
from keisei.records.error import OperatorError
from tests.console.house import OPERATOR, PROJECT, VIEWER, open_house
from tests.console.landings import HOSTILE
from tests.wiring.observatory import SKILL, event, saying

TASK = {"task_type": "script", "payload": {"args": ["-c", "true"]}}
TABLES = """
[sensors.eye]
every-s = 5.0
[sensors.nose]
[webhooks.gh]
kind = "github"
secret-env = "KS_SECRET"
"""


def skill(name, program):
    folder = f".keisei/skills/{name}"
    yield f"{folder}/SKILL.md", SKILL.format(name=name)
    yield f"{folder}/skill.toml", 'sensor_path = "sensor"\n'
    yield f"{folder}/sensor", program


def opened(tmp_path, program=None, **more):
    files = tuple(skill("eye", program or saying(event("a", proposed_task=TASK), {"cursor": {"n": 1}})))
    return open_house(tmp_path, project=PROJECT + TABLES, files=files, **more)


@pytest.fixture
def house(tmp_path, monkeypatch):
    monkeypatch.delenv("KS_SECRET", raising=False)
    with opened(tmp_path) as made:
        (made.root / ".keisei/skills/eye/sensor").chmod(0o755)
        yield made


def seen(house, key, **more):
    data = {"sensor_id": "stranger", "source_ref": "sky", "dedupe_key": key, "payload": {}, **more}
    return observe(house.premises.office(), data, "tester")


def test_sensors_are_listed_with_how_they_are_reached(house, monkeypatch):
    told = {each["line"]["sensor_id"]: each for each in house.api("/sensors")["items"]}

    assert {name: each["line"]["state"] for name, each in told.items()} == {
        "eye": "on",
        "nose": "missing",
        "webhook:gh": "on",
    }
    hook = told["webhook:gh"]["webhook"]
    assert (hook["address"], hook["fault"]) == ("/hooks/gh", "the variable KS_SECRET is not set")
    shown = house.page("/sensors")
    assert "/hooks/gh" in shown
    assert "not listening" in shown
    monkeypatch.setenv("KS_SECRET", "a secret that is long enough")
    assert house.api("/sensors/webhook:gh")["row"]["webhook"]["fault"] is None
    assert "a secret that is long" not in house.page("/sensors/webhook:gh")


def test_no_sensor_says_what_to_do(tmp_path):
    with open_house(tmp_path) as house:
        assert "Nothing is observed yet." in house.page("/sensors")


def test_a_form_runs_one_and_its_page_shows_what_it_saw(house):
    answer = house.form("/sensors/eye/run")

    assert (answer.status_code, answer.headers["location"]) == (303, "/sensors/eye")
    told = house.api("/sensors/eye")
    (found,) = told["items"]
    assert (found["status"], told["cursor"]) == ("accepted", {"n": 1})
    assert f"/tasks/{found['task_id']}" in house.page("/sensors/eye")
    assert house.order("/sensors/eye/run").json()["deduped"] == 1
    assert "1 deduped" in house.page("/sensors/eye")
    ordered = [each for each in house.store.entries() if each.kind == "sensor_ordered"]
    assert [(each.actor, each.subject) for each in ordered] == [("operator:tester", "eye")] * 2


def test_a_run_that_fails_says_why(tmp_path):
    with opened(tmp_path, "#!/bin/sh\necho no network >&2\nexit 7\n") as house:
        (house.root / ".keisei/skills/eye/sensor").chmod(0o755)
        assert "no network" in house.order("/sensors/eye/run").json()["fault"]
        assert "no network" in house.page("/sensors/eye")
        assert house.api("/sensors/eye")["trouble"][0]["event_type"] == "sensor_failed"


def test_one_is_switched_off_and_on(house):
    house.form("/sensors/webhook:gh/pause", reason="quiet")

    assert house.api("/sensors/webhook:gh")["row"]["line"]["state"] == "paused"
    assert "<b>Paused:</b> quiet" in house.page("/sensors/webhook:gh")
    assert house.order("/sensors/webhook:gh/resume").json() == {"sensor_id": "webhook:gh", "paused": False}


def test_events_are_told_page_by_page(house):
    for number in range(3):
        seen(house, f"k{number}")
    seen(house, "another", sensor_id="else")

    first = house.api("/sensors/stranger", limit=2)
    rest = house.api("/sensors/stranger", limit=2, after=first["next"])

    keys = [each["event"]["dedupe_key"] for each in (*first["items"], *rest["items"])]
    assert (keys, rest["next"]) == (["k2", "k1", "k0"], None)
    assert first["row"]["line"]["kind"] == "other"


def test_events_that_come_while_somebody_turns_the_pages_move_nothing(house):
    for number in range(4):
        seen(house, f"k{number}")

    first = house.api("/sensors/stranger", limit=2)
    seen(house, "k4")
    seen(house, "k5")
    rest = house.api("/sensors/stranger", limit=2, after=first["next"])

    keys = [each["event"]["dedupe_key"] for each in (*first["items"], *rest["items"])]
    assert (keys, rest["next"]) == (["k3", "k2", "k1", "k0"], None)


def test_a_stale_event_and_a_refused_one_say_why(house):
    seen(house, "old", freshness_deadline="2020-01-01T00:00:00Z", proposed_task=TASK)
    with pytest.raises(OperatorError, match="nothing"):
        seen(house, "bad", proposed_task={"task_type": "nothing", "payload": {}})

    told = house.api("/sensors/stranger")

    assert [(each["status"], bool(each["reason"])) for each in told["items"]] == [("stale", True)]
    assert told["trouble"][0]["event_type"] == "sensor_event_refused"
    assert "an event was refused" in house.page("/sensors/stranger")


def test_what_others_wrote_is_shown_and_not_obeyed(house):
    seen(house, "<b>key</b>", sensor_id="<i>/who?", source_ref="<u>ref</u>", payload={"text": HOSTILE})

    shown = house.page("/sensors/%3Ci%3E%2Fwho%3F")

    for bad in ("<b>key", "<i>", "<u>", "<script>alert", "\x1b", "\u202e"):
        assert bad not in shown
    assert "&lt;i&gt;/who?" in shown


@pytest.mark.parametrize("given", ["nothing", "%00", "😀", "a/b"])
def test_what_nobody_knows_is_not_found(house, given):
    assert house.client.get(f"/sensors/{given}").status_code == 404
    for verb in ("run", "pause", "resume"):
        assert house.client.post(f"/api/v1/sensors/{given}/{verb}", json={}).status_code == 404


@pytest.mark.parametrize(("who", "read_only"), [(VIEWER, False), (OPERATOR, True)], ids=["viewer", "read-only"])
def test_who_may_not_order_runs_nothing(tmp_path, who, read_only):
    with opened(tmp_path, visitor=who, read_only=read_only) as house:
        assert 'method="post"' not in house.page("/sensors/eye")
        for verb in ("run", "pause", "resume"):
            assert house.form(f"/sensors/eye/{verb}").status_code == 403
            assert house.order(f"/sensors/eye/{verb}").status_code == 403
        assert house.store.sensor("eye") is None
