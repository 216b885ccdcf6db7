"""Machines: every layer is found by doing, and one that is not there is told with its reason."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import keisei
from keisei.records.confinement import Limits
from keisei.sandbox import group, landlock
from keisei.sandbox.confine import level_of
from keisei.sandbox.machine import _probed, probe
from tests.sandbox.cell import MACHINE, full


@full
def test_a_machine_with_every_layer_has_no_fault():
    assert MACHINE.faults == () or MACHINE.landlock < 6
    assert Path(MACHINE.bwrap or "").name == "bwrap"
    assert MACHINE.landlock == min(landlock.kernel_abi(), landlock.NEWEST)


def test_it_is_looked_at_once():
    assert probe() is probe()


@pytest.mark.parametrize("name", [None, "no-such-bwrap"])
def test_bubblewrap_that_is_not_there_is_told(name):
    machine = probe(bwrap=name)

    assert machine.bwrap is None
    assert "bubblewrap (`bwrap`) is not installed" in machine.faults


STAND_INS = {
    "forbidden": ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions to create new"),
    "silent": ("exit 1", "it ended with 1"),
    "pretending": ('while [ "$1" != -- ]; do shift; done; shift; exec "$@"', "the program is not run"),
    "killed": ("kill -9 $$", "it ended with -9"),
}


@pytest.mark.parametrize("kind", STAND_INS)
def test_bubblewrap_that_makes_no_namespace_does_not_count(kind, tmp_path):
    script, reason = STAND_INS[kind]
    bwrap = tmp_path / "bwrap"
    bwrap.write_text(f"#!/bin/sh\n{script}\n")
    bwrap.chmod(0o755)

    machine = probe(bwrap=str(bwrap))

    assert machine.bwrap is None
    assert any("bubblewrap cannot make namespaces here" in each and reason in each for each in machine.faults)
    assert level_of(machine) == ("landlock" if machine.landlock >= 6 else "none")


@pytest.mark.skipif(landlock.kernel_abi() < 6, reason="this kernel has an older Landlock")
@pytest.mark.parametrize("abi", [0, 1, 3, 5])
def test_an_older_landlock_is_told_and_does_not_hold_alone(abi):
    machine = probe(bwrap=None, most_abi=abi)

    assert (machine.landlock, level_of(machine)) == (abi, "none")
    assert any("Landlock" in each for each in machine.faults)


def test_where_nothing_can_be_tried_nothing_holds(monkeypatch, tmp_path):
    monkeypatch.setattr("keisei.sandbox.machine.tempfile.tempdir", str(tmp_path / "missing"))

    machine = _probed.__wrapped__("bwrap", None)

    assert (machine.bwrap, machine.landlock, machine.seccomp, level_of(machine)) == (None, 0, False, "none")
    assert all("missing" in each for each in machine.faults if "installed" not in each)


def _interpreter_for_everybody() -> str | None:
    """An interpreter of our version that an ordinary user may start, and that can load our libraries."""
    wanted = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return next((each for each in (f"/usr/bin/{wanted}", f"/usr/local/bin/{wanted}") if Path(each).exists()), None)


@full
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="only root can become somebody else")
def test_an_ordinary_user_has_the_same_layers():
    python = _interpreter_for_everybody()
    if python is None:
        pytest.skip("no interpreter that an ordinary user may start")
    paths = f"{Path(keisei.__file__).parent.parent}:{sysconfig.get_path('purelib')}"
    script = "from keisei.sandbox.machine import probe; m = probe(); print(m.bwrap, m.landlock, m.seccomp, m.faults)"
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", python, "-c", script]

    ended = subprocess.run(
        command,
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=False,
    )

    if b"ImportError" in ended.stderr or b"ModuleNotFoundError" in ended.stderr or b"PermissionError" in ended.stderr:
        pytest.skip("our code cannot be read by an ordinary user here")
    assert ended.stdout.decode() == f"{MACHINE.bwrap} {MACHINE.landlock} {MACHINE.seccomp} ()\n", ended.stderr


# Groups

BOTH = "9:name=systemd:/\n8:pids:/a\n4:cpu,memory:/m\n0::/user/one\n"


def test_a_group_is_looked_for_below_our_own(tmp_path):
    (tmp_path / "cgroup.controllers").touch()
    (tmp_path / "user" / "one").mkdir(parents=True)

    found = list(group.parents(BOTH, tmp_path))

    assert found == [tmp_path / "user" / "one", tmp_path / "user", tmp_path, tmp_path / "pids" / "a"]


def test_a_limit_around_us_is_never_left(tmp_path):
    (tmp_path / "cgroup.controllers").touch()
    (tmp_path / "user" / "one").mkdir(parents=True)
    (tmp_path / "user" / "one" / "memory.max").write_text("max\n")
    (tmp_path / "user" / "pids.max").write_text("100\n")

    found = list(group.parents(BOTH, tmp_path))

    assert found == [tmp_path / "user" / "one", tmp_path / "user", tmp_path / "pids" / "a"]


def test_where_only_the_first_version_is_there_it_is_used(tmp_path):
    assert list(group.parents(BOTH, tmp_path)) == [tmp_path / "pids" / "a"]


def test_a_second_version_gets_both_limits_in_one_group(tmp_path):
    (tmp_path / "cgroup.controllers").touch()

    (made,) = group.make(tmp_path, Limits(processes=7, memory_bytes=8))

    assert {each.name: each.read_text() for each in Path(made).iterdir()} == {"pids.max": "7", "memory.max": "8"}
