"""Scripts of verifies: how they are started, what they are told, and those that cannot be started at all."""

import os
import subprocess

import pytest

from keisei.records.error import OperatorError
from keisei.records.verification import Planned
from keisei.rules.script import verify_meaning
from keisei.wiring.script import PROGRAMS, broken, folders_of, verify_argv, verify_env

NAME = "quality::own"
TASK = {
    "agent_id": "abc-1",
    "task_toml": "/t/task.toml",
    "worktree_path": "/t/work",
    "main_repo": "/t/main",
    "run_mode": "merged",
}


@pytest.fixture
def script(tmp_path):
    """A verify.sh in a folder whose path has a space."""

    def make(text, mode=0o755):
        path = tmp_path / "a b" / "verify.sh"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        return str(path)

    return make


def told(tmp_path, **more):
    planned = Planned(capability=NAME, kind="script", run_from=("merged",), **more)
    folder = tmp_path / "helpers"
    folder.mkdir()
    return verify_env(TASK, planned, folders_of(NAME, planned.lists, folder))


def ran(tmp_path, path, **more):
    env = {"TMPDIR": str(tmp_path), "HOME": "/scratch", **told(tmp_path, **more)}
    return subprocess.run(verify_argv(path), env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)


@pytest.mark.parametrize("mode", [0o755, 0o644], ids=["a program", "its mode lost"])
@pytest.mark.parametrize("head", ["#!/bin/sh\n", "#!/usr/bin/env bash\n", ""], ids=["sh", "env bash", "none"])
def test_a_script_runs_however_it_names_its_interpreter(script, tmp_path, head, mode):
    path = script(f'{head}echo "$0 says no" >&2\nexit 3\n', mode)

    done = ran(tmp_path, path)

    assert broken(path) is None
    assert (done.returncode, done.stderr.decode()) == (3, f"{path} says no\n")


def test_the_reason_is_what_it_says_on_standard_error_whatever_it_printed_before(script, tmp_path):
    done = ran(tmp_path, script("#!/bin/sh\necho checking\necho it is red >&2\necho more\nexit 1\n"))

    said = verify_meaning(done.returncode, done.stdout + done.stderr)

    assert (said.status, said.reason, said.detail) == ("violated", "it is red", "checking\nmore")


def test_one_that_only_prints_has_said_why(script, tmp_path):
    done = ran(tmp_path, script("#!/bin/sh\necho it is red\nexit 1\n"))

    assert verify_meaning(done.returncode, done.stdout + done.stderr).reason == "it is red"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "is empty"),
        (b"#!/bin/sh\r\nexit 0\r\n", "Windows line ends"),
        (b"#!/no/such/shell\nexit 0\n", "names the interpreter `/no/such/shell`, which is not here"),
        (b"#!\nexit 0\n", "names the interpreter `nothing`"),
    ],
    ids=["empty", "CRLF", "no interpreter", "none named"],
)
@pytest.mark.parametrize("mode", [0o755, 0o644])
def test_one_that_cannot_be_started_says_why(script, text, why, mode):
    assert why in broken(script(text, mode))


def test_one_that_is_not_there_says_why(tmp_path):
    assert broken(str(tmp_path / "verify.sh")) == "its script cannot be read: no such file or directory"


def test_a_script_is_told_what_the_contract_says(tmp_path):
    parameters = {"files-whitelist": ("src/**", "a b/**"), "greeting": "hello"}

    env = told(tmp_path, parameters=parameters)

    assert {name: env[name] for name in ("AGENT_ID", "TASK_TOML", "WORKTREE_PATH", "MAIN_REPO", "RUN_MODE")} == {
        name.upper(): value for name, value in TASK.items()
    }
    assert (env["FILES_WHITELIST"], env["GREETING"]) == ("src/**\na b/**", "hello")


def test_a_script_finds_its_lists_with_the_helper(script, tmp_path):
    path = script(f"#!/bin/sh\ncapability_patterns {NAME} tool-patterns >&2\nexit 1\n")

    done = ran(tmp_path, path, lists={"tool-patterns": ("^git( |$)", "a b")})

    assert done.stderr.decode() == "^git( |$)\na b\n"


def test_a_script_finds_the_programs_that_commands_find_and_the_home_of_the_sandbox(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/tools/bin:/usr/bin")

    env = told(tmp_path)

    assert env["PATH"].endswith(f"{os.sep}helper:/tools/bin:/usr/bin")
    assert "HOME" not in env


def test_without_a_path_it_finds_the_system_s_programs(tmp_path, monkeypatch):
    monkeypatch.delenv("PATH")

    assert told(tmp_path)["PATH"].endswith(PROGRAMS)


def test_a_parameter_that_would_take_a_variable_s_name_is_refused(tmp_path):
    with pytest.raises(OperatorError):
        told(tmp_path, parameters={"path": "/evil"})
