"""What must not change while an agent works."""

import os
from pathlib import Path

import pytest

from keisei.workspace.fingerprint import MOST_SENTENCES, fingerprint, tampered
from keisei.workspace.stage import stage


@pytest.fixture
def leased(ground):
    return ground.take()


def compared(leased, do, *, protected=True):
    before = fingerprint(leased.worktree)
    do()
    return tampered(before, fingerprint(leased.worktree), protected=protected)


def test_an_agent_that_works_and_looks_changes_nothing(ground, leased):
    tree = Path(leased.worktree.path)

    def work():
        (tree / "file").write_text("two\n")
        (tree / "new").write_text("new")
        os.utime(tree / "src" / "a", (1, 1))
        ground.git("status", cwd=tree)
        ground.git("diff", cwd=tree)
        ground.git("log", cwd=tree)

    assert compared(leased, work, protected=False) == ()


def test_what_keisei_does_itself_does_not_count(ground, leased):
    def do():
        stage(leased.worktree, "at-1", "candidate")
        ground.take("at-2").release(reusable=True)

    assert compared(leased, do, protected=False) == ()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("HEAD", "the worktree's `HEAD` was changed"),
        ("index", "the worktree's `index` was changed"),
        ("commondir", "the worktree's `commondir` was changed"),
        ("gitdir", "the worktree's `gitdir` was changed"),
        ("config.worktree", "the worktree's `config.worktree` was added"),
        ("hooks/evil", "the worktree's `hooks/evil` was added"),
        ("sharedindex.1", "the worktree's `sharedindex.1` was added"),
    ],
)
def test_metadata_of_the_worktree_count(leased, name, sentence):
    path = Path(leased.worktree.git_dir, name)

    def write():
        path.parent.mkdir(exist_ok=True)
        path.write_text("evil")

    assert compared(leased, write) == (sentence,)


def test_the_pointer_to_the_repository_counts(leased):
    point = Path(leased.worktree.path, ".git")

    def swap():
        point.unlink()
        point.mkdir()

    assert compared(leased, swap) == ("the worktree's `.git` was changed",)
    assert compared(leased, point.rmdir) == ("the worktree's `.git` was removed",)


@pytest.mark.parametrize(
    "words", [("update-index", "--assume-unchanged", "file"), ("add", "new"), ("rm", "--cached", "file")]
)
def test_entries_and_flags_of_the_index_count(ground, leased, words):
    Path(leased.worktree.path, "new").write_text("new")

    told = compared(leased, lambda: ground.git(*words, cwd=leased.worktree.path))

    assert told == ("the worktree's `index` was changed",)


@pytest.mark.parametrize("name", ["hooks/pre-commit", "info/attributes", "objects/info/alternates", "info/grafts"])
def test_files_of_the_repository_count(leased, name):
    path = Path(leased.worktree.common_dir, name)

    def write():
        path.parent.mkdir(exist_ok=True)
        path.write_text("")

    assert compared(leased, write) == (f"the repository's `{name}` was added",)


def test_a_hook_that_may_be_run_now_counts(leased):
    hook = Path(leased.worktree.common_dir, "hooks", "post-commit")
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")

    assert compared(leased, lambda: hook.chmod(0o755)) == ("the repository's `hooks/post-commit` was changed",)


def test_a_link_for_the_hooks_counts_and_is_not_followed(leased, tmp_path):
    hooks = Path(leased.worktree.common_dir, "hooks")

    def swap():
        hooks.rename(tmp_path / "old")
        hooks.symlink_to(tmp_path / "old")

    assert any("hooks/" in sentence for sentence in compared(leased, swap))


def test_configuration_counts_with_what_it_includes(ground, leased, tmp_path):
    included = tmp_path / "included"
    included.write_text("[user]\n\tname = one\n")
    told = compared(leased, lambda: ground.git("config", "include.path", str(included)))
    assert told == ("the repository's `config` was changed", "the repository's `configuration` was changed")

    told = compared(leased, lambda: included.write_text("[core]\n\tfsmonitor = evil\n"))

    assert told == ("the repository's `configuration` was changed",)


def test_references_count_only_where_nothing_protected_them(ground, leased):
    def move():
        ground.commit(file="two\n")
        ground.git("tag", "new")

    before = fingerprint(leased.worktree)
    move()
    after = fingerprint(leased.worktree)

    assert tampered(before, after, protected=True) == ()
    assert tampered(before, after, protected=False) == (
        "the reference `refs/heads/main` was changed",
        "the reference `refs/tags/new` was added",
    )


def test_head_of_the_main_checkout_is_a_reference(ground, leased):
    told = compared(leased, lambda: ground.git("checkout", "-q", "--detach"), protected=False)

    assert told == ("the reference `HEAD` was changed",)


def test_submodules_hooks_and_configuration_count(ground, tmp_path):
    other = tmp_path / "other"
    ground.git("clone", "-q", str(ground.root), str(other))
    ground.git("submodule", "add", "-q", str(other), "sub")
    ground.commit()
    leased = ground.take()
    module = Path(leased.worktree.common_dir, "modules", "sub")

    def write():
        (module / "hooks").mkdir(exist_ok=True)
        (module / "hooks" / "post-checkout").write_text("evil")
        (module / "config").write_text("evil")

    assert compared(leased, write) == (
        "the repository's `modules/sub/config` was changed",
        "the repository's `modules/sub/hooks/post-checkout` was added",
    )


@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "gone", "loop"])
def test_nothing_that_stands_for_a_file_makes_it_wait_or_fail(leased, kind):
    index = Path(leased.worktree.git_dir, "index")

    def swap():
        index.unlink()
        match kind:
            case "pipe":
                os.mkfifo(index)
            case "folder":
                index.mkdir()
            case "link":
                index.symlink_to("/dev/zero")
            case "loop":
                index.symlink_to("index")

    assert [sentence.split("`")[1] for sentence in compared(leased, swap)] == ["index"]


def test_metadata_that_are_gone_are_told(leased):
    git_dir = Path(leased.worktree.git_dir)

    told = compared(leased, lambda: git_dir.rename(git_dir.with_name("elsewhere")))

    assert [sentence.split("`")[1] for sentence in told] == ["HEAD", "commondir", "gitdir", "index"]


def test_many_sentences_are_counted(leased):
    hooks = Path(leased.worktree.common_dir, "hooks")

    def write():
        hooks.mkdir(exist_ok=True)
        for number in range(MOST_SENTENCES + 7):
            (hooks / f"hook-{number}").write_text("")

    told = compared(leased, write)

    assert len(told) == MOST_SENTENCES + 1
    assert told[-1] == "and 7 more"
