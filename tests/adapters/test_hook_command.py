"""Commands: whatever a hook does, a harness sees 0 or a refusal with a reason."""

import json
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.adapters.hook_command import MARK, is_ours, limited, parts_of, shell_form
from keisei.records.error import OperatorError

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=30)
VARIABLES = st.sampled_from([None, "KEI_CAPABILITY_NAME"])


def run(command, stdin=b"", **env):
    return subprocess.run(
        ["/bin/sh", "-c", command], input=stdin, capture_output=True, env={"PATH": "/usr/bin:/bin"} | env, check=False
    )


def program(folder, body, name="hook"):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_an_allowance_passes_through_with_what_it_says(tmp_path):
    command = shell_form([program(tmp_path, "cat")])

    done = run(command, b'{"tool_name":"Bash"}')

    assert (done.returncode, done.stdout, done.stderr) == (0, b'{"tool_name":"Bash"}', b"")


def test_a_refusal_keeps_its_own_reason_and_nothing_is_added(tmp_path):
    command = shell_form([program(tmp_path, "echo json; echo no git >&2; exit 2")])

    done = run(command)

    assert (done.returncode, done.stdout, done.stderr) == (2, b"json\n", b"no git\n")


@pytest.mark.parametrize("body", ["exit 1", "exit 3", "kill -9 $$", "kill -SEGV $$", "no-such-program-here"])
def test_every_failure_is_a_refusal_with_a_reason(tmp_path, body):
    done = run(shell_form([program(tmp_path, body)]))

    assert done.returncode == 2
    assert b"keisei gate: the hook failed (exit " in done.stderr


def test_a_program_that_is_missing_or_not_executable_refuses(tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("x", encoding="utf-8")

    for path in (tmp_path / "gone", plain, tmp_path):
        done = run(shell_form([str(path)]))
        assert done.returncode == 2, path
        assert b"keisei gate:" in done.stderr


def test_a_slow_program_is_ended_and_refuses(tmp_path):
    quick = program(tmp_path, 'shift 3; timeout() { /usr/bin/timeout -s KILL 0.05 "$@"; }; timeout "$@"', "timeout")

    done = run(shell_form(limited([program(tmp_path, "exec sleep 60")], quick)))

    assert done.returncode == 2
    assert b"keisei gate: the hook failed" in done.stderr


def test_without_the_variable_no_program_is_started(tmp_path):
    command = shell_form([program(tmp_path, f"touch {tmp_path}/ran; exit 2")], only_with="KEI_CAPABILITY_NAME")

    assert run(command).returncode == 0
    assert run(command, KEI_CAPABILITY_NAME="").returncode == 0
    assert not (tmp_path / "ran").exists()
    assert run(command, KEI_CAPABILITY_NAME="policy::no-git-ops").returncode == 2
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["a b", "it's", 'say "x"', "$HOME", "`id`", "日本 ü", "a\nb", "-x", "#x", "a;b", "*"])
def test_a_path_of_any_name_is_found_and_gets_its_words(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    path = program(folder, 'printf "%s|" "$@"')

    done = run(shell_form([path, name, "", "$(id)"]))

    assert done.returncode == 0
    assert done.stdout.decode() == f"{name}||$(id)|"


@given(st.lists(WORDS, min_size=1, max_size=5), VARIABLES, st.sampled_from([None, "/usr/bin/timeout"]))
def test_a_command_is_known_again_and_taken_apart(words, variable, timeout):
    command = shell_form(limited(words, timeout), only_with=variable)

    assert is_ours(json.loads(json.dumps(command)))
    parts = parts_of(command)
    assert parts is not None
    assert (list(parts.argv), parts.only_with, parts.limit) == (words, variable, timeout)


@pytest.mark.parametrize("command", [None, 3, "", "keisei gate check", f"x {MARK} # more", ["keisei"]])
def test_what_only_speaks_of_keisei_is_not_ours(command):
    assert not is_ours(command)


@pytest.mark.parametrize("command", [f"keisei gate check {MARK}", MARK, f"'unclosed {MARK}"])
def test_a_command_of_another_version_is_ours_and_has_no_known_parts(command):
    assert is_ours(command)
    assert parts_of(command) is None


@pytest.mark.parametrize("word", ["/opt/\udcff", "a\0b"])
def test_a_path_that_no_settings_file_can_hold_is_said(word):
    with pytest.raises(OperatorError):
        shell_form([word])
