"""What the ledger tells of attempts: who was forked from what, what was refused, and the papers an agent runs under."""

import hashlib
from pathlib import Path

import pytest
from msgspec.structs import replace

from keisei import __version__
from keisei.engine.control import again
from keisei.engine.intake import TASK_FILE, Origin, _with_agent
from keisei.gate.log import GateLog
from keisei.records.adapter import CodexAdapter
from keisei.records.id import TaskId
from keisei.records.intent import TaskIntent
from keisei.records.move import EntryQuery, NewEntry
from keisei.records.role import RoleIsolation
from keisei.records.task_spec import Elevation, SpecTask, TaskSpec
from keisei.records.task_type import TaskTypeSpec
from keisei.rules.agent_id import of_task
from keisei.rules.redact import Redactor
from keisei.wiring.constitution import KIND
from keisei.wiring.judgement import _texts
from keisei.wiring.runner import new_id
from keisei.wiring.salvage import refused_in
from keisei.wiring.spawn import bypass_of, called
from tests.wiring.house import House

DONE = """echo '{"status": "completed", "operator_summary": "did it"}'"""
SECRET = "hunter2-hunter2-hunter2"  # noqa: S105 - of this test
AGENT = """[identity]
agent_id = "indra"
internal_name = "indra"
display_name = "Indra"
[constitution]
version = "1.0"
revised_at = 2026-01-01T00:00:00Z
"""
FILE_TYPE = """
task_type = "filed"
description = "A task file, as agents have it."
payload_schema_id = "agent-runtime/task.spec/v1"
default_profile_id = "script"
default_adapter_id = "script"
"""


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def rows(house, kind):
    house.store.unsealed()
    return list(reversed(house.store.find_entries(EntryQuery(kind=kind, limit=200))))


# --- forks ------------------------------------------------------------------------------------------------------------


def test_every_spawn_has_a_row_from_whose_evidence_anybody_can_recompute_it(house):
    task = house.script(DONE)

    house.run()

    (row,), (attempt,) = rows(house, "agent_forked"), house.attempts(task)
    bundle = house.store.bundle(attempt.attempt_id)
    dna = row.body.pop("dna")
    nonce = hashlib.sha256(attempt.attempt_id.encode()).hexdigest()[:8]
    assert dna.startswith(f"{bundle.role}::")
    assert dna.endswith(f"-{nonce}")
    assert (row.source, row.actor, row.subject) == ("engine", attempt.runner_id, row.body["agent_id"])
    assert row.body == {
        "agent_id": of_task(task, house.task(task).created_at),
        "task_id": task,
        "attempt_id": attempt.attempt_id,
        "parent": None,
        "role": bundle.role,
        "spec_sha256": hashlib.sha256(house.evidence(attempt, "task.json")).hexdigest(),
        "base": None,
        "bundle_hash": bundle.bundle_hash,
        "inputs_hash": bundle.inputs_hash,
        "identity": None,
        "constitution": None,
        "keisei": __version__,
    }
    (settled,) = rows(house, "attempt_settled")
    assert settled.seq == row.seq + 1
    assert settled.body["evidence"]["task.json"] == row.body["spec_sha256"]
    assert rows(house, "bypass_used") == []


def test_every_try_is_a_row_of_the_same_spawn_and_so_is_whoever_takes_over(house):
    task = house.script("exit 3", max_attempts=2)
    house.run()
    heir = again(house.store, house.task(task), TaskId(new_id()), "once more", "operator:me")
    house.runner(only=(heir.task_id,)).run()

    found = rows(house, "agent_forked")

    assert [each.body["task_id"] for each in found][:3] == [task, task, heir.task_id]
    assert len({each.subject for each in found}) == 1
    assert {each.body["parent"] for each in found} == {None}


def test_a_file_names_its_spawn_and_its_parent_unless_an_agent_wrote_it(house):
    (house.root / ".keisei" / "task-types" / "filed.toml").write_text(FILE_TYPE)
    registry = house.shop.registry()
    told = {"task": {"role": "edit-local", "agent-id": "ag-mine", "parent-agent": "ag-above"}}
    made = house.task(house.add({"task_type": "filed", "payload": told}))

    assert called(house.shop, registry, made) == ("ag-mine", "ag-above")

    asked = replace(made, source=f"task:{made.task_id}", parent_task_id=made.task_id, task_id=TaskId("child"))
    assert called(house.shop, registry, asked) == (of_task("child", made.created_at), "ag-mine")
    for named in ("../../etc", "x" * 65, "ag mine"):
        odd = replace(made, payload={"task": {**told["task"], "agent-id": named, "parent-agent": named}})
        assert called(house.shop, registry, odd) == (of_task(made.task_id, made.created_at), None)


# --- bypasses ---------------------------------------------------------------------------------------------------------


def bypass(house, *, require="none", level=None, sandbox=None, elevate=None):
    role = house.shop.registry().material.resolved_role("edit-local")
    role = role._replace(isolation=RoleIsolation(require=require))
    config = CodexAdapter(adapter_id="codex", command="codex", timeout_ms=1000, sandbox=sandbox)
    told = TaskSpec(task=SpecTask(role="edit-local"), elevate=elevate)
    return bypass_of(told, role, config, level, Redactor((SECRET,)))


def test_what_does_not_hold_is_named_and_what_holds_is_not(house):
    assert not bypass(house).is_used
    assert not bypass(house, require="landlock", level="full", sandbox="workspace-write").is_used

    weaker = bypass(house, require="full", level="landlock")
    assert (weaker.is_used, weaker.required, weaker.had) == (True, "full", "landlock")
    assert bypass(house, sandbox="danger-full-access").sandbox == "danger-full-access"
    raised = bypass(house, elevate=Elevation(capabilities=("safety::no-dep-bump",), reason=f"{SECRET} {'so ' * 200}"))
    assert raised.elevated == ("safety::no-dep-bump",)
    assert SECRET not in raised.because
    assert len(raised.because) == 200


# --- refusals ---------------------------------------------------------------------------------------------------------


def denied(folder: Path, number: int, **changes):
    log = GateLog(folder / "gate.jsonl")
    decision = {
        "attempt_id": "at-1",
        "tool_use_id": "call-1",
        "tool": "Bash",
        "input": {},
        "input_digest": "0" * 64,
        "decision": "deny",
        "cause": "rule",
        "capability": "policy::no-git-ops",
        "reason": "no git",
        "latency_ms": 1.5,
        "policy_digest": "0" * 64,
        "decided_at": "2026-01-01T00:00:00Z",
        **changes,
    }
    found = [log.append({key: value for key, value in decision.items() if value is not None}) for _ in range(number)]
    log.close()
    return found


def test_refusals_are_counted_and_the_first_told_by_the_hash_of_their_line_without_secrets(tmp_path):
    lines = denied(tmp_path, 60, reason=f"`curl -H {SECRET}` is refused", tool=f"mcp__{SECRET}")
    denied(tmp_path, 1, tool_use_id="canary-1")
    denied(tmp_path, 1, decision="allow", reason=None)

    found = refused_in(tmp_path, (SECRET,))

    assert found.total == 60
    assert [each.line for each in found.first] == lines[:50]
    assert SECRET not in repr(found)
    assert found.first[0].reason == "`curl -H [redacted]` is refused"


def test_nothing_refused_and_no_log_are_no_row(tmp_path):
    assert refused_in(tmp_path / "nowhere") is None
    denied(tmp_path, 2, decision="allow", reason=None)
    assert refused_in(tmp_path) is None


# --- constitutions ----------------------------------------------------------------------------------------------------


@pytest.fixture
def papers(house):
    folder = house.root / ".keisei" / "agents" / "indra"
    folder.mkdir(parents=True)
    (folder / "agent.toml").write_text(AGENT)
    (folder / "SOUL.md").write_text("calm\n")
    (folder / "PURPOSE.md").write_text("good\n")
    return folder


def accepted(house, soul="calm\n", purpose="good\n"):
    body = {"soul_sha256": sha(soul), "purpose_sha256": sha(purpose), "version": "1.0"}
    house.store.append(NewEntry(kind=KIND, actor="operator:me", subject="indra", body=body))


@pytest.mark.usefixtures("papers")
def test_an_agent_runs_as_its_files_are_where_nothing_was_accepted(house):
    task = house.script(DONE, agent="indra")

    house.run()

    assert house.task(task).status == "completed"
    (row,) = rows(house, "agent_forked")
    assert row.body["identity"] == "indra"
    assert row.body["constitution"] == {"soul_hash": sha("calm\n"), "purpose_hash": sha("good\n")}
    (attempt,) = house.attempts(task)
    assert [each.status for each in house.store.findings(attempt.attempt_id)] == ["held"]


@pytest.mark.usefixtures("papers")
def test_an_agent_runs_under_what_was_accepted(house):
    accepted(house)
    task = house.script(DONE, agent="indra")

    house.run()

    assert house.task(task).status == "completed"


@pytest.mark.parametrize("change", ["changed", "taken away"])
def test_papers_that_nobody_accepted_stop_the_attempt_before_it_runs(house, papers, change):
    accepted(house)
    if change == "changed":
        (papers / "PURPOSE.md").write_text("gold\n")
    else:
        (papers / "agent.toml").write_text(AGENT.partition("[constitution]")[0])
        (papers / "SOUL.md").unlink()
        (papers / "PURPOSE.md").unlink()
    task = house.script(f"touch {house.root}/ran; {DONE}", agent="indra", max_attempts=5)

    house.run()

    found = house.task(task)
    assert (found.status, len(house.attempts(task))) == ("blocked", 1)
    assert "the constitution of agent `indra` is not the one that was accepted" in found.last_error
    assert "keisei constitution accept indra" in found.last_error
    assert not (house.root / "ran").exists()
    assert rows(house, "agent_forked") == []


def test_a_new_acceptance_lets_it_run(house, papers):
    accepted(house)
    (papers / "PURPOSE.md").write_text("gold\n")
    accepted(house, purpose="gold\n")
    task = house.script(DONE, agent="indra")

    house.run()

    assert house.task(task).status == "completed"


def test_papers_that_change_while_it_runs_fail_the_attempt(house, papers):
    soul = papers / "SOUL.md"
    task = house.script(f"echo other > '{soul}'; {DONE}", agent="indra", max_attempts=1)

    house.run()

    assert house.task(task).status == "blocked"
    (attempt,) = house.attempts(task)
    found = {each.capability: each for each in house.store.findings(attempt.attempt_id)}
    assert found["engine::constitution"].status == "violated"
    assert found["engine::constitution"].reason == "SOUL.md has changed, while the attempt ran"
    (settled,) = rows(house, "attempt_settled")
    told = {each["capability"]: each for each in settled.body["findings"]}["engine::constitution"]
    assert (told["severity"], told["reason"]) == ("block", "SOUL.md has changed, while the attempt ran")


def test_papers_that_are_gone_when_it_is_judged_fail_the_attempt(house, papers):
    task = house.script(f"rm -r '{papers}'; {DONE}", agent="indra", max_attempts=1)

    house.run()

    (attempt,) = house.attempts(task)
    found = {each.capability: each.status for each in house.store.findings(attempt.attempt_id)}
    assert (house.task(task).status, found["engine::constitution"]) == ("blocked", "violated")


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_no_finding_in_the_ledger_holds_a_secret_of_the_attempt(tmp_path):
    env = tmp_path / "keys.env"
    env.write_text(f"KEY={SECRET}\n")
    env.chmod(0o600)
    keyed = f'[adapters.keyed]\nkind = "script"\ncommand = "sh"\ntimeout_ms = 60000\nenv_file = "{env}"\n'
    house = House(tmp_path, adapters=keyed)
    with (house.root / ".keisei" / "task-types" / "answering.toml").open("a") as file:
        file.write("[success_policy]\nverify_claimed_file_changes = true\n")
    try:
        claim = '{"status": "completed", "operator_summary": "did it", "file_changes": ["other.txt"]}'
        text = f"""touch other.txt "$KEY.txt"; echo '{claim}'"""
        task = house.script(text, requested_adapter_id="keyed", max_attempts=1)

        house.run()

        assert house.task(task).status == "blocked"
        (attempt,) = house.attempts(task)
        assert all(SECRET.encode() not in each.content for each in house.store.rows())
        assert SECRET.encode() not in house.evidence(attempt, "findings.json")
        assert "[redacted]" in str(house.store.findings(attempt.attempt_id))
    finally:
        house.close()


@pytest.mark.parametrize(("parent", "agent"), [(None, "indra"), ("some-task", None)], ids=["asked for", "a child"])
def test_the_agent_that_a_task_file_names_is_the_tasks_unless_an_agent_wrote_the_file(parent, agent):
    spec = TaskTypeSpec(task_type="agent-task", payload_schema_id=TASK_FILE)
    intent = TaskIntent(task_type="agent-task", source="t", payload={"task": {"role": "edit-local", "agent": "indra"}})

    assert _with_agent(intent, spec, Origin(parent_task_id=parent)).agent == agent
    assert _with_agent(replace(intent, agent="arc"), spec, Origin()).agent == "arc"
    assert _with_agent(replace(intent, payload={"task": []}), spec, Origin()).agent is None
    assert _with_agent(intent, replace(spec, payload_schema_id="other"), Origin()).agent is None


def test_what_commands_print_is_kept_whole_and_without_secrets():
    long = "y" * 100_000
    runs = [{"command": "test", "output": f"{long} {SECRET}", "code": 1, "parts": (SECRET,)}]

    assert _texts(runs, Redactor((SECRET,))) == [
        {"command": "test", "output": f"{long} [redacted]", "code": 1, "parts": ["[redacted]"]}
    ]
