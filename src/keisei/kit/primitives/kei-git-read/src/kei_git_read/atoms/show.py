"""kei-git-read::show."""

import base64

from kei_git_read.change import changes, wanted
from kei_git_read.commit import commits
from kei_git_read.context import Context, Data
from kei_git_read.name import told
from kei_git_read.repository import Repository, opened
from kei_git_read.revision import commit_of, object_at

TYPES = {"120000": "link", "160000": "submodule", "040000": "folder"}


def run(given: Data, context: Context) -> Data:
    """One commit with what it changed, or one file as it was then.

    Raises NotARepository, UnknownRevision, UnknownPath, NotAFile, TooLarge, GitFailed, GitMissing.
    """
    with opened(given, context) as repository:
        commit = commit_of(repository, given.get("rev", "HEAD"))
        if "path" in given:
            return {"commit": commit, "file": _file(repository, commit, given)}
        found = commits(repository, [commit])
        if not found:
            raise context.error("TooLarge", f"commit {commit} is too large to be told")
        # A shallow clone knows the name of a parent and not the parent; then all of the commit is new.
        words = ["diff-tree", "-r", "--root", "--no-commit-id", "--diff-merges=first-parent", commit]
        return {"commit": commit, "about": found[0], "changes": changes(repository, wanted(given), *words)}


def _file(repository: Repository, commit: str, given: Data) -> Data:
    name, raw = object_at(repository, commit, given["path"])
    mode = _mode(repository, commit, raw)
    if mode in ("040000", "160000"):
        hint = "kei-git-read::files lists it" if mode == "040000" else "its files stand in another repository"
        raise repository.fail("NotAFile", f"`{given['path']}` is a {TYPES[mode]}; {hint}")
    said = repository.said("cat-file", "--batch-check", lines=[name]).out.split()
    most = given.get("max_bytes", 200_000)
    ran = repository.said("cat-file", "blob", name, most=most)
    about = {"mode": mode, "type": TYPES.get(mode, "file"), "id": name, "size": int(said[2])}
    return told("path", raw) | about | _content(ran.out, cut=ran.cut) | {"truncated": ran.cut}


def _mode(repository: Repository, commit: str, raw: bytes) -> str:
    """What it is; the root is a folder."""
    if not raw:
        return "040000"
    return repository.said("ls-tree", "-z", commit, "--", raw).out.split(b" ", 1)[0].decode("ascii", "replace")


def _content(raw: bytes, *, cut: bool) -> Data:
    """Text where it is text, and base64 of these bytes where it is not. A character that was cut is left out."""
    try:
        return {"encoding": "utf-8", "content": raw.decode("utf-8")}
    except UnicodeDecodeError as error:
        if cut and len(raw) - error.start < 4 and error.reason == "unexpected end of data":  # noqa: PLR2004
            return {"encoding": "utf-8", "content": raw[: error.start].decode("utf-8")}
        return {"encoding": "base64", "content": base64.b64encode(raw).decode("ascii")}
