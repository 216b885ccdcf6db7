"""`keisei gc`: shows what may go, and removes it only when told to."""

import json
import os
import subprocess
from datetime import timedelta

import pytest

import keisei.wiring.store
import keisei.workspace.space
from keisei.cli.gc import size_words
from keisei.records.error import WorldFault
from keisei.workspace.pool import Pool
from keisei.workspace.repository import facts
from tests.cli.shop import PROJECT, Shop

DONE = """echo '{"status": "completed", "operator_summary": "done"}'"""


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    made.answering()
    yield made
    made.close()


def finished(shop):
    """An attempt whose task is over."""
    task = shop.add(DONE, task_type="answering")
    shop.work()
    return shop.attempt(task)


def leave(shop, name):
    """A folder of an environment that was never finished."""
    draft = shop.state / "environments" / f".draft-{name * 64}-0123"
    (draft / "tree").mkdir(parents=True)
    (draft / "tree/file").write_bytes(b"x" * 100_000)
    return draft


def test_nothing_is_left_over_in_a_new_project(shop):
    first, second = shop.out("gc").splitlines()

    assert first == "nothing is left over"
    assert second.startswith("free: ")
    assert second.endswith("at least 512.0 MB wanted")


def test_what_may_go_is_shown_and_stays(shop):
    draft = leave(shop, "a")

    lines = shop.out("gc").splitlines()

    assert lines[0].split() == ["kind", "name", "size", "reason"]
    assert lines[1].split()[:2] == ["environment", draft.name]
    assert lines[1].endswith("its setup never finished")
    assert lines[2].startswith("may go: 1 thing, ")
    assert lines[2].endswith("; `keisei gc --yes` removes them")
    assert draft.exists()


def test_yes_removes_it(shop):
    drafts = [leave(shop, name) for name in "ab"]

    lines = shop.out("gc", "--yes").splitlines()

    assert lines[3].startswith("removed: 2 things, ")
    assert not any(draft.exists() for draft in drafts)
    assert shop.out("gc").splitlines()[0] == "nothing is left over"


def test_an_index_of_other_folders_goes_when_nobody_wrote_there_for_long(shop):
    shop.state.mkdir(parents=True, exist_ok=True)
    old, young, own = (shop.state / f"graph{mark}.db" for mark in ("-0123", "-4567", ""))
    for file in (old, old.with_name("graph-0123.db.lock"), young, own):
        file.write_bytes(b"x")
    for file in (old, own):
        os.utime(file, (0, 0))

    shown = shop.out("gc").splitlines()[1]
    shop.out("gc", "--yes")

    assert shown.split()[:2] == ["index", old.name]
    assert [each.name for each in sorted(shop.state.glob("graph*"))] == [young.name, own.name]


def test_a_run_folder_of_an_attempt_that_ended_just_now_is_not_shown(shop):
    attempt = finished(shop)
    (shop.state / "run" / attempt).mkdir(parents=True)

    assert shop.json("gc")["leftovers"] == []


def test_json_has_the_same_in_numbers(shop):
    draft = leave(shop, "a")

    preview, done = shop.json("gc"), shop.json("gc", "--yes")

    [left] = preview["leftovers"]
    assert (preview["removed"], done["removed"]) == (False, True)
    assert (left["kind"], left["name"]) == ("environment", draft.name)
    assert left["bytes"] >= 100_000
    assert done["leftovers"] == [left | {"removed": True, "fault": None}]
    assert preview["min_free_bytes"] == 512 * 1024 * 1024
    assert isinstance(preview["free_bytes"], int)


def test_what_cannot_be_removed_is_told_and_the_rest_goes(shop, monkeypatch):
    stuck, other = leave(shop, "a"), leave(shop, "b")
    real = os.rmdir

    def rmdir(path, **words):
        if path == stuck.name:
            raise PermissionError(13, "Permission denied")
        real(path, **words)

    monkeypatch.setattr(os, "rmdir", rmdir)

    done = shop.run("gc", "--yes")

    assert done.code == 1
    assert done.err == f"error: `{stuck}` cannot be removed: permission denied\n"
    assert "cannot be removed" in done.out
    assert "removed: 1 thing, " in done.out
    assert not other.exists()


def test_too_little_space_is_told(shop):
    (shop.folder / "keisei.toml").write_text(f"{PROJECT}\n[workspace]\nmin-free-mb = 1073741824\n")

    assert shop.out("gc").splitlines()[-1].endswith("at least 1024.0 TB wanted (too little: runners claim nothing)")


@pytest.mark.parametrize(("free", "told"), [(0, True), (10_000_000, False)], ids=["full", "not full"])
def test_a_disk_too_full_to_open_the_store_is_told_what_to_remove(shop, monkeypatch, free, told):
    def broken(*_):
        raise WorldFault("the database failed: disk I/O error")

    monkeypatch.setattr(keisei.wiring.store, "open_home_store", broken)
    monkeypatch.setattr(keisei.workspace.space, "free_bytes", lambda _path: free)

    done = shop.run("gc")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: the database failed: disk I/O error\n")
    assert (f"`{shop.state / 'environments'}` may be removed by hand" in done.err) is told


def test_worktrees_that_cannot_be_looked_at_are_told(shop):
    (shop.state / "worktrees").mkdir(parents=True)

    done = shop.run("gc")

    assert done.code == 0
    assert done.err.startswith("warning: worktrees and references are not looked at: ")


def test_a_worktree_of_an_attempt_that_is_over_is_salvaged(shop, monkeypatch):
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        name = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
        subprocess.run(["git", *name, *words], cwd=shop.folder, check=True)
    attempt = finished(shop)
    found = facts(shop.folder, "main")
    leased = Pool(found, shop.state / "worktrees", 8).take(attempt, found.head)
    (shop.state / "worktrees/a000/work.txt").write_text("work")
    leased.leave()
    monkeypatch.setattr("keisei.wiring.leftover.SETTLING", timedelta(0))

    told = json.loads(shop.run("gc", "--yes", "--json").out)

    [left] = [each for each in told["leftovers"] if each["kind"] == "worktree"]
    assert left["removed"] is True
    shown = ["git", "show", f"refs/keisei/salvage/{attempt}:work.txt"]
    assert subprocess.run(shown, cwd=shop.folder, capture_output=True, check=True).stdout == b"work"


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (1536 * 1024, "1.5 MB"), (5 * 1024**5, "5120.0 TB")],
)
def test_sizes_are_words(size, words):
    assert size_words(size) == words
