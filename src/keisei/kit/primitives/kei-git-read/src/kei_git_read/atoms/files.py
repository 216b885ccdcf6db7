"""kei-git-read::files."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kei_git_read.context import Context, Data
from kei_git_read.name import asked, told
from kei_git_read.repository import LISTING, Repository, opened
from kei_git_read.revision import commit_of, object_at, resolved

TYPES = {"120000": "link", "160000": "submodule", "040000": "folder"}
FOLDER = "040000"


class Entry(NamedTuple):
    """One file, as git lists it."""

    path: bytes
    mode: str
    id: str | None


def run(given: Data, context: Context) -> Data:
    """Which files are tracked now, or were at a commit.

    Raises NotARepository, UnknownRevision, UnknownPath, NoWorktree, TooLarge, GitFailed, GitMissing.
    """
    with opened(given, context) as repository:
        commit = commit_of(repository, given["rev"]) if "rev" in given else None
        path, deep = given.get("path", ""), given.get("recursive", True)
        entries, cut = _tree(repository, commit, path, deep=deep) if commit else _index(repository, path, deep=deep)
        limit, offset = given.get("limit", 1000), given.get("offset", 0)
        page = entries[offset : offset + limit]
        more = len(entries) > offset + limit
        sizes = _sizes(repository, page)
        return {
            "commit": commit,
            "files": [_data(each, sizes) for each in page],
            "next": offset + limit if more else None,
            "truncated": cut,
        }


def _tree(repository: Repository, commit: str, path: str, *, deep: bool) -> tuple[list[Entry], bool]:
    """What a commit holds at a path or below it. Raises UnknownPath."""
    name, raw = object_at(repository, commit, path)
    ran = repository.git("ls-tree", "-z", *(["-r"] if deep else []), name, most=LISTING)
    if ran.code:  # no folder: the entry itself
        ran = repository.said("ls-tree", "-z", commit, "--", raw)
        raw = b""
    before = raw + b"/" if raw else b""
    return [entry._replace(path=before + entry.path) for entry in _listed(ran.out)], ran.cut


def _listed(said: bytes) -> Iterator[Entry]:
    for record in said.split(b"\0")[:-1]:
        about, _, path = record.partition(b"\t")
        mode, _, name = about.decode("ascii").split(" ")[:3]
        yield Entry(path, mode, name)


def _index(repository: Repository, path: str, *, deep: bool) -> tuple[list[Entry], bool]:
    """What is staged at a path or below it. Raises NoWorktree, UnknownPath, TooLarge."""
    if not repository.has_worktree:
        raise repository.fail("NoWorktree", "the repository is bare: nothing is staged in it; name `rev`")
    repository.point(resolved(repository, "HEAD") or "")
    repository.take_index()
    raw = asked(repository.context, path)
    ran = repository.said("ls-files", "-z", "--stage", "--", *([raw] if raw else []))
    entries: dict[bytes, Entry] = {}  # one that is in conflict stands there up to three times
    for record in ran.out.split(b"\0")[:-1]:
        about, _, name = record.partition(b"\t")
        mode, target = about.decode("ascii").split(" ")[:2]
        entries.setdefault(name, Entry(name, mode, target))
    if raw and not entries:
        raise repository.fail("UnknownPath", f"no tracked file is `{path}`, or below it")
    return list(entries.values()) if deep else _shallow(entries.values(), raw), ran.cut


def _shallow(entries: Iterable[Entry], raw: bytes) -> list[Entry]:
    """The entries of one folder: what is below a folder in it is told as that folder."""
    found: dict[bytes, Entry] = {}
    start = len(raw) + 1 if raw else 0
    for entry in entries:
        end = entry.path.find(b"/", start)
        shown = entry if end < 0 else Entry(entry.path[:end], FOLDER, None)
        found.setdefault(shown.path, shown)
    return list(found.values())


def _sizes(repository: Repository, page: list[Entry]) -> dict[str, int]:
    """How many bytes each file has. A folder and a submodule have none of their own."""
    ids = {entry.id for entry in page if entry.id and TYPES.get(entry.mode) not in ("folder", "submodule")}
    ran = repository.said("cat-file", "--batch-check", "--buffer", lines=sorted(ids))
    rows = (line.split() for line in ran.out.decode("ascii", "replace").split("\n"))
    return {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[1] == "blob"}  # noqa: PLR2004


def _data(entry: Entry, sizes: dict[str, int]) -> Data:
    about = {"type": TYPES.get(entry.mode, "file"), "mode": entry.mode, "id": entry.id}
    return told("path", entry.path) | about | {"size": sizes.get(entry.id or "")}
