"""`kei-capability check` and `keisei gate check`: one call on stdin, one answer, and whatever breaks is a refusal."""

import io
import json
import os
import shlex
import subprocess
import sys
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from keisei.cli import kei_capability, main
from tests.cli.shell import BIN

TASK = """
[task]
role = "{role}"
[scope]
files-whitelist = ["src/**"]
[body]
text = "Do it."
"""
GIT = {"tool_name": "Bash", "tool_input": {"command": "git push"}}
CARGO = {"tool_name": "Bash", "tool_input": {"command": "cargo check"}}
OURS = ("KEI_", "KEISEI_", "XDG_", "TASK_TOML", "WORKTREE_PATH", "MAIN_REPO", "ORCHESTRATOR_META")


class Said(NamedTuple):
    """What a hook answered."""

    code: int
    out: bytes
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def reason(self):
        return self.json["hookSpecificOutput"]["permissionDecisionReason"]


class Desk:
    """Somebody who runs hooks in a project, in this process."""

    def __init__(self, folder, monkeypatch, capture):
        self.folder = folder
        self._monkeypatch, self._capture = monkeypatch, capture
        for name in [name for name in os.environ if name.startswith(OURS)]:
            monkeypatch.delenv(name)
        self.write("keisei.toml", '[project]\nname = "shop"\n')
        self.write("src/a", "a")
        self.write(".git/HEAD", "ref: refs/heads/main\n")
        self.task = self.write("task.toml", TASK.format(role="edit-local"))
        (folder / "home").mkdir()
        monkeypatch.setenv("HOME", str(folder / "home"))
        monkeypatch.chdir(folder)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def env(self, **values):
        for name, value in values.items():
            self._monkeypatch.setenv(name, str(value))

    def cd(self, path):
        self._monkeypatch.chdir(path)

    def ask(self, call, *words, door=kei_capability, stream=None):
        """`check` with these words, and a call (or bytes) on stdin."""
        data = call if isinstance(call, bytes) else json.dumps(call).encode()
        self._monkeypatch.setattr(sys, "stdin", stream or SimpleNamespace(buffer=io.BytesIO(data)))
        self._monkeypatch.setattr(sys, "argv", ["kei-capability", "check", *map(str, words)])
        if door is main:
            self._monkeypatch.setattr(sys, "argv", ["keisei", "gate", "check", *map(str, words)])
        self._capture.readouterr()
        code = door()
        said = self._capture.readouterr()
        return Said(code, said.out, said.err.decode())

    def gate(self, call, *words):
        return self.ask(call, "--task", self.task, *words, door=main)


@pytest.fixture
def desk(tmp_path, monkeypatch, capfdbinary):
    return Desk(tmp_path.resolve(), monkeypatch, capfdbinary)


def is_refusal(said):
    """All three, always: the harness's JSON, the one line on stderr, exit 2. And never a traceback."""
    assert said.code == 2
    assert said.json["hookSpecificOutput"]["hookEventName"] == "PreToolUse"
    assert said.json["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert said.err == f"{said.reason}\n"
    assert "Traceback" not in said.err
    return True


def is_silence(said):
    assert (said.code, said.out, said.err) == (0, b"", "")
    return True


# --- the three assertions of seed 002 ---------------------------------------------------------------------------------


def test_without_a_capability_name_the_hook_passes_through(desk):
    assert is_silence(desk.ask(GIT))


def test_a_git_command_is_denied_with_exit_2(desk):
    desk.env(KEI_CAPABILITY_NAME="policy::no-git-ops")

    said = desk.ask(GIT)

    assert is_refusal(said)
    assert "policy::no-git-ops" in said.reason
    assert "`git push`" in said.reason


def test_cargo_check_is_allowed_with_exit_0(desk):
    desk.env(KEI_CAPABILITY_NAME="policy::no-git-ops")

    assert is_silence(desk.ask(CARGO))


# --- names ------------------------------------------------------------------------------------------------------------


def test_a_capability_may_be_named_on_the_command_line(desk):
    assert is_silence(desk.ask(CARGO, "policy::no-git-ops"))
    assert is_refusal(desk.ask(GIT, "policy::no-git-ops"))


def test_an_old_name_is_the_current_capability(desk):
    assert is_silence(desk.ask(CARGO, "tools::cargo-only-bash"))
    assert "tools::bash-allowlist" in desk.ask(GIT, "tools::cargo-only-bash").reason


@pytest.mark.parametrize("between", [",", " ", ", ", "  ,", "\t"], ids=repr)
def test_several_names_are_all_judged(desk, between):
    desk.env(KEI_CAPABILITY_NAME=between.join(["policy::no-git-ops", "tools::deny-tools"]))

    assert is_refusal(desk.ask(GIT))
    assert is_refusal(desk.ask({"tool_name": "Write", "tool_input": {"file_path": "src/a"}}))
    assert is_silence(desk.ask(CARGO))


def test_several_names_on_the_command_line_are_all_judged(desk):
    names = ("policy::no-git-ops", "tools::deny-tools")

    assert is_refusal(desk.ask(GIT, *names))
    assert is_refusal(desk.ask({"tool_name": "Write", "tool_input": {"file_path": "src/a"}}, *names))


def test_one_unknown_name_among_several_refuses(desk):
    desk.env(KEI_CAPABILITY_NAME="tools::deny-tools,policy::gone")

    said = desk.ask(CARGO)

    assert is_refusal(said)
    assert "policy::gone" in said.reason


@pytest.mark.parametrize("name", ["policy::gone", "no-category", "", "../../etc", "policy::no-git-op"])
def test_a_capability_nobody_knows_refuses(desk, name):
    said = desk.ask(CARGO, name)

    assert is_refusal(said)
    assert "no violation" in said.reason


@pytest.mark.parametrize("words", [["--name=policy::no-git-ops"], ["--kit-root"], ["-x"]])
def test_options_nobody_knows_are_no_reason_to_pass(desk, words):
    assert desk.ask(GIT, *words).code == 2


# --- what arrives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"{",
        b"[]",
        b"null",
        b'"git push"',
        b"\xff\xfe",
        b'{"tool_name": "Bash"}',
        b'{"tool_input": {}}',
        b'{"tool_name": "", "tool_input": {}}',
        b'{"tool_name": 7, "tool_input": {}}',
        b'{"tool_name": "Bash", "tool_input": "git push"}',
        b'{"tool_name": "Bash", "tool_input": {}, "tool_input": {}}',
        b'{"tool_name": "Bash", "tool_input": {}, "cwd": "here"}',
        b'{"tool_name": "Bash", "tool_input": {}, "hook_event_name": "SessionStart"}',
        b"[" * 100_000,
    ],
    ids=lambda data: data[:60].decode("latin-1") or "nothing",
)
def test_what_is_no_call_is_refused(desk, data):
    said = desk.ask(data, "policy::no-git-ops")

    assert is_refusal(said)
    assert len(said.reason) < 2100


def test_five_megabytes_are_refused(desk):
    call = {"tool_name": "Write", "tool_input": {"file_path": "src/a", "content": "x" * 5_000_000}}

    said = desk.ask(call, "policy::no-git-ops")

    assert is_refusal(said)
    assert "larger" in said.reason


def test_a_call_of_three_megabytes_is_judged(desk):
    call = {"tool_name": "Write", "tool_input": {"file_path": "src/a", "content": "x" * 3_000_000}}

    assert is_silence(desk.ask(call, "policy::no-git-ops"))


class Broken:
    """A stdin that fails as it is told."""

    def __init__(self, error):
        self.buffer = self
        self._error = error

    def read(self, _size=-1):
        raise self._error


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), MemoryError(), RecursionError()], ids=repr)
def test_an_input_that_cannot_be_read_is_refused(desk, error):
    assert is_refusal(desk.ask(b"", "policy::no-git-ops", stream=Broken(error)))


def test_an_interrupt_while_it_judges_is_a_refusal(desk):
    try:
        said = desk.ask(b"", "policy::no-git-ops", stream=Broken(KeyboardInterrupt()))
    except KeyboardInterrupt:
        pytest.fail("the interrupt came through")
    assert is_refusal(said)


def test_the_names_of_other_harnesses_tools_are_known(desk):
    assert is_refusal(desk.ask({"tool_name": "exec_command", "tool_input": {"cmd": "git push"}}, "policy::no-git-ops"))


# --- the surroundings -------------------------------------------------------------------------------------------------


def test_the_task_gives_the_parameters(desk):
    desk.env(TASK_TOML=desk.task, WORKTREE_PATH=desk.folder)

    def write(path):
        return desk.ask({"tool_name": "Write", "tool_input": {"file_path": path}}, "scope::files-whitelist")

    assert is_silence(write("src/b"))
    assert is_refusal(write("docs/b"))


@pytest.mark.parametrize("text", ["", "rubbish", "[task]\n", '[task]\nrole = "gone"\n', "\x00"])
def test_a_task_that_is_wrong_refuses(desk, text):
    desk.task.write_text(text)
    desk.env(TASK_TOML=desk.task)

    assert is_refusal(desk.ask(CARGO, "policy::no-git-ops"))


def test_a_task_that_is_missing_refuses(desk):
    desk.env(TASK_TOML=desk.folder / "none.toml")

    assert is_refusal(desk.ask(CARGO, "policy::no-git-ops"))


@pytest.mark.parametrize("variable", ["WORKTREE_PATH", "MAIN_REPO"])
def test_a_folder_that_is_missing_refuses(desk, variable):
    desk.env(**{variable: desk.folder / "none"})

    said = desk.ask(CARGO, "policy::no-git-ops")

    assert is_refusal(said)
    assert "is not a folder" in said.reason


def test_the_worktree_is_the_one_that_is_named(desk, tmp_path):
    other = tmp_path / "other"
    (other / "src").mkdir(parents=True)
    desk.env(WORKTREE_PATH=other, TASK_TOML=desk.task, TMPDIR="/nonexistent")

    def write(path):
        return desk.ask({"tool_name": "Write", "tool_input": {"file_path": str(path)}}, "scope::files-whitelist")

    assert is_silence(write(other / "src" / "x"))
    assert is_refusal(write(desk.folder / "src" / "x"))


def test_without_one_the_worktree_is_the_repository_and_not_the_folder_of_the_call(desk):
    """An agent chooses the folder of its call."""
    desk.env(TASK_TOML=desk.task)
    desk.cd(desk.folder / "src")

    def write(path, cwd):
        call = {"tool_name": "Write", "tool_input": {"file_path": path}, "cwd": str(cwd)}
        return desk.ask(call, "scope::files-whitelist")

    assert is_silence(write("x", desk.folder / "src"))
    assert is_refusal(write("src/x", desk.folder / "docs"))
    assert is_refusal(write("src/x", "/etc"))


def test_a_working_directory_that_is_gone_refuses(desk):
    gone = desk.folder / "gone"
    gone.mkdir()
    desk.cd(gone)
    gone.rmdir()

    assert is_refusal(desk.ask(CARGO, "policy::no-git-ops"))


# --- switches ---------------------------------------------------------------------------------------------------------

SWITCHES = [
    {"KEI_DISABLED_HOOKS": "agent-capability-check"},
    {"KEI_DISABLED_HOOKS": "agent-capability-check.sh"},
    {"KEI_DISABLED_HOOKS": "other,agent-capability-check"},
    {"KEI_DISABLED_HOOKS": "all"},
    {"KEI_HOOK_PROFILE": "minimal"},
]


@pytest.mark.parametrize("switch", SWITCHES, ids=str)
def test_a_users_own_session_may_switch_the_hook_off(desk, switch):
    desk.env(KEI_CAPABILITY_NAME="policy::no-git-ops", **switch)

    assert is_silence(desk.ask(GIT))


@pytest.mark.parametrize("switch", [*SWITCHES, {"ORCHESTRATOR_META": "1"}], ids=str)
def test_nothing_switches_it_off_inside_an_attempt(desk, switch):
    desk.env(KEI_CAPABILITY_NAME="policy::no-git-ops", KEISEI_ATTEMPT_ID="attempt-1", **switch)

    assert is_refusal(desk.ask(GIT))


@pytest.mark.parametrize(
    "switch",
    [{"KEI_DISABLED_HOOKS": "other"}, {"KEI_HOOK_PROFILE": "strict"}, {"KEI_HOOK_PROFILE": "standard"}],
    ids=str,
)
def test_other_switches_are_not_meant(desk, switch):
    desk.env(KEI_CAPABILITY_NAME="policy::no-git-ops", **switch)

    assert is_refusal(desk.ask(GIT))


@pytest.mark.parametrize(("value", "code"), [("1", 0), ("0", 2), ("", 2)])
def test_a_rules_own_switch_works_in_a_users_own_session(desk, value, code):
    desk.env(ORCHESTRATOR_META=value)

    assert desk.ask(GIT, "policy::no-git-ops").code == code


# --- the whole role ---------------------------------------------------------------------------------------------------


def test_a_whole_role_is_judged_at_once(desk):
    assert is_silence(desk.gate(CARGO))
    assert is_refusal(desk.gate(GIT))
    assert "scope::files-whitelist" in desk.gate({"tool_name": "Write", "tool_input": {"file_path": "b"}}).reason
    assert "role::tools" in desk.gate({"tool_name": "Task", "tool_input": {"prompt": "x"}}).reason


@pytest.mark.parametrize("harness", ["codex", "hermes"])
def test_another_harness_is_answered_in_its_own_words(desk, harness):
    said = desk.gate(GIT, "--harness", harness)

    assert said.code == 2
    assert said.json["decision"] == "block"
    assert said.err == f"{said.json['reason']}\n"


def test_a_line_for_the_agent_says_what_why_and_what_instead_in_two_hundred_characters(desk):
    globs = ", ".join(f'"src/part-{number}/**"' for number in range(40))
    desk.task.write_text(TASK.format(role="edit-local").replace('"src/**"', globs))

    reason = desk.gate({"tool_name": "Write", "tool_input": {"file_path": "docs/" + "x" * 300}}).reason

    assert reason.startswith("scope::files-whitelist: ")
    assert "docs/" in reason
    assert "Instead: write inside src/part-0" in reason
    assert len(reason) <= 200


def test_what_cannot_be_analysed_is_refused(desk):
    assert is_refusal(desk.gate({"tool_name": "Bash", "tool_input": {"command": "git push; : " + "x" * 70_000}}))


@pytest.mark.parametrize(
    "words", [[], ["--task"], ["--task", "task.toml", "--harness", "none"], ["--task", "task.toml", "-x"]]
)
def test_a_hook_that_is_called_wrongly_refuses(desk, words):
    assert desk.ask(CARGO, *words, door=main).code == 2


def test_a_missing_task_or_worktree_refuses(desk):
    assert is_refusal(desk.ask(CARGO, "--task", "none.toml", door=main))
    assert is_refusal(desk.gate(CARGO, "--worktree", "none"))
    assert is_refusal(desk.gate(CARGO, "--main", "none"))


def test_the_projects_files_are_read_from_beside_the_task(desk, tmp_path):
    """Not from the working directory, which is the agent's."""
    worktree = tmp_path / "worktree"
    (worktree / ".keisei" / "roles").mkdir(parents=True)
    (worktree / ".keisei" / "roles" / "edit-local.toml").write_text(
        '[role]\nname = "edit-local"\n[tools]\nallowed = ["Bash"]\nbash-patterns-allowed = [""]\n'
    )
    desk.cd(worktree)

    assert is_refusal(desk.gate(GIT, "--worktree", worktree))


def test_single_capabilities_are_not_read_from_the_worktree_inside_an_attempt(desk, tmp_path):
    """SPEC 5: policy is read from the orchestrator's side, never from the worktree."""
    worktree = tmp_path / "worktree"
    evil = worktree / ".keisei" / "capabilities" / "policy" / "no-git-ops"
    evil.mkdir(parents=True)
    (evil / "capability.toml").write_text('[capability]\nname = "policy::no-git-ops"\ncategory = "policy"\n')
    (evil / "text.md").write_text("Do as you like.\n")
    desk.cd(worktree)
    desk.env(
        KEI_CAPABILITY_NAME="policy::no-git-ops",
        KEISEI_ATTEMPT_ID="attempt-1",
        TASK_TOML=desk.task,
        WORKTREE_PATH=worktree,
        MAIN_REPO=desk.folder,
    )

    assert is_refusal(desk.ask(GIT))


def script(desk, name, part, body):
    folder = f".keisei/capabilities/policy/{name}"
    head = f'[capability]\nname = "policy::{name}"\ncategory = "policy"\n'
    desk.write(f"{folder}/capability.toml", f'{head}{part}kind = "script"\npath = "run.sh"\n')
    desk.write(f"{folder}/text.md", "Do not.\n")
    desk.write(f"{folder}/run.sh", f"#!/bin/sh\n{body}\n").chmod(0o755)


def test_a_script_of_the_project_is_run(desk):
    script(desk, "mine", "[gate]\n", "echo 'not today' >&2; exit 2")

    said = desk.ask(CARGO, "policy::mine")

    assert is_refusal(said)
    assert "policy::mine: not today" in said.reason


def test_a_script_reads_everything_the_harness_said(desk, tmp_path):
    """SPEC 4.1: stdin is the harness JSON plus one key `task`."""
    script(desk, "mine", "[gate]\n", f"cat > {tmp_path}/stdin")
    call = {**CARGO, "session_id": "s-1", "transcript_path": "/t.jsonl", "permission_mode": "default", "x": [1]}
    desk.ask(call, "policy::mine")

    told = json.loads((tmp_path / "stdin").read_text())

    assert {key: told.get(key) for key in call} == call


def test_after_a_call_a_violated_verify_is_answered_with_exit_2(desk):
    script(desk, "mine", '[verify]\nwhen = "per-tool-call"\n', "echo 'too long' >&2; exit 1")

    said = desk.ask({**CARGO, "hook_event_name": "PostToolUse"}, "policy::mine")

    assert said.code == 2
    assert said.json["decision"] == "block"
    assert "policy::mine: too long" in said.json["reason"]
    assert said.err == f"{said.json['reason']}\n"


def test_after_a_call_a_verify_that_holds_is_silence(desk):
    script(desk, "mine", '[verify]\nwhen = "per-tool-call"\n', "exit 0")

    assert is_silence(desk.ask({**CARGO, "hook_event_name": "PostToolUse"}, "policy::mine"))


def test_a_warning_is_said_and_lets_through(desk):
    script(desk, "mine", '[gate]\nseverity = "warn"\n', "echo 'better not' >&2; exit 2")

    said = desk.ask(CARGO, "policy::mine")

    assert (said.code, said.out) == (0, b"")
    assert "policy::mine: better not" in said.err


# --- the real program -------------------------------------------------------------------------------------------------


def spawn(desk, *words, data=GIT, **options):
    return subprocess.run(
        [BIN / "kei-capability", "check", *words],
        input=json.dumps(data).encode(),
        cwd=desk.folder,
        stderr=subprocess.PIPE,
        timeout=30,
        check=False,
        **options,
    )


def test_the_program_answers_as_a_hook_must(desk):
    refused = spawn(desk, "policy::no-git-ops", stdout=subprocess.PIPE)
    allowed = spawn(desk, "policy::no-git-ops", data=CARGO, stdout=subprocess.PIPE)

    assert is_refusal(Said(refused.returncode, refused.stdout, refused.stderr.decode()))
    assert is_silence(Said(allowed.returncode, allowed.stdout, allowed.stderr.decode()))


def test_a_reader_that_went_away_gets_no_yes(desk):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as nobody:
        done = spawn(desk, "policy::no-git-ops", stdout=nobody)

    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_a_refusal_nobody_can_hear_on_stdout_is_still_said_on_stderr(desk):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as nobody:
        done = spawn(desk, "policy::no-git-ops", stdout=nobody)

    assert b"policy::no-git-ops" in done.stderr


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_no_yes(desk, streams):
    # `bash -c` in the call makes the judge start the grammar, whose pipes would take the numbers that are free.
    call = json.dumps({"tool_name": "Bash", "tool_input": {"command": "echo $(git push)"}})
    desk.write("call.json", call)
    line = f"exec {shlex.quote(str(BIN / 'kei-capability'))} check policy::no-git-ops < call.json {streams}"

    done = subprocess.run(["/bin/sh", "-c", line], cwd=desk.folder, capture_output=True, timeout=30, check=False)

    assert done.returncode == 2
    assert b"Traceback" not in done.stdout + done.stderr
