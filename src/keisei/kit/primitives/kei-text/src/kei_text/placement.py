"""Placement: hunks put into a text, each where its lines stand."""

from typing import NamedTuple

from kei_text.context import Context
from kei_text.hunk import Hunk


class Placed(NamedTuple):
    """A text with its hunks applied."""

    lines: list[str]
    """What became of it."""
    starts: list[tuple[int, int]]
    """Of each hunk: lines before it in the old text, and how far that is from where it says."""


def applied(context: Context, lines: list[str], hunks: list[Hunk], most_offset: int) -> Placed:
    """Every hunk in its place or none. Raises DoesNotApply for the first that finds none."""
    made, starts = list[str](), list[tuple[int, int]]()
    end, offset = 0, 0
    for number, hunk in enumerate(hunks, start=1):
        old, new = hunk.old(), hunk.new()
        found = _place(lines, old, hunk.at + offset, end, most_offset)
        if found is None:
            raise context.error("DoesNotApply", _unplaced(number, hunk, lines))
        made += lines[end:found]
        end, offset = found + len(old), found - hunk.at
        starts.append((found, offset))
        if _glues(made, new, is_last=end == len(lines)):
            raise context.error("DoesNotApply", f"hunk {number} leaves a line without an end before another line")
        made += new
    return Placed(made + lines[end:], starts)


def _place(lines: list[str], old: list[str], wanted: int, least: int, most_offset: int) -> int | None:
    """Where the old lines stand: where they should, or as near as possible; what takes nothing away does not move."""
    for distance in range(most_offset + 1 if old else 1):
        for at in dict.fromkeys((wanted + distance, wanted - distance)):
            if least <= at <= len(lines) and lines[at : at + len(old)] == old:
                return at
    return None


def _unplaced(number: int, hunk: Hunk, lines: list[str]) -> str:
    there = lines[hunk.at : hunk.at + 1] or ["the end of the text"]
    wanted = (hunk.old() or ["more lines"])[0]
    return f"hunk {number} expects {wanted[:80]!r} at line {hunk.at + 1}, and nearby; there is {there[0][:80]!r}"


def _glues(before: list[str], new: list[str], *, is_last: bool) -> bool:
    """Whether two lines would become one because nothing ends the first."""
    if new and before and not before[-1].endswith("\n"):
        return True
    return any(not line.endswith("\n") for line in (new[:-1] if is_last else new))
