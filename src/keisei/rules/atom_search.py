"""Atoms by words: what somebody types, held against ids, keywords and first paragraphs. Any text is safe."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from keisei.records.atom_spec import AtomRow

MOST_WORDS: Final = 16
"""Words of a query that are looked at."""
LONGEST: Final = 512
"""Characters of a query that are looked at."""
SHORTEST: Final = 4
"""A shorter word is never taken for a misspelt one."""
STEM: Final = 3
"""A shorter word is no beginning of another."""
VERB, NAME, KEYWORD, SUMMARY = 8.0, 5.0, 5.0, 2.0
"""What a word is worth by where it stands: in the verb, the package's name, the keywords, the first paragraph."""
EXACT, BEGINNING, MISSPELT = 1.0, 0.6, 0.2
"""What is left of that where only the beginning fits, or one letter is wrong."""
OLD: Final = 0.5
"""What is left of a deprecated atom's worth."""
_WORD: Final = re.compile(r"[^\W_]+")
STOP: Final = frozenset(
    _WORD.findall("a an and are as at be by do does for from in into is it its of on or the this to with")
)
"""Words that say nothing of what is wanted: they are left out where others remain."""


def ranked(query: str, rows: Sequence[AtomRow], limit: int) -> list[AtomRow]:
    """The atoms that fit best, the best first, at most `limit`. Without a word in the query: all there are, by id.

    An atom that fits more of the words stands before one that fits fewer; a rare word counts for more. A beginning of a
    word and one wrong letter are understood; words such as `the` count where there is no other. The order depends on
    nothing but the arguments.
    """
    said = dict.fromkeys(_words(query[:LONGEST]))
    words = tuple([word for word in said if word not in STOP] or said)[:MOST_WORDS]
    if not words:
        return sorted(rows, key=lambda row: row.atom)[: max(limit, 0)]
    vocabulary = {term for row in rows for term in _terms(row)}
    likes = [_likes(word, vocabulary) for word in words]
    fits = [(row, [_fit(like, _terms(row)) for like in likes]) for row in rows]
    known = Counter(index for _, scores in fits for index, score in enumerate(scores) if score)
    rarity = [math.log1p(len(rows) / (1 + known[index])) for index in range(len(words))]
    found = [(_worth(row, scores, rarity), row) for row, scores in fits if any(scores)]
    found.sort(key=lambda each: (-each[0], each[1].atom))
    return [row for _, row in found[: max(limit, 0)]]


def _worth(row: AtomRow, scores: Sequence[float], rarity: Sequence[float]) -> float:
    """How well a row fits a whole query: the share of it that it knows weighs most."""
    covered = sum(weight for score, weight in zip(scores, rarity, strict=True) if score) / sum(rarity)
    worth = covered * sum(score * weight for score, weight in zip(scores, rarity, strict=True))
    return round(worth * (OLD if row.deprecated else 1.0), 9)


def _likes(word: str, vocabulary: Iterable[str]) -> dict[str, float]:
    """The terms that a word may mean, with how well each fits."""
    return {term: value for term in vocabulary if (value := _likeness(word, term))}


def _fit(likes: dict[str, float], terms: dict[str, float]) -> float:
    """What a word is worth in a row, by the term that serves it best."""
    return max((value * terms[term] for term, value in likes.items() if term in terms), default=0.0)


def _likeness(word: str, term: str) -> float:
    if term.startswith(word):
        return EXACT if term == word else BEGINNING if len(word) >= STEM else 0.0
    return MISSPELT if min(len(word), len(term)) >= SHORTEST and _is_near(word, term) else 0.0


def _is_near(one: str, other: str) -> bool:
    """Whether one letter is wrong, missing, too much, or two are exchanged."""
    if abs(len(one) - len(other)) > 1:
        return False
    start = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    first, second = one[start:], other[start:]
    if len(first) != len(second):
        return first[1:] == second or first == second[1:]
    return first[1:] == second[1:] or (first[:2] == second[1::-1] and first[2:] == second[2:])


@lru_cache(maxsize=4096)
def _terms(row: AtomRow) -> dict[str, float]:
    """The words of a row with what each is worth, where it stands best."""
    package, _, verb = row.atom.partition("::")
    places = ((row.summary, SUMMARY), (" ".join(row.keywords), KEYWORD), (package, NAME), (verb, VERB))
    found: dict[str, float] = {}
    for text, value in places:
        for word in _words(text):
            found[word] = max(value, found.get(word, 0.0))
    return found


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
