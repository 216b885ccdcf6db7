"""kei-git-read::search."""

from collections.abc import Iterator

from kei_git_read.context import Context, Data
from kei_git_read.name import pathspecs, told
from kei_git_read.repository import LISTING, Repository, opened
from kei_git_read.revision import commit_of, resolved

LONGEST_LINE = 500


def run(given: Data, context: Context) -> Data:
    """The lines of tracked files that have a text, in the worktree or at a commit.

    Raises NotARepository, UnknownRevision, UnknownPath, BadPattern, NoWorktree, TooLarge, GitFailed, GitMissing.
    """
    with opened(given, context) as repository:
        commit = commit_of(repository, given["rev"]) if "rev" in given else None
        if commit is None:
            _stand(repository)
        paths = pathspecs(context, given.get("paths", ()))
        words = [*_options(given), "-e", given["pattern"], *([commit] if commit else []), "--", *paths]
        ran = repository.git("grep", *words, most=LISTING)
        if ran.code > 1:
            code = (
                "BadPattern"
                if given.get("regex", False) and ran.complaint.startswith("fatal: -e option, ")
                else "GitFailed"
            )
            raise context.error(code, f"git grep: {ran.complaint}")
        limit, matches = given.get("limit", 200), list(_matches(ran.out, commit))
        truncated = ran.cut or len(matches) > limit
        return {"commit": commit, "matches": matches[:limit], "truncated": truncated}


def _stand(repository: Repository) -> None:
    if not repository.has_worktree:
        raise repository.fail("NoWorktree", "the repository is bare: it has no worktree; name `rev`")
    repository.point(resolved(repository, "HEAD") or "")
    repository.take_index()


def _options(given: Data) -> list[str]:
    words = [
        "-z",
        "-I",
        "--line-number",
        "--column",
        "--full-name",
        "--no-color",
        "--no-textconv",
        "--no-recurse-submodules",
    ]
    words.append("--extended-regexp" if given.get("regex", False) else "--fixed-strings")
    words += ["--ignore-case"] if given.get("ignore_case", False) else []
    return [*words, "--word-regexp"] if given.get("whole_words", False) else words


def _matches(said: bytes, commit: str | None) -> Iterator[Data]:
    """Every match that was said to its end: a name may hold line ends, a line may not."""
    place, prefix = 0, b"%s:" % commit.encode() if commit else b""
    while (name := said.find(b"\0", place)) >= 0 and (end := said.find(b"\n", name)) >= 0:
        line, column, text = said[name + 1 : end].replace(b"\0", b":", 2).split(b":", 2)
        decoded = text.decode("utf-8", "replace")
        found = told("path", said[place:name].removeprefix(prefix))
        yield found | {"line": int(line), "column": int(column), "text": decoded[:LONGEST_LINE]}
        place = end + 1
