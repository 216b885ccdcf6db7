"""The original's orders: what they make, how they answer, and who may not give them."""

import json
from datetime import timedelta

import pytest

from keisei.records.move import EventQuery, NewTask, TaskQuery
from keisei.testing.queue import new_task
from keisei.wiring.fresh import new_id
from tests.console.house import OPERATOR, PROJECT, VIEWER, open_house
from tests.console.landings import claimed_task
from tests.console.test_original import SCRIPT, refused, told

TYPE = """
task_type = "operator"
payload_schema_id = "schemas/operator.json"
default_profile_id = "critic"
"""
OPEN = {"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}}
EVENT = {"sensor_id": "eye", "event_id": "e1", "source_ref": "r", "dedupe_key": "k", "payload": {}}
SCHEDULE = {"name": "hourly", "interval_seconds": 3600, "task": SCRIPT}


def typed(schema=OPEN):
    return (
        (".keisei/task-types/operator.toml", TYPE),
        (".keisei/task-types/schemas/operator.json", json.dumps(schema)),
    )


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


@pytest.fixture
def typed_house(tmp_path):
    with open_house(tmp_path, files=typed()) as opened:
        yield opened


@pytest.fixture(scope="module", params=[False, True], ids=["instruction", "typed"])
def either(request, tmp_path_factory):
    """A house in which nothing is made, without and with a type for messages."""
    with open_house(tmp_path_factory.mktemp("either"), files=typed() if request.param else ()) as opened:
        yield opened


def post(house, path, body):
    return house.client.post(path, json=body)


def done(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def queued(house, **body):
    answer = done(post(house, "/api/tasks/queue", body), 201)
    assert set(answer) == {"ok", "task_id", "kind", "source"}
    task = house.store.task(answer["task_id"])
    assert (answer["ok"], answer["kind"], answer["source"]) == (True, task.task_type, "operator-ui")
    return task


def test_a_message_is_a_task_of_the_projects_own_type(typed_house):
    task = queued(typed_house, message=" look at /code-review and /etc/hosts, /nothing \n twice ", kind="x")
    assert task.task_type == "operator"
    assert task.source == "operator-ui"
    assert task.subject == "look at /code-review and /etc/hosts, /nothing "
    assert task.description.startswith("Operator UI: look at")
    assert task.skill_ids == ("code-review",)
    assert task.payload["message"].startswith("look at")
    assert task.payload["skill_refs"] == ["code-review"]
    assert task.payload["kind_override"] == "x"
    assert (task.requested_profile_id, task.requested_adapter_id, task.priority) == ("critic", None, 5)


def test_every_field_of_a_message_counts(typed_house):
    parent = queued(typed_house, message="first")
    task = queued(
        typed_house,
        message="second",
        subject=" s ",
        description=" d ",
        priority=9,
        parent_id=parent.task_id,
        skill_refs=["bounded-change"],
        requested_profile="validator",
        requested_adapter="codex",
        max_attempts=7,
    )
    assert (task.subject, task.description, task.priority, task.max_attempts) == ("s", "d", 9, 7)
    assert (task.requested_profile_id, task.requested_adapter_id) == ("validator", "codex")
    assert task.parent_task_id == task.payload["parent_id"] == parent.task_id
    assert task.skill_ids == ("bounded-change",)


def test_nothing_is_said_by_null_or_nothing(typed_house):
    absent = dict.fromkeys(("subject", "priority", "parent_id", "skill_refs", "requested_profile", "max_attempts"))
    task = queued(typed_house, message="m", requested_adapter="", unknown=1, **absent)
    assert task.payload == {"message": "m"}
    assert (task.requested_profile_id, task.requested_adapter_id) == ("critic", None)


def test_a_strict_type_is_told_the_message_alone(tmp_path):
    with open_house(tmp_path, files=typed(OPEN | {"additionalProperties": False})) as house:
        assert queued(house, message="m /code-review", kind="x").payload == {"message": "m /code-review"}


def test_a_project_without_the_type_gives_an_instruction_that_writes_nothing(house):
    task = queued(house, message="What is in here?\nAll of it.")
    assert task.task_type == "agent-task"
    assert task.payload["task"]["role"] == "read-only"
    assert task.payload["body"]["text"] == "What is in here?\nAll of it."
    assert (task.subject, task.description) == ("What is in here?", None)
    asked = queued(house, message="m", requested_profile="validator")
    assert (asked.payload["task"]["role"], asked.requested_profile_id) == ("explorer", "validator")


def test_a_profile_that_writes_needs_files_that_a_message_does_not_name(house):
    error = refused(post(house, "/api/tasks/queue", {"message": "m", "requested_profile": "code-implementer"}))
    assert "files-whitelist" in error
    assert "task type `operator`" in error


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "message is required"),
        ({"message": " \n"}, "message is required"),
        ({"message": None}, "message is required"),
        ({"message": 7}, "message"),
        ({"message": "a\0b"}, "message"),
        ({"message": "m", "priority": "high"}, "priority"),
        ({"message": "m", "priority": 2.5}, "priority"),
        ({"message": "m", "max_attempts": 0}, "max_attempts"),
        ({"message": "m", "requested_profile": "nobody"}, "nobody"),
        ({"message": "m", "requested_adapter": "nothing"}, "nothing"),
        ({"message": "m", "skill_refs": ["nothing"]}, "nothing"),
        ({"message": "m", "skill_refs": "nothing"}, "skill_refs"),
        ({"message": "m", "parent_id": "nobody"}, "nobody"),
        ({"message": "m", "parent_id": 7}, "parent_id"),
        ([], "object"),
        ("text", "object"),
    ],
)
def test_a_message_that_could_not_run_is_refused_with_the_reason(either, body, words):
    assert words in refused(post(either, "/api/tasks/queue", body))
    assert either.store.tasks(TaskQuery()) == []


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff", b'{"message": "\\ud800"}', b"[" * 100_000, b'{"priority": 1e999}']
)
def test_a_body_that_is_no_json_is_refused(house, data):
    for path in ("/api/tasks/queue", "/api/pause", "/api/schedules", "/api/sensors/events"):
        assert refused(house.client.post(path, content=data)) == "valid JSON body is required"
    if data:
        refused(house.client.post("/api/schedules/tick", content=data))


def test_any_kind_of_body_is_read(house):
    answer = house.client.post("/api/pause", content=b'{"paused": false}', headers={"content-type": "text/plain"})
    assert done(answer, 200)["paused"] is False


def test_the_same_key_twice_is_one_task(typed_house):
    ids = {
        done(typed_house.client.post("/api/tasks/queue", json={"message": "m"}, headers={"idempotency-key": "k"}), 201)[
            "task_id"
        ]
        for _ in range(2)
    }
    assert len(ids) == len(typed_house.store.tasks(TaskQuery())) == 1


def test_a_task_is_canceled_once(house):
    task = new_task(new_id(), house.store.now())
    house.store.enqueue([NewTask(task=task)])
    path = f"/api/tasks/{task.task_id}/cancel"

    answer = done(post(house, path, {"reason": "enough"}), 200)

    assert answer == {"ok": True, "task_id": task.task_id, "status": "operator_canceled"}
    (event,) = [e for e in house.store.events(EventQuery()) if e.event_type == "task_operator_canceled"]
    assert event.detail == {"reason": "enough", "previous_status": "pending"}
    assert "final" in refused(post(house, path, {}))


def test_a_running_task_is_asked_to_end(house):
    task_id = claimed_task(house).task.task_id
    answer = done(house.client.post(f"/api/tasks/{task_id}/cancel"), 200)
    assert answer == {"ok": True, "task_id": task_id, "status": "running"}


@pytest.mark.parametrize("task_id", ["nobody", "%00", "%F0%9F%98%80", "a" * 3000, "..", "%ff"])
def test_an_unknown_task_is_not_canceled(house, task_id):
    answer = house.client.post(f"/api/tasks/{task_id}/cancel")
    assert answer.status_code in (400, 404)
    refused(answer, answer.status_code)


def test_a_reason_is_text(house):
    for reason in (7, "a\0", "x" * 501):
        assert "reason" in refused(post(house, "/api/tasks/t/cancel", {"reason": reason}))


def test_work_is_paused_and_taken_again(house):
    paused = done(post(house, "/api/pause", {"paused": True, "reason": "lunch"}), 200)
    assert set(paused) == {"ok", "paused", "reason", "updated_at"}
    assert (paused["ok"], paused["paused"], paused["reason"]) == (True, True, "lunch")
    assert told(house, "/api/pause") == {name: paused[name] for name in ("paused", "reason", "updated_at")}

    resumed = done(post(house, "/api/pause", {"paused": False, "reason": "done"}), 200)
    assert (resumed["ok"], resumed["paused"], resumed["reason"]) == (True, False, None)
    assert resumed["updated_at"].endswith("Z")
    kinds = [each.event_type for each in house.store.events(EventQuery())]
    assert kinds == ["dispatch_pause_enabled", "dispatch_pause_cleared"]


@pytest.mark.parametrize("body", [{}, {"paused": "yes"}, {"paused": None}, {"paused": 1}])
def test_a_pause_is_yes_or_no(house, body):
    assert refused(post(house, "/api/pause", body)) == "paused boolean is required"


def test_a_schedule_is_made_and_fires(house):
    answer = done(post(house, "/api/schedules", SCHEDULE), 201)
    assert set(answer) == {"ok", "schedule"}
    assert answer["schedule"]["task"]["kind"] == "script"
    assert told(house, "/api/schedules")["schedules"] == [answer["schedule"]]

    ticked = done(post(house, "/api/schedules/tick", {}), 200)
    assert set(ticked) == {"schedulesEvaluated", "tasksCreated", "taskIds"}
    assert (ticked["schedulesEvaluated"], ticked["tasksCreated"]) == (1, 1)
    assert house.store.task(ticked["taskIds"][0]).schedule_id == answer["schedule"]["schedule_id"]
    assert done(house.client.post("/api/schedules/tick"), 200)["taskIds"] == []


def test_a_look_far_ahead_moves_no_schedule_there(house):
    done(post(house, "/api/schedules", SCHEDULE | {"task": SCRIPT}), 201)
    done(post(house, "/api/schedules/tick", {"at": "2999-01-01T00:00:00Z"}), 200)
    (schedule,) = house.store.schedules()
    assert schedule.record.next_run_at < house.store.now() + timedelta(days=1)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"name": "n", "interval_seconds": 60, "task": {}}, "task_type"),
        ({"name": "n", "interval_seconds": 0, "task": SCRIPT}, "interval_seconds"),
        ({"name": "n", "interval_seconds": 60, "task": SCRIPT | {"kind": "nothing"}}, "nothing"),
        ({"interval_seconds": 60, "task": SCRIPT}, "name"),
        ([], "object"),
    ],
)
def test_a_schedule_that_could_not_fire_is_refused(house, body, words):
    assert words in refused(post(house, "/api/schedules", body))
    assert house.store.schedules() == []


@pytest.mark.parametrize("at", ["soon", 7, "0001-01-01T00:00:00+14:00", ""])
def test_a_moment_is_a_moment(house, at):
    assert "at" in refused(post(house, "/api/schedules/tick", {"at": at}))


def test_an_event_is_recorded_once(house):
    body = EVENT | {"proposed_task": SCRIPT}
    answer = done(post(house, "/api/sensors/events", body), 201)
    assert set(answer) == {"accepted", "task_id", "workflow_id", "event"}
    assert answer["accepted"] is True
    assert house.store.task(answer["task_id"]) is not None
    assert told(house, "/api/sensors/events")["events"] == [answer["event"]]

    again = done(post(house, "/api/sensors/events", body), 200)
    assert again["accepted"] is False
    assert again["event"] is again["task_id"] is None


def test_an_event_that_is_refused_may_be_sent_again(house):
    wrong = EVENT | {"proposed_task": SCRIPT | {"kind": "nothing"}}
    assert "nothing" in refused(post(house, "/api/sensors/events", wrong))
    assert "source_ref" in refused(post(house, "/api/sensors/events", {"sensor_id": "eye", "dedupe_key": "k"}))
    assert done(post(house, "/api/sensors/events", EVENT), 201)["accepted"] is True


ORDERS = {
    "/api/tasks/queue": {"message": "m"},
    "/api/tasks/t/cancel": {},
    "/api/pause": {"paused": True},
    "/api/schedules": SCHEDULE,
    "/api/schedules/tick": {},
    "/api/sensors/events": EVENT,
}


@pytest.mark.parametrize(("visitor", "read_only"), [(VIEWER, False), (OPERATOR, True)])
def test_who_may_not_order_orders_nothing(tmp_path, visitor, read_only):
    with open_house(tmp_path, project=PROJECT, files=typed(), visitor=visitor, read_only=read_only) as house:
        for path, body in ORDERS.items():
            assert "read-only" in (error := refused(post(house, path, body), 403)) or "viewers" in error
        store = house.store
        assert store.events(EventQuery()) == store.tasks(TaskQuery()) == store.schedules() == store.pauses() == []
