"""kei-git-read: what its pages promise, on real repositories, friendly and hostile."""

import base64
import json
import os
import shlex
import shutil
import subprocess
from importlib import import_module
from pathlib import Path

import pytest
from jsonschema_rs import Draft7Validator

from keisei.cli.primitive_page import example
from tests.kit.desk import PRIMITIVES, Context, Declared, output_of, spec_of

VERBS = ("log", "diff", "blame", "show", "status", "refs", "search", "files")
WHO = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "2026-04-22T15:30:00+02:00",
    "GIT_COMMITTER_NAME": "Bo",
    "GIT_COMMITTER_EMAIL": "bo@example.org",
    "GIT_COMMITTER_DATE": "2026-04-23T10:00:00+00:00",
}


def git(folder, *words, given=b"", **more):
    env = {"PATH": os.environ["PATH"], **WHO, **more}
    return subprocess.run(["git", *words], cwd=folder, env=env, input=given, capture_output=True, check=True).stdout


def commit(folder, message="Change", **files):
    """Write files, commit them all; the id."""
    for name, text in files.items():
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD").decode().strip()


def call(verb, repo, **given):
    """What the verb returns, as its schema says."""
    atom = f"kei-git-read::{verb}"
    output = import_module(f"kei_git_read.atoms.{verb}").run({"repo": str(repo), **given}, Context(None, atom, "i1"))
    output_of(atom).validate(output)
    return output


def refused(verb, repo, **given):
    with pytest.raises(Declared) as error:
        call(verb, repo, **given)
    return error.value.code


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    folder = tmp_path_factory.mktemp("begun") / "a repo"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main", "--template=")
    commit(folder, "Begin\n\nWith a body.\n", a="one\ntwo\n")
    return folder


@pytest.fixture
def repo(tmp_path, begun):
    """A repository with one commit, at a path with a blank."""
    return Path(shutil.copytree(begun, tmp_path / "a repo"))


def needs(verb):
    return {"blame": {"path": "a"}, "search": {"pattern": "two"}}.get(verb, {})


def test_the_verbs_are_those_that_were_promised():
    pages = {path.stem for path in (PRIMITIVES / "kei-git-read").glob("src/*/atoms/*.md")}

    assert pages == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_only_reads(verb):
    manifest = spec_of(f"kei-git-read::{verb}").manifest

    assert manifest.kind == "query"
    assert [(each.op, each.domain) for each in manifest.side_effects] == [
        ("read", "git:{repo}/**"),
        ("subprocess", "git"),
    ]


@pytest.mark.parametrize("verb", VERBS)
def test_a_page_is_short_and_its_example_fits(verb):
    spec = spec_of(f"kei-git-read::{verb}")
    lines = example(Path(spec.page).read_text())

    assert len(spec.summary) <= 200
    assert lines
    for line in lines:
        *command, text = shlex.split(line)
        assert command == ["keisei", "atom", "invoke", spec.id, "--input"]
        Draft7Validator(spec.input_schema).validate(json.loads(text))


@pytest.mark.parametrize("case", ["empty", "missing", "file", "inside", "nul", "broken"])
def test_what_is_no_repository_is_a_declared_error(tmp_path, repo, case):
    (tmp_path / "file").write_text("")
    (repo / "inside").mkdir()
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    place = {"missing": tmp_path / "nowhere", "inside": repo / "inside", "nul": "a\0b"}.get(case, tmp_path / case)

    for verb in VERBS:
        assert refused(verb, place, **needs(verb)) == "NotARepository"


def test_a_machine_without_git_is_a_declared_error(repo, monkeypatch):
    monkeypatch.chdir(repo)
    (repo / "git").write_text("#!/bin/sh\ntouch started\n")
    (repo / "git").chmod(0o755)
    monkeypatch.setenv("PATH", ".:")

    for verb in VERBS:
        assert refused(verb, repo, **needs(verb)) == "GitMissing"
    assert not (repo / "started").exists()


def test_a_log_tells_commits_newest_first_page_by_page(repo):
    ids = [git(repo, "rev-parse", "HEAD").decode().strip()]
    ids += [commit(repo, f"Number {number}", a=f"{number}\n") for number in range(3)]

    first = call("log", repo, limit=3, stats=True)
    rest = call("log", repo, limit=3, offset=first["next"])

    assert [each["id"] for each in first["commits"] + rest["commits"]] == ids[::-1]
    assert (first["next"], rest["next"]) == (3, None)
    assert first["commits"][0]["stats"] == {"files": 1, "insertions": 1, "deletions": 1}
    assert first["commits"][0]["parents"] == [ids[2]]
    (begin,) = rest["commits"]
    assert (begin["subject"], begin["body"], begin["parents"]) == ("Begin", "With a body.", [])
    assert begin["author"] == {"name": "Ada", "email": "ada@example.org", "date": "2026-04-22T15:30:00+02:00"}
    assert begin["committer"]["date"] == "2026-04-23T10:00:00+00:00"


def test_a_log_is_narrowed(repo):
    commit(repo, "Add b.*", b="b\n")
    git(repo, "commit", "--quiet", "--allow-empty", "--message", "By Cy", "--author", "Cy <cy@example.org>")

    def subjects(**given):
        return [each["subject"] for each in call("log", repo, **given)["commits"]]

    assert subjects(paths=["b"]) == subjects(grep="B.*") == subjects(base="HEAD~2", rev="HEAD~1") == ["Add b.*"]
    assert subjects(author="cy@") == ["By Cy"]
    assert subjects(author="c.@") == subjects(until="2001-01-01") == subjects(paths=["*"]) == []
    assert len(subjects(paths=["./"])) == len(subjects(since="2026-04-23T10:00:00Z")) == 3


def test_a_merge_is_counted_against_its_first_parent(repo):
    git(repo, "checkout", "--quiet", "-b", "side")
    commit(repo, b="1\n2\n")
    git(repo, "checkout", "--quiet", "main")
    commit(repo, c="3\n")
    git(repo, "merge", "--quiet", "--no-edit", "side")

    (merge, *_) = call("log", repo, limit=1, stats=True)["commits"]
    shown = call("show", repo)

    assert len(merge["parents"]) == 2
    assert merge["stats"] == {"files": 1, "insertions": 2, "deletions": 0}
    assert [each["path"] for each in shown["changes"]["files"]] == ["b"]
    assert len(call("log", repo, first_parent=True)["commits"]) == 3


def test_differences_of_every_kind_are_told_with_their_patches(repo):
    commit(repo, "More", b="b\n" * 20, gone="x\n", kind="k\n", binary="\0")
    (repo / "b").rename(repo / "moved\nline")
    (repo / "gone").unlink()
    (repo / "kind").unlink()
    (repo / "kind").symlink_to("a")
    (repo / "binary").write_bytes(b"\0\1")
    (repo / "a").chmod(0o755)
    head = commit(repo, "Again", new="diff --git a/x b/x\n")

    found = call("diff", repo, base="HEAD~1", head=head)
    files = {each["path"]: each for each in found["files"]}

    statuses = {name: each["status"] for name, each in files.items()}
    assert statuses == {
        "a": "modified",
        "binary": "modified",
        "gone": "deleted",
        "kind": "type-changed",
        "moved\nline": "renamed",
        "new": "added",
    }
    assert files["moved\nline"]["old_path"] == "b"
    assert (files["a"]["old_mode"], files["a"]["mode"]) == ("100644", "100755")
    assert (files["binary"]["insertions"], files["new"]["insertions"]) == (None, 1)
    assert "+diff --git a/x b/x\n" in files["new"]["patch"]
    assert files["kind"]["patch"].count("diff --git ") == 2
    assert files["gone"]["patch"].endswith("-x\n")
    assert "rename to" in files["moved\nline"]["patch"]
    assert not found["truncated"]
    assert call("show", repo)["changes"] == found


def test_differences_with_the_worktree_and_with_what_is_staged(repo):
    (repo / "a").write_text("one\n")
    git(repo, "add", "a")
    (repo / "a").write_text("three\n")

    def told(**given):
        return [(each["insertions"], each["deletions"]) for each in call("diff", repo, patch=False, **given)["files"]]

    assert told() == [(1, 1)]
    assert told(staged=True) == [(0, 1)]
    assert told(base="HEAD") == [(1, 2)]
    assert told(base="HEAD", paths=["b"]) == []


def test_a_difference_since_two_histories_parted(repo):
    git(repo, "checkout", "--quiet", "-b", "side")
    commit(repo, b="b\n")
    git(repo, "checkout", "--quiet", "main")
    commit(repo, c="c\n")
    git(repo, "checkout", "--quiet", "--orphan", "alone")
    commit(repo, d="d\n")

    def names(**given):
        return [each["path"] for each in call("diff", repo, head="side", **given)["files"]]

    assert names(base="main") == ["b", "c"]
    assert names(base="main", merge_base=True) == ["b"]
    assert refused("diff", repo, base="alone", head="main", merge_base=True) == "NoMergeBase"


def test_patches_are_bounded_and_files_too(repo):
    commit(repo, **{f"f{number}": "x" * 1000 for number in range(5)})

    small = call("diff", repo, base="HEAD~1", head="HEAD", max_bytes=2000)
    few = call("diff", repo, base="HEAD~1", head="HEAD", limit=2)

    assert sum(len(each["patch"]) for each in small["files"]) == 2000
    assert [each["patch_truncated"] for each in small["files"]] == [False, True, True, True, True]
    assert (len(few["files"]), few["truncated"], small["truncated"], few["insertions"]) == (2, True, True, 5)


def test_conflicts_are_named(repo):
    git(repo, "checkout", "--quiet", "-b", "side")
    commit(repo, a="side\n")
    git(repo, "checkout", "--quiet", "main")
    commit(repo, a="main\n", z="z\n")
    with pytest.raises(subprocess.CalledProcessError):
        git(repo, "merge", "--quiet", "side")
    (repo / "z").write_text("zz\n")

    files = call("diff", repo)["files"]
    entries = call("status", repo)["entries"]

    assert [(each["path"], each["status"]) for each in files] == [("a", "unmerged"), ("z", "modified")]
    assert "+zz\n" in files[1]["patch"]
    assert ("a", "unmerged") in [(each["path"], each["state"]) for each in entries]
    assert [each["path"] for each in call("files", repo)["files"]] == ["a", "z"]


def test_a_blame_leads_to_the_commits(repo):
    first = git(repo, "rev-parse", "HEAD").decode().strip()
    git(repo, "mv", "a", 'b "q"\n')
    second = commit(repo, "Second", **{'b "q"\n': "one\ntwo\nthree"})

    found = call("blame", repo, path='b "q"\n')
    part = call("blame", repo, path='b "q"\n', first=2, limit=1)

    assert [(each["commit"], each["original_path"], each["text"]) for each in found["lines"]] == [
        (first, "a", "one"),
        (first, "a", "two"),
        (second, 'b "q"\n', "three"),
    ]
    assert [(each["id"], each["subject"]) for each in found["commits"]] == [(first, "Begin"), (second, "Second")]
    assert [each["line"] for each in part["lines"]] == [2]
    assert (found["total"], found["truncated"], part["truncated"]) == (3, False, True)
    assert call("blame", repo, path='b "q"\n', first=9)["lines"] == []
    assert call("blame", repo, path="a", rev="HEAD~1")["total"] == 2


def test_a_file_is_shown_as_it_was(repo):
    raw = bytes(range(256))
    (repo / "raw").write_bytes(raw)
    (repo / "link").symlink_to("/etc/passwd")
    commit(repo, a="äöü", empty="")

    def shown(path, **given):
        return call("show", repo, path=path, **given)["file"]

    assert (shown("a")["content"], shown("a", rev="HEAD~1")["content"]) == ("äöü", "one\ntwo\n")
    assert (shown("a", max_bytes=3)["content"], shown("a", max_bytes=3)["truncated"]) == ("ä", True)
    assert (base64.b64decode(shown("raw")["content"]), shown("raw")["encoding"]) == (raw, "base64")
    assert (shown("link")["type"], shown("link")["content"]) == ("link", "/etc/passwd")
    assert (shown("empty")["content"], shown("empty")["size"], shown("./a")["path"]) == ("", 0, "a")


@pytest.mark.parametrize("path", ["b", "a/b", "../a", "/a", "a\0", "x" * 5000, ":(top)a"])
def test_a_path_that_is_not_there_is_a_declared_error(repo, path):
    assert refused("show", repo, path=path) == refused("blame", repo, path=path) == "UnknownPath"
    assert refused("files", repo, path=path) == "UnknownPath"


def test_a_revision_is_one_commit_or_a_declared_error(repo):
    wrong = ["none", "-n1", "--all", "HEAD..HEAD", "^HEAD", "HEAD:a", ":/Begin", "HEAD^{/Begin}", "HEAD~9", "", "a b"]
    wrong += ["HEAD^{tree}", "0" * 40, "f" * 40, "@{-1}", "HEAD\n", "\0", "é", "x" * 300, "--upload-pack=x", "@{/B}"]
    context = Context(None, "kei-git-read::log", "i1")
    with import_module("kei_git_read.repository").opened({"repo": str(repo)}, context) as found:
        resolved = import_module("kei_git_read.revision").resolved
        right = {resolved(found, name) for name in ("@", "@{0}", "HEAD", "main", "refs/heads/main", "HEAD~0", "HEAD^0")}

        assert {each: resolved(found, each) for each in wrong} == dict.fromkeys(wrong)
        assert right == {git(repo, "rev-parse", "HEAD").decode().strip()}
    for verb in ("log", "show", "blame", "files", "search"):
        assert refused(verb, repo, rev="-n1", **needs(verb)) == "UnknownRevision"
    assert refused("diff", repo, base="-n1") == "UnknownRevision"


def test_a_repository_without_commits_has_a_status_and_no_history(tmp_path):
    git(tmp_path, "init", "--quiet", "--initial-branch=trunk")
    (tmp_path / "new").write_text("")

    status = call("status", tmp_path)

    assert (status["head"], status["branch"], status["upstream"], status["clean"]) == (None, "trunk", None, False)
    assert [each["state"] for each in status["entries"]] == ["untracked"]
    assert refused("log", tmp_path) == refused("show", tmp_path) == "UnknownRevision"
    assert call("files", tmp_path)["files"] == call("diff", tmp_path)["files"] == []
    assert call("refs", tmp_path) == {"head": {"id": None, "name": "refs/heads/trunk"}, "refs": [], "truncated": False}


def test_a_status_tells_what_differs_and_from_what(repo):
    origin = repo.parent / "origin"
    git(repo.parent, "clone", "--quiet", "--bare", str(repo), str(origin))
    git(repo, "remote", "add", "origin", str(origin))
    git(repo, "fetch", "--quiet", "origin")
    git(repo, "branch", "--quiet", "--set-upstream-to=origin/main")
    commit(repo, b="b\n" * 9, c="c\n", d="d\n")
    git(repo, "mv", "b", "moved")
    (repo / "c").write_text("cc\n")
    (repo / "d").unlink()
    (repo / "folder").mkdir()
    (repo / "folder" / "n\nw").write_text("")

    found = call("status", repo)
    entries = [(e["path"], e.get("old_path"), e["state"], e["staged"], e["worktree"]) for e in found["entries"]]

    assert (found["branch"], found["clean"]) == ("main", False)
    assert found["upstream"] == {"name": "refs/remotes/origin/main", "ahead": 1, "behind": 0}
    assert sorted(entries) == [
        ("c", None, "changed", None, "modified"),
        ("d", None, "changed", None, "deleted"),
        ("folder/", None, "untracked", None, None),
        ("moved", "b", "changed", "renamed", None),
    ]
    assert [e["path"] for e in call("status", repo, untracked="all")["entries"]][-1] == "folder/n\nw"
    assert call("status", repo, limit=1)["truncated"]
    assert [ref["upstream"] for ref in call("refs", repo, kinds=["branch"])["refs"]] == ["refs/remotes/origin/main"]


def test_what_a_repository_says_of_its_own_worktree_counts(repo):
    git(repo, "config", "core.autocrlf", "true")
    git(repo, "config", "core.fileMode", "false")
    (repo / ".git" / "info").mkdir()
    (repo / ".git" / "info" / "exclude").write_text("*.tmp\n")
    (repo / "x.tmp").write_text("")
    (repo / "a").write_bytes(b"one\r\ntwo\r\n")
    (repo / "a").chmod(0o755)

    assert call("diff", repo)["files"] == []
    assert "x.tmp" not in [each["path"] for each in call("status", repo)["entries"]]
    git(repo, "config", "core.autocrlf", "false")
    (changed,) = call("diff", repo)["files"]
    assert (changed["insertions"], changed["mode"]) == (2, "100644")


def test_references_lead_to_commits(repo):
    head = git(repo, "rev-parse", "HEAD").decode().strip()
    git(repo, "tag", "plain")
    git(repo, "tag", "--annotate", "told", "--message", "x")
    git(repo, "tag", "tree", "HEAD^{tree}")
    git(repo, "update-ref", "refs/notes/x", "HEAD")
    git(repo, "checkout", "--quiet", "--detach")

    found = call("refs", repo)
    refs = {each["name"]: (each["kind"], each["type"], each["commit"]) for each in found["refs"]}

    assert found["head"] == {"id": head, "name": None}
    assert refs == {
        "refs/heads/main": ("branch", "commit", head),
        "refs/notes/x": ("other", "commit", head),
        "refs/tags/plain": ("tag", "commit", head),
        "refs/tags/told": ("tag", "tag", head),
        "refs/tags/tree": ("tag", "tree", None),
    }
    assert call("refs", repo, kinds=["tag"], limit=2)["truncated"]
    assert call("show", repo, rev="told")["commit"] == head


def test_a_search_finds_lines_in_the_worktree_and_in_commits(repo):
    commit(repo, **{"n\n:1": "a:b\n\n  tWo*\n"})
    (repo / "a").write_text("one\ntwo\nnew two\n")
    (repo / "untracked").write_text("two")

    def lines(pattern, **given):
        found = call("search", repo, pattern=pattern, **given)["matches"]
        return [(each["path"], each["line"], each["column"], each["text"]) for each in found]

    assert lines("two") == [("a", 2, 1, "two"), ("a", 3, 5, "new two")]
    assert lines("two", rev="HEAD") == [("a", 2, 1, "two")]
    assert lines("two*", ignore_case=True) == [("n\n:1", 3, 3, "  tWo*")]
    assert lines("a:b", rev="HEAD") == [("n\n:1", 1, 1, "a:b")]
    assert lines("^t|^n", regex=True) == [("a", 2, 1, "two"), ("a", 3, 1, "new two")]
    assert lines("--help") == lines("ne", whole_words=True) == lines("two", paths=["*"]) == []
    assert call("search", repo, pattern="two", limit=1)["truncated"]
    assert refused("search", repo, pattern="(", regex=True) == "BadPattern"


def test_files_are_listed_with_modes_and_sizes(repo):
    (repo / "src" / "deep").mkdir(parents=True)
    (repo / "src" / "deep" / "x.sh").write_text("123")
    (repo / "src" / "deep" / "x.sh").chmod(0o755)
    (repo / "link").symlink_to("a")
    commit(repo)
    (repo / "staged").write_text("s")
    git(repo, "add", "staged")

    def names(**given):
        return [(each["path"], each["type"], each["size"]) for each in call("files", repo, **given)["files"]]

    whole = [("a", "file", 8), ("link", "link", 1), ("src/deep/x.sh", "file", 3)]
    assert names(rev="HEAD") == whole
    assert names() == [*whole, ("staged", "file", 1)]
    assert names(recursive=False)[2] == names(rev="HEAD", recursive=False)[2] == ("src", "folder", None)
    assert names(path="src", recursive=False) == names(path="src/", rev="HEAD", recursive=False)
    assert names(path="src", recursive=False) == [("src/deep", "folder", None)]
    assert names(path="src/deep/x.sh") == names(path="src/deep/x.sh", rev="HEAD") == [("src/deep/x.sh", "file", 3)]
    page = call("files", repo, rev="HEAD", limit=2)
    assert (page["next"], names(rev="HEAD", offset=2)) == (2, whole[2:])
    assert [each["mode"] for each in call("files", repo, path="src")["files"]] == ["100755"]
    assert refused("show", repo, path="src") == "NotAFile"


def test_a_name_that_is_not_utf8_is_told_by_its_bytes(repo):
    name = b"caf\xe9 \xff"
    (Path(os.fsdecode(bytes(repo) + b"/" + name))).write_text("two\n")
    commit(repo)

    wanted = ("caf� �", base64.b64encode(name).decode())
    rows = [
        call("files", repo, rev="HEAD")["files"][1],
        call("files", repo)["files"][1],
        call("diff", repo, base="HEAD~1", head="HEAD")["files"][0],
        call("search", repo, pattern="two")["matches"][1],
    ]
    Path(os.fsdecode(bytes(repo) + b"/" + name)).write_text("changed\n")
    rows.append(call("status", repo)["entries"][0])

    assert [(row["path"], row["path_base64"]) for row in rows] == [wanted] * 5
    assert refused("show", repo, path=wanted[0]) == "UnknownPath"


def sprung(folder):
    """A program that leaves a mark where it is started, and settings that would start it on every occasion."""
    trap, mark = folder.parent / "trap", folder.parent / "sprung"
    trap.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat 2>/dev/null\n")
    trap.chmod(0o755)
    keys = [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "diff.external",
        "pager.log",
        "gpg.program",
    ]
    keys += ["diff.d.command", "diff.d.textconv", "filter.d.clean", "filter.d.smudge", "filter.d.process"]
    keys += ["alias.log", "alias.status", "core.alternateRefsCommand", "credential.helper", "core.askPass"]
    for key in keys:
        git(folder, "config", key, f"!'{trap}'" if key.startswith("alias") else f"'{trap}'")
    (folder / ".gitattributes").write_text("* diff=d filter=d\n")
    hooks = folder / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman"):
        (hooks / name).symlink_to(trap)
    more = folder.parent / "more"
    more.write_text(f"[core]\n\tfsmonitor = '{trap}'\n[diff]\n\texternal = '{trap}'\n")
    git(folder, "config", "include.path", str(more))
    git(folder, "config", "log.showSignature", "true")
    return mark


def test_nothing_that_a_repository_says_is_started(repo):
    commit(repo, b="two\n")
    mark = sprung(repo)
    (repo / "a").write_text("changed\n")
    before = {path: path.stat().st_mtime_ns for path in (repo / ".git").rglob("*")}

    for verb in VERBS:
        call(verb, repo, **needs(verb))
        assert not mark.exists(), verb
    call("diff", repo, base="HEAD~1", head="HEAD")
    call("search", repo, pattern="o", rev="HEAD")

    assert not mark.exists()
    assert {path: path.stat().st_mtime_ns for path in (repo / ".git").rglob("*")} == before
    git(repo, "-c", "core.fsmonitor=false", "diff")  # the trap is one: git by itself steps into it
    assert mark.exists()


def test_a_submodule_is_named_and_never_entered(repo):
    inner = repo.parent / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    commit(inner, x="x\n")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    commit(repo)
    mark = repo.parent / "sprung"
    (repo / "sub" / "x").write_text("changed")
    git(repo / "sub", "config", "core.fsmonitor", f"touch '{mark}'; false")

    assert call("status", repo)["clean"]
    assert call("diff", repo)["files"] == []
    assert not mark.exists()
    found = {each["path"]: (each["type"], each["size"]) for each in call("files", repo)["files"]}
    assert found["sub"] == ("submodule", None)
    assert refused("show", repo, path="sub") == "NotAFile"
    git(repo / "sub", "config", "--unset", "core.fsmonitor")
    after = commit(repo / "sub", x="again")
    (changed,) = call("diff", repo)["files"]
    assert (changed["path"], changed["mode"]) == ("sub", "160000")
    assert f"+Subproject commit {after}" in changed["patch"]


def test_a_bare_repository_has_history_and_no_worktree(repo):
    bare = repo.parent / "bare.git"
    git(repo.parent, "clone", "--quiet", "--bare", str(repo), str(bare))
    git(bare, "config", "core.bare", "false")
    git(bare, "config", "core.worktree", "/")

    assert len(call("log", bare)["commits"]) == len(call("refs", bare)["refs"]) == 1
    assert call("show", bare, path="a")["file"]["content"] == "one\ntwo\n"
    assert call("blame", bare, path="a")["total"] == 2
    assert len(call("search", bare, pattern="two", rev="main", paths=["a"])["matches"]) == 1
    assert [each["path"] for each in call("files", bare, rev="main")["files"]] == ["a"]
    for verb in ("status", "diff", "search", "files"):
        assert refused(verb, bare, **needs(verb)) == "NoWorktree"


def test_a_linked_worktree_is_a_repository(repo):
    git(repo, "worktree", "add", "--quiet", "-b", "side", "../linked")
    linked = repo.parent / "linked"
    (linked / "a").write_text("changed\n")

    status = call("status", linked)

    assert (status["branch"], [each["path"] for each in status["entries"]]) == ("side", ["a"])
    assert call("status", repo)["clean"]
    assert len(call("diff", linked)["files"]) == len(call("log", linked)["commits"]) == 1


def test_a_repository_with_long_hashes_and_a_shallow_one(repo, tmp_path):
    long = tmp_path / "long"
    long.mkdir()
    git(long, "init", "--quiet", "--object-format=sha256")
    head = commit(long, a="two\n")
    commit(repo, a="three\n")
    git(tmp_path, "clone", "--quiet", "--depth=1", repo.as_uri(), "shallow")

    assert len(head) == 64
    assert [each["id"] for each in call("log", long, stats=True)["commits"]] == [head]
    assert call("status", long)["clean"]
    assert call("blame", long, path="a")["lines"][0]["commit"] == head
    assert len(call("log", tmp_path / "shallow", stats=True)["commits"]) == 1
    assert call("show", tmp_path / "shallow")["changes"]["insertions"] == 1


def test_a_split_index_is_read(repo):
    git(repo, "update-index", "--split-index")
    commit(repo, b="b\n")

    assert [each["path"] for each in call("files", repo)["files"]] == ["a", "b"]
    assert call("status", repo)["clean"]


def test_odd_commits_are_told(repo):
    tree = git(repo, "rev-parse", "HEAD^{tree}").decode().strip()

    def made(author, message, extra=""):
        raw = f"tree {tree}\nauthor {author}\ncommitter C <c@x> 1 +0000\n{extra}\n".encode() + message
        return git(repo, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", given=raw).decode().strip()

    latin = call("show", repo, rev=made("A <a@x> 0 -0130", b"caf\xe9\nmore\n\n\nbody\n\nend\n", "encoding latin1\n"))
    broken = call("show", repo, rev=made("nobody", b"\xff", "encoding no-such\n"))
    late = call("show", repo, rev=made("A <a@x> 99999999999999 +9999", b""))

    assert (latin["about"]["subject"], latin["about"]["body"]) == ("café more", "body\n\nend")
    assert latin["about"]["author"]["date"] == "1969-12-31T22:30:00-01:30"
    assert broken["about"]["author"] == {"name": "nobody", "email": "", "date": None}
    assert (broken["about"]["subject"], late["about"]["author"]["date"], late["about"]["subject"]) == ("�", None, "")


def test_a_broken_repository_is_a_declared_error(repo):
    objects = [path for path in (repo / ".git" / "objects").rglob("*") if path.is_file()]
    for path in objects:
        path.chmod(0o644)
        path.write_bytes(b"nothing")

    assert refused("log", repo) == "UnknownRevision"
    assert refused("refs", repo) == "GitFailed"
    for path in objects:
        path.unlink()
    assert call("refs", repo)["refs"][0]["type"] == "missing"
    (repo / ".git" / "index").write_bytes(b"nothing")
    assert refused("files", repo) == "GitFailed"
    (repo / ".git" / "config").write_text("[")
    assert refused("log", repo) == "NotARepository"


def test_too_much_is_cut_or_refused(repo, monkeypatch):
    commit(repo, "x" * 100_000, a="two\n" * 10)
    monkeypatch.setattr(import_module("kei_git_read.atoms.blame"), "LARGEST", 10)
    monkeypatch.setattr(import_module("kei_git_read.repository"), "LARGEST_INDEX", 10)

    (about,) = call("log", repo, limit=1)["commits"]

    assert (len(about["subject"]), about["truncated"]) == (65536, True)
    assert refused("blame", repo, path="a") == refused("status", repo) == "TooLarge"
    monkeypatch.setattr(import_module("kei_git_read.commit"), "LISTING", 1000)
    assert refused("log", repo) == refused("show", repo) == "TooLarge"


def test_a_git_that_does_not_end_is_ended(repo, monkeypatch):
    program = import_module("kei_git_read.program")
    monkeypatch.setattr(program.run_git, "__kwdefaults__", {**program.run_git.__kwdefaults__, "patience_s": 0.0})

    assert refused("log", repo) == "GitFailed"
