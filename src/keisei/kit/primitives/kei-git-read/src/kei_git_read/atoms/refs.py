"""kei-git-read::refs."""

from kei_git_read.context import Context, Data
from kei_git_read.repository import LISTING, Repository, opened
from kei_git_read.revision import resolved

KINDS = {"branch": "refs/heads/", "tag": "refs/tags/", "remote": "refs/remotes/"}
FORMAT = "%(refname)%00%(objectname)%00%(symref)%00%(upstream)"


def run(given: Data, context: Context) -> Data:
    """Branches, tags and what else has a name, and what each leads to.

    Raises NotARepository, GitFailed, GitMissing.
    """
    with opened(given, context) as repository:
        limit = given.get("limit", 500)
        places = [KINDS[each] for each in given.get("kinds", ())]
        ran = repository.shared("for-each-ref", f"--count={limit + 1}", f"--format={FORMAT}", *places, most=LISTING)
        if ran.code:
            raise context.error("GitFailed", f"git for-each-ref: {ran.complaint}")
        rows = [line.split("\0") for line in ran.out.decode("utf-8", "replace").split("\n")]
        rows = [row for row in rows if len(row) == FORMAT.count("%00") + 1]
        head = {"id": resolved(repository, "HEAD"), "name": _head(repository)}
        return {
            "head": head,
            "refs": _refs(repository, rows[:limit]),
            "truncated": ran.cut or len(rows) > limit,
        }


def _head(repository: Repository) -> str | None:
    """The full name of the branch; None where a commit is checked out by itself."""
    return repository.shared("symbolic-ref", "--quiet", "HEAD").out.decode("utf-8", "replace").rstrip("\n") or None


def _refs(repository: Repository, rows: list[list[str]]) -> list[Data]:
    """The references with what they lead to, which our own view of the objects says."""
    ids = [row[1] for row in rows]
    asked = [name for each in ids for name in (each, f"{each}^{{commit}}")]
    said = repository.said("cat-file", "--batch-check", "--buffer", lines=asked).out.decode("utf-8", "replace")
    answers = [line.split() for line in said.split("\n")]
    return [
        {
            "name": name,
            "kind": next((kind for kind, place in KINDS.items() if name.startswith(place)), "other"),
            "id": target,
            "type": answers[2 * index][1] if len(answers[2 * index]) == 3 else "missing",  # noqa: PLR2004
            "commit": answers[2 * index + 1][0] if len(answers[2 * index + 1]) == 3 else None,  # noqa: PLR2004
            "symbolic": symbolic or None,
            "upstream": upstream or None,
        }
        for index, (name, target, symbolic, upstream) in enumerate(rows)
    ]
