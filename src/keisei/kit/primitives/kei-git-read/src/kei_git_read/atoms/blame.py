"""kei-git-read::blame."""

import re
from collections.abc import Iterator

from kei_git_read.commit import commits
from kei_git_read.context import Context, Data
from kei_git_read.name import told, unquoted
from kei_git_read.repository import LISTING, Repository, opened
from kei_git_read.revision import commit_of, object_at

LARGEST = 4_194_304
"""Bytes of a file whose lines are traced."""
LONGEST_LINE = 2000
HEADER = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: \d+)?")


def run(given: Data, context: Context) -> Data:
    """Which commit each line of a file comes from.

    Raises NotARepository, UnknownRevision, UnknownPath, TooLarge, GitFailed, GitMissing.
    """
    with opened(given, context) as repository:
        commit = commit_of(repository, given.get("rev", "HEAD"))
        name, raw = object_at(repository, commit, given["path"])
        total = _lines(repository, name, given["path"])
        first = given.get("first", 1)
        last = min(total, first + given.get("limit", 500) - 1)
        lines = list(_traced(repository, commit, raw, first, last)) if first <= last else []
        ids = list(dict.fromkeys(line["commit"] for line in lines))
        about = [{key: each[key] for key in ("id", "author", "subject")} for each in commits(repository, ids)]
        answer = {"commit": commit, "lines": lines, "commits": about, "total": total, "truncated": last < total}
        return told("path", raw) | answer


def _lines(repository: Repository, name: str, path: str) -> int:
    """How many lines the file has. Raises UnknownPath for what is no file, TooLarge."""
    ran = repository.git("cat-file", "blob", name, most=LARGEST)
    if ran.cut:
        raise repository.fail("TooLarge", f"`{path}` has more than {LARGEST} bytes")
    if ran.code:
        raise repository.fail("UnknownPath", f"`{path}` is no file")
    return ran.out.count(b"\n") + (not ran.out.endswith(b"\n") and bool(ran.out))


def _traced(repository: Repository, commit: str, raw: bytes, first: int, last: int) -> Iterator[Data]:
    words = ("--porcelain", "--no-progress", f"-L{first},{last}", commit, "--", raw)
    ran = repository.said("blame", *words, most=LISTING)
    if ran.cut:
        raise repository.fail("TooLarge", "these lines are too long to be told; ask for fewer")
    files: dict[bytes, bytes] = {}
    here = (b"", b"", b"")
    for line in ran.out.split(b"\n"):
        if line.startswith(b"\t"):
            yield _line(here, files.get(here[0], raw), line[1:])
        elif line.startswith(b"filename "):
            files[here[0]] = unquoted(line[9:])
        elif found := HEADER.fullmatch(line):
            here = (found[1], found[2], found[3])


def _line(here: tuple[bytes, bytes, bytes], path: bytes, text: bytes) -> Data:
    decoded = text.decode("utf-8", "replace")
    place = {"line": int(here[2]), "commit": here[0].decode(), "original_line": int(here[1])}
    return place | told("original_path", path) | {"text": decoded[:LONGEST_LINE]}
