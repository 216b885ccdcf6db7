"""Completion: scripts that a shell accepts, and answers that are commands."""

import subprocess

import pytest


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(shell, name):
    done = shell.run("completion", name)

    assert (done.code, done.err) == (0, "")
    assert "_KEISEI_COMPLETE" in done.out
    assert f"{name}_complete" in done.out


def test_bash_accepts_its_script(shell):
    script = shell.run("completion", "bash").raw

    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


def test_bash_can_load_its_script(shell):
    script = shell.run("completion", "bash").out + "\ncomplete -p keisei\n"

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(" keisei\n")


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        ("keisei ro", {"role"}),
        ("keisei role ma", {"matrix"}),
        ("keisei task-type ", {"list", "show"}),
        ("keisei completion ", {"bash", "zsh", "fish"}),
    ],
)
def test_words_are_completed_by_commands(shell, words, answers):
    count = len(words.split(" ")) - 1

    done = shell.spawn(env={"_KEISEI_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)})

    assert {line.partition(",")[2] for line in done.out.splitlines()} == answers
