"""`keisei compat schedule-*`, `sensor-event`, `workflow-*`: what begins work, in the original's shapes."""

import json

import pytest

from tests.cli.deployment import Runtime, answer
from tests.cli.originals import EVENT, SCHEDULE
from tests.cli.shop import TIME


@pytest.fixture
def runtime(shell):
    made = Runtime(shell)
    yield made
    made.close()


def create(runtime, **more):
    return runtime.told("schedule-create", "--json", json.dumps(SCHEDULE | more))


def begin(runtime, key="k", *words):
    return runtime.told("workflow-create", "--template", "goal-loop", "--instance_key", key, *words)


def test_a_schedule_is_made_and_fires_in_the_originals_shapes(runtime):
    made = create(runtime)
    ticked = runtime.told("schedule-tick")
    again = runtime.told("schedule-tick")

    assert list(made) == ["upserted", "schedule"]
    assert list(made["schedule"]) == [
        *("schedule_id", "name", "enabled", "interval_seconds", "next_run_at", "last_run_at", "task"),
        *("created_at", "updated_at"),
    ]
    assert TIME.fullmatch(made["schedule"]["next_run_at"])
    task = {name: value for name, value in SCHEDULE["task"].items() if name != "requested_adapter"}
    assert made["schedule"]["task"] == task
    assert list(ticked) == ["schedulesEvaluated", "tasksCreated", "taskIds"]
    assert (ticked["schedulesEvaluated"], ticked["tasksCreated"], len(ticked["taskIds"])) == (1, 1, 1)
    assert again == {"schedulesEvaluated": 0, "tasksCreated": 0, "taskIds": []}
    assert runtime.stored()["source"].startswith("schedule:heartbeat:2")


def test_saying_a_schedule_twice_fires_nothing(runtime):
    first = create(runtime)["schedule"]
    runtime.told("schedule-tick")
    second = create(runtime)["schedule"]

    assert second["schedule_id"] == first["schedule_id"]
    assert second["next_run_at"] > first["next_run_at"]
    assert runtime.told("schedule-tick")["tasksCreated"] == 0


def test_a_moment_far_ahead_does_not_carry_a_schedule_away(runtime):
    create(runtime)

    told = runtime.told("schedule-tick", "--at", "2099-01-01T00:00:00Z")
    after = create(runtime)["schedule"]

    assert told["tasksCreated"] <= 1
    assert after["next_run_at"] < "2098"


def test_due_schedules_and_workflows_come_before_the_claim(runtime):
    runtime.agent()
    create(runtime)
    begin(runtime)

    ran = runtime.work_off()

    kinds = {each["task_id"]: each["task_type"] for each in runtime.tasks()}
    assert [kinds[each["task_id"]] for each in ran] == ["heartbeat", "goal-plan", "goal-execute", "goal-verify"]


def test_a_poison_schedule_is_refused_and_dispatch_lives(runtime):
    done = runtime.verb("schedule-create", "--json", json.dumps(SCHEDULE | {"task": {}}))
    runtime.intake(payload={"args": ["-c", answer()]})

    assert (done.code, done.out, len(done.err.splitlines())) == (1, "", 2)
    assert runtime.told("schedule-tick")["schedulesEvaluated"] == 0
    assert runtime.call("run-once")[0]["status"] == "completed"


@pytest.mark.parametrize(
    "schedule",
    [
        [],
        7,
        {},
        SCHEDULE | {"interval_seconds": 0},
        SCHEDULE | {"interval_seconds": "often"},
        SCHEDULE | {"name": " "},
        SCHEDULE | {"next_run_at": "soon"},
        SCHEDULE | {"task": SCHEDULE["task"] | {"requested_profile": "nobody"}},
        SCHEDULE | {"task": SCHEDULE["task"] | {"payload": []}},
        SCHEDULE | {"task": SCHEDULE["task"] | {"source": "substrate:1"}},
        SCHEDULE | {"surprise": 1},
    ],
    ids=[
        *("list", "number", "empty", "interval", "word", "name", "time", "profile", "payload", "substrate", "key"),
    ],
)
def test_a_schedule_that_cannot_be_is_one_clear_error(runtime, schedule):
    done = runtime.verb("schedule-create", "--json", json.dumps(schedule))

    assert (done.code, done.out) == (1, "")
    assert len(done.err.splitlines()) == 2
    assert runtime.told("schedule-tick")["schedulesEvaluated"] == 0


@pytest.mark.parametrize("at", ["soon", "", "2026-13-01", "9999-12-31T23:59:59-23:59"])
def test_a_moment_that_is_none_is_one_clear_error(runtime, at):
    done = runtime.verb("schedule-tick", "--at", at)

    assert (done.code, done.out) == (1, "")
    assert f"--at `{at}` is no time" in done.err


# --- sensors ----------------------------------------------------------------------------------------------------------


def observe(runtime, **more):
    return runtime.told("sensor-event", "--json", json.dumps(EVENT | more))


def test_an_event_is_taken_once(runtime):
    first = observe(runtime)
    again = observe(runtime)
    same_key = observe(runtime, event_id="e-2")

    assert list(first) == ["accepted", "task_id", "workflow_id", "event"]
    assert first["accepted"]
    assert list(first["event"]) == [
        *("sensor_event_id", "sensor_id", "event_id", "observed_at", "source_ref", "dedupe_key", "payload"),
        *("task_id", "workflow_id", "created_at"),
    ]
    assert first["event"]["task_id"] == first["task_id"] == runtime.stored()["task_id"]
    for each in (again, same_key):
        assert (each["accepted"], each["task_id"], each["workflow_id"], each["event"]) == (False, None, None, None)
        assert each["reason"]
    assert len(runtime.tasks()) == 1


def test_an_event_that_is_too_late_starts_nothing(runtime):
    told = observe(runtime, freshness_deadline="2020-01-01T00:00:00Z")

    assert (told["accepted"], told["task_id"]) == (False, None)
    assert runtime.tasks() == []


def test_an_event_that_was_refused_is_taken_when_it_is_right(runtime):
    wrong = EVENT | {"proposed_task": EVENT["proposed_task"] | {"priority": "high"}}

    done = runtime.verb("sensor-event", "--json", json.dumps(wrong))

    assert (done.code, done.out, len(done.err.splitlines())) == (1, "", 2)
    assert runtime.tasks() == []
    assert observe(runtime)["accepted"]


def test_an_event_begins_a_workflow(runtime):
    proposed = {"template": "goal-loop", "instance_key": "from-mail", "context": {"summary": "x"}}

    told = observe(runtime, proposed_workflow=proposed, proposed_task=None)

    assert told["workflow_id"] == runtime.told("workflow-show", "--instance_key", "from-mail")["id"]
    assert runtime.stored()["task_type"] == "goal-plan"


@pytest.mark.parametrize(
    "event",
    [
        [],
        7,
        {},
        EVENT | {"source_ref": None},
        EVENT | {"observed_at": "once"},
        EVENT | {"payload": []},
        EVENT | {"proposed_workflow": {"template": "community-research", "instance_key": "i"}},
        EVENT | {"proposed_task": {"kind": "x", "source": "substrate:1", "payload": {}}},
        EVENT | {"surprise": 1},
    ],
    ids=["list", "number", "empty", "reference", "time", "payload", "template", "substrate", "key"],
)
def test_an_event_that_cannot_be_is_one_clear_error(runtime, event):
    done = runtime.verb("sensor-event", "--json", json.dumps(event))

    assert (done.code, done.out) == (1, "")
    assert len(done.err.splitlines()) == 2
    assert runtime.tasks() == []


# --- workflows --------------------------------------------------------------------------------------------------------


def test_a_blocked_workflow_asks_again_under_the_same_configuration(runtime):
    runtime.configure(maxAttempts=1)
    runtime.instruct(talks=True)
    made = begin(runtime, "k", "--context", '{"summary": "x"}')
    runtime.work_off()
    before = runtime.told("workflow-show", "--id", made["workflow_id"])

    freed = runtime.told("workflow-unblock", "--id", made["workflow_id"])
    again = runtime.verb("workflow-unblock", "--id", made["workflow_id"])

    assert before["status"] == "blocked"
    assert freed["unblocked"] is True
    task = next(each for each in runtime.tasks() if each["task_id"] == freed["task_id"])
    assert (task["status"], task["task_type"]) == ("pending", "goal-plan")
    assert again.code == 2
    assert "not blocked" in again.err


def test_a_workflow_is_made_shown_moved_and_ended(runtime):
    made = begin(runtime, "k", "--context", '{"summary": "x", "a": 1}')
    again = begin(runtime)
    listed = runtime.told("workflow-list")["workflows"]
    moved = runtime.told(
        "workflow-transition", "--id", made["workflow_id"], "--state", "execute", "--context", '{"a": 2}'
    )
    shown = runtime.told("workflow-show", "--id", made["workflow_id"])
    ended = runtime.told("workflow-complete", "--id", made["workflow_id"])
    twice = runtime.told("workflow-complete", "--id", made["workflow_id"])

    assert made == {
        "created": True,
        "workflow_id": made["workflow_id"],
        "template": "goal-loop",
        "instance_key": "k",
        "state": "plan",
    }
    assert (again["created"], again["workflow"]) == (False, listed[0])
    assert list(listed[0]) == [
        *("id", "template", "instance_key", "current_state", "context_json", "created_at", "updated_at"),
        *("completed_at", "status", "reason"),
    ]
    assert moved == {"transitioned": True, "workflow_id": made["workflow_id"], "from": "plan", "to": "execute"}
    assert (shown["current_state"], shown["context"], json.loads(shown["context_json"])) == (
        "execute",
        {"summary": "x", "a": 2},
        {"summary": "x", "a": 2},
    )
    assert ended == twice == {"completed": True, "workflow_id": made["workflow_id"]}
    assert runtime.told("workflow-list") == {"workflows": []}
    assert {each["status"] for each in runtime.tasks()} == {"operator_canceled"}


def test_a_transition_that_is_not_allowed_changes_nothing(runtime):
    made = begin(runtime, "k", "--context", '{"summary": "x"}')
    before = runtime.told("workflow-show", "--instance_key", "k")

    done = runtime.verb(
        "workflow-transition", "--id", made["workflow_id"], "--state", "complete", "--context", '{"a": 2}'
    )

    assert (done.code, done.out) == (2, "")
    assert "no signal leads from `plan` to `complete`" in done.err
    after = runtime.told("workflow-show", "--instance_key", "k")
    assert {name: value for name, value in after.items() if name != "updated_at"} == {
        name: value for name, value in before.items() if name != "updated_at"
    }
    assert len(runtime.tasks()) == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["workflow-show"], "give one of --id and --instance_key"),
        (["workflow-show", "--id", "1", "--instance_key", "k"], "give one of --id and --instance_key"),
        (["workflow-show", "--id", "999"], "no workflow has the id `999`"),
        (["workflow-show", "--instance_key", ""], "no workflow has the key ``"),
        (["workflow-complete", "--id", "999"], "no workflow has the id `999`"),
        (["workflow-complete"], "--id"),
        (["workflow-transition", "--id", "999", "--state", "plan"], "no workflow has the id `999`"),
        (["workflow-create", "--template", "nope", "--instance_key", "k"], "no workflow is called `nope`"),
        (["workflow-create", "--template", "goal-loop", "--instance_key", " "], "is no instance key"),
        (["workflow-create", "--template", "goal-loop", "--instance_key", "k", "--state", "x"], "has no state `x`"),
        (["workflow-create", "--template", "goal-loop", "--instance_key", "k", "--context", "{"], "not JSON"),
        (["workflow-create", "--template", "goal-loop", "--instance_key", "k", "--context", "[1]"], "one object"),
        (
            [
                "workflow-create",
                "--template",
                "goal-loop",
                "--instance_key",
                "k",
                "--context",
                '{"requested_profile": "x"}',
            ],
            "no profile is called `x`",
        ),
    ],
    ids=[
        *(
            "show-nothing",
            "show-both",
            "show-unknown",
            "show-empty",
            "complete-unknown",
            "complete-nothing",
            "move-unknown",
        ),
        *("template", "key", "state", "cut-context", "list-context", "profile"),
    ],
)
def test_an_order_that_cannot_be_is_one_clear_error(runtime, words, why):
    done = runtime.verb(*words)

    assert (done.code, done.out) == (1, "")
    assert why in done.err
    assert "Traceback" not in done.err
    assert (runtime.told("workflow-list"), runtime.tasks()) == ({"workflows": []}, [])


@pytest.mark.parametrize(
    "words",
    [
        ["intake", "--json", '{"kind": "\\ud800", "source": "s", "payload": {}}'],
        ["schedule-create", "--json", '{"name": "\\ud800"}'],
        ["sensor-event", "--json", '{"sensor_id": "\\ud800"}'],
        ["workflow-create", "--template", "goal-loop", "--instance_key", "k", "--context", '{"a": "\\ud800"}'],
        ["seed-backlog", "--file", "half.json"],
        ["bridge-github", "--file", "half.json"],
        ["report", "--before", "half.json", "--after", "half.json"],
    ],
    ids=lambda words: words[0],
)
def test_text_that_nobody_can_print_is_one_clear_error(runtime, words):
    (runtime.folder / "half.json").write_text('{"workflows": [{"template": "\\ud800"}]}')

    done = runtime.verb(*words)

    assert (done.code, done.out, len(done.err.splitlines())) == (1, "", 2)
    assert "half a surrogate pair" in done.err


def test_a_definition_beside_the_file_is_a_template_too(runtime):
    folder = runtime.folder / ".keisei/workflows"
    folder.mkdir(parents=True)
    (folder / "community-research.toml").write_text(
        'workflow_type = "community-research"\ninitial_state = "discover"\n'
        '[[states]]\nstate_id = "discover"\ntask_type = "community-research"\n'
        'transitions = [{ signal = "researched", next_state = "done" }]\n'
        '[[states]]\nstate_id = "done"\nemits_task_intent = false\n'
    )
    runtime.agent(workflow_signal="researched")

    words = ["--template", "community-research", "--instance_key", "wiki", "--context", '{"output_path": "wiki/a.md"}']
    runtime.told("workflow-create", *words)
    ran = runtime.work_off()

    assert [each["status"] for each in ran] == ["completed"]
    shown = runtime.told("workflow-show", "--instance_key", "wiki")
    assert shown["status"] == "completed"
    assert (runtime.artifacts / "workflows" / shown["id"] / "wiki/a.md").exists()
