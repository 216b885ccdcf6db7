"""Touched files for their length: each before and after, and what moved from one to another."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from keisei.records.verification import Outline
from keisei.records.worktree import Change
from keisei.rules.predicate.port import Contents

FILES: Final = frozenset({"100644", "100755"})
"""Modes of files; links and submodules have no lines."""


class Pair(Struct, frozen=True, kw_only=True):
    """One touched file, before and after."""

    path: str
    """Where it is."""
    before: Outline | None
    """On the base; None where it was not there."""
    after: Outline | None
    """What would land; None where it is gone."""


def pairs(changes: Sequence[Change], contents: Contents) -> list[Pair]:
    """Every touched file with its outlines, asked for at once. Raises what `contents` raises."""
    asked = [(each.path, "before", each.old_blob) for each in changes if each.old_mode in FILES]
    asked += [(each.path, "after", each.blob) for each in changes if each.mode in FILES]
    outlines = contents.outlines([(path, blob) for path, _, blob in asked]) if asked else ()
    seen = {(path, when): outline for (path, when, _), outline in zip(asked, outlines, strict=True)}
    paths = dict.fromkeys(each.path for each in changes)
    return [Pair(path=path, before=seen.get((path, "before")), after=seen.get((path, "after"))) for path in paths]


def unmoved(changes: Sequence[Change]) -> Iterator[Change]:
    """The changes without files that only moved: one deletion and one addition of the same content each."""
    gone = Counter(each.old_blob for each in changes if each.status == "deleted")
    come = Counter(each.blob for each in changes if each.status == "added")
    left = {"deleted": gone & come, "added": gone & come}
    for each in changes:
        blob = each.old_blob if each.status == "deleted" else each.blob
        moves = left.get(each.status)
        if moves is not None and moves[blob] > 0:
            moves[blob] -= 1
        else:
            yield each


class Moved:
    """What is gone from where it was: files by their last name, functions by theirs. Each is found once."""

    def __init__(self, touched: Sequence[Pair]) -> None:
        """Gather it."""
        self._files: dict[str, list[int]] = defaultdict(list)
        self._functions: dict[str, list[int]] = defaultdict(list)
        for pair in touched:
            if pair.before is not None and pair.after is None:
                self._files[_last(pair.path, "/")].append(pair.before.lines)
            after = sizes(pair.after)
            for name, lengths in sizes(pair.before).items():
                self._functions[_last(name, ".")] += lengths[len(after.get(name, ())) :]

    def file(self, path: str) -> int | None:
        """How long the file was where it was before; None where it is new."""
        found = self._files.get(_last(path, "/"))
        return found.pop() if found else None

    def function(self, name: str, size: int) -> bool:
        """Whether a function of this name, and no shorter, is gone from elsewhere."""
        found = self._functions.get(_last(name, "."), [])
        fitting = [each for each in found if each >= size]
        if not fitting or name.endswith(">"):
            return False
        found.remove(min(fitting))
        return True


def sizes(outline: Outline | None) -> dict[str, list[int]]:
    """The lines of every function by its name, the longest first."""
    found: dict[str, list[int]] = defaultdict(list)
    for each in outline.functions if outline is not None else ():
        found[each.name].append(each.end - each.start + 1)
    return {name: sorted(lengths, reverse=True) for name, lengths in found.items()}


def _last(name: str, between: str) -> str:
    return name.rpartition(between)[2]
