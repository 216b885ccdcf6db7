"""Revisions: what a person calls a commit, turned into its id."""

import re

from kei_git_read.name import asked
from kei_git_read.repository import SHORT, Repository

REVISION = re.compile(r"[^-\s:^~@{}\[\]*?\\][^\s:\[\]*?\\]*|@(?:[{~^][^\s:\[\]*?\\]*)?")
"""One commit: no option, no range, no path, no search through messages."""
SEARCHES = ("..", "{/")
LONGEST = 256
ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def commit_of(repository: Repository, revision: str) -> str:
    """The id of a commit. Raises UnknownRevision."""
    found = resolved(repository, revision)
    if found is None:
        raise repository.fail("UnknownRevision", f"there is no commit `{revision[:LONGEST]}`")
    return found


def resolved(repository: Repository, revision: str) -> str | None:
    """The id of a commit; None where there is none of that name."""
    well = REVISION.fullmatch(revision) and not any(word in revision for word in SEARCHES)
    if not well or len(revision) > LONGEST or not revision.isprintable():
        return None
    # The repository knows its references; whether the object is a commit, or leads to one, its own objects say.
    named = _id(repository.shared("rev-parse", "--verify", "--quiet", revision).out)
    return named and _id(repository.git("rev-parse", "--verify", "--quiet", f"{named}^{{commit}}", most=SHORT).out)


def object_at(repository: Repository, commit: str, path: str) -> tuple[str, bytes]:
    """The id of what stands at a path of a commit, and the path as git writes it. Raises UnknownPath."""
    raw = asked(repository.context, path)
    found = _id(repository.git("rev-parse", "--verify", "--quiet", b"%s:%s" % (commit.encode(), raw), most=SHORT).out)
    if found is None:
        raise repository.fail("UnknownPath", f"there is no `{path[:LONGEST]}` in {commit}")
    return found, raw


def _id(said: bytes) -> str | None:
    text = said.decode("ascii", "replace").strip()
    return text if ID.fullmatch(text) else None
