"""Everything an attempt did, as a commit."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from keisei.records.error import IllegalMove, WorldFault
from keisei.records.worktree import Worktree
from keisei.workspace.fingerprint import fingerprint
from keisei.workspace.pool import Pool
from keisei.workspace.stage import MOST_IGNORED, patch, stage
from tests.workspace.conftest import Ground


@pytest.fixture
def leased(ground):
    return ground.take()


@pytest.fixture
def tree(leased):
    return Path(leased.worktree.path)


def told(staged):
    return {change.path: change.status for change in staged.changes}


def test_nothing_changed_is_a_commit_with_the_same_tree(ground, leased):
    staged = stage(leased.worktree, "at-1", "candidate")

    assert staged.changes == staged.ignored == staged.notes == ()
    assert staged.ref == "refs/keisei/candidate/at-1"
    assert ground.git("rev-parse", staged.ref).decode().strip() == staged.commit
    assert ground.git("log", "-1", "--format=%T %P %an <%ae> %cn", staged.commit).decode().split() == [
        ground.git("rev-parse", f"{leased.worktree.base}^{{tree}}").decode().strip(),
        leased.worktree.base,
        "keisei",
        "<keisei@localhost>",
        "keisei",
    ]


def test_the_whole_effect_is_kept(ground, leased, tree):
    (tree / "file").write_text("two\n")
    (tree / "src" / "a").chmod(0o755)
    (tree / "src" / "b").unlink()
    (tree / "new folder").mkdir()
    (tree / "new folder" / "ünï").write_text("new")
    (tree / "link").symlink_to("/etc/passwd")
    (tree / "run").write_text("#!/bin/sh\n")
    (tree / "run").chmod(0o755)
    (tree / "x.log").write_text("ignored")
    (tree / "build").mkdir()
    (tree / "build" / "x").write_text("ignored")

    staged = stage(leased.worktree, "at-1", "candidate")

    assert told(staged) == {
        "file": "modified",
        "link": "added",
        "new folder/ünï": "added",
        "run": "added",
        "src/a": "modified",
        "src/b": "deleted",
    }
    assert [(change.old_mode, change.mode) for change in staged.changes] == [
        ("100644", "100644"),
        ("000000", "120000"),
        ("000000", "100644"),
        ("000000", "100755"),
        ("100644", "100755"),
        ("100644", "000000"),
    ]
    assert staged.ignored == ("build/", "x.log")
    assert ground.show(staged.commit, "link") == b"/etc/passwd"
    assert ground.show(staged.commit, "file") == b"two\n"


def test_a_file_for_a_folder_and_a_folder_for_a_file(ground, leased, tree):
    (tree / "file").unlink()
    (tree / "file").mkdir()
    (tree / "file" / "inner").write_text("x")
    shutil.rmtree(tree / "src")
    (tree / "src").symlink_to(ground.root / "src")

    staged = stage(leased.worktree, "at-1", "candidate")

    assert told(staged) == {
        "file": "deleted",
        "file/inner": "added",
        "src": "added",
        "src/a": "deleted",
        "src/b": "deleted",
    }
    assert ground.listed(staged.commit)[b"src"] == "120000"


def test_a_file_that_becomes_a_link_changes_its_type(leased, tree):
    (tree / "file").unlink()
    (tree / "file").symlink_to("src/a")

    assert told(stage(leased.worktree, "at-1", "candidate")) == {"file": "type-changed"}


def test_said_again_it_is_the_same_commit(ground, leased, tree):
    (tree / "file").write_text("two\n")
    first = stage(leased.worktree, "at-1", "candidate")

    assert stage(leased.worktree, "at-1", "candidate") == first

    (tree / "file").write_text("three\n")
    second = stage(leased.worktree, "at-1", "candidate")
    assert second.commit != first.commit
    assert ground.git("rev-parse", first.ref).decode().strip() == second.commit


def test_worktree_index_and_references_stay_as_they_are(ground, leased, tree):
    (tree / "file").write_text("two\n")
    (tree / "new").write_text("new")
    before = ground.git("for-each-ref"), ground.git("status", "--porcelain", cwd=tree)
    index = Path(leased.worktree.git_dir, "index").read_bytes()

    staged = stage(leased.worktree, "at-1", "salvage")

    assert Path(leased.worktree.git_dir, "index").read_bytes() == index
    ground.git("update-ref", "-d", staged.ref)
    assert (ground.git("for-each-ref"), ground.git("status", "--porcelain", cwd=tree)) == before


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_flags_of_the_index_hide_nothing(ground, leased, tree, flag):
    ground.git("update-index", flag, "file", cwd=tree)
    (tree / "file").write_text("two\n")

    assert told(stage(leased.worktree, "at-1", "candidate")) == {"file": "modified"}


def test_a_change_that_keeps_size_and_time_is_seen(leased, tree):
    before = (tree / "file").stat()
    (tree / "file").write_text("two\n")
    os.utime(tree / "file", ns=(before.st_atime_ns, before.st_mtime_ns))

    assert told(stage(leased.worktree, "at-1", "candidate")) == {"file": "modified"}


def test_the_same_is_seen_without_anything_that_was_known(leased, tree):
    (tree / "file").write_text("two\n")
    shutil.rmtree(f"{tree}.git")

    assert told(stage(leased.worktree, "at-1", "candidate")) == {"file": "modified"}


CRLF = b"one\r\ntwo\r\n$Id: 5 $\r\n\xff\xfe"


ATTRIBUTES = (
    "* text=auto",
    "* text eol=crlf",
    "* ident",
    "* working-tree-encoding=UTF-16",
    "* filter=evil",
    "[attr]odd text filter=evil\n* odd",
    "* binary export-subst diff=evil merge=evil",
)
ALL = "* text eol=crlf ident filter=evil working-tree-encoding=UTF-16"


@pytest.mark.parametrize(
    ("place", "attributes"), [*(("agent", each) for each in ATTRIBUTES), ("base", ALL), ("info", ALL)]
)
def test_bytes_are_what_they_are_and_nothing_is_started(ground, tmp_path, place, attributes):
    mark = tmp_path / "started"
    program = f"touch '{mark}'; cat"
    for key in (
        "filter.evil.clean",
        "filter.evil.smudge",
        "diff.evil.textconv",
        "diff.evil.command",
        "merge.evil.driver",
    ):
        ground.git("config", key, program)
    ground.git("config", "filter.evil.required", "true")
    ground.git("config", "core.autocrlf", "true")
    ground.git("config", "core.safecrlf", "true")
    if place == "base":
        (ground.root / "known").write_bytes(CRLF)
        ground.git("-c", "core.safecrlf=false", "-c", "core.autocrlf=false", "add", "known")
        ground.git("commit", "-q", "-m", "before there were attributes")
        (ground.root / ".gitattributes").write_text(attributes)
        oid = ground.git("hash-object", "-w", "--no-filters", ".gitattributes").decode().strip()
        ground.git("update-index", "--add", "--cacheinfo", f"100644,{oid},.gitattributes")
        ground.git("commit", "-q", "-m", "attributes")
    if place == "info":
        Path(ground.root, ".git", "info").mkdir(exist_ok=True)
        Path(ground.root, ".git", "info", "attributes").write_text(attributes)
    mark.unlink(missing_ok=True)
    leased = ground.take()
    tree = Path(leased.worktree.path)
    if place == "agent":
        (tree / ".gitattributes").write_text(attributes)
    (tree / "file").write_bytes(CRLF)
    (tree / "new").write_bytes(CRLF)

    staged = stage(leased.worktree, "at-1", "candidate")
    patch(staged, leased.worktree)
    leased.release(reusable=True)

    objects = [ground.git("cat-file", "blob", f"{staged.commit}:{name}") for name in ("file", "new")]
    assert objects == [CRLF, CRLF]
    assert not mark.exists()
    assert {path: state for path, state in told(staged).items() if path != ".gitattributes"} == {
        "file": "modified",
        "new": "added",
    }


SETTINGS = {
    "programs": {
        "core.fsmonitor": "PROGRAM",
        "core.hooksPath": "HOOKS",
        "commit.gpgSign": "true",
        "gpg.program": "PROGRAM",
        "core.pager": "PROGRAM",
        "core.editor": "PROGRAM",
        "core.sshCommand": "PROGRAM",
        "credential.helper": "PROGRAM",
        "alias.write-tree": "!PROGRAM",
        "diff.external": "PROGRAM",
        "core.alternateRefsCommand": "PROGRAM",
    },
    "shape": {
        "core.attributesFile": "ATTRIBUTES",
        "core.excludesFile": "ATTRIBUTES",
        "core.fileMode": "false",
        "core.symlinks": "false",
        "core.ignoreCase": "true",
        "core.sparseCheckout": "true",
        "core.splitIndex": "true",
        "core.logAllRefUpdates": "always",
        "status.showUntrackedFiles": "no",
        "submodule.recurse": "true",
    },
    "include": {"include.path": "INCLUDED"},
    "include-if": {"includeIf.gitdir:/**.path": "INCLUDED"},
    "worktree": {"core.worktree": "/"},
    "bare": {"core.bare": "true"},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_no_setting_of_the_repository_starts_or_changes_anything(ground, tmp_path, settings):
    mark, hooks = tmp_path / "started", tmp_path / "hooks"
    words = {"PROGRAM": hooks / "program", "HOOKS": hooks}
    words |= {"INCLUDED": tmp_path / "included", "ATTRIBUTES": tmp_path / "attributes"}
    hooks.mkdir()
    (ground.root / ".git" / "hooks").mkdir(exist_ok=True)
    for name in ("program", "reference-transaction", "post-index-change", "post-checkout", "pre-commit", "post-commit"):
        for folder in (hooks, ground.root / ".git" / "hooks"):
            (folder / name).write_text(f"#!/bin/sh\ntouch '{mark}'\n")
            (folder / name).chmod(0o755)
    words["ATTRIBUTES"].write_text("* text\nnew\n")
    lines = [f"fsmonitor = {hooks}/program", f"hooksPath = {hooks}", f"excludesFile = {words['ATTRIBUTES']}"]
    words["INCLUDED"].write_text("\n\t".join(["[core]", "autocrlf = input", *lines]))
    found = ground.facts()
    for key, value in settings.items():
        kind = value.strip("!")
        ground.git("config", key, value.replace(kind, str(words.get(kind, kind))))
    mark.unlink(missing_ok=True)

    leased = Pool(found, ground.state, 8).take("at-1", found.head)
    tree = Path(leased.worktree.path)
    (tree / "new").write_bytes(CRLF)
    (tree / "src" / "a").chmod(0o755)
    staged = stage(leased.worktree, "at-1", "candidate")
    patch(staged, leased.worktree)
    fingerprint(leased.worktree)
    leased.release(reusable=True)

    assert told(staged) == {"new": "added", "src/a": "modified"}
    assert not mark.exists()


def test_an_inner_repository_is_files(ground, leased, tree):
    inner = tree / "inner"
    ground.git("init", "-q", str(inner))
    (inner / "file").write_text("inner")
    (inner / "x.log").write_text("ignored")
    (inner / "deep").mkdir()
    ground.git("init", "-q", str(inner / "deep"))
    (inner / "deep" / "file").write_text("deep")
    ground.git("init", "-q", str(tree / "src"))
    (tree / "src" / "new").write_text("new")
    (inner / ":(top)x").write_text("no magic")

    staged = stage(leased.worktree, "at-1", "candidate")

    assert told(staged) == {
        "inner/:(top)x": "added",
        "inner/deep/file": "added",
        "inner/file": "added",
        "src/new": "added",
    }
    assert staged.ignored == ("inner/x.log",)
    assert [note.split("`")[1] for note in staged.notes] == ["inner", "inner/deep", "src"]


def test_an_inner_repository_with_a_commit_does_not_become_a_submodule(ground, leased, tree):
    ground.git("clone", "-q", str(ground.root), str(tree / "inner"))
    (tree / ".gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n\turl = ext::sh -c evil\n')

    staged = stage(leased.worktree, "at-1", "candidate")

    assert "160000" not in ground.listed(staged.commit).values()
    assert told(staged)["inner/src/a"] == "added"


def test_names_git_refuses_are_noted(leased, tree):
    refused = [".GIT", "git~1", ".git ", ".git.", ".Git::$INDEX_ALLOCATION", ".g\u200cit", "x\\.git", ".git\\x"]
    for name in refused:
        (tree / "src" / name).mkdir()
        (tree / "src" / name / "config").write_text("evil")
    (tree / ".GIT").write_text("evil")
    (tree / "src" / "git").write_text("a good name")
    (tree / "src" / ".gitmodules").symlink_to("../file")
    (tree / "src" / ".gitkeep").write_text("")

    staged = stage(leased.worktree, "at-1", "candidate")

    assert told(staged) == {"src/.gitkeep": "added", "src/git": "added"}
    assert len(staged.notes) == len(refused) + 2


def test_pipes_and_sockets_are_noted_and_nobody_waits(leased, tree, monkeypatch):
    os.mkfifo(tree / "pipe")
    (tree / "file").unlink()
    os.mkfifo(tree / "file")
    monkeypatch.chdir(tree)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")

        staged = stage(leased.worktree, "at-1", "candidate")

    assert told(staged) == {"file": "deleted"}
    assert [note.split("`")[1] for note in staged.notes] == ["file", "pipe", "socket"]


def test_odd_names_are_kept(ground, leased, tree):
    names = [
        b"new\nline",
        b"tab\t",
        b'quo"te',
        b"back\\slash",
        b"\xff\xfe",
        b"-dash",
        b" space ",
        b"*",
        b":(top)x",
        b"#",
    ]
    for name in names:
        Path(os.fsdecode(os.fsencode(tree) + b"/" + name)).write_bytes(name)

    staged = stage(leased.worktree, "at-1", "candidate")

    assert {path for path in ground.listed(staged.commit) if path in names} == set(names)
    assert {change.path for change in staged.changes} == {
        "new\nline",
        "tab\t",
        'quo"te',
        "back\\\\slash",
        "\\xff\\xfe",
        "-dash",
        " space ",
        "*",
        ":(top)x",
        "#",
    }


def test_what_is_locked_away_is_opened(ground, leased, tree):
    (tree / "closed").mkdir()
    (tree / "closed" / "file").write_text("work")
    (tree / "file").write_text("two\n")
    (tree / "file").chmod(0)
    (tree / "closed").chmod(0)
    tree.chmod(0)

    staged = stage(leased.worktree, "at-1", "candidate")

    assert told(staged) == {"closed/file": "added", "file": "modified"}
    assert ground.show(staged.commit, "closed/file") == b"work"
    assert staged.notes == ()


def test_a_file_that_is_too_large_is_noted_and_stays_as_it_was(ground, leased, tree):
    (tree / "large").write_bytes(b"x" * 5000)
    (tree / "file").write_bytes(b"x" * 5000)

    staged = stage(leased.worktree, "at-1", "candidate", largest=4999)

    assert staged.changes == ()
    assert len(staged.notes) == 2
    assert ground.show(staged.commit, "file") == b"one\n"


def test_a_file_of_several_pieces_is_whole(ground, leased, tree):
    content = os.urandom(3_500_000)
    (tree / "large").write_bytes(content)

    staged = stage(leased.worktree, "at-1", "candidate")

    assert ground.git("cat-file", "blob", f"{staged.commit}:large") == content
    ground.git("fsck", "--strict")


def test_thousands_of_files(leased, tree):
    (tree / "many").mkdir()
    for number in range(1200):
        (tree / "many" / str(number)).write_text(str(number))
        (tree / f"{number}.log").write_text("")

    staged = stage(leased.worktree, "at-1", "candidate")

    assert len(staged.changes) == 1200
    assert len(staged.ignored) == MOST_IGNORED


def test_folders_too_deep_are_noted(leased, tree):
    here = os.open(tree, os.O_RDONLY)
    for name in ["d", *["long" * 40] * 30, *["d"] * 150]:
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    (tree / "new").write_text("new")

    staged = stage(leased.worktree, "at-1", "candidate")
    leased.release(reusable=True)

    assert told(staged) == {"new": "added"}
    assert "too deep" in staged.notes[0]
    assert not (tree / "d").exists()


def test_a_gitignore_that_hides_everything_is_told(leased, tree):
    (tree / ".gitignore").write_text("*\n")
    (tree / "new").write_text("hidden")
    (tree / "file").write_text("two\n")

    staged = stage(leased.worktree, "at-1", "candidate")

    assert told(staged) == {".gitignore": "modified", "file": "modified"}
    assert staged.ignored == ("new",)


def test_what_the_owner_ignores_alone_is_ignored(ground):
    Path(ground.root, ".git", "info").mkdir(exist_ok=True)
    Path(ground.root, ".git", "info", "exclude").write_text("mine\n")
    leased = ground.take()
    Path(leased.worktree.path, "mine").write_text("x")

    staged = stage(leased.worktree, "at-1", "candidate")

    assert (staged.changes, staged.ignored) == ((), ("mine",))


@pytest.fixture
def with_submodule(ground, tmp_path):
    ground.git("clone", "-q", str(ground.root), str(tmp_path / "other"))
    ground.git("submodule", "add", "-q", str(tmp_path / "other"), "sub")
    ground.commit()
    return ground.take()


def test_a_submodule_keeps_its_commit_and_a_salvage_keeps_its_files(with_submodule):
    tree = Path(with_submodule.worktree.path)
    (tree / "sub" / "file").write_text("work")

    staged = stage(with_submodule.worktree, "at-1", "candidate")
    salvaged = stage(with_submodule.worktree, "at-1", "salvage")

    assert staged.changes == ()
    assert "`sub` is a submodule" in staged.notes[0]
    assert told(salvaged) == {"sub": "deleted", "sub/file": "added"}


@pytest.mark.parametrize("kind", ["gone", "file", "link"])
def test_a_submodule_that_is_no_longer_one(with_submodule, kind):
    sub = Path(with_submodule.worktree.path, "sub")
    sub.rmdir()
    if kind == "file":
        sub.write_text("x")
    if kind == "link":
        sub.symlink_to("file")

    staged = stage(with_submodule.worktree, "at-1", "candidate")

    assert told(staged) == {"sub": "deleted" if kind == "gone" else "type-changed"}


def test_a_repository_of_another_object_format(tmp_path):
    ground = Ground(tmp_path / "repository", "sha256")
    ground.commit(file="one\n")
    leased = ground.take()
    Path(leased.worktree.path, "file").write_text("two\n")

    staged = stage(leased.worktree, "at-1", "candidate")

    assert len(staged.commit) == 64
    assert ground.show(staged.commit, "file") == b"two\n"
    ground.git("fsck", "--strict")


def test_the_project_may_itself_be_a_linked_worktree(ground, tmp_path):
    ground.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    main, ground.root = ground.root, tmp_path / "side"
    ground.commit(file="side\n")

    leased = ground.pool().take("at-1", ground.facts("side").head)
    Path(leased.worktree.path, "new").write_text("x")
    staged = stage(leased.worktree, "at-1", "candidate")

    assert leased.worktree.common_dir == str(main / ".git")
    assert told(staged) == {"new": "added"}
    assert ground.show(staged.commit, "file") == b"side\n"


@pytest.mark.parametrize("name", ["", "../x", "a/b", "x.lock", "a..b", "-x", "a b", "x.", "a\n", "x" * 300])
def test_an_attempt_whose_name_could_lead_elsewhere_is_refused(leased, name):
    with pytest.raises(IllegalMove, match="not the name of an attempt"):
        stage(leased.worktree, name, "candidate")


def test_a_reference_that_cannot_be_written_is_one_clear_error(ground, leased):
    ground.git("update-ref", "refs/keisei/candidate", "HEAD")

    with pytest.raises(WorldFault, match="git update-ref failed"):
        stage(leased.worktree, "at-1", "candidate")


def test_a_patch_makes_the_base_the_candidate(ground, leased, tree):
    (tree / "file").write_bytes(bytes(range(256)))
    (tree / "src" / "b").unlink()
    (tree / "new").write_text("new")
    staged = stage(leased.worktree, "at-1", "candidate")
    made = patch(staged, leased.worktree)
    subprocess.run(["git", "-C", str(ground.root), "apply", "--index", "-"], input=made, check=True)

    assert ground.git("write-tree").decode().strip() == staged.tree


def test_a_long_patch_is_cut_and_says_so(leased, tree):
    (tree / "new").write_text("line\n" * 10_000)
    staged = stage(leased.worktree, "at-1", "candidate")

    made = patch(staged, leased.worktree, most=1000)

    assert made[1000:] == f"\n# cut after 1000 bytes; the whole is in commit {staged.commit}\n".encode()


def test_a_persons_own_checkout_is_staged_without_a_trace_in_it_or_beside_it(ground, tmp_path):
    facts, root = ground.facts(), ground.root
    (root / "file").write_text("two\n")
    (root / "new").write_text("n")
    (root / "x.log").write_text("ignored")
    ground.git("add", "new")
    root.chmod(0o700)
    own = Worktree(slot="", path=facts.root, git_dir=facts.common_dir, common_dir=facts.common_dir, base=facts.head)
    before = (sorted(root.parent.iterdir()), sorted(root.iterdir()), (root / ".git" / "index").read_bytes())

    staged = stage(own, "at-1", "candidate", private=tmp_path / "ours")

    assert told(staged) == {"file": "modified", "new": "added"}
    assert staged.ignored == ("x.log",)
    assert root.stat().st_mode & 0o777 == 0o700
    (tmp_path / "ours").rename(tmp_path.parent / f"{tmp_path.name} ours")
    assert (sorted(root.parent.iterdir()), sorted(root.iterdir()), (root / ".git" / "index").read_bytes()) == before
    assert ground.git("status", "--porcelain") == b" M file\nA  new\n"


def test_a_folder_of_ours_that_cannot_be_is_one_clear_error(leased, tmp_path):
    with pytest.raises(WorldFault, match="nowhere"):
        stage(leased.worktree, "at-1", "candidate", private=tmp_path / "nowhere" / "ours")
