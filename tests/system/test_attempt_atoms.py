"""Atoms inside attempts: the real harnesses reach them over MCP, and get what their role grants and no more."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from keisei.records.move import TaskQuery
from keisei.testing.model import ScriptedModel
from tests.system.agency import Agency, answer, git

RUN, READ = "mcp__keisei__atoms_run", "mcp__keisei__atoms_read"
CODEX = {RUN: ("mcp__keisei", "atoms_run"), READ: ("mcp__keisei", "atoms_read")}
STANDIN = Path(__file__).with_name("standin.py")
KINDS = pytest.mark.parametrize("kind", ["claude-code", "codex"])
ROLE = """
[role]
name = "worker"
description = "Works through atoms alone: no shell, no editor."
[capabilities]
required = ["policy::no-git-ops", "scope::files-whitelist", "scope::files-denylist"]
[tools]
allowed = []
[atoms]
allowed = {allowed}
write = {write}
tools = "{tools}"
[isolation]
require = "full"
network = "none"
"""


@pytest.fixture
def hire(tmp_path):
    hired = []

    def make(kind, model, *, allowed=("kei-fs::*", "kei-text::*"), write=True, tools="lean", **more):
        role = ROLE.format(allowed=json.dumps(list(allowed)), write=str(write).lower(), tools=tools)
        files = {".keisei/roles/worker.toml": role, **more.pop("files", {})}
        hired.append(Agency(tmp_path, model, kind, files=files, **more))
        return hired[-1]

    yield make
    for each in hired:
        each.close()


class Script:
    """A model that calls atoms, one after the other, once their tools are there."""

    def __init__(self, kind, *calls, last):
        self.kind, self.calls, self.last = kind, list(calls), last
        self.waited = 0

    def __call__(self, request):
        if not self.calls:
            return self.last
        if not any("atoms_" in each or "kei-" in each for each in request.tools) and self.waited < 20:
            self.waited += 1
            return {"tool": "ToolSearch", "input": {"query": "atoms"}} if "ToolSearch" in request.tools else "waiting"
        tool, given = self.calls.pop(0)
        if self.kind == "codex":
            return {"tool": tool, "namespace": "mcp__keisei", "input": given}
        return {"tool": f"mcp__keisei__{tool}", "input": given}


def run(atom, **given):
    return ("atoms_run", {"atom": atom, "input": given})


def read(atom, **given):
    return ("atoms_read", {"atom": atom, "input": given})


def rows(agency, kind="atom_invoked"):
    return [each.body for each in agency.store.entries(limit=1000, kind=kind)]


def results(model):
    """What the calls of the conversation came to."""
    return model.requests[-1].results


@KINDS
def test_an_agent_completes_a_job_through_atoms_only(kind, hire):
    script = Script(
        kind,
        read("kei-fs::read", path="src/old.txt"),
        read("kei-text::replace", text="old\n", find="old", replacement="new"),
        run("kei-fs::write", path="src/new.txt", content="new\n"),
        last=answer("src/new.txt"),
    )
    with ScriptedModel(script) as model:
        agency = hire(kind, model)
        task_id = agency.add()
        agency.run()
        said = results(model)

    assert agency.task(task_id).status == "completed", (agency.task(task_id).last_error, said)
    attempt = agency.attempt(task_id)
    assert [(each["atom"], each["exit_code"]) for each in rows(agency)] == [
        ("kei-fs::read", 0),
        ("kei-text::replace", 0),
        ("kei-fs::write", 0),
    ]
    assert {each["attempt_id"] for each in rows(agency)} == {attempt.attempt_id}
    assert git(agency.root, "show", f"refs/keisei/candidate/{attempt.attempt_id}:src/new.txt") == "new"


@pytest.mark.parametrize("kind", ["claude-code", pytest.param("codex", marks=pytest.mark.soak)])
def test_what_the_role_refuses_is_refused_and_recorded(kind, hire):
    script = Script(
        kind,
        read("kei-fs::read", path="src/none.txt"),
        run("kei-fs::write", path="README.md", content="x", replace=True),
        run("kei-fs::write", path="../../x.txt", content="x"),
        run("kei-hash::digest", text="x"),
        run("kei-fs::none", path="x"),
        read("kei-fs::write", path="src/x.txt", content="x"),
        last=answer(),
    )
    with ScriptedModel(script) as model:
        agency = hire(kind, model, allowed=["kei-fs::*"])
        task_id = agency.add()
        agency.run()
        said = results(model)

    attempt = agency.attempt(task_id)
    assert agency.task(task_id).status == "completed", (agency.task(task_id).last_error, said)
    assert '"NotFound"' in said[0]
    assert "scope::files-whitelist" in said[1]
    assert "scope::files-whitelist" in said[2]
    assert "role::tools" in said[3]
    assert "role::tools" in said[4]
    assert "atoms_run" in said[5]
    assert [(each["atom"], each["error"]["kind"]) for each in rows(agency)] == [
        ("kei-fs::read", "atom"),
        ("kei-fs::write", "refused"),
    ]
    assert not list(agency.root.parent.rglob("x.txt"))
    assert attempt.gate_summary.denied == 4


def test_a_role_that_only_reads_gets_nothing_that_writes(hire):
    script = Script(
        "claude-code",
        read("kei-fs::read", path="src/old.txt"),
        read("kei-fs::write", path="src/x.txt", content="x"),
        last=answer(),
    )
    with ScriptedModel(script) as model:
        agency = hire("claude-code", model, write=False)
        task_id = agency.add()
        agency.run()
        said = results(model)
        offered = [each for each in model.requests[-1].tools if each.startswith("mcp__")]

    assert agency.task(task_id).status == "completed", (agency.task(task_id).last_error, said)
    assert RUN not in offered
    assert "role::tools" in said[1]
    assert len(rows(agency)) == 1


@pytest.mark.soak
def test_atoms_as_tools_of_their_own(hire):
    calls = [("kei-fs__read", {"path": "src/old.txt"}), ("kei-fs__write", {"path": "src/new.txt", "content": "new\n"})]
    with ScriptedModel(Script("claude-code", *calls, last=answer("src/new.txt"))) as model:
        agency = hire("claude-code", model, tools="full")
        task_id = agency.add()
        agency.run()
        said = results(model)

    assert agency.task(task_id).status == "completed", (agency.task(task_id).last_error, said)
    assert [each["atom"] for each in rows(agency)] == ["kei-fs::read", "kei-fs::write"]


PAST_THE_SHIM = """
import json, os, socket, sys

def say(token, *messages):
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(20)
    line.connect(PLACE)
    line.sendall(token.encode() + b"\\n" + b"".join(json.dumps(each).encode() + b"\\n" for each in messages))
    told = b""
    while told.count(b"\\n") < sum("id" in each for each in messages):
        piece = line.recv(65536)
        if not piece:
            break
        told += piece
    return told.decode()

seen = [open(f"/proc/{name}/cmdline").read().split("\\0") for name in os.listdir("/proc") if name.isdigit()]
(PLACE,) = [each[4] for each in seen if each[3:4] and each[3].endswith("/shim.py")]
token = os.environ["KEISEI_ATOMS_TOKEN"]
print("in a command line", any(token in word or token[:8] in PLACE for each in seen for word in each))
start = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
         "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}
call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "atoms_run", "arguments": {
        "atom": "kei-fs::write", "input": {"path": "README.md", "content": "x", "replace": True}}}}
print("mine", say(token, start, {**call, "params": {"name": "atoms_read", "arguments": {
      "atom": "kei-fs::stat", "input": {"path": token}}}}))
print("forged", repr(say("x" * 32, start)))
print("own", say(token, start, {"jsonrpc": "2.0", "method": "notifications/initialized"}, call))
"""


def test_a_shell_that_speaks_past_the_shim_meets_the_same_gate_and_a_forged_token_is_recorded(hire):
    role_tools = '[tools]\nallowed = ["Bash"]\nbash-patterns-allowed = ["^python3( |$)"]\n'
    script = Script("claude-code", ("Bash", {"command": "python3 src/past.py"}), last=answer())
    script.calls = [("Bash", {"command": "python3 src/past.py"})]

    def turn(request):
        if script.calls and any("atoms_" in each for each in request.tools):
            tool, given = script.calls.pop(0)
            return {"tool": tool, "input": given}
        return script.last

    with ScriptedModel(turn) as model:
        role = ROLE.format(allowed='["kei-fs::*"]', write="true", tools="lean").replace(
            "[tools]\nallowed = []\n", role_tools
        )
        files = {".keisei/roles/worker.toml": role, "src/past.py": PAST_THE_SHIM}
        agency = hire("claude-code", model, files=files)
        task_id = agency.add()
        agency.run()
        said = results(model)

    assert "in a command line False" in said[0], said
    assert "forged ''" in said[0], said
    assert "scope::files-whitelist" in said[0]
    assert [each["error"]["kind"] for each in rows(agency)] == ["atom", "refused"]
    stat = next(each for each in agency.decisions(agency.attempt(task_id)) if each["tool"].endswith("stat"))
    assert stat["input"] == {"path": "[redacted]"}
    assert [each["reason"] for each in rows(agency, "mcp_refused")] == ["the token is missing or wrong"]
    assert (agency.root / "README.md").read_text() == "readme\n"
    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error


def attendant():
    """The process of ours that answers for atoms."""
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            words = (each / "cmdline").read_bytes().split(b"\0")
            if b"keisei.mcp.attend" in words and f"PPid:\t{os.getpid()}\n" in (each / "status").read_text():
                return each
    raise AssertionError("nobody answers")


def test_an_attempt_whose_atoms_nobody_answers_for_any_more_is_ended_and_tried_again(hire):
    limits = []

    def turn(_request):
        if limits:
            return answer()
        process = attendant()
        limits.append((process / "limits").read_text())
        os.kill(int(process.name), signal.SIGKILL)
        return {"tool": "Bash", "input": {"command": "sleep 60"}}

    role = ROLE.replace("allowed = []", 'allowed = ["Bash"]').format(
        allowed='["kei-fs::*"]', write="true", tools="lean"
    )
    with ScriptedModel(turn) as model:
        agency = hire("claude-code", model, files={".keisei/roles/worker.toml": role}, command=str(STANDIN))
        task_id = agency.add(max_attempts=2)
        agency.run()

    first, second = agency.store.attempts(task_id)
    assert first.exit_status == "error"
    assert "the process that answers for atoms has died" in str(first), first
    assert agency.task(task_id).status == "completed", (agency.task(task_id).last_error, second)
    (bound,) = [line.split()[3] for line in limits[0].splitlines() if line.startswith("Max data size")]
    assert int(bound) <= 2 << 30


def test_a_role_with_atoms_is_refused_to_an_adapter_that_offers_none(hire):
    agency = hire("script", None, adapter='command = "/bin/true"\ntimeout_ms = 9000\n')
    task_id = agency.add()
    agency.run()

    task = agency.task(task_id)
    assert task.status == "blocked"
    assert "adapters of kind `script` get no atoms, and role `worker` has an `[atoms]` table" in task.last_error


def test_an_agent_asks_for_agents_within_its_own_budget_and_sees_nobody_elses(hire):
    child = {
        "task_type": "agent-task",
        "profile": "worker",
        "payload": {"task": {"role": "worker"}, "scope": {"files-whitelist": ["src/**"]}, "body": {"text": "Go on."}},
        "delay_minutes": 60,
    }
    calls = [
        run("kei-agent::enqueue", **child, budget={"max_tokens": 199_999}),  # and it has spent some
        run("kei-agent::enqueue", **child, budget={"max_tokens": 1000}),
        run("kei-agent::enqueue", **{**child, "profile": "code-implementer"}),
    ]
    script = Script("claude-code", *calls, last=answer())
    with ScriptedModel(script) as model:
        agency = hire("claude-code", model, allowed=["kei-agent::*"])
        foreign = agency.add(schedule={"delay_minutes": 60})
        script.calls.append(read("kei-agent::status", task_id=foreign))
        task_id = agency.add(budget={"max_tokens": 200_000})
        agency.run()
        said = results(model)

    errors = [each["error"] and each["error"]["code"] for each in rows(agency)]
    assert errors == ["BudgetExceeded", None, "RoleNotAllowed", "NotAllowed"], said
    (made,) = [each for each in agency.store.tasks(TaskQuery()) if each.task_id not in (task_id, foreign)]
    assert (made.parent_task_id, made.source, made.budget.max_tokens) == (task_id, f"task:{task_id}", 1000)
    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error


def test_what_an_agent_has_handed_on_it_does_not_spend_itself(hire):
    child = {
        "task_type": "agent-task",
        "profile": "worker",
        "payload": {"task": {"role": "worker"}, "scope": {"files-whitelist": ["src/**"]}, "body": {"text": "Go on."}},
        "delay_minutes": 60,
        "budget": {"max_tokens": 19_900},
    }
    calls = [run("kei-agent::enqueue", **child), *[read("kei-agent::list")] * 12]
    with ScriptedModel(Script("claude-code", *calls, last=answer())) as model:
        agency = hire("claude-code", model, allowed=["kei-agent::*"])
        task_id = agency.add(budget={"max_tokens": 20_000})
        agency.run()

    assert rows(agency)[0]["exit_code"] == 0
    assert agency.task(task_id).status != "completed"
    assert "handed to tasks that it asked for" in agency.task(task_id).last_error
    assert len(rows(agency)) < len(calls)
