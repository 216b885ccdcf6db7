"""`keisei compat snapshot`, `report`, `adapters`: how things stand, in the original's shapes."""

import json
import os
from pathlib import Path

import pytest

from keisei.testing.model import ScriptedModel
from tests.cli.deployment import RUNTIME, Runtime, answer
from tests.cli.originals import STYLES, profile
from tests.cli.shop import TIME

SHELL = RUNTIME["adapters"]["shell"]
GONE = {"mode": "script", "command": "no-such-program", "timeoutMs": 1000}


@pytest.fixture
def runtime(shell):
    made = Runtime(shell)
    yield made
    made.close()


def test_a_snapshot_is_written_and_told(runtime):
    runtime.agent()
    runtime.told("workflow-create", "--template", "goal-loop", "--instance_key", "k", "--context", '{"summary": "x"}')
    done = runtime.intake(priority=900)["task_id"]
    runtime.call("run-once")
    waits = runtime.intake(priority=9)["task_id"]

    told = runtime.told("snapshot", "--label", "before lunch/../x")

    assert list(told) == ["snapshotPath", "snapshot"]
    path, snapshot = Path(told["snapshotPath"]), told["snapshot"]
    assert path.parent == runtime.artifacts / "snapshots"
    assert path.name.endswith("Z-before-lunch----x.json")
    assert json.loads(path.read_text()) == snapshot
    assert list(snapshot) == [
        *("captured_at", "runtime_name", "status", "workflows", "active_workflows", "queued_tasks"),
        *("recent_completed", "artifact_files"),
    ]
    assert TIME.fullmatch(snapshot["captured_at"])
    assert list(snapshot["status"]) == ["counts", "recent", "lastEvent"]
    assert [each["task_id"] for each in snapshot["recent_completed"]] == [done]
    assert snapshot["queued_tasks"][0]["task_id"] == waits
    assert len(snapshot["queued_tasks"]) == 2
    assert snapshot["workflows"] == snapshot["active_workflows"]
    assert snapshot["workflows"][0]["context"] == {"summary": "x"}
    assert snapshot["artifact_files"] == []


def test_a_snapshot_lists_files_of_any_name_and_follows_no_link(runtime):
    (runtime.artifacts / "a").mkdir(parents=True)
    (runtime.artifacts / "out").symlink_to(runtime.folder)
    Path(os.fsdecode(os.fsencode(runtime.artifacts) + b"/a/\xff.md")).touch()

    told = runtime.told("snapshot")

    assert told["snapshot"]["artifact_files"] == ["a/\ufffd.md"]


def test_a_snapshot_is_not_written_where_a_link_leads(runtime):
    runtime.artifacts.mkdir(parents=True)
    (runtime.artifacts / "snapshots").symlink_to(runtime.folder)

    done = runtime.verb("snapshot")

    assert (done.code, done.out, len(done.err.splitlines())) == (1, "", 2)
    assert not list(runtime.folder.glob("*.json"))


def test_a_report_tells_what_happened_between_two_snapshots(runtime):
    runtime.agent()
    runtime.told("workflow-create", "--template", "goal-loop", "--instance_key", "k", "--context", '{"summary": "x"}')
    before = runtime.told("snapshot", "--label", "a")["snapshotPath"]
    runtime.told("workflow-create", "--template", "goal-loop", "--instance_key", "l", "--context", '{"summary": "y"}')
    runtime.work_off()
    runtime.intake(requested_adapter="shell", max_attempts=1)
    after = runtime.told("snapshot", "--label", "b")["snapshotPath"]

    told = runtime.told("report", "--before", before, "--after", after)

    assert list(told) == [
        *("runtime_name", "before_captured_at", "after_captured_at", "completed_task_delta", "queued_task_delta"),
        *("new_artifacts_created", "workflow_counts", "workflow_state_changes", "blocked_or_retryable_tasks"),
        *("ended_idle", "ended_idle_from_event"),
    ]
    assert told["completed_task_delta"] == {"before": 0, "after": 6, "delta": 6}
    assert told["queued_task_delta"] == {"before": 1, "after": 1, "delta": 0}
    assert len(told["new_artifacts_created"]) == 6
    assert told["workflow_counts"] == {"before": 1, "after": 2, "delta": 1}
    first, second = told["workflow_state_changes"]
    assert (first["instance_key"], first["change"], first["from_state"], first["to_state"]) == (
        *("k", "completed", "plan", "complete"),
    )
    assert second == {"instance_key": "l", "change": "new", "template": "goal-loop", "state": "complete"}
    assert told["ended_idle"] is False


def test_what_waits_and_that_nothing_is_to_do_is_reported(runtime):
    before = runtime.told("snapshot")["snapshotPath"]
    runtime.script("exit 7", max_attempts=1)
    runtime.call("run-once")
    after = runtime.told("snapshot", "--label", "z")["snapshotPath"]

    told = runtime.told("report", "--before", before, "--after", after)

    assert [each["status"] for each in told["blocked_or_retryable_tasks"]] == ["blocked"]
    assert told["ended_idle"] is True


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ([1, 2], "one snapshot, not 2"),
        ({}, "`captured_at` is not as it should be"),
        ({"captured_at": "x", "status": {"counts": 5}}, "`status` is not as it should be"),
        ({"captured_at": "x", "status": {"counts": []}, "workflows": [{}]}, "`workflows` is not as it should be"),
    ],
    ids=["list", "empty", "counts", "workflows"],
)
def test_a_file_that_is_no_snapshot_is_one_clear_error(runtime, data, why):
    good = runtime.told("snapshot")["snapshotPath"]

    done = runtime.verb("report", "--before", good, "--after", runtime.write("bad.json", data))

    assert (done.code, done.out, len(done.err.splitlines())) == (1, "", 2)
    assert why in done.err


@pytest.mark.parametrize("words", [[], ["--before", "x"], ["--before", "nowhere", "--after", "nowhere"]], ids=len)
def test_a_report_needs_two_files(runtime, words):
    done = runtime.verb("report", *words)

    assert (done.code, done.out) == (1, "")
    assert "Traceback" not in done.err


def test_adapters_are_told_and_the_default_decides(runtime):
    with ScriptedModel([], name="qwen") as model:
        lamp = {"mode": "ollama-generate", "endpoint": model.url, "model": "qwen", "timeoutMs": 20000}
        codex = {"mode": "agent-cli", "driver": "codex", "command": "no-codex", "timeoutMs": 20000}
        runtime.configure(adapters={"shell": SHELL, "lamp": lamp, "codex": codex | {"fallback_adapter": "shell"}})
        told = runtime.told("adapters")

    assert list(told) == ["defaultAdapter", "defaultOk", "adapters"]
    assert (told["defaultAdapter"], told["defaultOk"]) == ("shell", True)
    shell, lamp, codex = told["adapters"]
    assert list(shell) == ["id", "mode", "isDefault", "ok", "detail"]
    assert (shell["mode"], shell["isDefault"], lamp["mode"], lamp["ok"], codex["mode"]) == (
        *("script", True, "ollama-generate", True, "agent-cli"),
    )
    assert list(codex) == ["id", "mode", "isDefault", "ok", "fallback_adapter", "broken_reason", "detail"]
    assert (codex["fallback_adapter"], codex["broken_reason"]) == ("shell", "the program `no-codex` is not on the PATH")


def test_a_probe_follows_the_fallbacks(runtime):
    chain = {"shell": GONE | {"fallback_adapter": "b"}, "b": GONE | {"fallback_adapter": "c"}, "c": SHELL}
    runtime.configure(adapters=chain)

    done = runtime.verb("adapters", "--probe")

    told = json.loads(done.out)
    assert (done.code, told["defaultOk"]) == (1, False)
    probe = told["probe"]
    assert (probe["requested_adapter"], probe["selected_adapter"]) == ("shell", "c")
    assert [(each["adapterId"], each["ok"], "reason" in each) for each in probe["chain"]] == [
        ("shell", False, True),
        ("b", False, True),
        ("c", True, False),
    ]


@pytest.mark.parametrize(
    ("adapters", "selected"),
    [
        ({"shell": GONE | {"fallback_adapter": "shell"}}, "shell"),
        ({"shell": GONE | {"fallback_adapter": "b"}, "b": GONE | {"fallback_adapter": "shell"}}, "b"),
        ({"shell": GONE | {"fallback_adapter": "nowhere"}}, "shell"),
        ({"shell": GONE | {"fallback_adapter": ["b"]}}, "shell"),
    ],
    ids=["itself", "circle", "nowhere", "list"],
)
def test_a_probe_ends(runtime, adapters, selected):
    runtime.configure(adapters=adapters)

    done = runtime.verb("adapters", "--probe")

    assert (done.code, json.loads(done.out)["probe"]["selected_adapter"]) == (1, selected)


def test_a_file_without_a_default_adapter_is_not_in_order(runtime):
    runtime.write("runtime.json", {name: value for name, value in RUNTIME.items() if name != "defaultAdapter"})

    done = runtime.verb("adapters", "--probe")

    told = json.loads(done.out)
    assert (done.code, told["defaultAdapter"], told["defaultOk"]) == (1, None, False)
    assert told["probe"] == {"requested_adapter": None, "selected_adapter": None, "chain": []}


@pytest.mark.parametrize("style", STYLES)
def test_a_host_file_extends_the_agents_with_profiles_of_every_style(runtime, style):
    runtime.write("profiles/arc.json", profile("arc", style))
    (runtime.home / "host").mkdir()
    host = {"extends": "../runtime.json", "profiles": {"arc": "../profiles/arc.json"}, "defaultProfile": "arc"}
    runtime.write("host/runtime.json", host)
    task = json.dumps({"kind": "x", "source": "s", "payload": {"args": ["-c", answer()]}})
    config = ["--config", runtime.home / "host/runtime.json"]

    queued = runtime.run("compat", "intake", *config, "--json", task)
    ran = runtime.run("compat", "run-once", *config)

    assert (queued.code, queued.err, ran.err) == (0, "", "")
    assert json.loads(queued.out)["profile"] == "arc"
    assert json.loads(ran.out)["status"] == "completed"


def test_a_style_of_the_originals_own_is_a_word_of_the_prompt(runtime):
    runtime.write("profiles/lumen.json", profile("lumen", "quarantine"))

    ran, err = runtime.script(answer())

    assert (ran["status"], err) == ("completed", "")
    prompts = list((runtime.home / "state/keisei/evidence").rglob("*prompt*"))
    assert [b"Style: quarantine" in each.read_bytes() for each in prompts] == [True]


@pytest.mark.parametrize("style", ["", " ", 7, None, ["claude-like"], "codexlike", "Claude-like"])
def test_a_style_that_is_no_word_or_a_slip_is_told(runtime, style):
    runtime.write("profiles/lumen.json", profile("lumen", style))

    done = runtime.verb("status")

    assert done.code == 1
    assert "error[" in done.err
    assert "style" in done.err


@pytest.mark.parametrize(
    "verb",
    [
        *("adapters", "bridge-discord", "bridge-github", "import", "report", "schedule-create", "schedule-tick"),
        *("seed-backlog", "sensor-event", "snapshot", "workflow-complete", "workflow-create", "workflow-list"),
        *("workflow-show", "workflow-transition", "workflow-unblock"),
    ],
)
@pytest.mark.parametrize("config", ["nowhere.json", ".", "broken.json"])
def test_a_configuration_that_is_none_is_told_and_exits_1(runtime, verb, config):
    (runtime.folder / "broken.json").write_text('{"runtimeName": ')
    (runtime.folder / "data.json").write_text(json.dumps({"event": "e", "channel": "c", "author": "a", "message": "m"}))
    words = {
        "bridge-discord": ["--file", "data.json"],
        "bridge-github": ["--file", "data.json"],
        "seed-backlog": ["--file", "data.json"],
        "schedule-create": ["--json", "{}"],
        "sensor-event": ["--json", "{}"],
        "report": ["--before", "data.json", "--after", "data.json"],
        "workflow-complete": ["--id", "1"],
        "workflow-create": ["--template", "t", "--instance_key", "k"],
        "workflow-show": ["--id", "1"],
        "workflow-transition": ["--id", "1", "--state", "s"],
        "workflow-unblock": ["--id", "1"],
    }

    done = runtime.run("compat", verb, "--config", config, *words.get(verb, []))

    assert (done.code, done.out) == (1, "")
    assert "error" in done.err
    assert "Traceback" not in done.err
