"""Possessive groups, for Pythons that read them wrongly.

Before 3.11.5 `(...)*+` around anything that can give back matches less than it should (CPython issue 106052): a rule
written with it would let through what it refuses. Debian 12 ships such a Python. Later ones still lose count of what a
group inside of it has captured, and end with a SystemError: nobody asks for captures here, so there are none.
"""

import re
import sys
from functools import lru_cache
from typing import Final

BROKEN: Final = sys.version_info < (3, 11, 5)
BACKWARD: Final = re.compile(r"\\[1-9]|\(\?P=|\(\?\(")
"""What refers to a group by its number or name."""
QUANTIFIER: Final = re.compile(r"(\*|\+|\?|\{[0-9]*,?[0-9]*\})\+")


@lru_cache(maxsize=4096)
def sound(pattern: str) -> str:
    """The same pattern in words that this Python reads rightly."""
    return spelt_out(pattern) if BROKEN else uncaptured(pattern)


def uncaptured(pattern: str) -> str:
    """The pattern without captures, where something is possessive and nothing refers back to them."""
    if QUANTIFIER.search(pattern) is None or BACKWARD.search(pattern) is not None:
        return pattern
    made, inside, at = [], False, 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\":
            made.append(pattern[at : at + 2])
            at += 2
            continue
        opens = letter == "(" and not inside and pattern[at + 1 : at + 2] != "?"
        made.append("(?:" if opens else letter)
        first = pattern[at - 1] == "[" or pattern[at - 2 : at] == "[^"
        inside = (letter != "]" or first) if inside else letter == "["
        at += 1
    return "".join(made)


def spelt_out(pattern: str) -> str:
    """The pattern with every possessive group as a look ahead that is matched again: what it takes it keeps."""
    number = 0
    while (found := _group(pattern)) is not None:
        start, end, quantifier, behind = found
        name = f"kept_{number}"
        number += 1
        ahead = f"(?=(?P<{name}>{pattern[start:end]}{quantifier}))(?P={name})"
        pattern = pattern[:start] + ahead + pattern[behind:]
    return pattern


def _group(pattern: str) -> tuple[int, int, str, int] | None:
    """The first possessive group that is closed: where it begins and ends, its quantifier, and where that ends."""
    opened: list[int] = []
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\":
            at += 1
        elif letter == "[":
            at = _class_end(pattern, at)
        elif letter == "(":
            opened.append(at)
        elif letter == ")" and opened:
            start = opened.pop()
            quantifier = QUANTIFIER.match(pattern, at + 1)
            if quantifier is not None:
                return start, at + 1, quantifier[1], quantifier.end()
        at += 1
    return None


def _class_end(pattern: str, at: int) -> int:
    """Where a character class ends; its first member may be the bracket that would close it."""
    at += 1
    if pattern[at : at + 1] == "^":
        at += 1
    if pattern[at : at + 1] == "]":
        at += 1
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return at
