"""Worktrees that are used again."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from keisei.records.error import IllegalMove, WorldFault
from keisei.workspace.pool import Pool
from keisei.workspace.slot import Owner, Place
from keisei.workspace.stage import stage
from tests.workspace.conftest import Ground


def everything(folder):
    """Every name below a folder but the pointer to the repository."""
    return sorted(str(each.relative_to(folder)) for each in Path(folder).rglob("*") if each.name != ".git")


BASE = [".gitignore", "file", "src", "src/a", "src/b"]


def test_a_worktree_holds_the_commit_and_git_knows_it(ground):
    leased = ground.take()

    assert everything(leased.worktree.path) == BASE
    assert ground.git("status", "--porcelain", "--ignored", cwd=leased.worktree.path) == b""
    assert ground.git("rev-parse", "HEAD", cwd=leased.worktree.path).decode().strip() == leased.worktree.base
    assert ground.git("branch", "--show-current", cwd=leased.worktree.path) == b""
    listed = ground.git("worktree", "list", "--porcelain").decode()
    assert f"worktree {leased.worktree.path}\n" in listed
    assert "prunable" not in listed


def test_a_commit_without_files_is_a_base_like_any_other(tmp_path):
    empty = Ground(tmp_path / "empty")
    empty.commit()

    first = empty.take()
    Path(first.worktree.path, "new").write_text("x")
    first.release(reusable=True)
    second = empty.take("at-2")

    assert everything(second.worktree.path) == []


def test_two_attempts_never_share_a_tree(ground):
    first, second = ground.take("at-1"), ground.take("at-2")

    assert first.worktree.path != second.worktree.path
    assert len(first.worktree.path) == len(second.worktree.path)


def test_an_attempt_has_one_worktree(ground):
    ground.take("at-1")

    with pytest.raises(IllegalMove, match="at-1"):
        ground.take("at-1")


def dirty(ground, root):
    """What an agent can leave behind, of every kind."""
    (root / "file").write_text("changed")
    (root / "new").write_text("new")
    (root / "x.log").write_text("ignored")
    (root / "build").mkdir()
    (root / "build" / "deep").mkdir()
    (root / "empty").mkdir()
    (root / "src" / "a").unlink()
    (root / "src" / "a").symlink_to("/etc/passwd")
    (root / "src" / "b").chmod(0o4777)
    os.mkfifo(root / "src" / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(root)
        try:
            server.bind("socket")
        finally:
            os.chdir(here)
    ground.git("init", "-q", str(root / "nested"))
    (root / "nested" / "file").write_text("nested")
    ground.git("init", "-q", str(root / "src"))
    (root / ".GIT").mkdir()
    (root / ".git").unlink()
    (root / ".git").mkdir()
    (root / os.fsdecode(b"na\xff\nme")).mkdir()
    (root / "closed").mkdir(mode=0)


def test_what_an_agent_leaves_is_gone_for_the_next_one(ground):
    leased = ground.take()
    path = Path(leased.worktree.path)
    dirty(ground, path)
    leased.release(reusable=True)

    again = ground.take("at-2")

    assert again.worktree == leased.worktree
    assert everything(path) == BASE
    assert sorted(each.name for each in path.rglob(".git*")) == [".git", ".gitignore"]
    assert (path / "file").read_text() == "one\n"
    assert (path / "src" / "a").read_text() == "a\n"
    assert not (path / "src" / "a").is_symlink()
    assert (path / "src" / "b").stat().st_mode & 0o7777 == 0o644
    assert ground.git("status", "--porcelain", "--ignored", cwd=path) == b""


def test_a_change_that_keeps_size_and_time_is_undone(ground):
    leased = ground.take()
    file = Path(leased.worktree.path, "file")
    before = file.stat()
    file.write_text("two\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    leased.release(reusable=True)

    ground.take("at-2")

    assert file.read_text() == "one\n"


def test_a_second_name_of_a_file_is_cut_off(ground, tmp_path):
    leased = ground.take()
    file = Path(leased.worktree.path, "file")
    (tmp_path / "other").hardlink_to(file)
    leased.release(reusable=True)

    (tmp_path / "other").write_text("from elsewhere")

    assert file.read_text() == "one\n"


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_flags_in_the_worktrees_own_index_hide_nothing(ground, flag):
    leased = ground.take()
    path = Path(leased.worktree.path)
    ground.git("update-index", flag, "file", cwd=path)
    (path / "file").write_text("hidden")
    leased.release(reusable=True)

    ground.take("at-2")

    assert (path / "file").read_text() == "one\n"
    assert ground.git("ls-files", "-v", "file", cwd=path) == b"H file\n"


def test_what_is_not_reusable_is_removed_with_its_metadata(ground):
    leased = ground.take()

    leased.release(reusable=False)

    assert not Path(leased.worktree.path).exists()
    assert not Path(leased.worktree.git_dir).exists()
    assert ground.git("worktree", "list").count(b"\n") == 1


def test_a_pool_keeps_no_more_than_it_should(ground):
    pool, head = ground.pool(most=1), ground.facts().head
    leases = [pool.take(f"at-{number}", head) for number in range(3)]

    for leased in leases:
        leased.release(reusable=True)

    assert [Path(leased.worktree.path).exists() for leased in leases] == [True, False, False]


def test_a_free_one_on_the_same_commit_comes_first(ground):
    pool = ground.pool()
    first = ground.facts().head
    leases = [pool.take("at-1", first), pool.take("at-2", first)]
    second = ground.commit(file="two\n")
    other = pool.take("at-3", second)
    for leased in (*leases, other):
        leased.release(reusable=True)

    assert pool.take("at-4", second).worktree.slot == "a002"
    assert pool.take("at-5", first).worktree.slot == "a000"


def test_a_slot_moves_to_another_commit(ground):
    ground.take().release(reusable=True)
    (ground.root / "src" / "a").unlink()
    head = ground.commit(src__c="c\n", file="two\n")

    leased = ground.pool().take("at-2", head)

    assert leased.worktree.slot == "a000"
    assert everything(leased.worktree.path) == [".gitignore", "file", "src", "src/b", "src/c"]
    assert ground.git("status", "--porcelain", cwd=leased.worktree.path) == b""


def test_the_work_of_a_dead_runner_is_found_and_never_handed_out(ground):
    leased = ground.take()
    Path(leased.worktree.path, "file").write_text("work")
    leased.leave()

    other = ground.take("at-2")
    found = ground.pool().find("at-1")

    assert other.worktree.slot == "a001"
    assert found.worktree == leased.worktree
    assert Path(found.worktree.path, "file").read_text() == "work"


def test_the_worktree_of_a_living_one_is_not_found(ground):
    leased = ground.take()

    assert ground.pool().find("at-1") is None
    assert ground.pool().find("at-2") is None

    leased.leave()
    assert ground.pool().find("at-1") is not None


def test_a_killed_process_leaves_its_work_to_be_found(ground):
    program = """
import os, signal, sys
from pathlib import Path
from keisei.workspace.pool import Pool
from keisei.workspace.repository import facts
found = facts(Path(sys.argv[1]), "main")
leased = Pool(found, Path(sys.argv[2]), 8).take("at-1", found.head)
Path(leased.worktree.path, "file").write_text("work")
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program, str(ground.root), str(ground.state)], check=False)

    found = ground.pool().find("at-1")

    assert done.returncode == -signal.SIGKILL
    assert Path(found.worktree.path, "file").read_text() == "work"


class Killed(BaseException):
    """What stands for the end of a process: nothing catches it."""


@pytest.mark.parametrize("step", ["own", "link", "check_out"])
def test_a_crash_while_a_slot_is_made_leaves_a_clean_one_or_none(ground, monkeypatch, step):
    def die(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(*((Place, "own") if step == "own" else (f"keisei.workspace.pool.{step}",)), die)
        with pytest.raises(Killed):
            ground.take()

    assert ground.pool().find("at-1") is None
    leased = ground.take("at-2")
    assert leased.worktree.slot == "a000"
    assert everything(leased.worktree.path) == BASE


@pytest.mark.parametrize("reusable", [True, False])
@pytest.mark.parametrize("step", ["own", "disown", "check_out", "remove", "unlink"])
def test_a_crash_while_it_is_given_back_loses_no_work_and_leaves_no_half_of_it(ground, monkeypatch, step, reusable):
    def die(*_):
        raise Killed

    leased = ground.take()
    path = Path(leased.worktree.path)
    (path / "file").write_text("work")
    with monkeypatch.context() as patch:
        place = {"own": Place, "disown": Place}.get(step)
        patch.setattr(*((place, step) if place else (f"keisei.workspace.pool.{step}",)), die)
        with suppress(Killed):
            leased.release(reusable=reusable)

    found = ground.pool().find("at-1")

    if step == "own":  # nothing was done yet
        assert (path / "file").read_text() == "work"
        assert found.worktree == leased.worktree
    else:
        assert found is None
        assert everything(ground.take("at-2").worktree.path) == BASE


def test_a_half_removed_tree_is_nobodys_work(ground):
    leased = ground.take()
    leased.leave()
    place = Place(ground.state, "a000")
    place.own(Owner(attempt="at-1", base=leased.worktree.base, over=True))
    Path(leased.worktree.path, "file").unlink()

    assert ground.pool().find("at-1") is None
    assert ground.pool().slots()[0].attempt is None
    assert everything(ground.take("at-2").worktree.path) == BASE


def test_a_slot_whose_owner_cannot_be_read_is_never_handed_out(ground):
    ground.take().leave()
    (ground.state / "a000.json").write_text("{")

    assert ground.take("at-2").worktree.slot == "a001"
    assert not ground.pool().discard("a000")


def test_a_slot_that_somebody_removed_has_no_work_left(ground):
    leased = ground.take()
    leased.leave()
    shutil.rmtree(leased.worktree.path)

    assert ground.pool().find("at-1") is None
    assert everything(ground.take("at-1").worktree.path) == BASE


@pytest.mark.parametrize("harm", ["prune", "folder", "metadata", "private", "index", "lock", "link", "moved"])
def test_whatever_is_missing_is_made_again(ground, harm):
    leased = ground.take()
    leased.release(reusable=True)
    path, git_dir = Path(leased.worktree.path), Path(leased.worktree.git_dir)
    match harm:
        case "prune":
            (path / ".git").unlink()
            ground.git("worktree", "prune", "--expire=now")
            assert not git_dir.exists()
        case "folder":
            shutil.rmtree(path)
        case "metadata":
            shutil.rmtree(git_dir)
        case "private":
            shutil.rmtree(ground.state / "a000.git")
        case "index":
            (ground.state / "a000.git" / "index").write_bytes(b"broken")
            (git_dir / "index").write_bytes(b"broken")
        case "lock":
            (ground.state / "a000.lock").unlink()
        case "link":
            shutil.rmtree(path)
            path.symlink_to(ground.root)
        case "moved":
            ground.root = ground.root.rename(ground.root.with_name("moved"))

    again = ground.take("at-2")

    assert everything(again.worktree.path) == BASE
    assert ground.git("status", "--porcelain", "--ignored", cwd=again.worktree.path) == b""
    assert (ground.root / "file").read_text() == "one\n"


def test_two_state_folders_of_one_repository_do_not_meet(ground, tmp_path):
    head = ground.facts().head
    first = Pool(ground.facts(), tmp_path / "one", 8).take("at-1", head)
    second = Pool(ground.facts(), tmp_path / "two", 8).take("at-1", head)

    first.release(reusable=False)

    assert first.worktree.git_dir != second.worktree.git_dir
    assert ground.git("status", "--porcelain", cwd=second.worktree.path) == b""


def test_processes_that_take_at_once_get_different_ones(ground):
    program = """
import sys
from contextlib import suppress
from pathlib import Path
from keisei.workspace.pool import Pool
from keisei.workspace.repository import facts
found = facts(Path(sys.argv[1]), "main")
leased = Pool(found, Path(sys.argv[2]), 8).take(sys.argv[3], found.head)
print(leased.worktree.slot, flush=True)
sys.stdin.read()
"""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(ground.root), str(ground.state), f"at-{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for number in range(4)
    ]

    slots = [each.stdout.readline().strip() for each in started]

    assert len(set(slots)) == 4
    assert b"" not in slots
    for each in started:
        each.communicate()


def test_slots_tell_who_has_them(ground):
    pool = ground.pool()
    held = pool.take("at-1", ground.facts().head)
    pool.take("at-2", ground.facts().head).leave()
    pool.take("at-3", ground.facts().head).release(reusable=True)

    told = [(slot.name, slot.attempt, slot.locked) for slot in pool.slots()]

    assert told == [("a000", "at-1", True), ("a001", "at-2", False), ("a002", None, False)]
    assert pool.slots()[0].path == held.worktree.path


def test_only_what_nobody_has_is_discarded(ground):
    pool = ground.pool()
    held = pool.take("at-1", ground.facts().head)
    pool.take("at-2", ground.facts().head).leave()
    pool.take("at-3", ground.facts().head).release(reusable=True)

    assert [pool.discard(name) for name in ("a000", "a001", "a002", "a003", "../x")] == [
        False,
        False,
        True,
        False,
        False,
    ]
    assert [slot.name for slot in pool.slots()] == ["a000", "a001"]
    assert Path(held.worktree.path).is_dir()


def test_giving_back_twice_does_not_touch_the_next_owner(ground):
    leased = ground.take()
    leased.release(reusable=True)
    again = ground.take("at-2")
    Path(again.worktree.path, "file").write_text("work")

    leased.release(reusable=False)
    leased.leave()

    assert Path(again.worktree.path, "file").read_text() == "work"


def test_a_commit_that_is_not_there_is_one_clear_error(ground):
    with pytest.raises(WorldFault, match="git ls-tree failed: fatal"):
        ground.pool().take("at-1", "0" * 39 + "1")

    assert everything(ground.take("at-2").worktree.path) == BASE


def test_a_submodules_folder_is_empty_and_is_emptied(ground, tmp_path):
    other = tmp_path / "other"
    ground.git("clone", "-q", str(ground.root), str(other))
    ground.git("submodule", "add", "-q", str(other), "lib/sub")
    ground.commit()
    leased = ground.take()
    sub = Path(leased.worktree.path, "lib", "sub")
    (sub / "left").write_text("left")
    (sub / ".git").mkdir()
    leased.release(reusable=True)

    ground.take("at-2").release(reusable=True)
    shutil.rmtree(sub.parent)
    ground.take("at-3")

    assert list(sub.iterdir()) == []


def test_a_sparse_checkout_gives_whole_worktrees(ground):
    ground.git("sparse-checkout", "set", "src")
    assert ground.facts().sparse

    leased = ground.take()

    assert (Path(leased.worktree.path) / "file").exists()
    assert ground.git("status", "--porcelain", cwd=leased.worktree.path) == b""


def test_a_tree_of_an_older_attempt_can_be_staged_after_main_moved(ground):
    leased = ground.take()
    Path(leased.worktree.path, "new").write_text("work")
    leased.leave()
    ground.commit(file="two\n")

    staged = stage(ground.pool().find("at-1").worktree, "at-1", "salvage")

    assert [change.path for change in staged.changes] == ["new"]
    assert staged.base == leased.worktree.base


def forgetful(ground, most=8):
    return Pool(ground.facts(), ground.root.parent / "state" / "verifying", most, keeps=False)


CRASH = """
import os, sys
from pathlib import Path
from keisei.workspace.pool import Pool
from keisei.workspace.repository import facts
found = facts(Path(sys.argv[1]), "main")
leased = Pool(found, Path(sys.argv[2]), 8, keeps=False).take("at-1", found.head)
Path(leased.worktree.path, "file").write_text("half done")
Path(leased.worktree.path, "left").write_text("over")
os.kill(os.getpid(), 9)
"""


def test_a_pool_that_keeps_nothing_hands_out_what_a_dead_process_left_clean(ground):
    folder = ground.root.parent / "state" / "verifying"
    died = subprocess.run([sys.executable, "-c", CRASH, str(ground.root), str(folder)], check=False)
    pool = forgetful(ground)

    found, slots = pool.find("at-1"), pool.slots()
    leased = pool.take("at-1", ground.facts().head)

    assert died.returncode == -signal.SIGKILL
    assert found is None
    assert [(slot.name, slot.attempt, slot.locked) for slot in slots] == [("a000", None, False)]
    assert leased.worktree.slot == "a000"
    assert everything(leased.worktree.path) == BASE
    assert Path(leased.worktree.path, "file").read_text() == "one\n"


def test_a_pool_that_keeps_nothing_never_shares_what_a_living_one_has(ground):
    pool = forgetful(ground)
    first, second = pool.take("at-1", ground.facts().head), pool.take("at-1", ground.facts().head)

    assert first.worktree.path != second.worktree.path
    assert pool.find("at-1") is None
    assert not pool.discard(first.worktree.slot)
    first.leave()
    assert pool.discard(first.worktree.slot)
    second.release(reusable=True)
    assert pool.take("at-2", ground.facts().head).worktree.path == second.worktree.path


def test_a_pool_that_keeps_nothing_is_not_stopped_by_a_broken_owner_file(ground):
    pool = forgetful(ground)
    pool.take("at-1", ground.facts().head).release(reusable=True)
    (ground.root.parent / "state" / "verifying" / "a000.json").write_text("{")

    assert pool.take("at-1", ground.facts().head).worktree.slot == "a000"
