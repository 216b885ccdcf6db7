"""Three trees made one."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keisei.records.error import IllegalMove, WorldFault
from keisei.workspace.merge import changes_between, count_files, is_ancestor, merge, tree_of, unmerge
from keisei.workspace.stage import stage
from tests.workspace.conftest import CLEAN, Ground


class Fork:
    """A repository in which a candidate and main have both moved on from a base."""

    def __init__(self, ground, scratch):
        self.ground = ground
        self.scratch = scratch
        self.base = ground.commit(poem="".join(f"line {number}\n" for number in range(20)))
        self.common = ground.facts().common_dir
        self.candidate = self.tip = self.base

    def made(self, change):
        """A commit on the base with a change, whatever main is."""
        self.ground.git("checkout", "-q", "--detach", self.base)
        change(self.ground.root)
        made = self.ground.commit()
        self.ground.git("checkout", "-q", "-f", "main")
        return made

    def ours(self, change):
        self.tip = self.made(change)

    def theirs(self, change):
        self.candidate = self.made(change)

    def merge(self):
        return merge(self.common, self.scratch, self.tip, self.candidate, self.base)


@pytest.fixture
def fork(ground, tmp_path):
    return Fork(ground, tmp_path / "scratch of ours")


def write(name, text):
    def change(root):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    return change


def line(number, text):
    def change(root):
        lines = (root / "poem").read_text().splitlines(keepends=True)
        lines[number] = f"{text}\n"
        (root / "poem").write_text("".join(lines))

    return change


def all_of(*changes):
    def change(root):
        for each in changes:
            each(root)

    return change


def unlink(name):
    return lambda root: (root / name).unlink()


def told(changes):
    return {change.path: change.status for change in changes}


def test_both_sides_come_together(fork):
    fork.ours(all_of(line(1, "ours"), write("ours", "o")))
    fork.theirs(all_of(line(15, "theirs"), write("theirs", "t"), unlink("src/b")))

    merged = fork.merge()

    poem = fork.ground.show(merged.tree, "poem").decode().splitlines()
    assert (poem[1], poem[15]) == ("ours", "theirs")
    assert told(merged.changes) == {"poem": "modified", "theirs": "added", "src/b": "deleted"}
    assert merged.conflicts == merged.messages == ()
    blob = next(change.blob for change in merged.changes if change.path == "theirs")
    assert fork.ground.git("cat-file", "blob", blob) == b"t"
    assert merged.changes == changes_between(fork.common, fork.tip, merged.tree)


def test_the_same_merge_is_the_same_tree_and_leaves_no_reference_and_no_file(fork):
    fork.ours(line(1, "ours"))
    fork.theirs(line(15, "theirs"))
    before = fork.ground.git("for-each-ref")

    first = fork.merge()
    objects = fork.ground.git("count-objects")
    second = fork.merge()

    assert first == second
    assert fork.ground.git("count-objects") == objects
    assert fork.ground.git("for-each-ref") == before
    assert list(fork.scratch.iterdir()) == []


def test_main_that_did_not_move_becomes_the_candidate(fork):
    fork.theirs(line(3, "theirs"))

    merged = fork.merge()

    assert merged.tree == tree_of(fork.common, fork.candidate)


def test_nothing_to_merge_changes_nothing(fork):
    fork.ours(line(3, "ours"))

    merged = fork.merge()

    assert merged.tree == tree_of(fork.common, fork.tip)
    assert merged.changes == ()


def test_the_same_line_is_a_conflict_that_names_the_file(fork):
    fork.ours(line(3, "ours"))
    fork.theirs(line(3, "theirs"))

    merged = fork.merge()

    assert merged.tree is None
    assert merged.conflicts == ("poem",)
    assert merged.changes == ()
    assert merged.messages == ("CONFLICT (content): Merge conflict in poem",)


def swap(name, change):
    def changed(root):
        (root / name).unlink()
        change(root)

    return changed


CONFLICTS = {
    "changed and deleted": (line(3, "ours"), unlink("poem"), {"poem"}),
    "both added": (write("new", "1\n"), write("new", "2\n"), {"new"}),
    "binary": (write("file", b"\0one"), write("file", b"\0two"), {"file"}),
    "file and folder": (write("x/y", "1"), write("x", "2"), {"x"}),
    "two links": (
        lambda root: (root / "l").symlink_to("a"),
        lambda root: (root / "l").symlink_to("b"),
        {"l"},
    ),
    "link and file": (line(3, "o"), swap("poem", lambda root: (root / "poem").symlink_to("x")), {"poem"}),
    "two names": (
        lambda root: (root / "poem").rename(root / "one"),
        lambda root: (root / "poem").rename(root / "two"),
        {"poem", "one", "two"},
    ),
    "odd name": (write("a\tb\nc", "1"), write("a\tb\nc", "2"), {"a\tb\nc"}),
}


@pytest.mark.parametrize("case", CONFLICTS)
def test_a_conflict_gives_no_tree(fork, case):
    ours, theirs, paths = CONFLICTS[case]
    fork.ours(ours)
    fork.theirs(theirs)

    merged = fork.merge()

    assert merged.tree is None
    assert set(merged.conflicts) == paths
    assert merged.messages


def test_names_that_are_not_text_are_spelled(fork):
    name = os.fsdecode(b"\xff\\n")
    fork.ours(write(name, "1"))
    fork.theirs(all_of(write(name, "2"), write(os.fsdecode(b"\xfe"), "3")))

    conflict = fork.merge()
    fork.ours(line(1, "ours"))
    merged = fork.merge()

    assert conflict.conflicts == ("\\xff\\\\n",)
    assert told(merged.changes) == {"\\xff\\\\n": "added", "\\xfe": "added"}


def test_modes_links_and_binary_files_merge(fork):
    fork.ours(all_of(line(1, "ours"), write("own", "x")))
    fork.theirs(
        all_of(
            lambda root: (root / "poem").chmod(0o755),
            lambda root: (root / "link").symlink_to("/etc/passwd"),
            write("binary", bytes(range(256))),
        )
    )

    merged = fork.merge()

    modes = fork.ground.listed(merged.tree)
    assert (modes[b"poem"], modes[b"link"]) == ("100755", "120000")
    assert fork.ground.show(merged.tree, "binary") == bytes(range(256))
    poem = next(change for change in merged.changes if change.path == "poem")
    assert (poem.old_mode, poem.mode) == ("100644", "100755")


def test_names_that_differ_in_case_are_two_files(fork):
    fork.ours(write("Name", "1"))
    fork.theirs(write("name", "2"))

    merged = fork.merge()

    assert fork.ground.show(merged.tree, "Name") == b"1"
    assert fork.ground.show(merged.tree, "name") == b"2"


def test_a_renamed_file_takes_the_change_along(fork):
    fork.ours(line(3, "ours"))
    fork.theirs(lambda root: (root / "poem").rename(root / "song"))

    merged = fork.merge()

    assert b"ours" in fork.ground.show(merged.tree, "song")
    assert told(merged.changes) == {"poem": "deleted", "song": "added"}


def test_a_renamed_folder_takes_no_new_file_along(fork):
    fork.ours(lambda root: (root / "src").rename(root / "lib"))
    fork.theirs(write("src/c", "c"))

    merged = fork.merge()

    assert told(merged.changes) == {"src/c": "added"}


@pytest.mark.parametrize("where", ["candidate", "tip", "base", "repository", "worktree"])
def test_no_driver_and_no_attribute_has_a_say(ground, tmp_path, where):
    mark = tmp_path / "mark"
    ground.git("config", "merge.evil.driver", f"touch '{mark}'; true")
    ground.git("config", "merge.default", "evil")
    ground.git("config", "diff.evil.command", f"touch '{mark}'")
    attributes = "poem merge=union\nfile merge=evil diff=evil\nnew merge=ours\n"
    ground.git("config", "merge.ours.driver", "true")
    if where == "base":
        ground.commit(_dot_gitattributes=attributes)
    if where == "repository":
        Path(ground.facts().common_dir, "info", "attributes").write_text(attributes)
    fork = Fork(ground, tmp_path / "scratch")
    extra = write(".gitattributes", attributes)
    nothing = all_of()
    fork.ours(
        all_of(line(3, "ours"), write("file", "o\n"), write("new", "1"), extra if where == "tip" else nothing),
    )
    fork.theirs(
        all_of(line(3, "theirs"), write("file", "t\n"), write("new", "2"), extra if where == "candidate" else nothing),
    )
    if where == "worktree":
        extra(ground.root)

    merged = fork.merge()

    assert merged.tree is None
    assert set(merged.conflicts) == {"poem", "file", "new"}
    assert not mark.exists()


def test_no_setting_of_the_repository_has_a_say(fork):
    for name, value in {
        "merge.renames": "false",
        "merge.directoryRenames": "true",
        "merge.renameLimit": "1",
        "diff.algorithm": "patience",
        "merge.renormalize": "true",
    }.items():
        fork.ground.git("config", name, value)
    fork.ours(line(3, "ours"))
    fork.theirs(lambda root: (root / "poem").rename(root / "song"))

    merged = fork.merge()

    assert b"ours" in fork.ground.show(merged.tree, "song")


def test_a_main_that_was_rewritten_is_merged_from_the_candidates_base(fork):
    fork.theirs(line(15, "theirs"))
    fork.ground.git("checkout", "-q", "--orphan", "fresh")
    line(1, "rewritten")(fork.ground.root)
    fork.tip = fork.ground.commit()

    merged = fork.merge()

    poem = fork.ground.show(merged.tree, "poem").decode().splitlines()
    assert (poem[1], poem[15]) == ("rewritten", "theirs")
    assert told(merged.changes) == {"poem": "modified"}


def test_a_candidate_that_main_holds_already_changes_nothing(fork):
    fork.theirs(line(15, "theirs"))
    fork.ours(all_of(line(15, "theirs"), write("more", "x")))

    merged = fork.merge()

    assert merged.changes == ()


def test_what_main_took_back_since_is_not_what_the_base_had(fork):
    """The base counts, and not a newer commit that both have in their history."""
    fork.theirs(line(15, "theirs"))
    fork.ground.git("checkout", "-q", "--detach", fork.candidate)
    fork.ground.git("revert", "--no-edit", "HEAD")
    fork.tip = fork.ground.git("rev-parse", "HEAD").decode().strip()

    merged = fork.merge()

    assert merged.tree == tree_of(fork.common, fork.candidate)


def test_a_submodule_that_both_moved_is_a_conflict_and_one_side_is_not(fork):
    entry = "160000,{},module".format
    one, two = "1" * 40, "2" * 40

    def module(commit):
        return lambda root: subprocess.run(
            ["git", "-C", root, "update-index", "--add", "--cacheinfo", entry(commit)], env=CLEAN, check=True
        )

    def made(commit):
        fork.ground.git("checkout", "-q", "--detach", fork.base)
        module(commit)(fork.ground.root)
        fork.ground.git("commit", "-q", "-m", "module")
        return fork.ground.git("rev-parse", "HEAD").decode().strip()

    fork.base = made("0" * 39 + "1")
    fork.candidate = made(one)
    fork.tip = fork.base
    alone = fork.merge()
    fork.tip = made(two)
    both = fork.merge()

    assert [(change.path, change.mode) for change in alone.changes] == [("module", "160000")]
    assert both.tree is None
    assert both.conflicts == ("module",)


def test_a_repository_of_another_object_format(tmp_path):
    ground = Ground(tmp_path / "other", "sha256")
    ground.commit(file="one\n", src__b="b\n")
    fork = Fork(ground, tmp_path / "scratch")
    fork.ours(line(1, "ours"))
    fork.theirs(line(15, "theirs"))

    merged = fork.merge()

    assert len(merged.tree) == 64
    assert told(merged.changes) == {"poem": "modified"}


def test_a_history_that_is_cut_off(ground, tmp_path):
    ground.commit(file="two\n")
    shallow = Ground(tmp_path / "shallow")
    shallow.git("fetch", "-q", "--depth=1", f"file://{ground.root}", "main")
    shallow.git("reset", "-q", "--hard", "FETCH_HEAD")
    fork = Fork(shallow, tmp_path / "scratch")
    fork.base = shallow.git("rev-parse", "FETCH_HEAD").decode().strip()
    fork.ours(write("ours", "o"))
    fork.theirs(write("theirs", "t"))

    merged = fork.merge()

    assert told(merged.changes) == {"theirs": "added"}
    assert is_ancestor(fork.common, fork.base, fork.tip)


def test_many_files(ground, tmp_path):
    stream = ["commit refs/heads/main\ncommitter t <t@example.org> 0 +0000\ndata 0\n"]
    stream += [f"M 644 inline d{number % 100}/f{number}\ndata 1\nx\n" for number in range(100_000)]
    subprocess.run(
        ["git", "-C", ground.root, "fast-import", "--quiet", "--force"],
        input="".join(stream).encode(),
        env=CLEAN,
        check=True,
    )
    base = ground.git("rev-parse", "main").decode().strip()
    common = ground.facts().common_dir

    def made(path):
        blob = ground.git("rev-parse", f"{base}:d0/f0").decode().strip()
        edit = f"commit refs/heads/x\ncommitter t <t@example.org> 0 +0000\ndata 0\nfrom {base}\nM 644 {blob} {path}\n"
        words = ["git", "-C", ground.root, "fast-import", "--quiet", "--force"]
        subprocess.run(words, input=edit.encode(), env=CLEAN, check=True)
        return ground.git("rev-parse", "x").decode().strip()

    merged = merge(common, tmp_path / "scratch", made("d1/ours"), made("d2/theirs"), base)

    assert told(merged.changes) == {"d2/theirs": "added"}
    assert count_files(common, base) == 100_000
    assert count_files(common, merged.tree) == 100_002


def test_a_staged_candidate_is_merged(ground, tmp_path):
    leased = ground.take()
    Path(leased.worktree.path, "new").write_text("n")
    staged = stage(leased.worktree, "at-1", "candidate")
    tip = ground.commit(file="two\n")

    merged = merge(leased.worktree.common_dir, tmp_path / "scratch", tip, staged.commit, staged.base)

    assert told(merged.changes) == {"new": "added"}
    assert ground.show(merged.tree, "file") == b"two\n"


def test_what_landed_is_taken_back_and_what_came_later_stays(fork):
    before = fork.base
    fork.theirs(all_of(line(15, "landed"), write("landed", "x"), unlink("src/a")))
    fork.ground.git("checkout", "-q", "--detach", fork.candidate)
    line(1, "later")(fork.ground.root)
    tip = fork.ground.commit()

    undone = unmerge(fork.common, fork.scratch, tip, before, fork.candidate)

    poem = fork.ground.show(undone.tree, "poem").decode().splitlines()
    assert (poem[1], poem[15]) == ("later", "line 15")
    assert told(undone.changes) == {"landed": "deleted", "poem": "modified", "src/a": "added"}


def test_what_was_built_upon_is_not_taken_back(fork):
    fork.theirs(line(15, "landed"))
    fork.ground.git("checkout", "-q", "--detach", fork.candidate)
    line(15, "landed and changed")(fork.ground.root)
    tip = fork.ground.commit()

    undone = unmerge(fork.common, fork.scratch, tip, fork.base, fork.candidate)

    assert undone.tree is None
    assert undone.conflicts == ("poem",)


def test_merges_at_once_do_not_meet(fork):
    fork.ours(line(1, "ours"))
    fork.theirs(line(15, "theirs"))

    with ThreadPoolExecutor(8) as threads:
        found = {merged.tree for merged in threads.map(lambda _: fork.merge(), range(8))}

    assert len(found) == 1
    assert None not in found


def test_a_commit_that_is_not_there_is_one_clear_error(fork):
    missing = "1" * 40

    with pytest.raises(WorldFault, match="rev-parse"):
        merge(fork.common, fork.scratch, fork.base, missing, fork.base)
    with pytest.raises(WorldFault):
        tree_of(fork.common, missing)
    with pytest.raises(WorldFault):
        count_files(fork.common, missing)
    with pytest.raises(WorldFault):
        changes_between(fork.common, fork.base, missing)
    with pytest.raises(WorldFault):
        is_ancestor(fork.common, fork.base, missing)


@pytest.mark.parametrize("name", ["", "HEAD", "--help", "main", "1" * 39, "refs/heads/main"])
def test_only_whole_names_of_objects_are_taken(fork, name):
    with pytest.raises(IllegalMove, match="git object"):
        merge(fork.common, fork.scratch, fork.base, name, fork.base)
    with pytest.raises(IllegalMove, match="git object"):
        is_ancestor(fork.common, name, fork.base)


def test_a_scratch_folder_that_cannot_be_is_one_clear_error(fork, tmp_path):
    (tmp_path / "in the way").write_text("")

    with pytest.raises(WorldFault, match="in the way"):
        merge(fork.common, tmp_path / "in the way" / "x", fork.base, fork.base, fork.base)


def test_who_is_in_whose_history(fork):
    fork.ours(line(1, "ours"))
    fork.theirs(line(2, "theirs"))

    assert is_ancestor(fork.common, fork.base, fork.tip)
    assert is_ancestor(fork.common, fork.tip, fork.tip)
    assert not is_ancestor(fork.common, fork.tip, fork.base)
    assert not is_ancestor(fork.common, fork.candidate, fork.tip)
    assert not is_ancestor(fork.common, "1" * 40, fork.tip)


def test_a_killed_merge_leaves_nothing_that_stops_the_next(fork):
    fork.theirs(line(15, "theirs"))
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom keisei.workspace import git, merge\n"
        "git.Private.ask = lambda *_, **__: os._exit(9)\n"
        "merge.merge(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])\n"
    )
    words = [sys.executable, "-c", code, fork.common, str(fork.scratch), fork.tip, fork.candidate, fork.base]

    died = subprocess.run(words, check=False).returncode
    merged = fork.merge()

    assert died == 9
    assert told(merged.changes) == {"poem": "modified"}
