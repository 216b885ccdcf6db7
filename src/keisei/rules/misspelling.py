"""Misspelt words: how far two words are from each other, and which known words somebody may have meant."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

ONE: Final = 4
"""From this many letters on, one may be wrong."""
TWO: Final = 8
"""From this many letters on, two may be."""
ENDINGS: Final = tuple(
    re.findall(
        r"[a-z]+",
        """ing ings ed es ies ion ions ation ations able ible ment ments ness ity ities ance ence ally ously ful ive ize
        izing ized""",
    )
)
"""What English words often end with. A stem has lost it, so that a slip there is not seen by comparing stems."""
SHORTEST_BEGINNING: Final = 3
"""Letters that must stand before an ending; a shorter ending is not taken for a misspelt one."""


def bound(word: str) -> int:
    """How many letters of a word may be wrong: none of a short one, never more than two."""
    return (len(word) >= ONE) + (len(word) >= TWO)


def distance(one: str, other: str, most: int) -> int | None:
    """How many letters are wrong, missing, too much or exchanged with their neighbour; None for more than `most`."""
    if abs(len(one) - len(other)) > most:
        return None
    one, other = _unlike(one, other)
    if not one or not other:
        return max(len(one), len(other))
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, last, row = row, before, [at]
        for place, compared in enumerate(other, 1):
            cost = min(before[place] + 1, row[-1] + 1, before[place - 1] + (letter != compared))
            if at > 1 and place > 1 and letter == other[place - 2] and compared == one[at - 2]:
                cost = min(cost, last[place - 2] + 1)
            row.append(cost)
        if min(row) > most and min(before) > most - 1:
            return None
    return row[-1] if row[-1] <= most else None


def nearest(spellings: Iterable[str], terms: Iterable[str], most: int = 2) -> list[str]:
    """Those of the terms that are nearest to one of the spellings of a word, in their order.

    None where all are further than `most`, or than the spelling's own length allows. A term with a digit in it is
    nobody's misspelling.
    """
    found: dict[str, int] = {}
    tried = [(spelling, set(spelling), min(bound(spelling), most)) for spelling in spellings]
    for term in terms:
        for spelling, letters, allowed in tried:
            if abs(len(term) - len(spelling)) > allowed or len(letters.symmetric_difference(term)) > 2 * allowed:
                continue
            away = distance(spelling, term, allowed)
            if away is not None and not any(map(str.isdigit, term)):
                found[term] = min(away, found.get(term, away))
    least = min(found.values(), default=0)
    return [term for term, away in found.items() if away == least]


def completed(word: str) -> Iterator[str]:
    """A word that is being typed, with the ending that it may have begun: `configurati`, `configuration`."""
    for ending in ENDINGS:
        for length in range(len(ending) - 1, 0, -1):
            if word.endswith(ending[:length]) and len(word) - length >= SHORTEST_BEGINNING:
                yield word + ending[length:]
                break


def mended(word: str) -> Iterator[str]:
    """A word whose ending may be misspelt, with the ending that was meant: `configuratoin`, `configuration`."""
    for ending in ENDINGS:
        for length in range(max(len(ending) - 1, SHORTEST_BEGINNING - 1), len(ending) + 2):
            begin, end = word[:-length], word[-length:]
            if len(begin) >= SHORTEST_BEGINNING <= len(ending) and _is_like(end, ending, 1):
                yield begin + ending


def bare(word: str) -> Iterator[str]:
    """A word without the ending that it has, where enough is left: `eivdence`, `eivd`."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= ONE:
            yield word.removesuffix(ending)


def _is_like(one: str, other: str, most: int) -> bool:
    """Whether two words are not the same and near enough. Their letters alone tell most of the others apart."""
    return (
        len(set(one).symmetric_difference(other)) <= 2 * most
        and one != other
        and distance(one, other, most) is not None
    )


def _unlike(one: str, other: str) -> tuple[str, str]:
    """Two words without what they begin and end with in common."""
    start, shorter = 0, min(len(one), len(other))
    while start < shorter and one[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return one[start : len(one) - end], other[start : len(other) - end]
