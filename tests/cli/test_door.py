"""The door: exit codes, one clear error, and never a traceback, whatever happens to the terminal."""

import fcntl
import json
import os
import pty
import re
import signal
import stat
import struct
import subprocess
import sys
import termios
import time

import pytest

from keisei.cli.door import EXITS
from tests.cli.shell import BIN

USAGE = {
    "keisei": (1, [["nope"], ["role", "nope"], ["role", "show"], ["lint", "nope"], ["--nope"], ["completion", "tcsh"]]),
    "kei-agent-runtime": (
        2,
        [["nope"], ["compose"], ["prepare", "x", "--format", "xml"], ["--nope"], ["compose", "a", "b"]],
    ),
    "kei-capability": (2, [["nope"], ["fork"], ["fork", "policy::no-git-ops"], ["--nope"]]),
    "kei-forge": (1, [["nope"], ["serve", "--nope"], ["--nope"]]),
    "kei-migrate": (1, [["nope"], ["status", "--nope"]]),
    "kei-runtime": (1, [["nope"], ["invoke"], ["list-atoms", "--kind", "nope"], ["--nope"], ["invoke", "a::b", "c"]]),
    "kei-sage": (
        1,
        [["nope"], ["related"], ["--nope"], ["graph", "x", "--format", "png"], ["rank-atoms", "--limit", "0"]],
    ),
    "kei-schema-lint": (2, [["--nope"]]),
    "kei-task": (1, [["nope"], ["create", "--nope"], ["create", "a", "b"]]),
}
WRONG = [(command, code, words) for command, (code, cases) in USAGE.items() for words in cases]


@pytest.mark.parametrize(("command", "code", "words"), WRONG, ids=[" ".join((c, *w)) for c, _, w in WRONG])
def test_a_usage_mistake_has_its_commands_exit_code(shell, command, code, words):
    done = shell.run(*words, command=command)

    assert done.code == code
    assert done.err.startswith(f"Usage: {command}")
    assert "Error: " in done.err
    assert done.raw == b""


@pytest.mark.parametrize(
    ("command", "words", "code"),
    [
        ("keisei", ["nope"], 1),
        ("kei-agent-runtime", ["nope"], 2),
        ("kei-agent-runtime", ["prepare", "task.toml", "--format", "xml"], 2),
        ("kei-capability", ["nope"], 2),
        ("kei-capability", ["fork", "policy::nope", "--as", "policy::x"], 2),
        ("keisei", ["capability", "fork", "policy::nope", "--as", "policy::x"], 1),
        ("keisei", ["agent", "compose", "nope.toml"], 1),
        ("kei-agent-runtime", ["compose", "nope.toml"], 1),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else str(each),
)
def test_the_installed_programs_keep_the_originals_exit_codes(shell, command, words, code):
    done = shell.spawn(*words, command=command)

    assert done.code == code
    assert "Traceback" not in done.err
    assert done.raw == b""


def test_a_mistyped_command_is_told_by_name(shell):
    assert "No such command 'rol'." in shell.run("rol").err


@pytest.mark.parametrize(
    "words", [["role", "show", "edit-locl"], ["skill", "show", "code-reviw"]], ids=["role", "skill"]
)
def test_a_mistyped_name_is_told_with_the_nearest(shell, words):
    done = shell.run(*words)

    assert done.code == 1
    assert done.err.startswith(f"error: no {words[0]} is called `{words[2]}`\n  hint: did you mean `")


# The other end of stdout.

READERS = [
    ["schema", "show", "task.intent"],
    ["schema", "show", "task.record"],
    ["role", "docs"],
    ["capability", "list"],
    ["--help"],
    ["--version"],
]


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_reader_that_goes_away_is_not_an_error(shell, words):
    read, write = os.pipe()
    os.close(read)

    done = shell.spawn(*words, stdout=write)

    os.close(write)
    assert done.err == ""
    assert done.code == 0


def test_head_takes_the_first_line_and_nobody_complains(shell):
    script = f"set -o pipefail; '{BIN}/keisei' schema show task.intent | head -1"

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=shell.folder, check=False)

    assert (done.stdout, done.stderr) == ("{\n", "")


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_a_full_disk_is_one_clear_error(shell, words):
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = shell.spawn(*words, stdout=full)

    assert done.code == 1
    assert "no space left on device" in done.err.lower()
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) <= 2


@pytest.mark.parametrize("words", [["schema", "list"], ["role", "list"], ["--help"], ["--version"]], ids=" ".join)
def test_a_closed_stdout_is_not_our_bug(shell, words):
    command = " ".join([f"exec '{BIN}/keisei'", *words, ">&-"])

    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=shell.folder, check=False)

    assert "Traceback" not in done.stderr
    assert "bug in keisei" not in done.stderr
    assert done.returncode in (0, 1)


def test_a_closed_stdin_is_not_our_bug(shell):
    command = f"exec '{BIN}/keisei' schema check - --as task.intent <&-"

    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=shell.folder, check=False)

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "bug in keisei" not in done.stderr


# Interrupts.


def waiting_for_more(stream):
    """Whether everything written so far was taken from the pipe."""
    return struct.unpack("i", fcntl.ioctl(stream, termios.FIONREAD, bytes(4)))[0] == 0


def hear_interrupts():
    """A background job of a script inherits interrupts that are ignored; a person's shell does not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_ends_with_130_and_without_a_word(shell):
    process = subprocess.Popen(
        [BIN / "keisei", "schema", "check", "-", "--as", "task.intent"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=shell.folder,
        preexec_fn=hear_interrupts,  # noqa: PLW1509 - no threads here
    )
    process.stdin.write(b"{")
    process.stdin.flush()
    deadline = time.monotonic() + 20
    while not waiting_for_more(process.stdin) and time.monotonic() < deadline:
        time.sleep(0.005)  # until it reads, and so waits for the rest

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)

    assert process.returncode == 130
    assert (out, b"Traceback" in err) == (b"", False)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, EOFError], ids=["ctrl-c", "ctrl-d"])
def test_an_interrupt_inside_a_command_is_130(shell, monkeypatch, interrupt):
    def interrupted(_catalog):
        raise interrupt

    monkeypatch.setattr("keisei.cli.role.resolved_roles", interrupted)

    assert shell.run("role", "matrix").code == 130


# Our own bugs.


def explode(_catalog):
    message = "the secret is hunter2"
    raise RuntimeError(message)


def test_a_bug_is_70_with_a_report_only_its_owner_can_read(shell, monkeypatch):
    monkeypatch.setattr("keisei.cli.role.resolved_roles", explode)

    done = shell.run("role", "matrix")

    (report,) = (shell.folder / "tmp").iterdir()
    assert done.code == 70
    assert done.raw == b""
    assert done.err == (
        f"error: this is a bug in keisei\n  hint: the details are in {report}; please attach them to a bug report\n"
    )
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    text = report.read_text()
    assert text.startswith("keisei role matrix\nPython ")
    assert "RuntimeError: the secret is hunter2" in text


def test_a_bug_is_70_even_where_no_report_can_be_written(shell, monkeypatch):
    monkeypatch.setattr("keisei.cli.role.resolved_roles", explode)
    monkeypatch.setattr("tempfile.tempdir", str(shell.folder / "nowhere"))

    done = shell.run("role", "matrix")

    assert done.code == 70
    assert done.err.startswith("error: this is a bug in keisei\n")
    assert "Traceback" not in done.err


def test_a_bug_while_importing_a_command_is_70_too(shell, monkeypatch):
    monkeypatch.setitem(sys.modules, "keisei.cli.skill", None)

    done = shell.run("skill", "list")

    assert done.code == 70
    assert "Traceback" not in done.err


@pytest.mark.parametrize("command", ["kei-agent-runtime", "kei-capability"])
def test_a_bug_is_70_behind_every_door(shell, monkeypatch, command):
    def explode_anyway(*_args, **_options):
        raise RuntimeError

    monkeypatch.setattr("keisei.cli.agent.open_catalog", explode_anyway)
    monkeypatch.setattr("keisei.cli.capability.open_catalog", explode_anyway)
    words = ["compose", "x.toml"] if command == "kei-agent-runtime" else ["fork", "policy::x", "--as", "policy::y"]

    assert shell.run(*words, command=command).code == 70


def test_every_exit_code_is_explained_once():
    assert sorted(EXITS) == [0, 1, 2, 3, 4, 5, 70, 127, 130]


# Colours.

COLOUR = re.compile(rb"\x1b\[[0-9;]*(?:3[0-7]|9[0-7])[0-9;]*m")


def on_a_terminal(shell, *words, env=None):
    """What a command writes to a terminal, stdout and stderr together."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    process = subprocess.Popen(
        [BIN / "keisei", *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        cwd=shell.folder,
        env=os.environ | {"TERM": "xterm-256color"} | (env or {}),
    )
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 65536):
            said += part
    except OSError:  # Linux says EIO where the other end is closed
        pass
    process.wait(20)
    os.close(ours)
    return said


def test_an_error_is_coloured_on_a_terminal(shell):
    assert COLOUR.search(on_a_terminal(shell, "role", "show", "nope"))


@pytest.mark.parametrize("words", [["role", "show", "nope"], ["role", "list"], ["lint"]], ids=" ".join)
def test_no_color_switches_colours_off(shell, words):
    said = on_a_terminal(shell, *words, env={"NO_COLOR": "1"})

    assert said
    assert COLOUR.search(said) is None


def test_a_pipe_gets_no_colours(shell):
    done = shell.spawn("role", "show", "nope")

    assert done.err.startswith("error: no role is called `nope`")
    assert "\x1b" not in done.err


def test_a_table_on_a_terminal_says_what_the_json_says(shell):
    said = on_a_terminal(shell, "workflow", "list").decode()

    (row,) = json.loads(shell.run("workflow", "list", "--json").out)
    assert row["name"] in said
    assert row["record"]["initial_state"] in said
