"""`keisei doctor`: everything an agent needs is tried, and what is missing comes with what to do."""

import json
import os
import subprocess
from pathlib import Path

import pytest

import keisei.sandbox.machine
import keisei.wiring.doctor
from keisei.records.confinement import Machine
from keisei.records.error import WorldFault
from keisei.sandbox.confine import level_of
from keisei.sandbox.machine import probe
from keisei.settings import read_settings
from keisei.wiring.start import running
from tests.cli.shop import Shop

FULL = Machine(bwrap="/usr/bin/bwrap", landlock=7, seccomp=True, cgroup="/sys/fs/cgroup/x")
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.hooksPath=/dev/null")


class Patient(Shop):
    """The project `shop` on a machine that a test chooses, with the programs that a test puts on its PATH."""

    def __init__(self, shell):
        super().__init__(shell)
        self.tools = shell.folder_of("tools")
        shell.setenv("PATH", f"{self.tools}:/usr/local/bin:/usr/bin:/bin")
        self.machine_is(FULL)

    def machine_is(self, found):
        self.shell._monkeypatch.setattr(keisei.sandbox.machine, "probe", lambda: found)


@pytest.fixture
def shop(shell):
    made = Patient(shell)
    yield made
    made.close()


def program(shop, name, text):
    path = shop.tools / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def commit(shop):
    """The project becomes a repository with a commit."""
    git(shop, "init", "-q", "-b", "main")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "first")


def git(shop, *words):
    subprocess.run([*GIT, *words], cwd=shop.folder, check=True, capture_output=True)


def checks(shop, *, code):
    """What is found, by name; the last of several."""
    done = shop.run("doctor", "--json")
    assert (done.code, done.err) == (code, "")
    told = json.loads(done.out)
    assert told["ok"] is (code == 0)
    return {each["name"]: each for each in told["checks"]}


def test_a_machine_that_has_everything_is_fine(shop):
    program(shop, "claude", "echo '2.1.7 (Claude Code)'")
    commit(shop)

    done = shop.run("doctor")

    assert (done.code, done.err) == (0, ""), done
    lines = done.out.splitlines()
    who = "root" if os.geteuid() == 0 else "an ordinary user"
    assert lines[0] == (
        f"ok       isolation: level full, as {who}: namespaces, Landlock ABI 7, seccomp, limits by cgroup"
    )
    assert lines[1].startswith(
        "ok       gate: one call refused and one allowed, by a service of its own; the client is "
    )
    assert f"ok       adapter claude-code: 2.1.7, {shop.tools}/claude" in lines
    assert any(line.startswith("ok       repository: agents begin at ") for line in lines)
    assert any(line.startswith("ok       store: sqlite, of project shop") for line in lines)
    assert lines[-1] == "agents can run here"


def test_nothing_is_left_running_or_lying_about(shop):
    program(shop, "claude", "echo 1.0")
    commit(shop)

    checks(shop, code=0)

    assert list(running(read_settings())) == []
    assert list((shop.state.parent / "run").glob("*")) == []
    assert list(Path(os.environ["TMPDIR"]).glob("keisei-doctor-*")) == []


@pytest.mark.parametrize(
    ("weaker", "level", "hint"),
    [
        pytest.param(
            Machine(bwrap=None, landlock=7, seccomp=True, faults=("there is no bwrap",)),
            "landlock",
            "install bubblewrap (the program `bwrap`)",
            id="no bubblewrap",
        ),
        pytest.param(
            Machine(bwrap=None, landlock=0, seccomp=False, faults=("the kernel has no Landlock",)),
            "none",
            "install bubblewrap (the program `bwrap`)",
            id="nothing",
        ),
        pytest.param(
            Machine(bwrap="/b", landlock=0, seccomp=True), "none", "use a kernel with Landlock", id="old kernel"
        ),
    ],
)
def test_a_machine_that_holds_less_is_told_what_to_do(shop, weaker, level, hint):
    shop.machine_is(weaker)
    program(shop, "claude", "echo 1.0")
    commit(shop)

    found = checks(shop, code=2)["isolation"]

    assert (found["state"], found["facts"]["level"]) == ("missing", level)
    assert all(fault in found["detail"] for fault in weaker.faults)
    assert found["hint"].startswith(hint)


def test_this_machine_is_judged_as_attempts_judge_it(shop):
    shop.machine_is(probe())

    done = shop.run("doctor", "--json")

    assert done.code in (0, 2)
    first = json.loads(done.out)["checks"][0]
    assert (first["name"], first["facts"]["level"]) == ("isolation", level_of(probe()))


def test_programs_are_asked_with_a_home_and_an_environment_of_their_own(shop):
    asked = shop.shell.folder / "asked"
    program(shop, "claude", f"env > '{asked}'; echo 1.0")
    commit(shop)
    shop.shell.setenv("ANTHROPIC_API_KEY", "key-canary")

    checks(shop, code=0)

    told = dict(line.split("=", 1) for line in asked.read_text().splitlines())
    assert set(told) - {"PWD", "SHLVL", "_", "OLDPWD", "KEISEI_TREE"} == {"HOME", "TMPDIR", "PATH"}
    assert told["HOME"] != str(shop.shell.home)
    assert not Path(told["HOME"]).exists()


def test_a_program_that_says_nothing_in_time_is_there_all_the_same(shop, monkeypatch):
    monkeypatch.setattr(keisei.wiring.doctor, "PATIENCE_S", 0.2)
    path = program(shop, "claude", "sleep 600")
    commit(shop)

    found = checks(shop, code=0)["adapter claude-code"]

    assert (found["state"], found["detail"], found["facts"]["version"]) == ("ok", str(path), None)


def test_without_a_single_harness_nothing_can_run(shop):
    commit(shop)

    found = checks(shop, code=2)

    assert found["adapter claude-code"]["state"] == "note"
    assert found["adapter claude-code"]["detail"] == "the program `claude` is not on the PATH"
    assert found["harness"]["state"] == "missing"
    assert "install Claude Code, Codex or Hermes" in found["harness"]["hint"]


def test_a_gate_that_does_not_work_is_missing(shop, monkeypatch):
    def broken(*_):
        raise WorldFault("the gate does not refuse: the hook ended with 0", "no work is given without it")

    monkeypatch.setattr(keisei.wiring.doctor, "start", broken)
    program(shop, "claude", "echo 1.0")
    commit(shop)

    found = checks(shop, code=2)["gate"]

    assert (found["state"], found["detail"]) == ("missing", "the gate does not refuse: the hook ended with 0")
    assert found["hint"] == "no work is given without it"


def test_a_project_that_is_no_repository_is_told_what_to_do(shop):
    program(shop, "claude", "echo 1.0")

    found = checks(shop, code=2)["repository"]

    assert found["state"] == "missing"
    assert found["hint"]


def test_what_agents_do_not_see_is_noted(shop):
    program(shop, "claude", "echo 1.0")
    commit(shop)
    (shop.folder / "keisei.toml").write_text((shop.folder / "keisei.toml").read_text() + "\n")

    found = checks(shop, code=0)["repository"]

    assert found["state"] == "note"
    assert "uncommitted changes" in found["detail"]


def test_outside_of_every_project_the_machine_is_looked_at_all_the_same(shop):
    program(shop, "claude", "echo 1.0")
    shop.shell.cd(shop.shell.folder_of("nowhere"))

    found = checks(shop, code=0)

    assert (found["repository"]["state"], found["repository"]["detail"]) == ("note", "there is no project here")
    assert found["gate"]["state"] == found["store"]["state"] == "ok"


def test_a_disk_that_is_nearly_full_is_missing_room(shop, monkeypatch):
    monkeypatch.setattr(keisei.wiring.doctor, "free_bytes", lambda _path: 3 * 1024 * 1024)
    program(shop, "claude", "echo 1.0")
    commit(shop)

    found = checks(shop, code=2)["space"]

    assert found["detail"].startswith("3 MB free at ")
    assert found["hint"].startswith("runners need 512 MB")


def test_a_broken_project_file_is_one_line_and_no_traceback(shop):
    (shop.folder / "keisei.toml").write_text("[project\n")

    done = shop.run("doctor")

    assert (done.code, done.err) == (2, "")
    assert any(line.startswith("missing  project: keisei.toml:1:") for line in done.out.splitlines())
    assert done.out.splitlines()[-1] == "something is missing that agents need"


def test_a_store_that_cannot_be_reached_is_missing(shop):
    program(shop, "claude", "echo 1.0")
    commit(shop)
    shop.shell.setenv("KEISEI_DATABASE_URL", "postgresql://nobody:secret-word@127.0.0.1:1/none")

    done = shop.run("doctor", "--json")

    assert done.code == 2
    assert {each["name"]: each["state"] for each in json.loads(done.out)["checks"]}["store"] == "missing"
    assert "secret-word" not in done.out
