"""Schedules: made, changed, switched off and on by forms and by programs, with every slot, missed ones too."""

from datetime import timedelta

import pytest

from keisei.engine.fire import firing
from keisei.engine.schedule import tick, upsert
from keisei.records.slot import Slot
from tests.console.house import OPERATOR, VIEWER, open_house
from tests.console.landings import HOSTILE

PAYLOAD = {"args": ["-c", "true"]}


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


def add(house, name="nightly", **more):
    told = {"every": "1d", "task_type": "script", "payload": PAYLOAD} | more
    answer = house.order("/schedules", name=name, **told)
    assert answer.status_code == 200, answer.text
    return answer.json()["schedule_id"]


def skipped(house, schedule_id, reason):
    """A slot that became nothing, as a runner writes it."""
    now, schedule = house.store.now(), house.store.schedule(schedule_id)
    told = {"schedule_id": schedule_id, "status": "skipped", "first_due_at": now, "due_at": now, "recorded_at": now}
    assert house.store.fire(firing(schedule, schedule.record, slots=(Slot(**told, reason=reason),)))


def test_no_schedule_says_what_to_do(house):
    assert house.api("/schedules") == {"items": [], "paused": False, "runners": 0}
    assert "No work begins by itself yet." in house.page("/schedules")


def test_a_form_adds_one_and_goes_to_it(house):
    answer = house.form(
        "/schedules", name="nightly", every="2h", task_type="script", payload='{"args": ["-c", "true"]}', priority="3"
    )

    assert answer.status_code == 303
    told = house.api(answer.headers["location"])
    assert (told["line"]["every"], told["line"]["record"]["task"]["priority"]) == ("2h", 3)
    assert told["line"]["record"]["task"]["payload"] == PAYLOAD
    shown = house.page("/schedules")
    assert "nightly" in shown
    assert "No runner is active" in shown


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"every": "1d", "once_in": "1d"},
        {"every": "5"},
        {"once_in": "1h", "first_in": "1m"},
        {"every": "1d", "payload": "["},
        {"every": "1d", "task_type": "nothing"},
        {"every": "1d", "payload": {"strange": 1}},
        {"every": "1d", "name": "a\nb"},
    ],
    ids=["never", "both", "no-unit", "first", "payload", "type", "shape", "name"],
)
def test_what_could_not_be_queued_later_is_refused_now(house, body):
    answer = house.order("/schedules", **{"name": "s", "task_type": "script", "payload": PAYLOAD, **body})
    assert answer.status_code == 422
    assert house.api("/schedules")["items"] == []


def test_one_is_changed_under_the_same_name(house):
    schedule_id = add(house)
    shown = house.client.get("/schedules/new?name=nightly").text
    assert 'value="1d"' in shown
    assert "readonly" in shown

    assert add(house, every="2d", overlap="queue") == schedule_id

    record = house.store.schedule("nightly").record
    assert (record.interval_seconds, record.overlap) == (172_800, "queue")


def test_a_task_that_says_more_than_the_form_is_not_changed_by_it(house):
    task = {"task_type": "script", "payload": PAYLOAD, "max_attempts": 2}
    upsert(house.premises.office(), {"name": "rich", "interval_seconds": 60, "task": task}, "tester")
    assert house.api("/schedules/new", name="rich")["before"]["simple"] is False
    assert 'action="/schedules"' not in house.page("/schedules/new?name=rich")


def test_one_is_switched_off_and_on_and_deleted(house):
    schedule_id = add(house)
    house.order("/schedules/tick")

    house.form(f"/schedules/{schedule_id}/pause", reason="holiday")
    assert "<b>Off:</b> holiday" in house.page(f"/schedules/{schedule_id}")
    assert house.order(f"/schedules/{schedule_id}/resume").json()["record"]["enabled"] is True
    gone = house.form(f"/schedules/{schedule_id}/delete", reason="done with it")

    assert gone.headers["location"] == "/schedules"
    assert house.api("/schedules")["items"] == []
    told = house.api(f"/schedules/{schedule_id}")
    assert (told["line"], len(told["items"])) == (None, 1)
    assert "It was deleted" in house.page(f"/schedules/{schedule_id}")
    assert house.order(f"/schedules/{schedule_id}/pause").status_code == 404


def test_a_look_queues_what_is_due(house):
    schedule_id = add(house)

    answer = house.order("/schedules/tick")

    assert answer.json()["evaluated"] == 1
    (task_id,) = answer.json()["task_ids"]
    told = house.api(f"/schedules/{schedule_id}")
    assert [(each["status"], each["task_id"]) for each in told["items"]] == [("enqueued", task_id)]
    assert f"/tasks/{task_id}" in house.page(f"/schedules/{schedule_id}")
    assert house.form("/schedules/tick").headers["location"] == "/schedules"
    assert [each.actor for each in house.store.entries() if each.kind == "schedule_ticked"] == ["operator:tester"] * 2


def test_every_slot_is_told_also_what_was_missed_and_skipped(house):
    office, now = house.premises.office(), house.store.now()
    past = (now - timedelta(minutes=60, seconds=1)).isoformat()
    data = {"name": "often", "interval_seconds": 300, "next_run_at": past}
    schedule_id = upsert(office, {**data, "task": {"task_type": "script", "payload": PAYLOAD}}, "tester").schedule_id
    tick(office)
    skipped(house, schedule_id, "its task is not done")

    told = house.api(f"/schedules/{schedule_id}", limit=2)
    rest = house.api(f"/schedules/{schedule_id}", limit=2, after=told["next"])

    assert [each["status"] for each in (*told["items"], *rest["items"])] == ["skipped", "enqueued", "coalesced"]
    assert rest["next"] is None
    strip = told["strip"]
    assert (strip["enqueued"], strip["missed"], strip["skipped"]) == (1, 12, 1)
    assert [each["status"] for each in strip["ticks"]] == ["coalesced", "enqueued", "skipped"]
    shown = house.page(f"/schedules/{schedule_id}")
    assert "missed, and one with" in shown
    assert "its task is not done" in shown
    assert shown.count('<rect class="coalesced"') == 2
    assert "style=" not in shown


def test_what_others_wrote_is_shown_and_not_obeyed(house):
    schedule_id = add(house, "<b>name</b>", subject="<i>subject</i>")
    skipped(house, schedule_id, HOSTILE)

    for path in ("/schedules", f"/schedules/{schedule_id}", "/schedules/new?name=%3Cb%3Ename%3C/b%3E"):
        shown = house.page(path)
        assert "<b>name" not in shown
        assert "<i>" not in shown
        assert "<script>alert" not in shown
        assert "\x1b" not in shown


def test_an_id_with_a_slash_has_its_page(house):
    add(house, "a/b")
    assert house.api("/schedules/a%2Fb")["line"]["name"] == "a/b"
    assert house.order("/schedules/a%2Fb/pause").json()["record"]["enabled"] is False


@pytest.mark.parametrize("given", ["nothing", "%00", "😀", "x" * 200])
def test_what_nobody_knows_is_not_found(house, given):
    assert house.client.get(f"/schedules/{given}").status_code == 404
    assert house.client.post(f"/api/v1/schedules/{given}/pause", json={}).status_code == 404


@pytest.mark.parametrize(("who", "read_only"), [(VIEWER, False), (OPERATOR, True)], ids=["viewer", "read-only"])
def test_who_may_not_order_makes_nothing(tmp_path, who, read_only):
    with open_house(tmp_path, visitor=who, read_only=read_only) as house:
        assert house.form("/schedules", name="s", every="1d", task_type="script").status_code == 403
        assert house.order("/schedules/tick").status_code == 403
        assert 'method="post"' not in house.page("/schedules")
        assert house.api("/schedules")["items"] == []


def test_slots_that_come_while_somebody_turns_the_pages_move_nothing(house):
    schedule_id = add(house)
    for number in range(4):
        skipped(house, schedule_id, f"number {number}")

    first = house.api(f"/schedules/{schedule_id}", limit=2)
    for number in range(4, 6):
        skipped(house, schedule_id, f"number {number}")
    rest = house.api(f"/schedules/{schedule_id}", limit=2, after=first["next"])

    told = [each["reason"] for each in (*first["items"], *rest["items"])]
    assert (told, rest["next"]) == (["number 3", "number 2", "number 1", "number 0"], None)
    assert rest["strip"]["skipped"] == 6


def test_the_list_of_slots_ends_with_the_oldest_however_many_there_are(house):
    schedule_id = add(house)
    now, schedule = house.store.now(), house.store.schedule(schedule_id)
    told = {"schedule_id": schedule_id, "status": "skipped", "first_due_at": now, "due_at": now, "recorded_at": now}
    slots = tuple(Slot(**told, reason=f"number {number}") for number in range(1010))
    assert house.store.fire(firing(schedule, schedule.record, slots=slots))

    page, seen = house.api(f"/schedules/{schedule_id}", limit=200), 0
    while page["next"] is not None:
        seen += len(page["items"])
        page = house.api(f"/schedules/{schedule_id}", limit=200, after=page["next"])

    assert (seen + len(page["items"]), page["items"][-1]["reason"]) == (1010, "number 0")
