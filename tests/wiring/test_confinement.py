"""What an attempt is confined to, whatever the repository has made of the paths that are named."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from keisei.adapters import codex
from keisei.adapters.port import Order
from keisei.adapters.port import Place as Slot
from keisei.records.adapter import ClaudeCodeAdapter
from keisei.records.launch import Launch
from keisei.records.project import ProjectSandbox
from keisei.records.task_spec import SpecScope, SpecTask, TaskSpec
from keisei.records.worktree import Worktree
from keisei.wiring.cell import _fixed, anchored
from keisei.wiring.confinement import Bounds, Road, confined_to
from keisei.wiring.rehearsal import variables


class Place:
    """A worktree and the folders of an attempt, without a repository behind them."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.tree, self.common = self.folder / "a000", self.folder / "common"
        for each in (self.tree, self.common / "objects" / "info", self.folder / "room", self.folder / "artifacts"):
            each.mkdir(parents=True)

    def confined(self, *whitelist: str, deny: tuple[str, ...] = (), fixed: tuple[str, ...] = ()):
        scope = SpecScope(files_whitelist=whitelist, files_denylist=deny)
        worktree = Worktree(
            slot="a000", path=str(self.tree), git_dir=str(self.common), common_dir=str(self.common), base="0" * 40
        )
        bounds = Bounds(
            cwd=self.tree,
            worktree=worktree,
            spec=TaskSpec(task=SpecTask(role="r"), scope=scope),
            outside=self.folder,
            room=self.folder / "room",
            artifacts=self.folder / "artifacts",
            sandbox=None,
            network="none",
            project=ProjectSandbox(),
            reads=(),
            fixed=fixed,
        )
        return confined_to(bounds, Road(None, None))

    def writable(self, *whitelist: str) -> list[str]:
        """Folders of the worktree that may be written."""
        made = self.confined(*whitelist).write
        return [each.removeprefix(f"{self.tree}/") for each in made if each.startswith(f"{self.tree}")]


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_a_whitelisted_folder_is_made_and_may_be_written(place):
    assert place.writable("src/deep/**") == ["src/deep"]


@pytest.mark.parametrize("target", ["/etc", "../../..", "..", "other", "nowhere", "src"])
def test_a_link_in_the_place_of_a_whitelisted_folder_is_not_followed(target, place):
    (place.tree / "other").mkdir()
    (place.tree / "src").symlink_to(target)

    assert place.writable("src/**", "src/deep/**") == []
    assert list(place.folder.rglob("deep")) == []


def test_a_file_in_the_place_of_a_whitelisted_folder_is_left_alone(place):
    (place.tree / "src").write_text("a file")

    assert place.writable("src/deep/**") == []
    assert (place.tree / "src").read_text() == "a file"


@pytest.mark.parametrize("glob", ["../x/**", "a/../../x/**", "d" * 300 + "/**", "e/" * 101 + "**"])
def test_a_folder_that_leads_out_or_cannot_be_is_not_made(glob, place):
    before = sorted(place.folder.iterdir())

    assert place.writable(glob) == []
    assert sorted(each for each in place.folder.iterdir() if each.name != "git-config") == before


@pytest.mark.parametrize(("whitelist", "closed"), [(("AGENTS.md",), False), (("*.md",), True), ((".git",), True)])
def test_a_task_may_write_a_protected_file_that_it_names_but_never_git(whitelist, closed, place):
    name = ".git" if ".git" in whitelist else "AGENTS.md"
    (place.tree / name).write_text("")

    assert (f"{place.tree}/{name}" in place.confined(*whitelist).protect) is closed


def test_what_a_protected_link_leads_to_is_protected(place):
    (place.tree / "config").mkdir()
    (place.tree / "config" / "keisei.toml").write_text("")
    (place.tree / "keisei.toml").symlink_to("config/keisei.toml")
    (place.tree / ".claude").symlink_to("/etc")

    protect = place.confined("config/**").protect
    assert f"{place.tree}/config/keisei.toml" in protect
    assert all(each.startswith(f"{place.tree}/") for each in protect)


def test_what_a_protected_link_leads_to_is_open_where_the_task_names_it(place):
    (place.tree / "docs").mkdir()
    (place.tree / "docs" / "AGENTS.md").write_text("")
    (place.tree / "AGENTS.md").symlink_to("docs/AGENTS.md")

    assert f"{place.tree}/docs/AGENTS.md" not in place.confined("docs/AGENTS.md").protect
    assert f"{place.tree}/docs/AGENTS.md" in place.confined("docs/other.md").protect


def test_a_protected_link_to_the_whole_tree_closes_nothing_else(place):
    (place.tree / ".claude").symlink_to(".")

    assert str(place.tree) not in place.confined("src/**").protect


def test_files_that_hang_the_gate_in_are_protected(place):
    (place.folder / "room" / "codex").mkdir()
    hooks = place.folder / "room" / "codex" / "hooks.json"
    hooks.write_text("{}")

    assert str(hooks) in place.confined("src/**", fixed=(str(hooks),)).protect


@pytest.mark.parametrize(("bwrap", "names"), [("/usr/bin/bwrap", ["hooks.json", "config.toml"]), (None, [])])
def test_a_harness_keeps_its_hook_where_mounts_can_close_a_file(bwrap, names, place):
    """Codex reads its hooks anew for every sub-agent, so a test of the repository could take the gate out for those."""
    guard = codex.guard(["/gate"], Slot(room=str(place.folder / "room"), worktree=str(place.tree)))
    plan = SimpleNamespace(adapter=codex, site=SimpleNamespace(room=place.folder / "room"))
    yard = SimpleNamespace(machine=SimpleNamespace(bwrap=bwrap))

    home = place.folder / "room" / "codex"
    assert _fixed(yard, plan, SimpleNamespace(guard=guard)) == tuple(str(home / name) for name in names)
    assert _fixed(yard, plan, SimpleNamespace(guard=None)) == ()


def test_borrowed_objects_are_found_from_the_repository_and_not_from_here(place, monkeypatch):
    (place.folder / "shared" / "objects").mkdir(parents=True)
    (place.folder / "elsewhere" / "objects").mkdir(parents=True)
    (place.common / "objects" / "info" / "alternates").write_text("# a comment\n\n../../shared/objects\nobjects\n")
    monkeypatch.chdir(place.folder / "elsewhere")

    read = place.confined("src/**").read
    assert str(place.folder / "shared" / "objects") in read
    assert str(place.folder / "elsewhere" / "objects") not in read


# --- which program runs -----------------------------------------------------------------------------------------------


@pytest.fixture
def programs(tmp_path):
    """A program on the PATH, and one of the same name in the folder where it starts."""
    for name in ("bin", "tree"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "agent").write_text("#!/bin/sh\n")
        (tmp_path / name / "agent").chmod(0o755)
    return Path(os.path.realpath(tmp_path))


@pytest.mark.parametrize("first", ["", ".", "tree", "../tree", "./"])
def test_no_file_of_the_repository_runs_in_place_of_the_harness(first, programs, monkeypatch):
    monkeypatch.chdir(programs / "tree")
    path = f"{first}:{programs}/bin:{first}"
    launch = Launch(argv=("agent", "-p"), cwd=str(programs / "tree"), env={"PATH": path}, timeout_s=1)

    told = anchored(launch)
    assert told.argv == (f"{programs}/bin/agent", "-p")
    assert told.env["PATH"] == f"{programs}/bin"


def test_a_program_that_is_nowhere_keeps_its_name(programs):
    launch = Launch(argv=("nowhere",), cwd="/", env={"PATH": str(programs)}, timeout_s=1)

    assert anchored(launch).argv == ("nowhere",)


def test_a_harness_is_proved_with_the_variables_that_attempts_have():
    config = ClaudeCodeAdapter(adapter_id="agent", command="claude", timeout_ms=1000)
    env = {
        "PATH": "/bin",
        "SOME_SWITCH": "1",
        "ANTHROPIC_API_KEY": "key",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
        "HOME": "/attempt",
        "AGENT_RUNTIME_TASK_ID": "t",
        "KEISEI_ATTEMPT_ID": "at-1",
    }
    order = Order(config=config, prompt=b"", cwd="/", env=env, run_folder="/")

    assert variables(SimpleNamespace(order=order)) == {"PATH": "/bin", "SOME_SWITCH": "1"}
