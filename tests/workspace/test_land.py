"""A branch that moves."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from keisei.records.error import IllegalMove, WorldFault
from keisei.workspace import forward, land
from keisei.workspace.branch import checkouts, tip_of
from keisei.workspace.forward import fast_forward
from keisei.workspace.land import advance, commit, create_branch, drop, keep
from keisei.workspace.merge import tree_of
from keisei.workspace.ref import refs
from tests.workspace.conftest import CLEAN, Ground

WHEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(autouse=True)
def nobody(monkeypatch, tmp_path):
    """The person who lands has no settings but those a test gives, and a language of their own."""
    home = tmp_path / "home"
    home.mkdir()
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("LANGUAGE", "de")
    monkeypatch.setattr(land, "PAUSE_S", 0.0)
    return home


@pytest.fixture
def common(ground):
    return ground.facts().common_dir


@pytest.fixture
def old(ground):
    return ground.facts().head


def follow(ground, parent, **files):
    """A commit that follows another, made where no checkout sees it; None removes a file."""
    env = {**CLEAN, "GIT_INDEX_FILE": str(ground.root.parent / "index of the test")}

    def git(*words, given=None):
        done = subprocess.run(["git", *words], input=given, env=env, check=True, capture_output=True, cwd=ground.root)
        return done.stdout.decode().strip()

    git("read-tree", parent)
    for name, content in files.items():
        path = name.replace("__", "/").replace("_dot_", ".")
        if content is None:
            git("rm", "-q", "--cached", path)
        else:
            blob = git("hash-object", "-w", "--stdin", "--no-filters", given=content.encode())
            git("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}")
    return commit(ground.facts().common_dir, git("write-tree"), parent, b"landed\n", WHEN)


@pytest.fixture
def new(ground, old):
    return follow(ground, old, file="two\n", new="n\n", src__b=None)


def state(ground, cwd=None):
    return ground.git("status", "--porcelain", "-z", "--untracked-files=all", "--ignored", cwd=cwd)


def untouched(ground, old):
    return ground.git("rev-parse", "main").decode().strip() == old and state(ground) == b""


def test_a_commit_is_ours_and_dated_and_the_same_when_said_again(ground, common, old):
    ground.git("config", "i18n.commitEncoding", "latin1")
    ground.git("config", "user.name", "somebody")
    ground.git("config", "commit.gpgSign", "true")
    ground.git("config", "gpg.program", "false")
    tree = tree_of(common, old)

    first = commit(common, tree, old, "grün\n\nbody\0\n".encode(), WHEN)

    assert commit(common, tree, old, "grün\n\nbody\n".encode(), WHEN) == first
    lines = ground.git("cat-file", "commit", first).decode().splitlines()
    assert lines == [
        f"tree {tree}",
        f"parent {old}",
        "author keisei <keisei@localhost> 1767323045 +0000",
        "committer keisei <keisei@localhost> 1767323045 +0000",
        "",
        "grün",
        "",
        "body",
    ]


def test_a_commit_of_what_is_not_there_is_refused(common, old):
    with pytest.raises(WorldFault):
        commit(common, "1" * 40, old, b"x", WHEN)
    with pytest.raises(IllegalMove):
        commit(common, "--help", old, b"x", WHEN)


def test_a_branch_that_nobody_has_moves_alone(ground, common, old, new):
    ground.git("checkout", "-q", "-b", "other")

    assert advance(common, "main", new, old).kind == "moved"

    assert tip_of(common, "main") == new
    assert state(ground) == b""
    assert ground.git("log", "-g", "-1", "--format=%gs %gn", "main") == b"keisei land keisei\n"


def test_a_checkout_moves_with_its_branch(ground, common, old, new):
    done = advance(common, "main", new, old)

    assert (done.kind, done.checkout) == ("moved", str(ground.root))
    assert state(ground) == b""
    assert (ground.root / "file").read_text() == "two\n"
    assert (ground.root / "new").read_text() == "n\n"
    assert not (ground.root / "src" / "b").exists()
    assert ground.git("rev-parse", "HEAD").decode().strip() == new
    assert ground.git("symbolic-ref", "HEAD") == b"refs/heads/main\n"
    assert ground.git("reflog", "-1", "--format=%gs") == b"keisei land: Fast-forward\n"


def test_said_again_it_has_moved(common, old, new):
    advance(common, "main", new, old)

    assert advance(common, "main", new, old).kind == "moved"


def test_what_is_not_in_the_way_stays_as_it_is(ground, common, old, new):
    root = ground.root
    (root / "src" / "a").write_bytes(b"dirty\r\n\xff")
    (root / "untracked").write_text("mine")
    (root / "x.log").write_text("ignored")
    (root / "staged").write_text("staged\n")
    ground.git("add", "staged")
    (root / "staged").write_text("and changed\n")
    ground.git("update-index", "--chmod=+x", ".gitignore")
    before, listed = state(ground), ground.git("ls-files", "-s", "staged", ".gitignore")

    assert advance(common, "main", new, old).kind == "moved"

    assert state(ground) == before
    assert ground.git("ls-files", "-s", "staged", ".gitignore") == listed
    assert (root / "src" / "a").read_bytes() == b"dirty\r\n\xff"
    assert (root / "staged").read_text() == "and changed\n"
    assert (root / "x.log").read_text() == "ignored"


def dirty(root, _):
    (root / "file").write_text("mine\n")


def staged(root, ground):
    (root / "file").write_text("mine\n")
    ground.git("add", "file")


def staged_only(root, ground):
    staged(root, ground)
    (root / "file").write_text("one\n")


def untracked(root, _):
    (root / "new").write_text("mine\n")


def ignored(root, ground):
    Path(ground.facts().common_dir, "info", "exclude").write_text("new\n")
    (root / "new").write_text("mine\n")


def folder(root, _):
    (root / "new").mkdir()
    (root / "new" / "deep").write_text("mine\n")


def deleted(root, _):
    (root / "src" / "b").write_text("mine\n")


IN_THE_WAY = {
    dirty: "file",
    staged: "file",
    staged_only: "file",
    untracked: "new",
    ignored: "new",
    folder: "new",
    deleted: "src/b",
}


@pytest.mark.parametrize("harm", IN_THE_WAY)
def test_what_is_in_the_way_is_named_and_stays_as_it_is(ground, common, old, new, harm):
    harm(ground.root, ground)
    before = state(ground)
    found = {each: each.read_bytes() for each in ground.root.rglob("*") if each.is_file() and ".git" not in each.parts}

    done = advance(common, "main", new, old)

    assert done.kind == "refused"
    assert done.files == (IN_THE_WAY[harm],)
    assert done.checkout == str(ground.root)
    assert done.reason
    assert tip_of(common, "main") == old
    assert state(ground) == before
    assert {each: each.read_bytes() for each in found} == found


def test_several_files_in_the_way_are_all_named(ground, common, old, new):
    for harm in (dirty, untracked, deleted):
        harm(ground.root, ground)

    assert advance(common, "main", new, old).files == ("file", "new", "src/b")


def test_a_branch_that_somebody_moved_is_stale(ground, common, old, new):
    ground.commit(more="m\n")

    assert advance(common, "main", new, old).kind == "stale"

    assert state(ground) == b""


def test_a_branch_that_somebody_set_back_is_stale(ground, common, old, new):
    advance(common, "main", new, old)
    newer = follow(ground, new, file="three\n")
    ground.git("reset", "-q", "--hard", old)

    assert advance(common, "main", newer, new).kind == "stale"

    assert untouched(ground, old)


def test_a_commit_that_does_not_follow_is_refused(ground, common, old):
    beside = commit(common, tree_of(common, old), follow(ground, old, x="x"), b"x", WHEN)
    orphan = ground.git("commit-tree", f"{old}^{{tree}}", "-m", "alone").decode().strip()
    ground.git("checkout", "-q", "-b", "other")

    assert advance(common, "main", orphan, old).kind == "refused"
    assert advance(common, "main", beside, old).kind == "moved"


def test_a_branch_that_is_not_there_is_refused(common, old, new):
    done = advance(common, "nobody", new, old)

    assert (done.kind, done.reason) == ("refused", "there is no branch `nobody`")


HOOKS = (
    *("post-merge", "reference-transaction", "post-checkout", "post-index-change", "post-rewrite", "pre-merge-commit"),
    *("post-update", "post-commit", "pre-auto-gc", "fsmonitor-watchman"),
)


@pytest.fixture(params=["checked out", "not checked out"])
def is_out(request, ground):
    """Whether the branch is checked out."""
    if request.param == "not checked out":
        ground.git("checkout", "-q", "-b", "other")
    return request.param == "checked out"


@pytest.mark.usefixtures("is_out")
def test_no_hook_runs(ground, old, new, tmp_path, nobody):
    mark, common = tmp_path / "mark", ground.facts().common_dir
    for folder in (Path(common, "hooks"), tmp_path / "more hooks"):
        folder.mkdir(exist_ok=True)
        for name in HOOKS:
            (folder / name).write_text(f"#!/bin/sh\ntouch '{mark}'\n")
            (folder / name).chmod(0o755)
    (nobody / ".gitconfig").write_text(f'[core]\n\thooksPath = "{tmp_path}/more hooks"\n')
    ground.git("config", "core.fsmonitor", f"touch '{mark}'; false")
    mark.unlink(missing_ok=True)

    assert advance(common, "main", new, old).kind == "moved"
    assert create_branch(common, "made", new).kind == "moved"
    keep(common, "ln-1", new)

    assert not mark.exists()


SETTINGS = {
    "merge.ff": "false",
    "pull.twohead": "ours",
    "branch.main.mergeOptions": "--no-ff --squash --no-commit -s ours --autostash --verify-signatures",
    "merge.verifySignatures": "true",
    "merge.autoStash": "true",
    "commit.gpgSign": "true",
    "gpg.program": "false",
    "rerere.enabled": "true",
    "submodule.recurse": "true",
    "gc.auto": "1",
    "user.useConfigOnly": "true",
    "merge.stat": "true",
    "core.editor": "false",
}


def test_no_setting_makes_more_of_it_than_a_fast_forward(ground, common, old, new):
    for name, value in SETTINGS.items():
        ground.git("config", name, value)

    assert advance(common, "main", new, old).kind == "moved"

    assert tip_of(common, "main") == new
    assert state(ground) == b""
    assert not Path(common, "MERGE_HEAD").exists()
    assert not Path(common, "rr-cache").exists()


def test_a_dirty_file_is_not_stashed_away(ground, common, old, new):
    ground.git("config", "merge.autoStash", "true")
    dirty(ground.root, ground)

    assert advance(common, "main", new, old).kind == "refused"

    assert ground.git("stash", "list") == b""
    assert (ground.root / "file").read_text() == "mine\n"


def test_line_endings_and_filters_are_the_persons_own(ground, common, old, nobody):
    (nobody / ".gitconfig").write_text(
        "[core]\n\tautocrlf = true\n\tattributesFile = ~/attributes\n"
        '[filter "loud"]\n\tsmudge = tr a-z A-Z\n\tclean = tr A-Z a-z\n'
    )
    (nobody / "attributes").write_text("*.loud filter=loud\n")
    new = follow(ground, old, file="two\n", **{"x.loud": "quiet\n"})

    assert advance(common, "main", new, old).kind == "moved"

    assert (ground.root / "file").read_bytes() == b"two\r\n"
    assert (ground.root / "x.loud").read_bytes() == b"QUIET\r\n"
    status = subprocess.run(["git", "status", "--porcelain"], cwd=ground.root, check=True, capture_output=True)
    assert status.stdout == b""


def test_a_filter_that_fails_leaves_the_checkout_as_it_was(ground, common, old):
    ground.git("config", "filter.bad.smudge", "false")
    ground.git("config", "filter.bad.clean", "cat")
    ground.git("config", "filter.bad.required", "true")
    files = {"_dot_gitattributes": "bad filter=bad\n", "bad": "b\n", "added": "a\n", "file": "two\n", "zz": "z\n"}
    new = follow(ground, old, src__b=None, **files)
    (ground.root / "mine").write_text("mine")
    (ground.root / "src" / "a").write_text("mine")
    before = state(ground)

    done = advance(common, "main", new, old)

    assert done.kind == "refused"
    assert "filter" in done.reason
    assert state(ground) == before
    assert (ground.root / "file").read_text() == "one\n"
    ground.git("config", "filter.bad.smudge", "cat")
    assert advance(common, "main", new, old).kind == "moved"
    assert state(ground) == before


def test_a_linked_worktree_that_has_the_branch_moves(ground, common, old, new, tmp_path):
    ground.git("checkout", "-q", "--detach")
    ground.git("worktree", "add", "-q", tmp_path / "linked tree", "main")

    done = advance(common, "main", new, old)

    assert (done.kind, done.checkout) == ("moved", str(tmp_path / "linked tree"))
    assert state(ground, tmp_path / "linked tree") == b""
    assert (tmp_path / "linked tree" / "file").read_text() == "two\n"
    assert (ground.root / "file").read_text() == "one\n"
    assert ground.git("rev-parse", "HEAD").decode().strip() == old


def test_a_detached_head_on_the_same_commit_stays(ground, common, old, new):
    ground.git("checkout", "-q", "--detach")

    assert advance(common, "main", new, old).kind == "moved"

    assert ground.git("rev-parse", "HEAD").decode().strip() == old
    assert state(ground) == b""


def test_two_worktrees_that_have_the_branch_are_refused(ground, common, old, new, tmp_path):
    ground.git("worktree", "add", "-q", "--force", tmp_path / "second", "main")

    done = advance(common, "main", new, old)

    assert done.kind == "refused"
    assert str(ground.root) in done.reason
    assert "second" in done.reason
    assert untouched(ground, old)


def test_a_worktree_whose_folder_is_gone_counts_only_where_it_is_locked(ground, common, old, new, tmp_path):
    ground.git("checkout", "-q", "--detach")
    ground.git("worktree", "add", "-q", tmp_path / "linked", "main")
    shutil.rmtree(tmp_path / "linked")
    ground.git("worktree", "lock", tmp_path / "linked")

    locked = advance(common, "main", new, old)
    ground.git("worktree", "unlock", tmp_path / "linked")

    assert locked.kind == "refused"
    assert "locked" in locked.reason
    assert advance(common, "main", new, old).kind == "moved"


def test_worktrees_of_a_pool_never_count(ground, common, old, new):
    leased = ground.take()
    Path(leased.worktree.git_dir, "HEAD").write_text("ref: refs/heads/main\n")

    assert [each.path for each in checkouts(common, "main")] == [str(ground.root)]
    assert advance(common, "main", new, old).kind == "moved"


def test_a_bare_repository_has_only_linked_worktrees(ground, common, old, new, tmp_path):
    ground.git("config", "core.bare", "true")
    ground.git("worktree", "add", "-q", tmp_path / "linked", "main")

    assert [each.path for each in checkouts(common, "main")] == [str(tmp_path / "linked")]
    assert advance(common, "main", new, old).kind == "moved"
    assert state(ground, tmp_path / "linked") == b""


def test_a_checkout_elsewhere_is_found_by_its_setting_and_refused_without(tmp_path):
    ground = Ground(tmp_path / "tree")
    old = ground.commit(file="one\n")
    (ground.root / ".git").rename(tmp_path / "the git folder")
    (ground.root / ".git").write_text(f"gitdir: {tmp_path / 'the git folder'}\n")
    common = ground.facts().common_dir
    new = follow(ground, old, file="two\n")

    unknown = advance(common, "main", new, old)
    ground.git("config", "core.worktree", "../tree")

    assert unknown.kind == "refused"
    assert "core.worktree" in unknown.reason
    assert advance(common, "main", new, old).checkout == str(ground.root)
    assert state(ground) == b""


def unfinished(*words):
    def harm(ground, root):
        ground.git("checkout", "-q", "-b", "side", "HEAD~1", cwd=root)
        (root / "file").write_text("side\n")
        ground.git("commit", "-q", "-am", "side", cwd=root)
        ground.git("checkout", "-q", "main", cwd=root)
        ground.git(*words, cwd=root, check=False)

    return harm


def bisecting(ground, root):
    ground.git("bisect", "start", "HEAD", "HEAD~2", cwd=root)


BUSY = {
    "merge": (unfinished("merge", "side"), "merge"),
    "cherry-pick": (unfinished("cherry-pick", "side"), "cherry-pick"),
    "revert": (unfinished("revert", "--no-edit", "HEAD~1"), "revert"),
    "rebase": (unfinished("rebase", "side"), "rebase"),
    "rebase by patches": (unfinished("rebase", "--apply", "side"), "rebase"),
    "bisection": (bisecting, "bisection"),
}


@pytest.mark.parametrize("place", ["main", "linked"])
@pytest.mark.parametrize("case", BUSY)
def test_a_checkout_in_the_middle_of_something_is_busy(ground, common, tmp_path, case, place):
    ground.commit(file="between\n")
    old = ground.commit(file="now\n")
    new = follow(ground, old, new="n\n")
    root = ground.root
    if place == "linked":
        ground.git("checkout", "-q", "--detach")
        root = tmp_path / "linked"
        ground.git("worktree", "add", "-q", root, "main")
    harm, word = BUSY[case]
    harm(ground, root)
    before = state(ground, root)

    done = advance(common, "main", new, old)

    assert [each.path for each in checkouts(common, "main")] == [str(root)]
    assert done.kind == "refused"
    assert word in done.reason
    assert done.checkout == str(root)
    assert tip_of(common, "main") == old
    assert state(ground, root) == before


def test_a_rebase_that_moves_the_branch_too_is_busy(ground, common, old, new):
    ground.git("checkout", "-q", "-b", "stack")
    folder = Path(common, "rebase-merge")
    folder.mkdir()
    (folder / "head-name").write_text("refs/heads/stack\n")
    (folder / "update-refs").write_text(f"refs/heads/main\n{old}\n{old}\n")

    assert advance(common, "main", new, old).kind == "refused"


@pytest.mark.parametrize("lock", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_a_lock_that_was_left_is_named(ground, common, old, new, lock):
    Path(common, lock).write_text("")

    done = advance(common, "main", new, old)

    assert done.kind == "refused"
    assert lock in done.reason
    Path(common, lock).unlink()
    assert untouched(ground, old)
    assert advance(common, "main", new, old).kind == "moved"


def test_a_lock_of_the_moment_is_waited_for(common, old, new, monkeypatch):
    Path(common, "index.lock").write_text("")
    monkeypatch.setattr(land.time, "sleep", lambda _: Path(common, "index.lock").unlink(missing_ok=True))

    assert advance(common, "main", new, old).kind == "moved"


def test_a_lock_of_a_branch_that_nobody_has_is_named(ground, common, old, new):
    ground.git("checkout", "-q", "-b", "other")
    Path(common, "refs", "heads", "main.lock").write_text("")

    done = advance(common, "main", new, old)

    assert done.kind == "refused"
    assert "main.lock" in done.reason
    assert tip_of(common, "main") == old


@pytest.mark.usefixtures("is_out")
@pytest.mark.parametrize("place", ["refs", "logs/refs"])
def test_a_reference_that_cannot_be_written_leaves_everything_as_it_was(ground, common, old, new, place):
    ground.git("pack-refs", "--all")
    blocked = Path(common, place, "heads", "main")
    blocked.unlink(missing_ok=True)
    (blocked / "x").mkdir(parents=True)
    (blocked / "x" / "file").write_text("")
    (ground.root / "src" / "a").write_text("mine")

    done = advance(common, "main", new, old)

    assert done.kind == "refused"
    assert "main" in done.reason
    assert tip_of(common, "main") == old
    assert state(ground) == b" M src/a\0"
    assert (ground.root / "file").read_text() == "one\n"


@pytest.mark.parametrize("name", ["team/topic/x", "a=b", "ünï", "-x", "HEAD"])
@pytest.mark.parametrize("packed", [True, False])
def test_odd_names_and_packed_references(ground, old, new, name, packed):
    common = ground.facts().common_dir
    ground.git("update-ref", f"refs/heads/{name}", old)
    if packed:
        ground.git("pack-refs", "--all")
    newer = follow(ground, new, file="three\n")

    alone = advance(common, name, new, old)
    ground.git("reset", "-q", "--hard", new)
    ground.git("symbolic-ref", "HEAD", f"refs/heads/{name}")
    checked_out = advance(common, name, newer, new)

    assert (alone.kind, checked_out.kind) == ("moved", "moved")
    assert (alone.checkout, checked_out.checkout) == (None, str(ground.root))
    assert tip_of(common, name) == newer
    assert state(ground) == b""


def test_another_name_of_a_branch(ground, common, old, new):
    ground.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    ground.git("symbolic-ref", "HEAD", "refs/heads/alias")

    assert advance(common, "alias", new, old).kind == "refused"
    assert untouched(ground, old)
    assert advance(common, "main", new, old).checkout == str(ground.root)
    assert state(ground) == b""


@pytest.mark.parametrize("name", ["../x", "a..b", "x.lock", "", "a b", "a\nb"])
def test_a_name_that_is_none_is_refused(common, old, new, name):
    assert advance(common, name, new, old).kind == "refused"
    assert create_branch(common, name, new).kind == "refused"


@pytest.mark.parametrize("commit", ["", "HEAD", "--help"])
def test_only_whole_names_of_commits_are_taken(common, old, new, commit):
    with pytest.raises(IllegalMove):
        advance(common, "main", commit, old)
    with pytest.raises(IllegalMove):
        advance(common, "main", new, commit)
    with pytest.raises(IllegalMove):
        create_branch(common, "made", commit)


def test_a_sparse_checkout_stays_sparse(ground, common):
    old = ground.commit(other__x="x\n")
    ground.git("sparse-checkout", "set", "src")
    new = follow(ground, old, src__a="changed\n", other__x="changed\n", other__new="n\n")

    assert advance(common, "main", new, old).kind == "moved"

    assert (ground.root / "src" / "a").read_text() == "changed\n"
    assert not (ground.root / "other").exists()
    assert state(ground) == b""


def test_a_repository_of_another_object_format(tmp_path):
    ground = Ground(tmp_path / "other", "sha256")
    old = ground.commit(file="one\n")
    common = ground.facts().common_dir
    new = follow(ground, old, file="two\n")

    assert advance(common, "main", new, old).kind == "moved"
    assert create_branch(common, "made", new).kind == "moved"
    keep(common, "ln-1", new)

    assert state(ground) == b""
    assert tip_of(common, "made") == new


def test_a_shallow_repository(ground, tmp_path):
    ground.commit(file="two\n")
    shallow = Ground(tmp_path / "shallow")
    shallow.git("fetch", "-q", "--depth=1", f"file://{ground.root}", "main")
    shallow.git("reset", "-q", "--hard", "FETCH_HEAD")
    common, old = shallow.facts().common_dir, shallow.facts().head
    new = follow(shallow, old, file="three\n")

    assert advance(common, "main", new, old).kind == "moved"
    assert state(shallow) == b""


def test_reftable(tmp_path):
    root = tmp_path / "tables"
    root.mkdir()
    words = ["git", "init", "-q", "-b", "main", "--ref-format=reftable", root]
    if subprocess.run(words, env=CLEAN, check=False, capture_output=True).returncode != 0:
        pytest.skip("this git knows no reftable")
    ground = Ground.__new__(Ground)
    ground.root = root
    old = ground.commit(file="one\n")
    common = ground.facts().common_dir
    new = follow(ground, old, file="two\n")

    assert advance(common, "main", new, old).kind == "moved"
    assert state(ground) == b""


def test_git_that_was_ended_after_it_wrote_the_files_is_taken_up_again(ground, common, old, new):
    (ground.root / "src" / "a").write_text("mine")
    ground.git("read-tree", "-m", "-u", old, new)

    assert advance(common, "main", new, old).kind == "moved"

    assert state(ground) == b" M src/a\0"


def test_somebody_who_switches_at_that_moment_is_told(ground, common, old, new, monkeypatch):
    def switched(*words):
        ground.git("checkout", "-q", "-b", "other")
        return fast_forward(*words)

    monkeypatch.setattr(land, "fast_forward", switched)

    done = advance(common, "main", new, old)

    assert done.kind == "refused"
    assert "switched" in done.reason
    assert tip_of(common, "main") == old


KILLED = """
import os, sys
from keisei.workspace import forward, git, land
left = int(sys.argv[1])
real = git.pumped
def counted(*words, **how):
    global left
    if left == 0:
        os._exit(9)
    left -= 1
    return real(*words, **how)
git.pumped = forward.pumped = counted
print(land.advance(sys.argv[2], "main", *sys.argv[3:]).kind)
"""


def test_ended_before_any_of_its_commands_it_is_done_by_the_next(ground, common, old, new, is_out):
    (ground.root / "src" / "a").write_text("mine")
    ended = 0
    for left in range(100):
        words = [sys.executable, "-c", KILLED, str(left), common, new, old]
        code = subprocess.run(words, check=False, capture_output=True).returncode
        if code == 0:
            break
        ended += code == 9

        assert tip_of(common, "main") in (old, new)
        assert advance(common, "main", new, old).kind == "moved"
        assert state(ground) == b" M src/a\0"
        ground.git("update-ref", "refs/heads/main", old)
        if is_out:
            ground.git("read-tree", "-m", "-u", new, old)

    assert ended >= 5


RACE = """
import sys
from keisei.workspace.land import advance
common, *pairs = sys.argv[1:]
for pair in pairs:
    old, new = pair.split(":")
    sys.stdin.readline()
    print(advance(common, "main", new, old).kind, flush=True)
"""


ROUNDS = 50


def test_of_two_who_move_it_at_once_one_does(ground, common, old, is_out):
    one, two = (follow(ground, old, **{name: name}) for name in ("one", "two"))
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, common, *[f"{old}:{new}"] * ROUNDS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for new in (one, two)
    ]
    try:
        for _ in range(ROUNDS):
            for racer in racers:
                racer.stdin.write("\n")
                racer.stdin.flush()
            kinds = [racer.stdout.readline().strip() for racer in racers]

            assert sorted(kinds) == ["moved", "stale"]
            assert tip_of(common, "main") == (one, two)[kinds.index("moved")]
            assert state(ground) == b""
            if is_out:
                ground.git("reset", "-q", "--hard", old)
            else:
                ground.git("update-ref", "refs/heads/main", old)
    finally:
        for racer in racers:
            with suppress(OSError):
                racer.stdin.close()
            racer.stdout.close()
            racer.wait()


def test_landings_of_one_repository_wait_for_each_other(ground, common, old, new, monkeypatch):
    monkeypatch.setattr(land, "ALONE_S", 0.0)

    with land._alone(common), pytest.raises(WorldFault, match="another landing"):
        advance(common, "main", new, old)

    assert untouched(ground, old)


def test_a_branch_is_made_where_there_is_none(ground, common, old, new):
    assert create_branch(common, "team/made", new).kind == "moved"
    assert create_branch(common, "team/made", new).kind == "moved"
    assert create_branch(common, "team/made", old).kind == "stale"

    assert tip_of(common, "team/made") == new
    assert state(ground) == b""


def test_a_branch_in_the_way_of_another_is_told(common, new):
    done = create_branch(common, "main/more", new)

    assert done.kind == "refused"
    assert "refs/heads/main" in done.reason


def test_a_branch_of_what_is_not_there_is_refused(common):
    assert create_branch(common, "made", "1" * 40).kind == "refused"
    assert tip_of(common, "made") is None


def test_a_lock_on_a_branch_to_be_made_is_named(common, new):
    Path(common, "refs", "heads", "made.lock").write_text("")

    done = create_branch(common, "made", new)

    assert done.kind == "refused"
    assert "made.lock" in done.reason


def test_what_landed_is_kept_until_it_is_dropped(ground, common, old, new):
    keep(common, "ln-1", old)
    keep(common, "ln-1", new)
    keep(common, "ln-1", new)
    ground.git("reflog", "expire", "--expire=now", "--all")
    ground.git("gc", "-q", "--prune=now")

    assert [(kept.ref, kept.commit) for kept in refs(common, "landing")] == [("refs/keisei/landing/ln-1", new)]
    assert drop(common, "ln-1")
    assert not drop(common, "ln-1")
    assert refs(common, "landing") == []
    with pytest.raises(IllegalMove):
        keep(common, "../x", new)


@pytest.mark.parametrize("where", ["after the index", "with the index locked", "in a file"])
def test_git_that_is_killed_leaves_the_checkout_as_it_was(ground, old, new, monkeypatch, where):
    common = ground.facts().common_dir
    real = forward.pumped

    def killed(words, *more, **how):
        if "merge" not in words:
            return real(words, *more, **how)
        if where == "after the index":
            ground.git("read-tree", "-m", "-u", old, new)
        else:
            (ground.root / "file").write_text("two\n" if where == "with the index locked" else "t")
            (ground.root / "new").write_text("n\n" if where == "with the index locked" else "")
            (ground.root / "src" / "b").unlink()
            (ground.root / ".git" / "index.lock").touch()
        return real(["/bin/sh", "-c", "kill -9 $$"], *more, **how)

    monkeypatch.setattr(forward, "pumped", killed)
    done = advance(common, "main", new, old)
    monkeypatch.undo()

    assert (done.kind, done.reason) == (
        "refused",
        "git was ended by signal 9: `git status` tells whether it has left a lock",
    )
    (ground.root / ".git" / "index.lock").unlink(missing_ok=True)
    assert untouched(ground, old)
    assert advance(common, "main", new, old).kind == "moved"
