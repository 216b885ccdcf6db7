"""Real agents under a role: what is in scope is done, what is not is refused by the layer that is named."""

import json
import os
import shutil
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from keisei.engine import control
from keisei.testing.model import ScriptedModel
from tests.system.agency import KEY, Agency, answer, git
from tests.system.harness import program

TOOLS = {
    "claude-code": lambda command: {"tool": "Bash", "input": {"command": command}},
    "codex": lambda command: {"tool": "exec_command", "input": {"cmd": command}},
    "hermes-agent": lambda command: {"tool": "terminal", "input": {"command": command}},
}
"""How each is told to run a command."""


@pytest.fixture
def hire():
    """Makes agencies that are closed at the end, whatever happens."""
    hired = []

    def make(*arguments, **named):
        hired.append(Agency(*arguments, **named))
        return hired[-1]

    yield make
    for each in hired:
        each.close()


AGENTS = pytest.mark.parametrize("kind", TOOLS)


@AGENTS
def test_an_agent_does_what_its_role_allows_and_its_work_is_kept_as_a_candidate(kind, tmp_path, hire):
    script = [TOOLS[kind]("echo new > src/new.txt"), answer("src/new.txt")]
    with ScriptedModel(script) as model:
        agency = hire(tmp_path, model, kind)
        task_id = agency.add()
        agency.run()
        attempt = agency.attempt(task_id)

    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error
    assert agency.candidate(attempt, "src/new.txt") == "new"
    assert [each["decision"] for each in agency.decisions(attempt)] == ["allow"]
    assert {"hooks", "namespace", "seccomp", "relay"} <= set(attempt.isolation)
    assert not (agency.root / "src" / "new.txt").exists()


def _everything(folder):
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path


@pytest.mark.parametrize("kind", ["claude-code", "codex", pytest.param("hermes-agent", marks=pytest.mark.soak)])
def test_the_key_is_nowhere_but_at_the_models_server(kind, tmp_path, hire):
    script = [TOOLS[kind]("env"), TOOLS[kind]("cat /proc/1/environ /proc/self/environ /proc/*/environ"), answer()]
    with ScriptedModel(script) as model:
        agency = hire(tmp_path, model, kind)
        task_id = agency.add()
        agency.run()
        requests = list(model.requests)

    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error
    assert all(KEY in str(dict(each.headers)) for each in requests)
    assert all(KEY not in str(each.body) for each in requests)
    kept = (path for path in _everything(tmp_path) if path.name != "keys.env")
    assert [path for path in kept if KEY.encode() in path.read_bytes()] == []


# --- what is out of scope ---------------------------------------------------------------------------------------------

EVIL = """
import unittest

class Evil(unittest.TestCase):
    def test_deed(self):
        for path in ("README.md", "../../../../project/README.md", "{outside}/stolen", "src/done.txt"):
            try:
                with open(path, "w") as file:
                    file.write("done\\n")
            except OSError as error:
                print(error)
"""
"""A test of the repository. The gate does not read what tests do, so the kernel has to hold them."""


@AGENTS
def test_what_is_out_of_scope_is_refused_by_the_gate_and_what_it_cannot_see_by_the_kernel(kind, tmp_path, hire):
    call = TOOLS[kind]
    script = [
        call("touch docs.txt"),
        call("bash -c 'g\"\"it commit -m x'"),
        call("python3 -m unittest src.evil"),
        answer("src/done.txt"),
    ]
    with ScriptedModel(script) as model:
        agency = hire(tmp_path, model, kind, files={"src/evil.py": EVIL.format(outside=tmp_path)})
        task_id = agency.add()
        agency.run()
        told = "\n".join(model.results)
        attempt = agency.attempt(task_id)

    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error
    assert [each.get("capability") for each in agency.decisions(attempt)] == [
        "scope::files-whitelist",
        "policy::no-git-ops",
        None,
    ]
    assert "scope::files-whitelist" in told
    assert "Read-only file system" in told
    assert (agency.root / "README.md").read_text() == "readme\n"
    assert agency.candidate(attempt, "README.md") == "readme"
    assert agency.candidate(attempt, "src/done.txt") == "done"
    assert not (tmp_path / "stolen").exists()


def claude_delegates(request):
    if "SUB-TASK" in request.prompt:
        return (
            "finished"
            if request.results
            else [TOOLS["claude-code"]("touch src/made"), TOOLS["claude-code"]("git init x")]
        )
    if not request.results:
        return {
            "tool": "Agent",
            "input": {"description": "part", "prompt": "SUB-TASK", "subagent_type": "general-purpose"},
        }
    return answer("src/made")


def codex_delegates(request):
    if "SUB-TASK" in request.prompt:
        return "finished" if request.results else [TOOLS["codex"]("touch src/made"), TOOLS["codex"]("git init x")]
    if not request.results:
        return {"tool": "spawn_agent", "namespace": "multi_agent_v1", "input": {"message": "SUB-TASK"}}
    if len(request.results) == 1:
        agent = json.loads(request.results[0])["agent_id"]
        return {"tool": "wait_agent", "namespace": "multi_agent_v1", "input": {"targets": [agent]}}
    return answer("src/made")


def hermes_delegates(request):
    call = TOOLS["hermes-agent"]
    if "SUB-TASK" in request.prompt:
        return "finished" if request.results else [call("touch src/made"), call("git init x")]
    if not request.results:
        return {"tool": "delegate_task", "input": {"goal": "SUB-TASK", "context": "none"}}
    return answer("src/made")


@pytest.mark.soak
def test_a_sub_agent_of_hermes_is_gated_and_confined_like_its_parent(tmp_path, hire):
    """Its hook does not tell who asks, so the calls are told apart by their order."""
    with ScriptedModel(hermes_delegates) as model:
        agency = hire(tmp_path, model, "hermes-agent")
        task_id = agency.add()
        agency.run()
        attempt = agency.attempt(task_id)

    asked = [(each["tool"], each["decision"]) for each in agency.decisions(attempt)]
    assert asked[0] == ("delegate_task", "allow")
    assert sorted(asked[1:]) == [("terminal", "allow"), ("terminal", "deny")]
    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error


@pytest.mark.parametrize(("kind", "script"), [("claude-code", claude_delegates), ("codex", codex_delegates)])
def test_a_sub_agent_is_gated_and_confined_like_its_parent(kind, script, tmp_path, hire):
    with ScriptedModel(script) as model:
        agency = hire(tmp_path, model, kind)
        task_id = agency.add()
        agency.run()
        attempt = agency.attempt(task_id)

    inside = [each for each in agency.decisions(attempt) if each.get("agent_id")]
    assert sorted(each["decision"] for each in inside) == ["allow", "deny"]
    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error


UNHOOK = """
import os
import unittest

class Unhook(unittest.TestCase):
    def test_deed(self):
        home = os.path.join(os.path.dirname(os.environ["HOME"]), "codex")
        for name, text in (("hooks.json", "{}"), ("config.toml", "[features]\\nhooks = false\\n")):
            try:
                with open(os.path.join(home, name), "w") as file:
                    file.write(text)
            except OSError as error:
                print(error)
"""
"""A test of the repository that takes the gate out of its harness's settings, which are read again for sub-agents."""


def codex_unhooks(request):
    if "SUB-TASK" in request.prompt:
        return codex_delegates(request)
    if not request.results:
        return TOOLS["codex"]("python3 -m unittest src.unhook")
    return codex_delegates(request._replace(body={**request.body, "input": _without_first_call(request.body["input"])}))


def _without_first_call(items):
    first = next(each["call_id"] for each in items if str(each.get("type")).endswith("_call"))
    return [each for each in items if each.get("call_id") != first]


def test_the_settings_that_hang_the_gate_in_cannot_be_taken_out(tmp_path, hire):
    with ScriptedModel(codex_unhooks) as model:
        agency = hire(tmp_path, model, "codex", files={"src/unhook.py": UNHOOK})
        task_id = agency.add()
        agency.run()
        attempt = agency.attempt(task_id)

    inside = [each for each in agency.decisions(attempt) if each.get("agent_id")]
    assert sorted(each["decision"] for each in inside) == ["allow", "deny"]
    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error


def test_a_program_of_the_repository_is_not_taken_for_the_harness(tmp_path, hire, monkeypatch):
    folder = str(Path(program("claude")).parent)
    monkeypatch.setenv("PATH", f":.:{folder}:{os.environ['PATH']}")
    script = [TOOLS["claude-code"]("touch src/made"), answer("src/made")]
    with ScriptedModel(script) as model:
        agency = hire(tmp_path, model, command="claude", files={"claude": "#!/bin/sh\ntouch src/taken\n"})
        (agency.root / "claude").chmod(0o755)
        git(agency.root, "commit", "-qam", "a program")
        task_id = agency.add()
        agency.run()

    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error


def test_a_tool_of_an_mcp_server_is_gated_and_the_server_confined(tmp_path, hire):
    server = Path(__file__).with_name("mcp_server.py").read_text()
    calls = [
        {"tool": "mcp__notes__append", "input": {"text": "hello"}},
        {"tool": "mcp__notes__append", "input": {"text": "x", "path": "/etc/passwd"}},
        {"tool": "mcp__other__append", "input": {"text": "no"}},
        answer("src/notes.txt"),
    ]
    servers = {
        "notes": {"command": "/usr/bin/python3", "args": ["-I", "src/server.py", "src/notes.txt"]},
        "other": {"command": "/usr/bin/python3", "args": ["-I", "src/server.py", "README.md"]},
    }
    extra = f'extra_args = ["--mcp-config", {json.dumps(json.dumps({"mcpServers": servers}))}]'
    with ScriptedModel(calls) as model:
        agency = hire(tmp_path, model, adapter=extra, files={"src/server.py": server})
        task_id = agency.add()
        agency.run()
        attempt = agency.attempt(task_id)

    assert [each["decision"] for each in agency.decisions(attempt)] == ["allow", "deny", "deny"]
    assert agency.candidate(attempt, "src/notes.txt") == "hello"
    assert agency.candidate(attempt, "README.md") == "readme"
    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error


HISTORY = """
git log -1 --format=%s
git status --porcelain && echo clean
git show HEAD:README.md
git config --get remote.origin.url || echo no address
git commit --allow-empty -m x >/dev/null 2>&1 || echo no commit
git show refs/keisei/salvage/other >/dev/null 2>&1 || echo no work of others
ls "$(git rev-parse --git-common-dir)"
"""
"""What an agent's tools ask of git."""


def test_history_can_be_read_inside_and_neither_written_nor_its_addresses(tmp_path, hire):
    with ScriptedModel([]) as model:
        adapter = f'command = "sh"\nextra_args = ["-c", {json.dumps(HISTORY)}]\ntimeout_ms = 60000'
        agency = hire(tmp_path, model, "script", adapter=adapter)
        git(agency.root, "remote", "add", "origin", "https://me:secret@example.org/x.git")
        git(agency.root, "update-ref", "refs/keisei/salvage/other", "HEAD")
        git(agency.root, "pack-refs", "--all")
        task_id = agency.add()
        agency.run()
        said = agency.evidence(agency.attempt(task_id), "stdout.log").decode().split("\n")

    assert said[:6] == ["begin", "clean", "readme", "no address", "no commit", "no work of others"], said
    assert not {"hooks", "logs"} & set(said)


def test_a_key_beside_the_project_cannot_be_read_where_the_whole_project_can(tmp_path, hire):
    script = [TOOLS["claude-code"]("cat keys.env README.md"), answer()]
    with ScriptedModel(script) as model:
        agency = hire(tmp_path, model, beside=True)
        shutil.rmtree(agency.root / ".git")
        task_id = agency.add(write=())
        agency.run()
        told = "\n".join(model.results)

    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error
    assert "readme" in told
    assert KEY not in told


def test_keys_of_other_servers_do_not_go_inside_either(tmp_path, hire):
    script = [TOOLS["claude-code"]("env"), answer()]
    with ScriptedModel(script) as model:
        agency = hire(tmp_path, model)
        with (tmp_path / "keys.env").open("a") as file:
            file.write("OPENAI_API_KEY=other-canary\nMINE=for-the-agent\n")
        task_id = agency.add()
        agency.run()
        told = "\n".join(model.results)

    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error
    assert "MINE=for-the-agent" in told
    assert "other-canary" not in told
    assert b"for-the-agent" not in agency.evidence(agency.attempt(task_id), "stdout.log")


def test_a_harness_is_proved_in_a_folder_with_any_name(tmp_path, hire):
    folder = tmp_path / "my $folder's (new) [1]"
    folder.mkdir()
    with ScriptedModel([TOOLS["claude-code"]("touch src/new"), answer("src/new")]) as model:
        agency = hire(folder, model, rehearsed=True)
        task_id = agency.add()
        agency.run()

    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error
    assert agency.shop.yard.proved


def test_a_budget_in_money_that_nobody_could_keep_is_refused_before_work_begins(tmp_path, hire):
    with ScriptedModel([]) as model:
        agency = hire(tmp_path, model, "codex")
        task_id = agency.add(budget={"max_cost_usd": 0.01})
        agency.run()

    assert "`[prices." in agency.task(task_id).last_error
    assert not model.requests


def test_a_set_up_ends_with_its_attempt(tmp_path, hire):
    slow = '[environment]\nsetup = "touch .begun; sleep 600"\nkeep = [".venv"]\n'
    ignore = {".gitignore": ".venv/\n.begun\n"}
    with ScriptedModel([]) as model:
        agency = hire(tmp_path, model, project=slow, files=ignore)
        task_id = agency.add()
        runner = threading.Thread(target=agency.run)
        runner.start()
        begun = agency.home.folder / "worktrees" / "a000" / ".begun"
        while runner.is_alive() and not begun.exists():
            time.sleep(0.05)
        control.cancel(agency.store, task_id, "enough", "test")
        runner.join(60)

    assert not runner.is_alive()
    assert agency.task(task_id).status == "operator_canceled"
    assert not (agency.home.folder / "run").exists() or not list((agency.home.folder / "run").iterdir())


# --- what ends an attempt ---------------------------------------------------------------------------------------------


def test_a_budget_that_is_used_up_ends_the_attempt_in_the_middle(tmp_path, hire):
    endless = lambda request: TOOLS["claude-code"](f"touch src/{len(request.results)}")  # noqa: E731
    with ScriptedModel(endless) as model:
        agency = hire(tmp_path, model)
        task_id = agency.add(budget={"max_tokens": 100}, max_attempts=1)
        agency.run()
        attempt = agency.attempt(task_id)
        asked = len(model.requests)

    assert agency.task(task_id).status in ("failed", "blocked", "permanent_failure")
    assert "budget" in agency.task(task_id).last_error
    assert asked < 20
    assert attempt.usage is not None
    assert agency.refs() == [f"refs/keisei/candidate/{attempt.attempt_id}"]


def test_a_gate_that_is_killed_ends_the_attempt_and_the_work_is_kept(tmp_path, hire):
    agency = None

    def script(request):
        if len(request.results) == 1 and "killed" not in state:
            state["killed"] = True
            for pid in service_pids():
                os.kill(pid, signal.SIGKILL)
            time.sleep(1)
        return TOOLS["claude-code"]("touch src/kept") if not request.results else answer("src/kept")

    state = {}
    with ScriptedModel(script) as model:
        agency = hire(tmp_path, model)
        task_id = agency.add(max_attempts=2)
        agency.run()

    attempts = agency.store.attempts(task_id)
    assert agency.task(task_id).status == "completed", agency.task(task_id).last_error
    assert len(attempts) == 2
    assert f"refs/keisei/salvage/{attempts[0].attempt_id}" in agency.refs()


def service_pids():
    """The gate services of this process."""
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            with suppress(OSError):
                line = (each / "cmdline").read_bytes()
                parent = (each / "stat").read_text().rpartition(")")[2].split()[1]
                if b"serve" in line and int(parent) == os.getpid():
                    found.append(int(each.name))
    return found
