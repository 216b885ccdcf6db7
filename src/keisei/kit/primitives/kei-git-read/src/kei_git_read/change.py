"""Changes: which files differ between two states, by how much, and how."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kei_git_read.context import Data
from kei_git_read.name import told
from kei_git_read.repository import LISTING, Repository

STATUSES = {
    b"A": "added",
    b"C": "copied",
    b"D": "deleted",
    b"M": "modified",
    b"R": "renamed",
    b"T": "type-changed",
    b"U": "unmerged",
}
COMPARED = (
    "-z",
    "--raw",
    "--numstat",
    "--no-abbrev",
    "--find-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=dirty",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
CHUNK = re.compile(rb"^(?=diff --git |\* Unmerged path )", re.MULTILINE)


class Wanted(NamedTuple):
    """How much is told."""

    files: int
    """At most so many."""
    patch: int
    """Bytes of patches; 0 for none."""
    context: int = 3
    """Lines around a change."""


def wanted(given: Data) -> Wanted:
    """What an input asks for."""
    patch = given.get("max_bytes", 200_000) if given.get("patch", True) else 0
    return Wanted(given.get("limit", 300), patch, given.get("context", 3))


def changes(repository: Repository, want: Wanted, *words: str | bytes) -> Data:
    """The files of one comparison, `words`, which begins with git's own word for it."""
    patch = ("--patch", f"--unified={want.context}") if want.patch else ()
    ran = repository.said(words[0], *COMPARED, *patch, *words[1:], most=LISTING + want.patch)
    reader = _Reader(ran.out)
    files = list(reader.files())
    if want.patch:
        _add_patches(files, reader.rest(), want.patch, whole=not ran.cut)
    counted = [each for each in files if each["insertions"] is not None]
    return {
        "files": files[: want.files],
        "insertions": sum(each["insertions"] for each in counted),
        "deletions": sum(each["deletions"] for each in counted),
        "truncated": ran.cut or len(files) > want.files or any(each.get("patch_truncated") for each in files),
    }


class _Reader:
    """What git said: a record of each file, then its counts, then the patches."""

    def __init__(self, said: bytes) -> None:
        self._said, self._place = said, 0

    def files(self) -> Iterator[Data]:
        found = []
        while self._said[self._place : self._place + 1] == b":" and (entry := self._entry()):
            found.append(entry)
        for entry in found:
            yield entry | self._counts(is_pair="old_path" in entry)

    def rest(self) -> bytes:
        return self._said[self._place :].removeprefix(b"\0")

    def _next(self) -> bytes:
        end = self._said.find(b"\0", self._place)
        end = len(self._said) if end < 0 else end
        record, self._place = self._said[self._place : end], end + 1
        return record

    def _entry(self) -> Data | None:
        old_mode, mode, old_id, new_id, status = self._next()[1:].split(b" ")
        paths = [self._next() for _ in range(2 if status[:1] in b"RC" else 1)]
        entry = told("path", paths[-1]) | {"status": STATUSES.get(status[:1], "unknown")}
        if len(paths) > 1:
            entry |= told("old_path", paths[0])
        entry |= {"old_mode": _mode(old_mode), "mode": _mode(mode), "old_id": _id(old_id), "id": _id(new_id)}
        return entry if paths[-1] else None

    def _counts(self, *, is_pair: bool) -> Data:
        added, _, rest = self._next().partition(b"\t")
        removed = rest.partition(b"\t")[0]
        for _ in range(2 if is_pair else 0):
            self._next()
        numbers = [int(each) if each.isdigit() else None for each in (added, removed)]
        return {"insertions": numbers[0], "deletions": numbers[1]}


def _mode(raw: bytes) -> str | None:
    return None if raw == b"000000" else raw.decode("ascii", "replace")


def _id(raw: bytes) -> str | None:
    """An id; None for what is not there, or stands in the worktree and has none yet."""
    return None if not raw.strip(b"0") else raw.decode("ascii", "replace")


def _add_patches(files: list[Data], text: bytes, most: int, *, whole: bool) -> None:
    """Give each file its part of the patch. One that changed its type has two: it was removed, and it was added."""
    parts = [part for part in CHUNK.split(text) if part]
    used = 0
    for entry in files:
        count = 2 if entry["status"] == "type-changed" else 1
        mine, parts = b"".join(parts[:count]), parts[count:]
        kept = mine[: max(0, most - used)]
        used += len(kept)
        entry["patch"] = kept.decode("utf-8", "ignore" if len(kept) < len(mine) else "replace")
        entry["patch_truncated"] = len(kept) < len(mine) or (not whole and not parts)
