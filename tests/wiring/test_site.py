"""Where an attempt works: its folder of the worktree, and an environment that is the same for everybody."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from keisei.records.adapter import ScriptAdapter
from keisei.records.error import OperatorError
from keisei.records.project import ProjectEnvironment
from keisei.records.task_spec import SpecScope
from keisei.wiring import environments
from keisei.wiring.environments import equip
from keisei.wiring.site import _check_scope, _inside, _protected, remove_folder
from keisei.workspace.environment import Environments
from keisei.workspace.stage import stage
from tests.workspace.conftest import Ground


@pytest.fixture
def ground(tmp_path):
    made = Ground(tmp_path / "project")
    made.commit(src__old="old\n", _dot_gitignore="/made\n*.log\n")
    return made


class Builder:
    """A project with an environment whose set-up does what a test says, in the worktree."""

    def __init__(self, ground, monkeypatch, deeds):
        setting = ProjectEnvironment(setup="true", key=(), keep=("made",))
        self.shop = SimpleNamespace(home=SimpleNamespace(file=SimpleNamespace(environment=setting)))
        self.yard = SimpleNamespace(environments=Environments(ground.state.parent / "environments"))
        self.ground, self.built = ground, 0
        self._deeds = deeds
        monkeypatch.setattr(environments, "_set_up", self._set_up)

    def _set_up(self, _yard, _setting, tree, _scratch, _hold):
        self.built += 1
        self._deeds(tree)

    def equip(self, leased):
        scratch = self.ground.state / "scratch"
        return equip(self.shop, self.yard, self.ground.facts(), leased.worktree, scratch, None)


def untidy(tree):
    (tree / "made").mkdir()
    (tree / "made" / "it").write_text("it")
    (tree / "src" / "old").write_text("rewritten by the set-up")
    (tree / "left").write_text("left")
    (tree / "setup.log").write_text("ignored")
    (tree / ".git").write_text("gitdir: /elsewhere\n")
    os.mkfifo(tree / "pipe")


def test_the_attempt_that_builds_an_environment_begins_like_every_other(ground, monkeypatch):
    builder = Builder(ground, monkeypatch, untidy)
    first, second = ground.take("at-1"), ground.take("at-2")
    builder.equip(first)
    builder.equip(second)
    trees = [Path(each.worktree.path) for each in (first, second)]
    for each in (first, second):
        assert stage(each.worktree, each.attempt_id, "candidate").changes == ()
    names = [sorted(str(path.relative_to(tree)) for path in tree.rglob("*")) for tree in trees]

    assert builder.built == 1
    assert names[0] == names[1] == [".git", ".gitignore", "made", "made/it", "src", "src/old"]
    assert (trees[0] / "src" / "old").read_text() == "old\n"
    for each in (first, second):
        each.release(reusable=False)


def test_an_attempt_that_waited_for_the_set_up_of_another_gets_the_environment(ground, monkeypatch):
    first, second = ground.take("at-1"), ground.take("at-2")
    inner = []

    def meanwhile(tree):
        (tree / "made").mkdir()
        (tree / "made" / "it").write_text("it")
        inner.append(tree)

    builder = Builder(ground, monkeypatch, meanwhile)
    real = builder.yard.environments.find
    late = iter([None])  # as if the other's were not there yet when it was first looked for
    builder.equip(first)
    monkeypatch.setattr(builder.yard.environments, "find", lambda key: next(late, real(key)))
    builder.equip(second)

    assert builder.built == 1
    assert Path(second.worktree.path, "made", "it").read_text() == "it"
    for each in (first, second):
        each.release(reusable=False)


# --- working_dir ------------------------------------------------------------------------------------------------------


def config(working_dir):
    return ScriptAdapter(adapter_id="agent", command="true", working_dir=working_dir, timeout_ms=1000)


def test_a_working_dir_is_a_folder_of_the_worktree(ground):
    (ground.root / "..dots").mkdir()
    (ground.root / "..dots" / "z").write_text("z")
    ground.commit()
    leased = ground.take()
    tree = Path(leased.worktree.path)

    for named in ("src", "./src", "src/../src", str(ground.root / "src")):
        assert _inside(config(named), ground.facts(), tree) == tree / "src"
    assert _inside(config("..dots"), ground.facts(), tree) == tree / "..dots"
    assert _inside(config(None), ground.facts(), tree) == tree
    leased.release(reusable=False)


def test_a_working_dir_that_leads_out_of_the_worktree_is_refused(ground):
    (ground.root / "out").symlink_to("/etc")
    (ground.root / "up").symlink_to("..")
    ground.commit()
    leased = ground.take()

    for named in ("..", "../..", "/etc", "out", "up", "up/a000.git", ".git", "src/old", "nowhere", "~"):
        with pytest.raises(OperatorError, match="not a folder of the repository"):
            _inside(config(named), ground.facts(), Path(leased.worktree.path))
    leased.release(reusable=False)


# --- scope ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("glob", ["../x/**", "/etc/**", "src/../../x", "a\0b/**", "a//b", "src/[z"])
def test_a_scope_that_cannot_be_judged_is_refused_before_anything_is_made(glob):
    for scope in (SpecScope(files_whitelist=(glob,)), SpecScope(files_denylist=(glob,))):
        with pytest.raises(OperatorError, match="the task's scope names"):
            _check_scope(scope)


def test_what_a_task_names_itself_it_may_change_but_for_git():
    scope = SpecScope(files_whitelist=("AGENTS.md", "src/**", ".git"), files_denylist=("src/keys/**",))
    _check_scope(scope)

    protect = _protected(scope)
    assert {".git", "CLAUDE.md", ".claude", "src/keys"} <= set(protect)
    assert "AGENTS.md" not in protect


# --- what an agent leaves ---------------------------------------------------------------------------------------------


def test_a_folder_is_removed_whatever_was_made_of_it(tmp_path):
    folder = tmp_path / "run"
    (folder / "room").mkdir(parents=True)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("kept")
    place = os.open(folder / "room", os.O_RDONLY)
    for _ in range(50):  # deeper than a path can say
        os.mkdir("d" * 200, dir_fd=place)
        inner = os.open("d" * 200, os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.symlink(tmp_path / "kept", "link", dir_fd=place)
    os.close(place)
    os.mkfifo(folder / "room" / "a\nb")
    (folder / "room" / "closed").mkdir(mode=0)
    (folder / "room").chmod(0)
    remove_folder(folder)

    assert not folder.exists()
    assert (tmp_path / "kept" / "file").read_text() == "kept"
