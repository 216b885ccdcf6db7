"""The launcher: it becomes the program, or says in one line why not; it never runs it with less than was asked for."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from keisei.sandbox.confine import LAUNCHER
from keisei.sandbox.landlock import kernel_abi
from keisei.sandbox.reach import interpreter


def started(profile, *argv, env=None, **kinds):
    """What the launcher does with a profile, told as an object, as text or in pieces."""
    pieces = profile if isinstance(profile, list) else [profile if isinstance(profile, str) else json.dumps(profile)]
    command = [interpreter()[0], "-I", "-S", os.fspath(LAUNCHER), *pieces, "--", *argv]
    return subprocess.run(command, env=env or {"PATH": "/usr/bin:/bin"}, capture_output=True, check=False, **kinds)


def test_an_empty_profile_only_becomes_the_program():
    ended = started({}, "sh", "-c", 'echo "$0:$1"', "zero", "--")

    assert (ended.returncode, ended.stdout) == (0, b"zero:--\n")


def test_the_pieces_of_a_profile_are_one_text():
    text = json.dumps({"cwd": "/usr", "ignore": []})

    ended = started([text[:5], text[5:]], "pwd")

    assert ended.stdout == b"/usr\n"


FAULTS = {
    "no profile": ("", "arguments"),
    "not JSON": ("{nonsense", "arguments"),
    "not an object": ('["cwd"]', "arguments: the profile is no object"),
    "a folder that is not there": ({"cwd": "/no/such"}, "cwd: No such file"),
    "a group that is not there": ({"groups": ["/no/such/cgroup.procs"]}, "groups: No such file"),
    "a filter that is none": ({"seal": True, "seccomp": "00" * 16}, "seccomp: the kernel refuses it"),
    "a filter that is no hex": ({"seccomp": "xyz"}, "seccomp: "),
    "rights nobody knows": (
        {"seal": True, "landlock": {"fs": 1 << 60, "net": 0, "scope": 0, "size": 8, "rules": [], "ports": []}},
        "landlock: the kernel makes no ruleset",
    ),
    "a rule with rights that are not handled": (
        {"seal": True, "landlock": {"fs": 1, "net": 0, "scope": 0, "size": 8, "rules": [[2, ["/usr"]]], "ports": []}},
        "landlock: the kernel refuses it (landlock rule for b'/usr')",
    ),
    "a limit that is none": ({"limits": [[999, 1]]}, "limits: "),
    "a way that cannot be opened": ({"forward": ["/bin/false"]}, "forward: the way to the model cannot be opened"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_step_that_fails_ends_it_with_126_and_the_program_does_not_run(name, tmp_path):
    if "rights" in name and kernel_abi() < 1:
        pytest.skip("this kernel has no Landlock")
    profile, told = FAULTS[name]

    ended = started(profile, "touch", str(tmp_path / "ran"), env={"PATH": "/usr/bin:/bin"})

    assert ended.returncode == 126
    assert ended.stderr.decode().startswith(f"keisei: the program is not run: {told}")
    assert ended.stderr.count(b"\n") == 1
    assert not (tmp_path / "ran").exists()


def test_a_link_where_a_folder_was_meant_is_not_followed(tmp_path):
    if kernel_abi() < 1:
        pytest.skip("this kernel has no Landlock")
    link = Path(os.path.realpath(tmp_path)) / "link"
    link.symlink_to("/etc")
    rules = [[4, [str(link)]]]
    plan = {"fs": 4, "net": 0, "scope": 0, "size": 8, "rules": rules, "ports": []}

    ended = started({"seal": True, "landlock": plan}, "true")

    assert (ended.returncode, b"a link stands in" in ended.stderr) == (126, True)


@pytest.mark.parametrize(
    ("name", "code"),
    [("nowhere", 127), ("/no/such", 127), ("./plain", 126), ("./folder", 126), ("./words", 126)],
)
def test_a_program_that_cannot_be_run_is_told(tmp_path, name, code):
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "words").write_text("no program\n")
    (tmp_path / "words").chmod(0o755)
    (tmp_path / "folder").mkdir()

    ended = started({}, name, cwd=tmp_path)

    assert ended.returncode == code
    assert ended.stderr.startswith(b"keisei: ")
    assert ended.stderr.count(b"\n") == 1


def test_a_program_is_looked_up_on_the_path_as_a_shell_does(tmp_path):
    for name, mode in (("one", 0o644), ("two", 0o755)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tool").write_text(f"#!/bin/sh\necho {name}\n")
        (tmp_path / name / "tool").chmod(mode)

    ended = started({}, "tool", env={"PATH": f"/no/such:{tmp_path}/one:{tmp_path}/two"})

    assert ended.stdout == b"two\n"


def test_without_a_path_the_usual_places_are_looked_through():
    assert started({}, "true", env={"A": "b"}).returncode == 0


def test_the_interpreters_own_variables_do_not_reach_the_program():
    ended = started({}, "cat", "/proc/self/environ", env={"PATH": "/usr/bin:/bin", "PYTHONPATH": "/x", "a-b": "c"})

    assert ended.stdout == b"PATH=/usr/bin:/bin\0PYTHONPATH=/x\0a-b=c\0"


def test_signals_have_their_default_again_and_those_named_are_ignored():
    ended = started({"ignore": [15]}, "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")

    told = dict(line.split(b":\t") for line in ended.stdout.splitlines())
    own = 0b11 << 31  # 32 and 33 are the C library's; whoever started us may ignore them, and nobody can change that
    assert (int(told[b"SigBlk"], 16) & ~own, int(told[b"SigIgn"], 16) & ~own) == (0, 1 << 14)


def test_pwd_is_set_or_taken_away():
    env = {"PATH": "/usr/bin:/bin", "PWD": "/before"}

    taken, given = (started({"pwd": pwd}, "cat", "/proc/self/environ", env=env) for pwd in (None, "/after"))

    assert b"PWD=" not in taken.stdout
    assert b"PWD=/after\0" in given.stdout
