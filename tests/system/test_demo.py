"""`keisei demo` as a process: the whole play comes out, on weaker machines too, and a play that differs says so."""

import fcntl
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keisei.demo.place import MARK, MARK_TEXT, PREFIX, made
from keisei.demo.script import CHANGED, STOLEN
from tests.system.agency import git
from tests.system.harness import PATH, program

PATIENCE_S = 120
REFUSED = ["policy::no-git-ops", "policy::no-git-ops", "scope::files-whitelist", "safety::no-dep-bump"]
KEISEI = [sys.executable, "-I", "-X", "utf8", "-m", "keisei", "demo"]
CHANGED_BEFORE = """
import sys
{change}
from keisei.cli import main
sys.argv[0] = "keisei"
sys.exit(main())
"""
WITHOUT = """
from keisei.demo import project
from keisei.wiring import KIT
role = (KIT / "roles/edit-local.toml").read_text()
assert '"{capability}",' in role
project.FILES[".keisei/roles/edit-local.toml"] = role.replace('"{capability}",', "")
"""
WEAKER = """
from msgspec.structs import replace
from keisei.sandbox.machine import probe
from keisei.wiring import yard
found = replace(probe(), {fields}, faults=("bubblewrap is not there",))
yard.probe = lambda: found
"""


class Demo:
    """Demos with a temporary folder of their own, whose path has a space."""

    def __init__(self, folder: Path) -> None:
        self.temporary = folder / "temporary files"
        self.temporary.mkdir()
        self.env = {"PATH": PATH, "TMPDIR": str(self.temporary), "HOME": "/nowhere", "LANG": "C.UTF-8"}

    def run(self, *words: str, change: str | None = None, **env: str) -> "subprocess.CompletedProcess[str]":
        """One demo; `change` is done to the program before it begins."""
        argv = KEISEI if change is None else [*KEISEI[:4], "-c", CHANGED_BEFORE.format(change=change), "demo"]
        return subprocess.run(
            [*argv, *words],
            cwd="/",
            env=self.env | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def told(self, *words: str, change: str | None = None) -> tuple[int, list[dict]]:
        """How it ended, and everything it told."""
        done = self.run("--json", *words, change=change)
        assert done.stderr == ""
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]

    def begun(self, **more) -> "subprocess.Popen[bytes]":
        """A demo that plays: its project is there."""
        process = subprocess.Popen(
            KEISEI,
            cwd="/",
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=hear_interrupts,  # noqa: PLW1509 - no threads here
            **more,
        )
        until = time.monotonic() + PATIENCE_S
        while process.poll() is None and not list(self.temporary.glob("*/state/*/run/*")):
            assert time.monotonic() < until
            time.sleep(0.02)
        return process

    def left(self) -> list[str]:
        return [each.name for each in self.temporary.iterdir()]


def hear_interrupts():
    """A background job of a script inherits interrupts that are ignored; a person's shell does not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def demo(tmp_path):
    return Demo(tmp_path)


def of(told, event, agent=None):
    return [each for each in told if each["event"] == event and agent in (None, each.get("agent"))]


def differing(told):
    return [each["differs"] for each in told if each.get("differs") and each["event"] != "summary"]


# --- the play ---------------------------------------------------------------------------------------------------------


def test_the_play_comes_out_and_its_evidence_can_be_looked_at(demo):
    done = demo.run()

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    lines = done.stdout.splitlines()
    assert 25 <= len(lines) <= 45
    commands = [line.strip() for line in lines if line.strip().startswith("cd ")]
    assert [line for line in lines if len(line) > 100 and line.strip() not in commands] == []
    assert "\x1b" not in done.stdout
    for word in ("REJECTED", "LANDED", "All 12 tests pass.", "quality::tests-green", "hash chain ✓", "--clean"):
        assert word in done.stdout
    for command in commands:
        shown = subprocess.run(["/bin/sh", "-c", command], env=demo.env, capture_output=True, text=True, check=False)
        assert (shown.returncode, shown.stderr) == (0, ""), command
        assert shown.stdout
    assert len(commands) >= 4


def test_what_is_told_as_data_is_what_is_there(demo):
    code, told = demo.told()

    assert (code, differing(told)) == (0, [])
    assert (told[0]["event"], told[-1]["event"]) == ("begin", "summary")
    assert told[-1]["ok"] is True
    refused = [each["capability"] for each in of(told, "call", "mallory") if each["decision"] == "deny"]
    assert refused == REFUSED
    assert {each["decision"] for each in of(told, "call", "alice")} == {"allow"}
    (sandbox,) = of(told, "sandbox")
    assert sandbox["stopped"] or sandbox["level"] == "none"
    (rejected,) = of(told, "rejected")
    (landing,) = of(told, "landing")
    assert rejected["rejected_by"] == ["quality::tests-green"]
    main = Path(told[0]["folder"]) / "main"
    assert not (main / STOLEN).exists()
    assert git(main, "rev-parse", "main") == landing["after"] == landing["main"]
    assert git(main, "rev-parse", "main~1") == landing["before"] == rejected["main"] == told[0]["main"]
    assert git(main, "status", "--porcelain") == ""
    assert git(main, "show", "main:src/billing/tax.py").count("+ 50) // 100") == 1
    assert sorted(landing["files"]) == sorted(CHANGED)
    assert "cases.local.json" in git(main, "show", f"{rejected['kept']}:tests/test_tax.py")
    (ledger,) = of(told, "ledger")
    assert ledger["whole"] is True
    assert ledger["found_row"] == ledger["changed_row"]


@pytest.mark.parametrize("harness", ["claude", pytest.param("codex", marks=pytest.mark.soak)])
def test_the_same_play_with_a_real_harness(demo, harness):
    code, told = demo.told("--real", harness, "--program", program(harness))

    assert (code, differing(told)) == (0, [])
    assert told[0]["program"] == program(harness)
    assert [each["capability"] for each in of(told, "call") if each["decision"] == "deny"] == REFUSED


# --- weaker machines --------------------------------------------------------------------------------------------------


def test_without_namespaces_it_says_what_is_missing_and_the_program_is_stopped_all_the_same(demo):
    code, told = demo.told(change=WEAKER.format(fields="bwrap=None"))

    assert (code, differing(told)) == (0, [])
    assert told[0]["isolation"] in ("landlock", "none")
    assert told[0]["missing"][-1] == "bubblewrap is not there"
    if told[0]["isolation"] == "landlock":
        assert of(told, "sandbox")[0]["stopped"] is True


def test_where_nothing_confines_it_says_that_nothing_stopped_the_program_in_ascii_where_need_be(demo):
    done = demo.run(change=WEAKER.format(fields="bwrap=None, landlock=0, seccomp=False"), LANG="C", LC_ALL="C")

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.isascii()
    assert "x git push origin main" in done.stdout
    assert "isolation here: none (level 1 of 3)" in done.stdout
    assert "missing: bubblewrap is not there" in done.stdout
    assert done.stdout.count("nothing stopped it") == 2


# --- what differs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capability", "differs"),
    [
        ("policy::no-git-ops", "`git push origin main` had to be refused by policy::no-git-ops, and was"),
        ("quality::tests-green", "main has moved; her task is completed; there is a landing"),
    ],
    ids=["gate", "verify"],
)
def test_a_role_that_has_lost_a_capability_is_found_out(demo, capability, differs):
    code, told = demo.told(change=WITHOUT.format(capability=capability))

    assert code == 1
    assert told[-1]["ok"] is False
    assert told[-1]["differs"] == differing(told)
    assert differing(told)[0].startswith(f"mallory: {differs}")


def test_a_machine_without_git_is_told_so_and_nothing_is_left(demo):
    done = demo.run(PATH="/nowhere")

    assert done.returncode == 1
    assert done.stderr.startswith("error: git cannot be started")
    assert demo.left() == []


def test_a_harness_that_is_not_there_is_told_so(demo):
    done = demo.run("--real", "codex", "--program", "/nowhere/codex")

    assert done.returncode == 1
    assert "there is no program `/nowhere/codex`" in done.stderr
    assert demo.left() == []


@pytest.mark.parametrize("words", [("--step",), ("--program", "claude")], ids=["step", "program"])
def test_options_that_mean_nothing_here_are_refused(demo, words):
    done = demo.run(*words)

    assert done.returncode == 1
    assert done.stderr.startswith("Usage:")
    assert demo.left() == []


# --- its end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"])
def test_an_interrupted_demo_leaves_nothing_behind(demo, number, code):
    process = demo.begun()

    process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)

    assert process.returncode == code
    assert demo.left() == []


def test_a_demo_whose_reader_goes_away_is_no_success_and_leaves_nothing_behind(demo):
    process = demo.begun()

    process.stdout.close()
    process.wait(timeout=PATIENCE_S)

    assert process.returncode not in (0, 70)
    assert demo.left() == []


def test_clean_removes_folders_of_demos_and_nothing_else(demo, tmp_path):
    ours, playing, unmarked, other = (demo.temporary / f"{PREFIX}{name}" for name in ("a", "b", "c", "d"))
    for folder in (ours, playing, unmarked, other):
        folder.mkdir()
        (folder / "deep").mkdir(mode=0o500)
    for folder in (ours, playing):
        (folder / MARK).write_text(MARK_TEXT)
    (other / MARK).write_text("mine\n")
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(ours, elsewhere)
    (demo.temporary / f"{PREFIX}link").symlink_to(elsewhere)

    with (playing / MARK).open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = demo.run("--clean")

    assert (done.returncode, done.stdout) == (0, f"removed {ours}\n")
    assert sorted(demo.left()) == [f"{PREFIX}{name}" for name in ("b", "c", "d", "link")]
    assert (elsewhere / MARK).exists()


@pytest.mark.parametrize(("mark", "left"), [(MARK_TEXT, False), ("mine\n", True)], ids=["its own", "another's"])
def test_clean_removes_the_sockets_of_a_demo_that_was_killed(demo, tmp_path, mark, left):
    ours, sockets = demo.temporary / f"{PREFIX}a", tmp_path / f"{PREFIX}sockets"
    for folder, text in ((ours, MARK_TEXT), (sockets, mark)):
        folder.mkdir()
        (folder / MARK).write_text(text)
    (ours / "run").symlink_to(sockets)

    done = demo.run("--clean")

    assert (done.returncode, done.stdout) == (0, f"removed {ours}\n")
    assert (demo.left(), sockets.exists()) == ([], left)


def test_sockets_that_need_a_shorter_path_are_known_to_the_demo(demo, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(demo.temporary))

    with made() as place:
        assert place.sockets.parent != place.folder
        assert (place.folder / "run").resolve() == place.sockets.resolve()
        assert (place.sockets / MARK).read_text() == MARK_TEXT
    assert not place.sockets.exists()


def test_clean_that_finds_nothing_says_so(demo):
    done = demo.run("--clean")

    assert (done.returncode, done.stdout) == (0, "there is no folder of an earlier demo\n")
