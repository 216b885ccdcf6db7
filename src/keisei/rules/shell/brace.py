"""Brace expansion: `{a,b}` and `{1..3}`, before anything else happens to a word."""

import re
from itertools import pairwise
from typing import Final

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.atom import MOST, Atom

RANGE: Final = re.compile(r"(-?[0-9]{1,6}|[A-Za-z])\.\.(-?[0-9]{1,6}|[A-Za-z])(?:\.\.(-?[0-9]{1,4}))?$")


def braces(atoms: list[Atom]) -> list[list[Atom]]:
    """Brace expansion: the rows of atoms a word stands for. Too many give one unknown row."""
    done: list[list[Atom]] = []
    todo = [atoms]
    while todo:
        row = todo.pop(0)
        choices = _first_brace(row)
        if choices is None:
            done.append(row)
        else:
            todo = choices + todo
        if len(done) + len(todo) > MOST:
            return [[((UNKNOWN,), False)]]
    return done


def _first_brace(atoms: list[Atom]) -> list[list[Atom]] | None:
    for start, atom in enumerate(atoms):
        if atom != ("{", False) or (start and atoms[start - 1] == ("$", False)):
            continue
        commas, depth = [start], 0
        for index in range(start + 1, len(atoms)):
            if atoms[index] == ("{", False):
                depth += 1
            elif atoms[index] == ("}", False) and depth:
                depth -= 1
            elif atoms[index] == (",", False) and not depth:
                commas.append(index)
            elif atoms[index] == ("}", False):
                inner = _choices(atoms, [*commas, index])
                if inner is not None:
                    return [[*atoms[:start], *each, *atoms[index + 1 :]] for each in inner]
                break
    return None


def _choices(atoms: list[Atom], marks: list[int]) -> list[list[Atom]] | None:
    if len(marks) > 2:  # noqa: PLR2004 - the brace itself, a comma, the brace that closes
        return [atoms[left + 1 : right] for left, right in pairwise(marks)]
    inner = atoms[marks[0] + 1 : marks[1]]
    text = "".join(value for value, quoted in inner if isinstance(value, str) and not quoted)
    match = RANGE.match(text) if len(text) == len(inner) else None
    if match is None:
        return None
    return [[(char, False) for char in each] for each in _sequence(match)]


def _sequence(match: re.Match[str]) -> list[str]:
    low, high = str(match[1]), str(match[2])
    step = abs(int(match[3] or 1)) or 1
    if low.isalpha() != high.isalpha():
        return [str(match[0])]
    first, last = (ord(low), ord(high)) if low.isalpha() else (int(low), int(high))
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    if len(numbers) > MOST:
        return [UNKNOWN] * (MOST + 1)
    width = max(len(low), len(high)) if low.startswith("0") or high.startswith("0") else 0
    return [chr(number) if low.isalpha() else str(number).zfill(width) for number in numbers]
