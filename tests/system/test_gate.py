"""The gate behind the real harnesses: what it refuses is not run and the model is told why; what breaks it refuses."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keisei.adapters import hook_claude, hook_codex
from keisei.rules.chain import broken_at
from keisei.testing.model import ScriptedModel
from tests.system.harness import fresh_home, plain_environment, run_claude, run_codex

KEISEI = Path(sys.executable).with_name("keisei")
TASK = """
[task]
role = "{role}"
[scope]
files-whitelist = ["src/**"]
[body]
text = "Try things."
"""
ROLE = """
[role]
name = "worker"
description = "Runs a few commands, edits src, may delegate and take notes."
[capabilities]
required = ["policy::no-git-ops", "scope::files-whitelist"]
[tools]
allowed = ["Read", "Write", "Edit", "Bash", "Agent", "mcp__notes__append", "spawn_agent", "multi_agent_v1wait_agent"]
bash-patterns-allowed = ['^(touch|ls|echo|git|printf)( |$)']
"""


class Gate(NamedTuple):
    """A running service, as `keisei gate start` tells of it."""

    told: dict[str, Any]
    work: Path
    environment: dict[str, str]

    @property
    def hook(self) -> list[str]:
        return self.told["hook"]

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """Those before a call; after it the hook is asked again."""
        lines = [json.loads(line) for line in Path(self.told["log"]).read_bytes().splitlines()]
        return [line for line in lines if not line["tool_use_id"].startswith(("post:", "canary-"))]

    def of(self, harness: str) -> list[str]:
        return [*self.hook[:-1], harness]


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / ".keisei" / "roles").mkdir(parents=True)
    (folder / ".keisei" / "roles" / "worker.toml").write_text(ROLE)
    (folder / "keisei.toml").write_text('[project]\nname = "shop"\n')
    return folder


@pytest.fixture
def gate(work, tmp_path):
    home = fresh_home(work)
    (tmp_path / "run").mkdir(mode=0o700)
    environment = plain_environment(home) | {"XDG_RUNTIME_DIR": str(tmp_path / "run")}
    task = tmp_path / "task.toml"
    task.write_text(TASK.format(role="worker"))
    argv = [KEISEI, "gate", "start", "--task", task, "--worktree", work, "--attempt", "attempt-1"]
    started = subprocess.run(argv, cwd=work, env=environment, capture_output=True, text=True, check=False)
    assert started.returncode == 0, started.stderr
    told = json.loads(started.stdout)
    yield Gate(told, work, environment)
    _end(told["pid"])


def _end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def claude_turns(gate, turns, flags=()):
    with ScriptedModel(turns) as model:
        done = run_claude(model, "go", gate.work, hook_claude.attempt_settings(gate.of("claude")), flags)
    return done, model


def codex_turns(gate, turns, tmp_path, config=""):
    home = tmp_path / "codex"
    home.mkdir(exist_ok=True)
    hooks, own = hook_codex.attempt_config(gate.of("codex"), home, gate.work)
    files = {"hooks.json": json.dumps(hooks), "config.toml": f"{own}\n{config}"}
    with ScriptedModel(turns) as model:
        done = run_codex(model, "go", gate.work, home, files, [*hook_codex.attempt_flags()])
    return done, model


def bash(command):
    return {"tool": "Bash", "input": {"command": command}}


def execute(command):
    return {"tool": "exec_command", "input": {"cmd": command}}


# --- allowed and refused ----------------------------------------------------------------------------------------------


def test_claude_runs_what_the_gate_allows_and_nothing_that_it_refuses(gate):
    turns = [
        bash("touch src/made"),
        bash("touch docs"),
        bash("bash -c 'g\"\"it init x'"),
        {"tool": "Write", "input": {"file_path": str(gate.work / "src" / "new.py"), "content": "x = 1\n"}},
        {"tool": "Write", "input": {"file_path": str(gate.work / "outside.py"), "content": "x = 1\n"}},
        "finished",
    ]

    done, model = claude_turns(gate, turns)

    assert done.of_type("result")[-1]["result"] == "finished"
    assert (gate.work / "src" / "made").exists()
    assert (gate.work / "src" / "new.py").read_text() == "x = 1\n"
    assert not (gate.work / "docs").exists()
    assert not (gate.work / "x").exists()
    assert not (gate.work / "outside.py").exists()
    told = "\n".join(model.results)
    assert "scope::files-whitelist: touch writes `docs`, outside the allowed paths" in told
    assert "policy::no-git-ops: `git init x` (inside bash) is refused" in told
    decisions = [(each["tool"], each["decision"]) for each in gate.decisions]
    assert decisions == [
        ("Bash", "allow"),
        ("Bash", "deny"),
        ("Bash", "deny"),
        ("Write", "allow"),
        ("Write", "deny"),
    ]
    assert broken_at(Path(gate.told["log"]).read_bytes().splitlines()) is None


def test_codex_runs_what_the_gate_allows_and_nothing_that_it_refuses(gate, tmp_path):
    patch = "*** Begin Patch\n*** Add File: outside.txt\n+x\n*** End Patch"
    turns = [
        execute("touch src/made"),
        execute("touch docs"),
        execute("bash -c 'g\"\"it init x'"),
        execute(f"apply_patch <<'EOF'\n{patch}\nEOF"),
        "finished",
    ]

    done, model = codex_turns(gate, turns, tmp_path)

    assert len(done.of_type("turn.completed")) == 1
    assert (gate.work / "src" / "made").exists()
    assert not (gate.work / "docs").exists()
    assert not (gate.work / "x").exists()
    assert not (gate.work / "outside.txt").exists()
    told = "\n".join(model.results)
    assert "scope::files-whitelist: touch writes `docs`, outside the allowed paths" in told
    assert "policy::no-git-ops: `git init x` (inside bash) is refused" in told
    assert [each["decision"] for each in gate.decisions] == ["allow", "deny", "deny", "deny"]


# --- sub-agents and servers -------------------------------------------------------------------------------------------


def claude_delegates(request):
    if request.results:
        return "finished"
    if "SUB-TASK" in request.prompt:
        return [bash("touch src/made"), bash("git init x")]
    return {"tool": "Agent", "input": {"description": "part", "prompt": "SUB-TASK", "subagent_type": "general-purpose"}}


def test_a_sub_agent_of_claude_is_judged_too(gate):
    claude_turns(gate, claude_delegates)

    inside = [each for each in gate.decisions if each.get("agent_id")]
    assert sorted((each["tool"], each["decision"]) for each in inside) == [("Bash", "allow"), ("Bash", "deny")]
    assert (gate.work / "src" / "made").exists()
    assert not (gate.work / "x").exists()


def codex_delegates(request):
    if "SUB-TASK" in request.prompt:
        return "finished" if request.results else execute("git init x")
    if not request.results:
        return {"tool": "spawn_agent", "namespace": "multi_agent_v1", "input": {"message": "SUB-TASK"}}
    if len(request.results) == 1:
        agent = json.loads(request.results[0])["agent_id"]
        return {"tool": "wait_agent", "namespace": "multi_agent_v1", "input": {"targets": [agent]}}
    return "finished"


def test_a_sub_agent_of_codex_is_judged_too(gate, tmp_path):
    codex_turns(gate, codex_delegates, tmp_path)

    inside = [each for each in gate.decisions if each.get("agent_id")]
    assert [(each["tool"], each["decision"]) for each in inside] == [("Bash", "deny")]
    assert not (gate.work / "x").exists()


@pytest.fixture
def notes(tmp_path):
    """The file that the MCP server appends to."""
    path = tmp_path / "notes.txt"
    path.touch()
    return path


def server(notes):
    return sys.executable, ["-I", str(Path(__file__).with_name("mcp_server.py")), str(notes)]


def test_a_servers_tool_is_judged_in_claude(gate, notes):
    command, arguments = server(notes)
    config = json.dumps({"mcpServers": {"notes": {"command": command, "args": arguments}}})
    calls = [
        {"tool": "mcp__notes__append", "input": {"text": "hello"}},
        {"tool": "mcp__notes__append", "input": {"text": "secret", "path": "/etc/passwd"}},
    ]

    _, model = claude_turns(gate, calls, ["--mcp-config", config])

    assert [each["decision"] for each in gate.decisions] == ["allow", "deny"]
    assert notes.read_text() == "hello\n"
    assert "`/etc/passwd`, outside the allowed paths" in "\n".join(model.results)


def test_a_servers_tool_is_judged_in_codex(gate, notes, tmp_path):
    command, arguments = server(notes)
    config = f"[mcp_servers.notes]\ncommand = {json.dumps(command)}\nargs = {json.dumps(arguments)}\n"
    calls = [
        {"tool": "append", "namespace": "mcp__notes", "input": {"text": "hello"}},
        {"tool": "append", "namespace": "mcp__notes", "input": {"text": "secret", "path": "/etc/passwd"}},
    ]

    codex_turns(gate, calls, tmp_path, config)

    assert [each["decision"] for each in gate.decisions] == ["allow", "deny"]
    assert notes.read_text() == "hello\n"


# --- whatever breaks it refuses ---------------------------------------------------------------------------------------


def kill_the_service(gate):
    os.kill(gate.told["pid"], signal.SIGKILL)


def stop_the_service(gate):
    os.kill(gate.told["pid"], signal.SIGSTOP)


def delete_the_socket(gate):
    Path(gate.told["socket"]).unlink()


def corrupt_the_plan(gate):
    plan = next((Path(gate.told["socket"]).parent / "plans").glob("*.json"))
    plan.write_bytes(plan.read_bytes().replace(b"src/**", b"**", 1))


def remove_the_plan(gate):
    shutil.rmtree(Path(gate.told["socket"]).parent / "plans")


def forbid_the_log(gate):
    Path(gate.told["log"]).unlink(missing_ok=True)
    Path(gate.told["log"]).mkdir()


def stall_for_three_seconds(gate):
    """A service that takes the call and says nothing for longer than the client waits."""
    _end(gate.told["pid"])
    path = gate.told["socket"]
    Path(path).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(8)

    def hold():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Timer(3, connection.close).start()

    threading.Thread(target=hold, daemon=True).start()


BREAKS = [
    kill_the_service,
    stop_the_service,
    delete_the_socket,
    corrupt_the_plan,
    remove_the_plan,
    forbid_the_log,
    stall_for_three_seconds,
]


@pytest.mark.parametrize("break_it", BREAKS, ids=lambda each: each.__name__)
def test_claude_gets_a_refusal_whatever_breaks_the_gate(gate, break_it):
    break_it(gate)

    _, model = claude_turns(gate, [bash("touch src/made")])

    assert not (gate.work / "src" / "made").exists()
    assert "keisei gate: " in model.results[0]


@pytest.mark.parametrize("break_it", BREAKS, ids=lambda each: each.__name__)
def test_codex_gets_a_refusal_whatever_breaks_the_gate(gate, break_it, tmp_path):
    break_it(gate)

    _, model = codex_turns(gate, [execute("touch src/made")], tmp_path)

    assert not (gate.work / "src" / "made").exists()
    assert "keisei gate: " in model.results[0]


LARGE = "touch src/made; : " + "x" * 5_000_000


def test_claude_gets_a_refusal_for_five_megabytes(gate):
    path = gate.work / "src" / "made"
    _, model = claude_turns(gate, [{"tool": "Write", "input": {"file_path": str(path), "content": LARGE}}])

    assert not (gate.work / "src" / "made").exists()
    assert "keisei gate: " in model.results[0]


def test_codex_gets_a_refusal_for_five_megabytes(gate, tmp_path):
    _, model = codex_turns(gate, [execute(LARGE)], tmp_path)

    assert not (gate.work / "src" / "made").exists()
    assert "keisei gate: " in model.results[0]
