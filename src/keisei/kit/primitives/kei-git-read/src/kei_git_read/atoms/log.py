"""kei-git-read::log."""

from kei_git_read.commit import commits, stats
from kei_git_read.context import Context, Data
from kei_git_read.name import pathspecs
from kei_git_read.repository import Repository, opened
from kei_git_read.revision import commit_of


def run(given: Data, context: Context) -> Data:
    """A page of history, newest first. Raises NotARepository, UnknownRevision, UnknownPath, TooLarge, Git..."""
    with opened(given, context) as repository:
        limit, offset = given.get("limit", 50), given.get("offset", 0)
        ran = repository.said("rev-list", f"--max-count={limit + 1}", f"--skip={offset}", *_words(given, repository))
        ids = ran.out.decode("ascii").split()
        found = commits(repository, ids[:limit])
        if ids and not found:
            raise context.error("TooLarge", f"commit {ids[0]} is too large to be told")
        if given.get("stats", False):
            counted = stats(repository, [each["id"] for each in found])
            found = [each | {"stats": counted[each["id"]]} for each in found]
        return {"commits": found, "next": offset + len(found) if len(ids) > len(found) else None}


def _words(given: Data, repository: Repository) -> list[str | bytes]:
    """Which commits, in git's words."""
    words: list[str | bytes] = ["--fixed-strings", "--regexp-ignore-case"]
    words += [f"--{name}={given[name]}" for name in ("author", "grep", "since", "until") if name in given]
    if given.get("first_parent", False):
        words.append("--first-parent")
    words.append(commit_of(repository, given.get("rev", "HEAD")))
    if "base" in given:
        words.append(f"^{commit_of(repository, given['base'])}")
    return [*words, "--", *pathspecs(repository.context, given.get("paths", ()))]
