"""kei-git-read::status."""

from collections.abc import Iterator

from kei_git_read.context import Context, Data
from kei_git_read.name import told
from kei_git_read.repository import Repository, opened
from kei_git_read.revision import commit_of, resolved

STATES = {
    "M": "modified",
    "T": "type-changed",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "U": "unmerged",
    ".": None,
}
WORDS = {"1": 8, "2": 9, "u": 10}
"""How many words of an entry stand before its path."""


def run(given: Data, context: Context) -> Data:
    """Where the worktree stands, and what in it is changed, staged, in conflict or new.

    Raises NotARepository, NoWorktree, TooLarge, GitFailed, GitMissing.
    """
    with opened(given, context) as repository:
        if not repository.has_worktree:
            raise context.error("NoWorktree", "the repository is bare: it has no worktree")
        head = resolved(repository, "HEAD")
        repository.point(head or "")
        repository.take_index()
        new = f"--untracked-files={given.get('untracked', 'normal')}"
        words = ("--porcelain=v2", "-z", new, "--ignore-submodules=dirty", "--find-renames")
        ran = repository.said("status", *words)
        entries, limit = list(_entries(ran.out)), given.get("limit", 500)
        about = {"head": head, "branch": (branch := _branch(repository)), "upstream": _upstream(repository, branch)}
        clean = not entries and not ran.cut
        return about | {"clean": clean, "entries": entries[:limit], "truncated": ran.cut or len(entries) > limit}


def _entries(said: bytes) -> Iterator[Data]:
    records = iter(said.split(b"\0")[:-1])
    for record in records:
        kind = record[:1].decode("ascii", "replace")
        if kind == "?":
            yield told("path", record[2:]) | {"state": "untracked", "staged": None, "worktree": None}
            continue
        words = record.split(b" ", WORDS[kind])
        staged, changed = (STATES.get(each, each) for each in words[1].decode("ascii"))
        state = "unmerged" if kind == "u" else "changed"
        entry = told("path", words[-1]) | {"state": state, "staged": staged, "worktree": changed}
        yield entry | (told("old_path", next(records, b"")) if kind == "2" else {})


def _branch(repository: Repository) -> str | None:
    """The branch; None where a commit is checked out by itself."""
    said = repository.shared("symbolic-ref", "--quiet", "HEAD").out.decode("utf-8", "replace").rstrip("\n")
    return said.removeprefix("refs/heads/") or None


def _upstream(repository: Repository, branch: str | None) -> Data | None:
    """The branch it follows, and how far they are apart; None where it follows none, or that one is not there."""
    if branch is None:
        return None
    ran = repository.shared("for-each-ref", "--format=%(refname)%00%(upstream)", f"refs/heads/{branch}")
    rows = (line.split("\0") for line in ran.out.decode("utf-8", "replace").splitlines())
    name = next((row[1] for row in rows if row[0] == f"refs/heads/{branch}"), "")
    theirs = resolved(repository, name) if name else None
    if theirs is None:
        return None
    ours = commit_of(repository, "HEAD")
    counts = repository.said("rev-list", "--left-right", "--count", f"{ours}...{theirs}").out.split()
    return {"name": name, "ahead": int(counts[0]), "behind": int(counts[1])}
