"""Starting: `keisei --version` pays for nothing it does not need."""

import subprocess
import sys

import pytest

from keisei import __version__
from tests.cli.shell import BIN

HEAVY = {"click", "msgspec", "jsonschema_rs", "yaml", "ryaml", "rich"}
COMMANDS = {"agent", "capability", "lint", "profile", "role", "schema", "skill", "task_type", "workflow"}
PROGRAM = """
import runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit:
    pass
sys.stderr.write("\\n".join(sys.modules))
"""


def imported(*words):
    """Every module that is there after the installed program has run."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, BIN / "keisei", *words], capture_output=True, text=True, check=False
    )
    return set(done.stderr.splitlines())


def commands(modules):
    """Which of our commands are among them."""
    return {name for name in COMMANDS if f"keisei.cli.{name}" in modules}


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_the_version_is_one_line(shell, flag):
    done = shell.spawn(flag)

    assert (done.code, done.out, done.err) == (0, f"keisei {__version__}\n", "")


def test_the_version_imports_nothing_heavy():
    modules = imported("--version")

    assert {name.partition(".")[0] for name in modules} & HEAVY == set()
    assert {name for name in modules if name.startswith("keisei.")} == {"keisei.cli"}


def test_the_interpreter_itself_tells_the_same():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", BIN / "keisei", "--version"], capture_output=True, text=True, check=False
    )

    told = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "keisei.cli" in told
    assert {name.partition(".")[0] for name in told} & HEAVY == set()


def test_the_help_imports_no_command():
    modules = imported("--help")

    assert "keisei.cli.app" in modules
    assert commands(modules) == set()


@pytest.mark.parametrize("name", ["schema", "role", "lint"])
def test_a_command_imports_no_other_command(name):
    assert commands(imported(name, "--help")) == {name}


def test_a_runner_imports_nothing_of_the_gate():
    program = "import sys, keisei.wiring.hall; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert not [name for name in done.stdout.split() if name.startswith(("keisei.gate", "keisei.rules.shell"))]


def test_python_dash_m_is_the_same_command(shell):
    done = subprocess.run(
        [sys.executable, "-m", "keisei", "--version"], capture_output=True, text=True, cwd=shell.folder, check=False
    )

    assert (done.returncode, done.stdout) == (0, f"keisei {__version__}\n")
