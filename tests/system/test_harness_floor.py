"""The ground the gate stands on: what the real harnesses do with a hook's answer, or with none."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from keisei.testing.model import ScriptedModel
from tests.system.harness import (
    claude_hook,
    codex_hook,
    fresh_home,
    plain_environment,
    program,
    run,
    run_claude,
    run_codex,
)

REASON = "keisei: writing here is refused. Hint: write to notes/"


def saying(stdout="", stderr="", code=0):
    """A line of shell that answers as a hook does."""
    return f"printf %s {shlex.quote(stdout)}; printf %s {shlex.quote(stderr)} >&2; exit {code}"


def claude_says(decision, reason):
    answer = {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": answer})


SILENCE = saying()
CLAUDE_ALLOW = saying(claude_says("allow", "as planned"))
CLAUDE_REFUSAL = saying(claude_says("deny", REASON), REASON, 2)
REFUSAL = saying(json.dumps({"decision": "block", "reason": REASON}), REASON, 2)

DEAD = {
    "missing": "/nowhere/gate",
    "exit-1": "exit 1",
    "killed": "kill -9 $$",
    "too-slow": "sleep 60",
    "garbage": "echo it is allowed, I think",
}

CLOSED = '{gate}; r=$?; case $r in 0|2) exit $r;; esac; echo "keisei: the gate failed" >&2; exit 2'
"""A hook that refuses when the gate behind it is gone."""


class Hook:
    """A hook in one line of shell that keeps what it was asked."""

    def __init__(self, folder):
        self._file = folder / "asked.jsonl"

    def that(self, answers, to_sub_agents=None):
        """Its command. Sub-agents may get an answer of their own."""
        keep = f"asked=$(cat); printf '%s\\n' \"$asked\" >> {shlex.quote(str(self._file))}"
        return f"""{keep}; case $asked in *'"agent_id":'*) {to_sub_agents or answers};; esac; {answers}"""

    @property
    def asked(self):
        return [json.loads(line) for line in self._file.read_text().split("\n")[:-1]] if self._file.exists() else []


@pytest.fixture
def hook(tmp_path):
    return Hook(tmp_path)


@pytest.fixture
def work(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def codex_home(tmp_path):
    return tmp_path / "codex"


@pytest.fixture
def notes(tmp_path):
    """The file that the MCP server writes to."""
    return tmp_path / "notes.txt"


def server(notes):
    return sys.executable, ["-I", str(Path(__file__).with_name("mcp_server.py")), str(notes)]


# --- Claude Code ------------------------------------------------------------------------------------------------------

TOUCH = {"tool": "Bash", "input": {"command": "touch made"}}


def test_claude_runs_a_call_that_the_hook_allows(hook, work):
    with ScriptedModel([TOUCH, "finished"]) as model:
        done = run_claude(model, "go", work, claude_hook(hook.that(CLAUDE_ALLOW)))

    assert (done.rc, done.of_type("result")[-1]["is_error"], done.of_type("result")[-1]["result"]) == (
        0,
        False,
        "finished",
    )
    assert (work / "made").exists()
    assert [(call["tool_name"], call["tool_input"]["command"]) for call in hook.asked] == [("Bash", "touch made")]


def test_claude_does_not_run_a_refused_call_and_tells_the_model_why(hook, work):
    with ScriptedModel([TOUCH]) as model:
        done = run_claude(model, "go", work, claude_hook(hook.that(CLAUDE_REFUSAL)))

    assert not (work / "made").exists()
    assert [REASON in result for result in model.results] == [True]
    assert [denial["tool_use_id"] for denial in done.of_type("result")[-1]["permission_denials"]] == ["call_1"]


@pytest.mark.parametrize("command", DEAD.values(), ids=DEAD.keys())
def test_claude_that_may_not_ask_refuses_when_the_hook_is_dead(work, command):
    with ScriptedModel([TOUCH]) as model:
        run_claude(model, "go", work, claude_hook(command, timeout=1))

    assert not (work / "made").exists()
    assert len(model.results) == 1


def test_claude_that_allows_a_tool_by_itself_runs_it_when_the_hook_is_dead(work):
    """Why the gate allows explicitly, and nothing else does."""
    with ScriptedModel([TOUCH]) as model:
        run_claude(model, "go", work, claude_hook(DEAD["missing"]), ["--allowedTools", "Bash"])

    assert (work / "made").exists()


@pytest.mark.parametrize(
    ("answer", "written"), [(CLAUDE_ALLOW, "hello\n"), (CLAUDE_REFUSAL, "")], ids=["allow", "deny"]
)
def test_claude_asks_the_hook_before_it_calls_an_mcp_tool(hook, work, notes, answer, written):
    notes.touch()
    command, arguments = server(notes)
    config = json.dumps({"mcpServers": {"notes": {"command": command, "args": arguments}}})
    with ScriptedModel([{"tool": "mcp__notes__append", "input": {"text": "hello"}}]) as model:
        run_claude(model, "go", work, claude_hook(hook.that(answer)), ["--mcp-config", config])

    assert [(call["tool_name"], call["tool_input"]) for call in hook.asked] == [
        ("mcp__notes__append", {"text": "hello"})
    ]
    assert notes.read_text() == written


def claude_with_a_sub_agent(request):
    if request.results:
        return "finished"
    if "SUB-TASK" in request.prompt:
        return TOUCH
    return {"tool": "Agent", "input": {"description": "part", "prompt": "SUB-TASK", "subagent_type": "general-purpose"}}


def test_claude_says_which_sub_agent_makes_a_call_and_a_refusal_reaches_it(hook, work):
    command = hook.that(CLAUDE_ALLOW, to_sub_agents=CLAUDE_REFUSAL)
    with ScriptedModel(claude_with_a_sub_agent) as model:
        run_claude(model, "go", work, claude_hook(command))

    spawning, inside = hook.asked
    assert (spawning["tool_name"], "agent_id" in spawning) == ("Agent", False)
    assert (inside["tool_name"], inside["agent_type"], bool(inside["agent_id"])) == ("Bash", "general-purpose", True)
    assert not (work / "made").exists()
    assert [REASON in result for result in model.requests[2].results] == [True]


# --- Codex ------------------------------------------------------------------------------------------------------------

EXEC_TOUCH = {"tool": "exec_command", "input": {"cmd": "touch made"}}


@pytest.mark.parametrize("sandbox", ["workspace-write", "danger-full-access"])
def test_codex_runs_a_call_that_the_hook_lets_pass(hook, work, codex_home, sandbox):
    with ScriptedModel([EXEC_TOUCH, "finished"]) as model:
        done = run_codex(model, "go", work, codex_home, codex_hook(codex_home, hook.that(SILENCE)), ["-s", sandbox])

    assert (done.rc, len(done.of_type("turn.completed"))) == (0, 1)
    assert (work / "made").exists()
    assert [(call["tool_name"], call["tool_input"]) for call in hook.asked] == [("Bash", {"command": "touch made"})]


def test_codex_does_not_run_a_refused_call_and_tells_the_model_why(hook, work, codex_home):
    with ScriptedModel([EXEC_TOUCH]) as model:
        run_codex(model, "go", work, codex_home, codex_hook(codex_home, hook.that(REFUSAL)))

    assert not (work / "made").exists()
    assert [REASON in result for result in model.results] == [True]


def test_codex_trusts_a_hook_whose_path_is_not_plain(tmp_path, work):
    """The hash is over UTF-8, not over escapes, and so is its key."""
    folder = tmp_path / 'the "größte" 木 😀 place'
    folder.mkdir()
    hook = Hook(folder)
    with ScriptedModel([EXEC_TOUCH]) as model:
        run_codex(model, "go", work, folder / "codex", codex_hook(folder / "codex", hook.that(REFUSAL)))

    assert [call["tool_name"] for call in hook.asked] == ["Bash"]
    assert not (work / "made").exists()


@pytest.mark.parametrize("config", ["", None], ids=["unknown", "of-another-command"])
def test_codex_skips_a_hook_that_it_does_not_trust(hook, work, codex_home, config):
    """Why the hash is computed and written into the run's own configuration."""
    files = codex_hook(codex_home, hook.that(REFUSAL))
    files["config.toml"] = codex_hook(codex_home, "true")["config.toml"] if config is None else config
    with ScriptedModel([EXEC_TOUCH]) as model:
        run_codex(model, "go", work, codex_home, files)

    assert (work / "made").exists()
    assert hook.asked == []


@pytest.mark.parametrize("command", [DEAD["missing"], DEAD["exit-1"]], ids=["missing", "exit-1"])
def test_codex_runs_the_call_when_the_hook_is_dead(work, codex_home, command):
    """Why a hook for Codex is never the gate's client alone."""
    with ScriptedModel([EXEC_TOUCH]) as model:
        run_codex(model, "go", work, codex_home, codex_hook(codex_home, command))

    assert (work / "made").exists()


@pytest.mark.parametrize(
    "command", [DEAD["missing"], "sh -c 'exit 1'", "sh -c 'kill -9 $$'"], ids=["missing", "exit-1", "killed"]
)
def test_codex_refuses_when_the_gate_behind_a_closed_hook_is_dead(work, codex_home, command):
    with ScriptedModel([EXEC_TOUCH]) as model:
        run_codex(model, "go", work, codex_home, codex_hook(codex_home, CLOSED.replace("{gate}", command)))

    assert not (work / "made").exists()
    assert ["keisei: the gate failed" in result for result in model.results] == [True]


@pytest.mark.parametrize(("answer", "written"), [(SILENCE, "hello\n"), (REFUSAL, "")], ids=["allow", "deny"])
def test_codex_asks_the_hook_before_it_calls_an_mcp_tool(hook, work, codex_home, notes, *, answer, written):
    notes.touch()
    command, arguments = server(notes)
    config = f"[mcp_servers.notes]\ncommand = {json.dumps(command)}\nargs = {json.dumps(arguments)}\n"
    with ScriptedModel([{"tool": "append", "namespace": "mcp__notes", "input": {"text": "hello"}}]) as model:
        run_codex(model, "go", work, codex_home, codex_hook(codex_home, hook.that(answer), config=config))

    assert [(call["tool_name"], call["tool_input"]) for call in hook.asked] == [
        ("mcp__notes__append", {"text": "hello"})
    ]
    assert notes.read_text() == written


def codex_with_a_sub_agent(request):
    if "SUB-TASK" in request.prompt:
        return "finished" if request.results else EXEC_TOUCH
    if not request.results:
        return {"tool": "spawn_agent", "namespace": "multi_agent_v1", "input": {"message": "SUB-TASK"}}
    if len(request.results) == 1:
        agent = json.loads(request.results[0])["agent_id"]
        return {"tool": "wait_agent", "namespace": "multi_agent_v1", "input": {"targets": [agent]}}
    return "finished"


def test_codex_says_which_sub_agent_makes_a_call_and_a_refusal_reaches_it(hook, work, codex_home):
    command = hook.that(SILENCE, to_sub_agents=REFUSAL)
    with ScriptedModel(codex_with_a_sub_agent) as model:
        run_codex(model, "go", work, codex_home, codex_hook(codex_home, command))

    inside = [call for call in hook.asked if "agent_id" in call]
    assert [(call["tool_name"], call["tool_input"]) for call in inside] == [("Bash", {"command": "touch made"})]
    assert "spawn_agent" in [call["tool_name"] for call in hook.asked if "agent_id" not in call]
    assert not (work / "made").exists()
    assert any(REASON in result for request in model.requests for result in request.results)


# --- the helper itself ------------------------------------------------------------------------------------------------


def leave_a_process(work, then):
    """A program whose child is in a session of its own, as the tools of a harness are."""
    return ["/bin/sh", "-c", f"setsid sleep 300 & echo $! > {shlex.quote(str(work / 'pid'))}; {then}"]


def is_running(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_nothing_of_a_run_survives_its_end(work):
    environment = plain_environment(fresh_home(work))

    done = run(leave_a_process(work, 'echo \'{"type":"bye"}\'; exit 3'), "", work, environment, 30)

    assert (done.rc, done.lines) == (3, [{"type": "bye"}])
    assert not is_running((work / "pid").read_text().strip())


def test_nothing_of_a_run_survives_its_deadline(work):
    environment = plain_environment(fresh_home(work))

    with pytest.raises(TimeoutError, match="did not end within 2 s; it said: half"):
        run(leave_a_process(work, "echo half; sleep 300"), "", work, environment, 2)

    assert not is_running((work / "pid").read_text().strip())


def test_a_harness_that_is_missing_fails_the_test_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.system.harness.ROOT", tmp_path)

    with pytest.raises(AssertionError, match="run make setup-test"):
        program("claude")
