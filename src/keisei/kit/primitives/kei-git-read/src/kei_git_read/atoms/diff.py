"""kei-git-read::diff."""

from kei_git_read.change import changes, wanted
from kei_git_read.context import Context, Data
from kei_git_read.name import pathspecs
from kei_git_read.repository import Repository, opened
from kei_git_read.revision import commit_of, resolved


def run(given: Data, context: Context) -> Data:
    """Which files differ between two commits, a commit and what is staged, or either and the worktree.

    Raises NotARepository, UnknownRevision, UnknownPath, NoWorktree, NoMergeBase, TooLarge, GitFailed, GitMissing.
    """
    with opened(given, context) as repository:
        paths = pathspecs(context, given.get("paths", ()))
        base, head = (commit_of(repository, given[name]) if name in given else None for name in ("base", "head"))
        if head is not None:
            first = base or commit_of(repository, "HEAD")
            first = _fork(repository, first, head) if given.get("merge_base", False) else first
            return changes(repository, wanted(given), "diff", first, head, "--", *paths)
        return changes(repository, wanted(given), "diff", *_worktree(given, repository, base), "--", *paths)


def _worktree(given: Data, repository: Repository, base: str | None) -> list[str]:
    """What is compared with what is staged, or with the worktree, in git's words. Raises NoWorktree, TooLarge."""
    if not repository.has_worktree:
        raise repository.fail("NoWorktree", "the repository is bare: it has no worktree; name `head`")
    repository.take_index()
    here = resolved(repository, "HEAD")
    repository.point(here or "")
    first = _fork(repository, base, here or base) if base and given.get("merge_base", False) else base
    if given.get("staged", False):
        return ["--cached", *([first] if first else [])]
    return [first] if first else ["-0"]  # -0: files in conflict are named, and nothing is put before the list


def _fork(repository: Repository, one: str, other: str) -> str:
    """The commit where two histories part. Raises NoMergeBase."""
    found = repository.git("merge-base", one, other).out.decode("ascii", "replace").split()
    if not found:
        raise repository.fail("NoMergeBase", f"{one} and {other} have no history in common")
    return found[0]
