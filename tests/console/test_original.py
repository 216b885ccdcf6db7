"""The original's routes: what is read, field by field, and every way in which a question can be wrong."""

import json
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keisei.console.original import ROUTES
from keisei.engine import control
from keisei.engine.schedule import upsert
from keisei.engine.sensor import observe
from keisei.engine.workflow import create
from keisei.records.error import WorldFault
from keisei.records.move import NewTask
from keisei.testing.queue import ending, new_task
from keisei.wiring.fresh import new_id
from tests.console.house import VIEWER, open_house
from tests.console.landings import HOSTILE, claimed_task

SCRIPT = {"kind": "script", "source": "test", "payload": {"args": ["-c", "true"]}}
TASK_KEYS = {
    "task_id", "kind", "source", "subject", "description", "priority", "payload", "status", "requested_profile",
    "created_at", "updated_at", "started_at", "finished_at", "attempt_count", "max_attempts", "available_at",
    "last_error", "artifact_paths", "operator_summary", "machine_status",
}  # fmt: skip
COUNTS = {
    "queued", "running", "completed", "blocked", "retryable_failure", "permanent_failure", "operator_canceled",
}  # fmt: skip
READS = (
    "/api/state", "/api/heartbeat", "/api/workflows", "/api/tasks", "/api/events", "/api/schedules",
    "/api/sensors/events", "/api/artifacts", "/api/snapshots", "/api/report/latest", "/api/pause",
)  # fmt: skip
ORDERS = ("/api/tasks/queue", "/api/tasks/t/cancel", "/api/schedules/tick")
BOTH = ("/api/pause", "/api/schedules", "/api/sensors/events")


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """A house in which nothing is changed."""
    with open_house(tmp_path_factory.mktemp("quiet"), visitor=VIEWER, read_only=True) as opened:
        yield opened


def told(house, path, /, **query):
    answer = house.client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def refused(answer, status=400):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("application/json")
    assert set(answer.json()) == {"error"}
    return answer.json()["error"]


def queue(house, **fields):
    task = new_task(new_id(), house.store.now(), **fields)
    house.store.enqueue([NewTask(task=task)])
    return task.task_id


def test_the_state_tells_name_counts_pause_and_the_last_event(house):
    empty = told(house, "/api/state")
    assert empty == {
        "runtime_name": "house",
        "runtime_state": "idle",
        "counts": dict.fromkeys(COUNTS, 0),
        "dispatch_paused": {"paused": False, "reason": None, "updated_at": None},
        "last_event": None,
    }
    task_id = queue(house)
    state = told(house, "/api/state")
    assert state["counts"]["queued"] == 1
    assert set(state["counts"]) == COUNTS
    assert set(state["last_event"]) == {"event_type", "task_id", "attempt_id", "created_at"}
    assert (state["last_event"]["event_type"], state["last_event"]["task_id"]) == ("task_enqueued", task_id)

    claimed_task(house)
    assert told(house, "/api/state")["runtime_state"] == "running"
    control.pause(house.store, "lunch", "me")
    paused = told(house, "/api/state")
    assert paused["runtime_state"] == "paused"
    assert paused["dispatch_paused"]["reason"] == "lunch"
    assert paused["counts"]["running"] == 1
    assert told(house, "/api/pause") == paused["dispatch_paused"]


def test_waiting_for_a_retry_counts_as_queued(house):
    claimed = claimed_task(house)
    house.store.settle(ending(claimed, "retryable_failure", house.store.now()))
    counts = told(house, "/api/state")["counts"]
    assert (counts["queued"], counts["retryable_failure"]) == (1, 1)


def test_a_heartbeat_tells_how_soon_the_store_answers(house, monkeypatch):
    beat = told(house, "/api/heartbeat")
    assert set(beat) == {"ok", "latency_ms"}
    assert beat["ok"] is True
    assert isinstance(beat["latency_ms"], int)

    def away():
        raise WorldFault("the store is away")

    monkeypatch.setattr(house.premises.store, "pauses", away)
    assert refused(house.client.get("/api/heartbeat"), 503) == "the store is away"


def test_tasks_have_every_field_and_the_one_that_changed_last_is_first(house):
    first, second = queue(house, subject=HOSTILE), queue(house)
    control.cancel(house.store, first, "enough", "me")

    found = told(house, "/api/tasks")["tasks"]

    assert [each["task_id"] for each in found] == [first, second]
    assert all(set(each) == TASK_KEYS for each in found)
    canceled, waiting = found
    assert canceled["status"] == "operator_canceled"
    assert canceled["subject"] == HOSTILE
    assert canceled["operator_summary"] == "enough"
    assert canceled["machine_status"] == "canceled"
    assert canceled["finished_at"].endswith("Z")
    assert waiting["operator_summary"] is waiting["machine_status"] is waiting["finished_at"] is None
    assert waiting["artifact_paths"] == []
    assert isinstance(waiting["payload"], dict)
    assert waiting["kind"] == house.store.task(second).task_type


def test_tasks_are_narrowed_by_status_and_number(house):
    ids = [queue(house) for _ in range(3)]
    control.cancel(house.store, ids[0], "enough", "me")

    def asked(**query):
        return [each["task_id"] for each in told(house, "/api/tasks", **query)["tasks"]]

    assert asked(status="operator_canceled") == [ids[0]]
    assert asked(status="pending") == [ids[2], ids[1]]
    assert asked(status="") == [ids[0], ids[2], ids[1]]
    assert asked(limit=1) == [ids[0]]
    assert asked(limit=0) == [ids[0]]
    assert len(asked(limit=10**17)) == len(asked(limit="")) == 3


def test_events_are_told_oldest_first_and_from_a_place_on(house):
    ids = [queue(house) for _ in range(3)]
    found = told(house, "/api/events")["events"]
    assert all(set(each) == {"id", "event_type", "task_id", "attempt_id", "detail", "created_at"} for each in found)
    assert [each["task_id"] for each in found] == ids
    assert found[0]["detail"]["source"]
    assert [each["task_id"] for each in told(house, "/api/events", limit=2)["events"]] == ids[1:]
    since = told(house, "/api/events", since=found[0]["id"], limit=1)["events"]
    assert [each["task_id"] for each in since] == ids[1:2]
    assert told(house, "/api/events", since=-5) == {"events": found}
    assert told(house, "/api/events", since=10**17) == {"events": []}


def test_workflows_schedules_and_sensor_events_have_their_rows(house):
    create(
        house.premises.office(),
        workflow_type="goal-loop",
        instance_key="i",
        state=None,
        context={"objective": "peace", "scope": ["src/**"]},
        actor="me",
    )
    upsert(house.premises.office(), {"name": "hourly", "interval_seconds": 3600, "task": SCRIPT}, "me")
    event = {"sensor_id": "eye", "event_id": "e1", "source_ref": "r", "dedupe_key": "k", "payload": {"a": 1}}
    observe(house.premises.office(), event | {"proposed_task": SCRIPT}, "me")

    (workflow,) = told(house, "/api/workflows")["workflows"]
    assert {"id", "template", "instance_key", "current_state", "context_json", "created_at"} < set(workflow)
    assert {"updated_at", "completed_at", "context"} < set(workflow)
    assert workflow["context"]["objective"] == "peace"
    assert json.loads(workflow["context_json"]) == workflow["context"]
    (schedule,) = told(house, "/api/schedules")["schedules"]
    assert set(schedule) == {
        "schedule_id", "name", "enabled", "interval_seconds", "next_run_at", "last_run_at", "task", "created_at",
        "updated_at",
    }  # fmt: skip
    assert schedule["task"]["kind"] == "script"
    (seen,) = told(house, "/api/sensors/events")["events"]
    assert set(seen) == {
        "sensor_event_id", "sensor_id", "event_id", "observed_at", "source_ref", "dedupe_key", "payload", "task_id",
        "workflow_id", "created_at",
    }  # fmt: skip
    assert house.store.task(seen["task_id"]) is not None


@pytest.mark.parametrize("path", ["/api/tasks", "/api/events", "/api/sensors/events"])
@pytest.mark.parametrize("limit", ["abc", "1.5", "9" * 5000, "\u0661", "1e2", "-"])
def test_a_limit_that_is_no_number_is_refused_in_words(quiet, path, limit):
    assert "limit must be a whole number" in refused(quiet.client.get(path, params={"limit": limit}))


def test_other_wrong_words_are_refused_too(quiet):
    assert "since must be" in refused(quiet.client.get("/api/events?since=x"))
    error = refused(quiet.client.get("/api/tasks?status=queued"))
    assert "`queued`" in error
    assert "retryable_failure" in error


@pytest.mark.parametrize("path", [*READS, "/api/artifact", "/api/snapshot", "/api/report", "/api/stream"])
@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "POST"])
def test_a_wrong_method_is_named(quiet, path, method):
    if method == "POST" and path in BOTH:
        return
    answer = quiet.client.request(method, path)
    assert refused(answer, 405) == f"{method} not supported"
    assert "GET" in answer.headers["allow"]


@pytest.mark.parametrize("path", ORDERS)
def test_an_order_is_not_read(quiet, path):
    assert refused(quiet.client.get(path), 405) == "GET not supported"


@pytest.mark.parametrize("path", ["/api/", "/api/nothing", "/api/state/", "/api/tasks/a/b", "/api/%00", "/api/v2/home"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unknown_address_is_not_found(quiet, path, method):
    assert refused(quiet.client.request(method, path), 404) == "Not Found"


def test_our_own_routes_stay_ours(quiet):
    assert quiet.client.get("/api/v1/home").status_code == 200
    missing = quiet.client.get("/api/v1/nothing")
    assert missing.status_code == 404
    assert missing.headers["content-type"].startswith("application/problem+json")


def test_a_bug_is_told_without_its_words(house, monkeypatch, caplog):
    monkeypatch.setattr(house.premises.store, "counts", lambda: 1 / 0)
    assert "bug in keisei" in refused(house.client.get("/api/state"), 500)
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("path", READS)
def test_a_viewer_may_read_everything(quiet, path):
    told(quiet, path)


def test_no_question_breaks_it(house):
    queue(house)
    paths = sorted({route.path for route in ROUTES} - {"/api/stream"})
    names = st.sampled_from(["limit", "since", "status", "path", "before", "after", "x"])
    words = st.one_of(st.text(max_size=30), st.integers().map(str), st.sampled_from(["../x", "/", "\0", "a" * 5000]))

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(
        st.sampled_from(paths),
        st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9),
        st.lists(st.tuples(names, words), max_size=4),
    )
    def asks(path, key, query):
        place = path.replace("{task_id}", quote(key, safe="")).replace("{rest:path}", quote(key, safe=""))
        query = [(name, word.encode("utf-8", "replace").decode()) for name, word in query]
        answer = house.client.get(place, params=query)
        assert answer.status_code in (200, 400, 404, 405), answer.text

    asks()
