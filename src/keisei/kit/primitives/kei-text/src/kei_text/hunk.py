"""Hunks: what a unified diff consists of. Each knows the lines it takes away and those it puts in their place."""

from difflib import SequenceMatcher
from typing import NamedTuple


class Hunk(NamedTuple):
    """One place where two texts differ, with the lines around it."""

    at: int
    """Lines of the old text before it."""
    new_at: int
    """Lines of the new text before it."""
    marked: list[tuple[str, str]]
    """Lines with their ends, each with its sign: ` `, `-` or `+`."""

    def old(self) -> list[str]:
        """The lines it must meet."""
        return [line for sign, line in self.marked if sign != "+"]

    def new(self) -> list[str]:
        """The lines it leaves."""
        return [line for sign, line in self.marked if sign != "-"]

    def count(self, sign: str) -> int:
        """How many lines have the sign."""
        return sum(1 for each, _ in self.marked if each == sign)

    def reversed(self) -> "Hunk":
        """The way back."""
        other = {"+": "-", "-": "+", " ": " "}
        return Hunk(self.new_at, self.at, [(other[sign], line) for sign, line in self.marked])


class Change(NamedTuple):
    """Lines `a` to `b` of the old text, for which lines `c` to `d` of the new one stand."""

    a: int
    b: int
    c: int
    d: int


def hunks_between(old: list[str], new: list[str], context_lines: int) -> list[Hunk]:
    """How the one becomes the other; empty where they are the same."""
    return [_hunk(old, new, group, context_lines) for group in _grouped(_changes(old, new), context_lines)]


def _changes(old: list[str], new: list[str]) -> list[Change]:
    """Both ends that are the same are left out first: two long texts mostly differ in the middle."""
    head = _alike(old, new)
    tail = _alike(old[head:][::-1], new[head:][::-1])
    matcher = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail])
    found = (each[1:] for each in matcher.get_opcodes() if each[0] != "equal")
    return [Change(a + head, b + head, c + head, d + head) for a, b, c, d in found]


def _alike(one: list[str], two: list[str]) -> int:
    """How many lines at the beginning are the same."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(two)))


def _grouped(changes: list[Change], context_lines: int) -> list[list[Change]]:
    """Changes whose surroundings touch belong to one hunk."""
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change.a - groups[-1][-1].b <= 2 * context_lines:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(old: list[str], new: list[str], group: list[Change], context_lines: int) -> Hunk:
    before = min(context_lines, group[0].a)
    begin, here = group[0].a - before, group[0].a - before
    marked: list[tuple[str, str]] = []
    for change in group:
        marked += [(" ", line) for line in old[here : change.a]]
        marked += [("-", line) for line in old[change.a : change.b]]
        marked += [("+", line) for line in new[change.c : change.d]]
        here = change.b
    marked += [(" ", line) for line in old[here : here + context_lines]]
    return Hunk(begin, group[0].c - before, marked)
