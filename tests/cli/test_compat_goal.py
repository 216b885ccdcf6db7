"""`keisei compat`: backlogs of the original at work. Who only talks completes nothing; who writes keeps every byte."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.deployment import Runtime, answer
from tests.cli.originals import GOAL, LOOP, SEED, SHARED, STYLES, profile, proof

BACKLOGS = {"loop": LOOP, "shared": SHARED, "seed": SEED}


@pytest.fixture
def runtime(shell):
    made = Runtime(shell)
    made.agent()
    made.write("profiles/proving-codex.json", profile("proving-codex", "codex-like"))
    settings = json.loads((made.home / "runtime.json").read_text())
    profiles = {"lumen": "./profiles/lumen.json", "proving-codex": "./profiles/proving-codex.json"}
    made.write("runtime.json", settings | {"profiles": profiles, "maxAttempts": 1})
    yield made
    made.close()


def seed(runtime, backlog):
    return runtime.told("seed-backlog", "--file", runtime.write("backlog.json", backlog))


def phases(runtime):
    return [each.get("phase") for each in runtime.lines("asked.jsonl")]


@pytest.mark.parametrize("backlog", BACKLOGS)
@pytest.mark.parametrize(
    "answer", [{"writes": False}, {"writes": False, "talks": True}], ids=["says-it-is-completed", "talks"]
)
def test_an_agent_that_only_talks_completes_nothing(runtime, backlog, answer):
    runtime.instruct(**answer)
    seed(runtime, BACKLOGS[backlog])

    runtime.work_off()

    assert "completed" not in {each["status"] for each in runtime.tasks()}
    assert {each["status"] for each in runtime.told("workflow-list")["workflows"]} <= {"active", "blocked"}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("backlog", BACKLOGS)
def test_an_agent_that_writes_what_was_asked_completes_it_and_no_byte_is_touched(runtime, backlog, style):
    runtime.write("profiles/proving-codex.json", profile("proving-codex", style))
    seed(runtime, BACKLOGS[backlog])

    ran = runtime.work_off()

    assert {each["status"] for each in ran} == {"completed"}
    assert {each["status"] for each in runtime.tasks()} == {"completed"}
    assert runtime.told("workflow-list") == {"workflows": []}
    last = {each["path"]: each["sha256"] for each in runtime.lines("written.jsonl")}
    assert {path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in last} == last


@pytest.mark.parametrize("said", [{}, {"file_changes": ["PROOF"]}, {"talks": True}], ids=["done", "claims", "talks"])
def test_a_proof_that_nobody_has_written_is_no_proof(runtime, tmp_path, said):
    path = tmp_path / "proof/proof.txt"
    runtime.instruct(**{key: [str(path)] if key == "file_changes" else value for key, value in said.items()})
    seed(runtime, proof(path))

    (ran,) = runtime.work_off()

    assert ran["status"] == "blocked"


@pytest.mark.parametrize(
    ("content", "older", "issue"),
    [
        ("ok", None, None),
        ("ok\n", None, None),
        ("ok", "ok", None),
        ("not ok", None, "does not hold what was asked for"),
        (None, "ok", "was there before the attempt and has not changed"),
    ],
    ids=["new", "with-a-newline", "again", "other-words", "old"],
)
def test_a_proof_is_a_new_file_that_says_what_was_asked(runtime, tmp_path, content, older, issue):
    path = tmp_path / "proof/proof.txt"
    path.parent.mkdir()
    if older is not None:
        path.write_text(older)
    writes = "" if content is None else f"printf '{content}' > '{path}'; ".replace("\n", "\\n")
    claim = [] if content is None else [str(path)]
    runtime.configure(maxAttempts=1)
    asked = {"args": ["-c", writes + answer(file_changes=claim)], **proof(path)["tasks"][0]["payload"]}

    ran, _ = runtime.script("", payload=asked)

    assert ran["status"] == ("completed" if issue is None else "blocked")
    assert [each.removeprefix(f"{path} ") for each in ran.get("verification_issues", [])] == [issue] * bool(issue)


def test_workflows_that_name_the_same_files_write_files_of_their_own(runtime):
    seed(runtime, SHARED)

    runtime.work_off()

    written = [each["path"] for each in runtime.lines("written.jsonl") if "/workflows/" in each["path"]]
    assert len(written) == len(set(written)) == 6
    ids = {each["id"] for each in runtime.told("snapshot")["snapshot"]["workflows"]}
    assert {Path(each).parent for each in written} == {runtime.artifacts / "workflows" / each for each in ids}
    assert {Path(each).name for each in written} == {"plan-1.md", "execute-1.md", "verify-1.md"}


def test_a_plan_that_leaves_nothing_to_do_is_verified_without_a_step(runtime):
    runtime.instruct(workflow_signal="complete")
    seed(runtime, LOOP)

    ran = runtime.work_off()

    assert [each["status"] for each in ran] == ["completed", "completed"]
    assert phases(runtime) == ["plan", "verify"]
    verify = runtime.lines("asked.jsonl")[-1]
    assert (verify["proposal_artifact"], "implementation_artifact" in verify) == ("plan-1.md", False)
    assert runtime.told("workflow-show", "--instance_key", "lantern-loop")["status"] == "completed"


def test_a_loop_that_goes_on_does_new_work_each_time(runtime):
    runtime.instruct("continue", "continue", "complete")
    seed(runtime, LOOP)

    runtime.work_off()

    assert phases(runtime) == ["plan", "execute", "verify", "execute", "verify", "execute", "verify"]
    assert Counter(each["task_type"] for each in runtime.tasks()) == {
        "goal-plan": 1,
        "goal-execute": 3,
        "goal-verify": 3,
    }
    asked = runtime.lines("asked.jsonl")
    assert [each["iteration"] for each in asked] == [1, 1, 1, 2, 2, 3, 3]
    assert {each["proposal_artifact"] for each in asked} == {"plan-1.md"}
    assert [each.get("implementation_artifact") for each in asked[1:]] == [
        *("execute-1.md", "execute-1.md", "execute-2.md", "execute-2.md", "execute-3.md", "execute-3.md")
    ]


def test_a_plan_that_is_revised_is_a_second_plan(runtime):
    runtime.instruct("revise_plan", "complete")
    seed(runtime, LOOP)

    runtime.work_off()

    asked = runtime.lines("asked.jsonl")
    assert phases(runtime) == ["plan", "execute", "verify", "plan", "execute", "verify"]
    assert [each["proposal_artifact"] for each in asked] == ["plan-1.md"] * 3 + ["plan-2.md"] * 3
    folder = next((runtime.artifacts / "workflows").iterdir())
    assert sorted(each.name for each in folder.iterdir()) == [
        *("execute-1.md", "execute-2.md", "plan-1.md", "plan-2.md", "verify-1.md", "verify-2.md")
    ]


@pytest.mark.parametrize("signal", [None, "perhaps", "plan_ready"], ids=["none", "unknown", "of-another-phase"])
def test_a_verifier_without_a_signal_that_leads_on_burns_nothing(runtime, signal):
    runtime.instruct(signal or "complete", **({} if signal else {"workflow_signal": None}))
    seed(runtime, LOOP)

    runtime.work_off()

    (workflow,) = runtime.told("workflow-list")["workflows"]
    assert workflow["status"] == "blocked"
    assert len(runtime.tasks()) <= 3
    assert runtime.call("run-once")[0] == {"ok": True, "status": "idle"}


def test_a_phase_is_given_the_originals_keys(runtime):
    seed(runtime, LOOP)
    (workflow,) = runtime.told("workflow-list")["workflows"]

    runtime.work_off()

    plan, execute, verify = runtime.lines("asked.jsonl")
    common = {
        "objective": GOAL["objective"],
        "summary": GOAL["summary"],
        "scope": GOAL["scope"],
        "iteration": 1,
        "workflow_id": workflow["id"],
        "workflow_template": "goal-loop",
        "workflow_instance_key": "lantern-loop",
    }
    for payload, phase in ((plan, "plan"), (execute, "execute"), (verify, "verify")):
        assert {name: payload[name] for name in common} == common
        assert (payload["phase"], payload["workflow_state"]) == (phase, phase)
        assert payload["required_artifacts"] == [f"{phase}-1.md"]
        assert not {"requested_profile", "plan_phase_skills", "base_name", "plan_artifact"} & set(payload)
    assert plan["phase_skills"] == GOAL["plan_phase_skills"]
    assert verify["phase_skills"] == GOAL["verify_execute_phase_skills"]
    assert plan["response_contract"] == {"required_workflow_signal": "plan_ready"}
    assert execute["response_contract"] == {"required_workflow_signal": "execute_ready"}
    assert verify["response_contract"] == {"required_workflow_signal": "continue|complete|revise_plan"}
    assert set(verify["accepted_signals"]) == {"continue", "complete", "revise_plan"}
    assert verify["verification_artifact"] == "verify-1.md"
    assert {each["requested_profile_id"] for each in runtime.tasks()} == {"proving-codex"}


def test_a_goal_that_says_nothing_has_the_default_profile_and_a_name(runtime):
    runtime.told("workflow-create", "--template", "goal-loop", "--instance_key", "bare")

    runtime.work_off()

    plan = runtime.lines("asked.jsonl")[0]
    assert (plan["objective"], plan["summary"], plan["scope"]) == ("workflow goal", "workflow goal", [])
    assert {each["requested_profile_id"] for each in runtime.tasks()} == {"lumen"}


@pytest.mark.parametrize(
    "context",
    [
        {"summary": ["x"], "objective": {"y": 1}, "scope": "src", "plan_phase_skills": 5},
        {"summary": "a\nb{visit}{0}", "iteration": -3, "phase": "verify", "workflow_id": "../x"},
        {"required_artifacts": ["../../evil"], "output_path": 7, "accepted_signals": "all", "args": [1]},
    ],
    ids=["types", "names", "keys"],
)
def test_a_context_of_any_shape_harms_nobody(runtime, context):
    runtime.told(
        "workflow-create", "--template", "goal-loop", "--instance_key", "odd", "--context", json.dumps(context)
    )

    ran = runtime.work_off()

    assert {each["status"] for each in ran} == {"completed"}
    assert runtime.told("workflow-show", "--instance_key", "odd")["status"] == "completed"


def test_a_phase_whose_input_is_gone_is_not_run(runtime):
    seed(runtime, LOOP)
    runtime.call("run-once")
    next((runtime.artifacts / "workflows").rglob("plan-1.md")).unlink()

    ran, _ = runtime.call("run-once")

    assert (ran["status"], ran["input_issues"]) == ("blocked", ["proposal artifact missing from disk: plan-1.md"])
    assert phases(runtime) == ["plan"]
    assert runtime.told("workflow-list")["workflows"][0]["status"] in ("active", "blocked")


def test_a_plan_that_was_made_elsewhere_is_read_where_it_stands(runtime):
    (runtime.artifacts / "plans").mkdir(parents=True)
    (runtime.artifacts / "plans/old-plan.md").write_text("the old plan")
    context = json.dumps({"summary": "x", "plan_artifact": "plans/old-plan.md"})
    words = ["--template", "goal-loop", "--instance_key", "late", "--state", "execute", "--context", context]
    runtime.told("workflow-create", *words)

    ran = runtime.work_off()

    assert [each["status"] for each in ran] == ["completed", "completed"]
    assert Path(runtime.lines("asked.jsonl")[0]["proposal_artifact"]).read_text() == "the old plan"
