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


ADAPTER = """[adapters.claude-code]
kind = "claude-code"
command = "claude"
timeout_ms = 60000
env_file = "{keys}"
"""


class Patient(Shop):
    """The project `shop` on a machine that a test chooses, with the programs that a test puts on its PATH."""

    def __init__(self, shell):
        super().__init__(shell)
        self.tools = shell.folder_of("tools")
        shell.setenv("PATH", f"{self.tools}:/usr/local/bin:/usr/bin:/bin")
        self.machine_is(FULL)
        self._give_key()

    def _give_key(self):
        """The user's own layer has a key for Claude Code."""
        config = self.shell.folder_of("config")
        self.shell.setenv("XDG_CONFIG_HOME", str(config))
        (config / "keisei").mkdir(parents=True, exist_ok=True)
        self.keys = config / "keisei" / "claude.env"
        self.keys.write_text("ANTHROPIC_API_KEY=sk-test\n")
        self.keys.chmod(0o600)
        (config / "keisei" / "keisei.toml").write_text(ADAPTER.format(keys=self.keys))

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


def test_a_harness_without_a_key_does_not_count(shop):
    program(shop, "claude", "echo '2.1.7 (Claude Code)'")
    commit(shop)
    shop.keys.write_text("# nothing yet\n")

    found = checks(shop, code=2)

    assert found["adapter claude-code"]["state"] == "note"
    assert "neither a key nor an address" in found["adapter claude-code"]["detail"]
    assert "ANTHROPIC_API_KEY=" in found["adapter claude-code"]["hint"]


def test_a_key_that_others_can_read_does_not_count(shop):
    program(shop, "claude", "echo '2.1.7 (Claude Code)'")
    commit(shop)
    shop.keys.chmod(0o644)

    assert "can be read by others" in checks(shop, code=2)["adapter claude-code"]["detail"]


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
            Machine(bwrap=None, landlock=7, seccomp=True, faults=("bubblewrap cannot make namespaces here: no",)),
            "landlock",
            "let bubblewrap make namespaces",
            id="a bubblewrap that may not",
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


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("echo 1.0; exit 3", "asked for its version it ended with exit 3", id="it fails"),
        pytest.param("kill -9 $$", "asked for its version it ended with signal 9", id="it is killed"),
        pytest.param("echo hello", "it says no version", id="it says something else"),
    ],
)
def test_a_program_that_does_not_work_is_no_harness(shop, text, why):
    path = program(shop, "claude", text)
    commit(shop)

    found = checks(shop, code=2)

    claude = found["adapter claude-code"]
    assert (claude["state"], claude["detail"]) == ("note", f"{path} does not work: {why}")
    assert claude["facts"] == {"kind": "claude-code", "program": str(path), "version": None}
    assert found["harness"]["state"] == "missing"


def test_a_program_that_says_nothing_in_time_is_no_harness(shop, monkeypatch):
    monkeypatch.setattr(keisei.wiring.doctor, "PATIENCE_S", 0.2)
    path = program(shop, "claude", "sleep 600")
    commit(shop)

    found = checks(shop, code=2)

    why = "it does not say its version in 0.2 seconds"
    assert found["adapter claude-code"]["detail"] == f"{path} does not work: {why}"
    assert found["harness"]["state"] == "missing"


def test_a_program_that_cannot_be_started_is_no_harness(shop):
    program(shop, "claude", "").write_text("#!/nonexistent\n")
    commit(shop)

    found = checks(shop, code=2)

    assert found["adapter claude-code"]["state"] == "note"
    assert " does not work: " in found["adapter claude-code"]["detail"]
    assert found["harness"]["state"] == "missing"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("echo git version 2.37.9", ": it is too old", id="old"),
        pytest.param("exit 1", " does not work: asked for its version it ended with exit 1", id="broken"),
    ],
)
def test_a_git_of_no_use_is_missing_outside_of_projects_too(shop, text, said):
    program(shop, "claude", "echo 1.0")
    program(shop, "git", text)
    shop.shell.cd(shop.shell.folder_of("nowhere"))

    found = checks(shop, code=2)["git"]

    assert found["state"] == "missing"
    assert found["detail"].endswith(said)
    assert found["hint"] == "install git 2.38 or newer"


def test_a_main_branch_that_is_not_there_is_noted(shop):
    program(shop, "claude", "echo 1.0")
    commit(shop)
    git(shop, "branch", "-m", "trunk")

    found = checks(shop, code=0)["repository"]

    assert (found["state"], found["hint"]) == ("note", "`[project] main` in keisei.toml names another")
    assert found["detail"] == "there is no branch `main`, so agents begin at the one that is checked out"


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
