"""Diffs: what a candidate changes, file by file, as much of it as a page can hold."""

from typing import Final, NamedTuple

from msgspec import Struct

from keisei.console.templating import lines, plain
from keisei.wiring.foreground import patched_files

LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a patch that are read; the evidence file has all of it."""
BEGINS: Final = "diff --git "
PATH: Final = 500
"""Characters of a path that are shown."""
LINE: Final = 2000
"""Characters of a line that are shown."""
HEAD: Final = 12
"""Lines before the changes of a file."""

ADDED: Final = {"100755": "added, executable", "120000": "added, a link", "160000": "added, a submodule"}
"""What an added file is, by its mode."""


class DiffBounds(Struct, frozen=True, kw_only=True):
    """How much of a patch is told."""

    files: int
    """Files; of others nothing."""
    lines: int
    """Lines of one file."""
    characters: int
    """Characters of all files together."""


BRIEF: Final = DiffBounds(files=60, lines=400, characters=60_000)
"""On the page of an attempt."""
WHOLE: Final = DiffBounds(files=1000, lines=20_000, characters=2_000_000)
"""On a page of its own."""


class DiffFile(Struct, frozen=True, kw_only=True):
    """One file of a patch."""

    path: str
    """Its path, with control characters shown."""
    change: str
    """`added`, `removed` or `changed`, and what became of its mode."""
    added: int | None
    """Lines that come; null for a file that is no text."""
    removed: int | None
    """Lines that go; null for a file that is no text."""
    lines: tuple[str, ...]
    """The lines of its part of the patch, from the first `@@` on."""
    cut: int
    """Lines that are not told here."""


class Diff(Struct, frozen=True, kw_only=True):
    """A patch."""

    files: tuple[DiffFile, ...]
    """Its files, in order."""
    more_files: int
    """Files that are not told here."""
    added: int
    """Lines that come, of all files."""
    removed: int
    """Lines that go, of all files."""
    size: int
    """Bytes of the whole patch."""
    whole: bool
    """All of it is told here."""


def diff_of(patch: bytes, size: int, bounds: DiffBounds) -> Diff:
    """A patch as git writes it. `size` is how large the whole file is. Never raises."""
    told, rest = _split(patch.decode("utf-8", "replace"), bounds.files)
    parts = [_part(each) for each in told]
    room, files = bounds.characters, []
    for part in parts:
        shown = _fitting(part.body, bounds.lines, room)
        room -= sum(len(line) + 1 for line in shown)
        files.append(
            DiffFile(
                path=plain(part.path)[:PATH],
                change=_change(part.head),
                added=part.added,
                removed=part.removed,
                lines=tuple(lines(line)[:LINE] for line in shown),
                cut=part.body.count("\n") - len(shown),
            )
        )
    counted = [(part.added or 0, part.removed or 0) for part in parts] + [_count(each) for each in rest]
    return Diff(
        files=tuple(files),
        more_files=len(rest),
        added=sum(added for added, _ in counted),
        removed=sum(removed for _, removed in counted),
        size=size,
        whole=not rest and len(patch) >= size and not any(each.cut for each in files),
    )


class _Part(NamedTuple):
    """What a patch has of one file."""

    path: str
    head: list[str]
    body: str
    """From the first `@@` on, every line with its end."""
    added: int | None
    removed: int | None


def _split(text: str, most: int) -> tuple[list[str], list[str]]:
    """The parts of the first files, and of the others. No line of a file begins so: inside, each has a sign first."""
    every = f"\n{text}".split(f"\n{BEGINS}")[1:]
    return [f"{BEGINS}{each}" for each in every[:most]], every[most:]


def _count(text: str) -> tuple[int, int]:
    """Lines that come and go in the part of a file that is not told: there may be many thousands of those."""
    _, _, body = text.partition("\n@@ ")
    return body.count("\n+"), body.count("\n-")


def _part(text: str) -> _Part:
    head, at, body = text.partition("\n@@ ")
    words = head.split("\n", HEAD)[:HEAD]
    (named,) = patched_files("\n".join(words))
    if named.added is None or not at:
        return _Part(named.path, words, "", named.added, named.removed)
    body = f"@@ {body}" if body.endswith("\n") else f"@@ {body}\n"
    return _Part(named.path, words, body, body.count("\n+"), body.count("\n-"))


def _fitting(body: str, most: int, room: int) -> list[str]:
    """The first lines, as far as there is room for all of them."""
    kept: list[str] = []
    for line in body[: max(0, room)].split("\n")[:most]:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept[:-1] if kept and not kept[-1] else kept


def _change(head: list[str]) -> str:
    if any(line.startswith("new file mode") for line in head):
        return ADDED.get(next(line for line in head if line.startswith("new file mode"))[-6:], "added")
    if any(line.startswith("deleted file mode") for line in head):
        return "removed"
    modes = [line[-6:] for line in head if line.startswith(("old mode", "new mode"))]
    return f"changed, mode {plain(modes[0])} to {plain(modes[1])}" if len(modes) == 2 else "changed"  # noqa: PLR2004 - both
