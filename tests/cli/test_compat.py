"""`keisei compat`: a runtime.json of the original, its verbs and its shapes, both dialects, and nothing believed."""

import json
import os

import pytest

from keisei.testing.model import ScriptedModel
from tests.cli.deployment import OK, PROFILE, RUNTIME, Runtime, answer
from tests.cli.shop import TIME, bare


@pytest.fixture
def runtime(shell):
    made = Runtime(shell)
    yield made
    made.close()


def test_a_task_is_taken_in_run_and_told_in_the_originals_shapes(runtime):
    assert runtime.call("status") == ({"counts": [], "recent": [], "lastEvent": None}, "")
    assert runtime.call("run-once") == ({"ok": True, "status": "idle"}, "")

    queued = runtime.intake(payload={"args": ["-c", answer()]})
    ran, err = runtime.call("run-once")
    status, _ = runtime.call("status")

    assert (sorted(queued), queued["queued"], queued["profile"]) == (
        ["available_at", "profile", "queued", "task_id"],
        True,
        "lumen",
    )
    assert TIME.fullmatch(queued["available_at"])
    assert (list(ran), err) == (["ok", "status", "task_id", "attempt_id"], "")
    assert (ran["ok"], ran["status"], ran["task_id"]) == (True, "completed", queued["task_id"])
    assert list(status) == ["counts", "recent", "lastEvent"]
    assert status["counts"] == [{"status": "completed", "count": 1}]
    (recent,) = status["recent"]
    assert list(recent) == ["task_id", "kind", "status", "updated_at", "attempt_id", "bundle_hash"]
    assert (recent["task_id"], recent["kind"], recent["attempt_id"]) == (
        queued["task_id"],
        "readiness",
        ran["attempt_id"],
    )
    assert list(status["lastEvent"]) == ["event_type", "task_id", "attempt_id", "created_at"]


def test_the_five_that_changed_last_are_recent(runtime):
    ids = [runtime.intake(payload={"args": ["-c", answer()]})["task_id"] for _ in range(6)]
    runtime.call("run-once")

    recent = runtime.call("status")[0]["recent"]

    assert [each["task_id"] for each in recent] == [ids[0], *reversed(ids[2:])]
    assert [each["bundle_hash"] is None for each in recent] == [False, True, True, True, True]


def test_both_dialects_give_the_same_task(runtime):
    old = {
        "kind": "t",
        "source": "who:what",
        "subject": "s",
        "description": "d",
        "priority": 5,
        "payload": {"x": 1},
        "requested_profile": "lumen",
        "requested_adapter": "shell",
        "max_attempts": 3,
        "available_at": "2026-01-01T00:00:00Z",
    }
    names = {
        "kind": "task_type",
        "requested_profile": "requested_profile_id",
        "requested_adapter": "requested_adapter_id",
    }
    new = {names.get(name, name): value for name, value in old.items()}

    tasks = []
    for each in (old, new):
        (runtime.folder / "task.json").write_text(json.dumps(each))
        assert runtime.call("intake", "--file", "task.json")[1] == ""
        tasks.append(runtime.stored())

    own = ("task_id", "created_at", "updated_at")
    assert [{name: value for name, value in task.items() if name not in own} for task in tasks] == [
        {
            "task_type": "t",
            "source": "who:what",
            "subject": "s",
            "description": "d",
            "priority": 5,
            "payload": {"x": 1},
            "requested_profile_id": "lumen",
            "requested_adapter_id": "shell",
            "requested_model": None,
            "status": "pending",
            "max_attempts": 3,
            "attempt_count": 0,
            "available_at": "2026-01-01T00:00:00Z",
            "started_at": None,
            "finished_at": None,
            "outcome": None,
            "last_error": None,
        }
    ] * 2


def test_what_a_task_does_not_say_the_file_says(runtime):
    runtime.intake(requested_adapter="", schedule={"delay_minutes": 30})

    task = runtime.stored()

    assert (task["priority"], task["max_attempts"], task["requested_profile_id"], task["requested_adapter_id"]) == (
        5,
        2,
        "lumen",
        None,
    )
    assert runtime.call("run-once")[0] == {"ok": True, "status": "idle"}


def test_a_file_extends_another_and_says_the_rest(runtime):
    (runtime.home / "host").mkdir()
    runtime.write("host/runtime.json", {"extends": "../runtime.json", "maxAttempts": 7, "runtimeName": "host"})
    config = ["--config", runtime.home / "host/runtime.json"]

    done = runtime.run("compat", "intake", *config, "--json", '{"kind": "k", "source": "s", "payload": {}}')

    assert done.code == 0
    assert runtime.stored()["max_attempts"] == 7


def test_a_kind_is_any_word_and_takes_any_payload(runtime):
    payload = {"deep": [{"x": None}], "objective": 5}

    for kind in ("Weird Kind/ÄÖ ✓", "goal-plan", "agent-task"):
        ran, _ = runtime.script(answer(), kind=kind, payload=payload)
        assert ran["status"] == "completed"


def test_roles_and_skills_that_are_just_words_are_told_to_the_model(runtime):
    with ScriptedModel([json.dumps(OK)], name="qwen") as model:
        adapters = {
            "gone": {"mode": "script", "command": "no-such-program", "timeoutMs": 1000, "fallback_adapter": "model"},
            "model": {"mode": "ollama-generate", "endpoint": model.url, "model": "qwen", "timeoutMs": 20000},
        }
        runtime.configure(adapters=adapters, defaultAdapter="model")
        runtime.write("profiles/lumen.json", PROFILE | {"default_adapter": "gone"})
        runtime.intake()
        ran, _ = runtime.call("run-once")
        prompt = model.requests[-1].prompt

    assert ran["status"] == "completed"
    assert "Skills: repo-editing" in prompt
    assert "Prefer small changes." in prompt
    assert "Be brief." in prompt


def test_a_profile_whose_adapter_is_not_there_uses_the_default_one(runtime):
    runtime.write("profiles/lumen.json", PROFILE | {"default_adapter": "claude-subscription"})

    assert runtime.script(answer())[0]["status"] == "completed"


def test_a_script_is_told_who_asks_and_where_its_folders_are(runtime):
    runtime.configure(artifactDir="../artifacts")
    ran, _ = runtime.script(
        f"env > '{runtime.folder}/env'; pwd >> '{runtime.folder}/env'; {answer()}", payload={"x": "é"}
    )

    lines = (runtime.folder / "env").read_text().splitlines()
    told = dict(line.split("=", 1) for line in lines if line.startswith("AGENT_RUNTIME_"))
    assert told["AGENT_RUNTIME_NAME"] == "lumen-1"
    assert told["AGENT_RUNTIME_TASK_ID"] == ran["task_id"]
    assert told["AGENT_RUNTIME_ATTEMPT_ID"] == ran["attempt_id"]
    assert told["AGENT_RUNTIME_ARTIFACT_DIR"] == str(runtime.folder / "artifacts")
    assert told["AGENT_RUNTIME_STATE_DIR"] == str(runtime.home / "state")
    assert json.loads(told["AGENT_RUNTIME_TASK_PAYLOAD_JSON"])["x"] == "é"
    assert lines[-1] == os.path.realpath(runtime.home)


@pytest.mark.parametrize(
    "path",
    ["reports/a.md", "state/artifacts/reports/a.md", "deploy/lumen/state/artifacts/reports/a.md", "absolute"],
    ids=["relative", "state", "deploy", "absolute"],
)
def test_an_artifact_is_found_by_each_of_its_names(runtime, path):
    path = str(runtime.home / "state/artifacts/reports/a.md") if path == "absolute" else path
    write = 'mkdir -p "$AGENT_RUNTIME_ARTIFACT_DIR/reports"; echo x > "$AGENT_RUNTIME_ARTIFACT_DIR/reports/a.md"'

    ran, err = runtime.script(f"{write}; {answer(artifact_paths=[path])}", payload={"output_path": path})

    assert (ran["status"], err) == ("completed", "")
    assert (runtime.home / "state/artifacts/reports/a.md").read_text() == "x\n"


@pytest.mark.parametrize(
    "payload",
    [
        {"output_path": "reports/a.md"},
        {"checklist_path": "reports/a.md"},
        {"required_artifacts": ["reports/a.md", 5, ""]},
        {"proposal_artifact": "reports/a.md"},
        {"phase": "plan", "proposal_artifact": "reports/a.md"},
        {"phase": "execute", "implementation_artifact": "reports/a.md"},
        {"phase": "verify", "verification_artifact": "reports/a.md"},
    ],
    ids="-".join,
)
def test_an_artifact_that_is_declared_must_be_there(runtime, payload):
    ran, err = runtime.script(answer(), payload=payload)

    assert list(ran) == ["ok", "status", "task_id", "attempt_id", "verification_issues"]
    assert (ran["ok"], ran["status"], ran["verification_issues"]) == (False, "blocked", ["reports/a.md is missing"])
    assert "engine::artifacts is violated" in err


def test_what_an_earlier_phase_wrote_is_an_input(runtime):
    payload = {"phase": "execute", "proposal_artifact": "plan.md", "implementation_artifact": "report.md"}
    write = f'echo x > "$AGENT_RUNTIME_ARTIFACT_DIR/report.md"; {answer()}'

    missing, err = runtime.script(write, payload=payload)
    runtime.artifacts.mkdir(exist_ok=True, parents=True)
    (runtime.artifacts / "plan.md").write_text("the plan")
    there, _ = runtime.script(write, payload=payload)

    assert list(missing) == ["ok", "status", "task_id", "attempt_id", "input_issues"]
    assert (missing["ok"], missing["status"]) == (False, "blocked")
    assert missing["input_issues"] == ["proposal artifact missing from disk: plan.md"]
    assert "blocked <1>: the payload does not fit: proposal artifact missing from disk: plan.md" in bare(err)[0]
    assert there["status"] == "completed"
    assert (runtime.artifacts / "plan.md").read_text() == "the plan"


@pytest.mark.parametrize(
    ("payload", "issues"),
    [
        ({"phase": "plan", "implementation_artifact": "a.md"}, None),
        ({"phase": "execute", "implementation_artifact": "a.md"}, None),
        ({"phase": "charter", "proposal_artifact": "a.md"}, None),
        ({"phase": ["execute"], "proposal_artifact": "a.md"}, None),
        (
            {"phase": "verify", "proposal_artifact": "../../x", "implementation_artifact": "/etc/passwd"},
            ["proposal artifact missing from disk: ../../x", "implementation artifact missing from disk: /etc/passwd"],
        ),
        (
            {"phase": "verify", "proposal_artifact": "a", "workflow_id": "../.."},
            ["proposal artifact missing from disk: a"],
        ),
    ],
    ids=["plan", "own", "word", "list", "outside", "workflow"],
)
def test_only_what_an_earlier_phase_writes_is_looked_for(runtime, payload, issues):
    ran, _ = runtime.script(answer(), payload=payload)

    assert ran.get("input_issues") == issues


@pytest.mark.parametrize(
    ("script", "kind", "status"),
    [
        ("true", "readiness", "blocked"),
        ("echo Everything is fine.", "readiness", "blocked"),
        ("true", "script", "completed"),
        ("exit 7", "script", "blocked"),
        (answer(status="permanent_failure", machine_status="failed"), "readiness", "permanent_failure"),
        (answer(status="blocked", machine_status="blocked"), "readiness", "blocked"),
    ],
    ids=["nothing", "words", "script", "failed-script", "failure", "blocked"],
)
def test_nothing_completes_by_its_words_and_run_once_exits_0(runtime, script, kind, status):
    ran, err = runtime.script(script, kind=kind)

    assert (ran["status"], ran["ok"]) == (status, status == "completed")
    assert bool(err) == (status != "completed")
    assert len(err.splitlines()) <= 1


def test_a_failure_with_tries_left_waits_as_the_file_says(runtime):
    ran, err = runtime.script("exit 7", max_attempts=2)

    assert ran["status"] == "retryable_failure"
    assert bare(err) == ["retryable_failure <1>: it ended with exit 7"]
    assert runtime.call("run-once")[0] == {"ok": True, "status": "idle"}


def test_a_wait_that_is_asked_for_reschedules_uncounted(runtime):
    ran, _ = runtime.script(answer(status="blocked", machine_status="blocked", retry_after_seconds=300))

    assert list(ran) == ["ok", "status", "task_id", "attempt_id", "retry_after_seconds", "available_at"]
    assert (ran["ok"], ran["status"]) == (False, "rate_limit_rescheduled")
    assert 290 <= ran["retry_after_seconds"] <= 300
    assert runtime.stored()["attempt_count"] == 0


def test_a_task_type_beside_the_file_says_what_completes_a_kind(runtime):
    types = runtime.folder / ".keisei/task-types"
    (types / "schemas").mkdir(parents=True)
    (types / "schemas/beat.json").write_text('{"type": "object", "required": ["args"]}')
    (types / "heartbeat.toml").write_text(
        'task_type = "heartbeat"\ndescription = "x"\npayload_schema_id = "schemas/beat.json"\n'
        "[success_policy]\ncomplete_by_exit_code = true\n"
    )

    assert runtime.script("true", kind="heartbeat")[0]["status"] == "completed"
    done = runtime.run(
        *("compat", "intake", "--config", runtime.home / "runtime.json"),
        *("--json", '{"kind": "heartbeat", "source": "s", "payload": {}}'),
    )
    assert (done.code, "the payload does not fit" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"paused": true, "reason": "lunch"}', "lunch"),
        ('{"paused": true, "reason": " "}', None),
        ("{", "pause file unreadable"),
    ],
    ids=["reason", "no-reason", "broken"],
)
def test_the_originals_pause_file_holds(runtime, content, reason):
    runtime.intake()
    (runtime.home / "state/dispatch.paused.json").write_text(content)

    assert runtime.call("run-once")[0] == {"ok": True, "status": "paused", "paused": True, "reason": reason}
    assert runtime.call("status")[0]["lastEvent"]["event_type"] == "dispatch_paused"

    (runtime.home / "state/dispatch.paused.json").write_text('{"paused": false}')
    assert runtime.call("run-once")[0]["status"] != "paused"


def test_a_configuration_in_order_is_healthy(runtime):
    with ScriptedModel([], name="qwen") as model:
        adapters = {
            "shell": RUNTIME["adapters"]["shell"],
            "model": {"mode": "ollama-generate", "endpoint": model.url, "model": "qwen", "timeoutMs": 20000},
        }
        runtime.configure(adapters=adapters)
        told, err = runtime.call("healthcheck")

    assert err == ""
    assert list(told) == ["ok", "configIssues", "profileChecks", "adapterChecks"]
    assert (told["ok"], told["configIssues"]) == (True, [])
    assert told["profileChecks"] == [{"profileId": "lumen", "issues": []}]
    assert [(each["adapterId"], each["ok"]) for each in told["adapterChecks"]] == [("shell", True), ("model", True)]
    assert told["adapterChecks"][0]["detail"]["command"] == "sh"
    assert told["adapterChecks"][1]["detail"]["available_models"] == ["qwen"]


@pytest.mark.parametrize(
    "more",
    [
        {"runtimePolicy": " "},
        {"adapters": {"shell": {"mode": "script", "command": "./nope.sh", "timeoutMs": 1000}}},
        {"adapters": {"shell": {"mode": "script", "command": "sh", "timeoutMs": 1}}},
        {"profiles": {"lumen": "./profiles/lumen.json", "gone": "./gone.json"}},
        {"defaultProfile": "gone"},
        {"maxAttempts": 0},
    ],
    ids=["policy", "program", "timeout", "profile", "default", "value"],
)
def test_a_configuration_that_is_not_in_order_exits_1(runtime, more):
    runtime.configure(**more)

    done = runtime.run("compat", "healthcheck", "--config", runtime.home / "runtime.json")

    told = json.loads(done.out)
    assert (done.code, told["ok"], done.err) == (1, False, "")
    assert told["configIssues"] or any(not each["ok"] for each in told["adapterChecks"])


def test_a_model_that_is_not_there_is_not_healthy(runtime):
    with ScriptedModel([], name="other") as model:
        adapter = {"mode": "ollama-generate", "endpoint": model.url, "model": "qwen", "timeoutMs": 20000}
        runtime.configure(adapters={"shell": adapter})
        there = runtime.run("compat", "healthcheck", "--config", runtime.home / "runtime.json")
    gone = runtime.run("compat", "healthcheck", "--config", runtime.home / "runtime.json")

    assert (there.code, gone.code) == (1, 1)
    assert json.loads(there.out)["adapterChecks"][0]["detail"]["available_models"] == ["other"]
    assert "does not answer" in json.loads(gone.out)["adapterChecks"][0]["detail"]["error"]


@pytest.mark.parametrize("verb", ["status", "run-once", "intake", "healthcheck"])
@pytest.mark.parametrize("config", ["nowhere.json", ".", "/dev/zero", "broken.json", "deploy/profiles/lumen.json"])
def test_a_file_that_is_none_is_told_and_exits_1(runtime, verb, config):
    (runtime.folder / "broken.json").write_text('{"runtimeName": ')
    words = ["--json", "{}"] if verb == "intake" else []

    done = runtime.run("compat", verb, "--config", config, *words)

    assert done.code == 1
    assert "error[" in (done.out if verb == "healthcheck" else done.err)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "give one of --json and --file"),
        (["--json", "{}", "--file", "x"], "give one of --json and --file"),
        (["--json", "{"], "this is not JSON"),
        (["--json", "[]"], "one task, not 0"),
        (["--json", "[1, 2]"], "one task, not 2"),
        (["--json", '{"kind": "k", "source": "s", "payload": []}'], "must be an object"),
        (["--json", '{"kind": "k", "source": "s", "payload": {}, "priority": "high"}'], "must be an integer"),
        (["--json", '{"kind": "k", "source": "s", "payload": {}, "max_attempts": 0}'], "must be at least 1"),
        (["--json", '{"kind": "k", "source": "s", "payload": {}, "requested_profile": "x"}'], "known profiles: lumen"),
        (["--json", '{"kind": "k", "source": "s", "payload": {}, "requested_adapter": "x"}'], "known adapters: shell"),
        (["--json", '{"kind": "k", "source": "s", "payload": {"a": 1e999}}'], "no canonical form"),
        (["--file", "nowhere"], "cannot be read"),
        (["--file", ""], "cannot be read"),
    ],
    ids=[
        *("nothing", "both", "cut", "none", "many", "list", "priority", "attempts", "profile", "adapter", "infinite"),
        *("no-file", "no-name"),
    ],
)
def test_a_task_that_cannot_be_is_one_clear_error(runtime, words, why):
    done = runtime.run("compat", "intake", "--config", runtime.home / "runtime.json", *words)

    assert (done.code, done.out) == (1, "")
    assert why in done.err
    assert len(done.err.splitlines()) == 2
