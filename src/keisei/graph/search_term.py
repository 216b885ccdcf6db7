"""The words of graph.db: which there are, how many texts know them, and which somebody may have meant."""

import re
from collections.abc import Callable, Iterable
from string import ascii_lowercase
from typing import Final, cast

import apsw

from keisei.graph.vault_node import packed
from keisei.rules.misspelling import ONE, TWO, bare, bound, completed, distance, mended, nearest

TOKENIZER: Final = ("porter", ["unicode61", "remove_diacritics", "2"])
"""How `texts` are cut into terms, which are the stems of words."""
EAST: Final = "\u2e80"
"""From here on letters are mostly those of languages that write without spaces."""
MOST_MEANT: Final = 4
"""Terms that one misspelt word is taken for."""
MOST_BEGUN: Final = 8
"""Terms that one beginning is taken for, where they must be named one by one."""
INFLECTIONS: Final = ("s", "es", "ed", "ing")
TAILS: Final = ("", "e", "s", "es", "y", "ed", "ing", "al", "ion")
LAST: Final = "\U0010ffff"
COUNT: Final = "SELECT doc FROM terms WHERE term = ?"
RANGE: Final = "SELECT term FROM terms WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?"
BEGUN: Final = "SELECT term, doc FROM terms WHERE term >= ? AND term < ?"
AMONG: Final = "SELECT term FROM terms WHERE term IN (SELECT value FROM json_each(?))"
MOST_HALVES: Final = 4
"""Ways in which one word is taken for two."""
LONGEST_PAIR: Final = 40
"""A longer word is not taken for two."""
MOST_READ: Final = 8
"""Texts that are asked how a word is written."""
KNOWING: Final = """
SELECT texts.rowid FROM texts CROSS JOIN nodes ON nodes.key = texts.rowid
WHERE texts MATCH ? ORDER BY nodes.id, nodes.node LIMIT ?
"""
SPELLED: Final = """
SELECT snippet(texts, -1, char(2), char(3), '', 64) FROM texts WHERE texts MATCH ? AND rowid = ?
"""
_MARKED: Final = re.compile("\x02([^\x02\x03]*)\x03")
COUNTS: Final = "SELECT term, doc FROM terms WHERE term IN (SELECT value FROM json_each(?))"
MATCHES: Final = "SELECT count(*) FROM texts WHERE texts MATCH ?"


class Vocabulary:
    """The terms of one database, for the time of one search."""

    def __init__(self, db: apsw.Connection) -> None:
        """Nothing is read yet."""
        self._db = db
        self._tokenizer = cast("Callable[..., list[tuple[str, ...]]]", db.fts5_tokenizer(*TOKENIZER))
        self._counts: dict[str, int] = {}

    def stems(self, text: str) -> list[str]:
        """The terms of a text."""
        tokens = self._tokenizer(text.encode("utf-8", "ignore"), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)
        return [token[0] for token in tokens]

    def stem(self, word: str) -> str:
        """The term of a word, empty where it is none or more than one."""
        stems = self.stems(word)
        return stems[0] if len(stems) == 1 else ""

    def count(self, term: str) -> int:
        """How many texts know a term."""
        if term not in self._counts:
            row = self._db.execute(COUNT, (term,)).fetchone()
            self._counts[term] = row[0] if row else 0
        return self._counts[term]

    def matches(self, expression: str) -> int:
        """How many texts an expression finds."""
        row = self._db.execute(MATCHES, (expression,)).fetchone()
        return int(row[0]) if row else 0

    def spelled(self, terms: Iterable[str]) -> dict[str, str]:
        """Terms with a word each that has this stem: a stem's own may be another. Those without one are left out."""
        words = ((term, (term + tail for tail in TAILS)) for term in terms)
        found = ((term, next((word for word in each if self.stem(word) == term), "")) for term, each in words)
        return {term: word for term, word in found if word}

    def beginning(self, begin: str) -> list[str]:
        """The most common terms that begin so."""
        self._counts.update(self._db.execute(BEGUN, (begin, begin + LAST)))
        return self._most_common((term for term in self._counts if term.startswith(begin)), MOST_BEGUN)

    def containing(self, word: str) -> list[str]:
        """Of a language that writes without spaces: terms that hold the word, or that it holds."""
        if word < EAST:
            return []
        terms = [row[0] for row in self._db.execute(RANGE, (EAST, LAST, 2, 1 << 16))]
        return self._most_common((term for term in terms if term in word or word in term), MOST_BEGUN)

    def completing(self, word: str) -> list[str]:
        """Terms of words that this one becomes when its ending is written out."""
        return self._known(completed(word))

    def meant(self, word: str) -> list[str]:
        """Terms that a word which nobody wrote may have been meant to be, the most common first."""
        stem, most = self.stem(word), bound(word)
        if not stem or not most or any(map(str.isdigit, stem)):
            return []
        # a slip may make an ending of what is none: then the word itself is nearer than its stem
        spellings = dict.fromkeys((stem, word))
        lengths = (max(len(stem) - most, 2), len(word) + most)
        terms = self._range(stem[0], *lengths) + self._range(stem[1::-1], *lengths)
        near = (
            self._like(word, nearest(spellings, terms))
            or self._mended(word, most)
            or self._like(word, self._bare(word))
            or self._like(word, self._first_letter(stem))
        )
        return self._most_common(near, MOST_MEANT)

    def halves(self, word: str) -> list[tuple[str, str]]:
        """Two words that somebody wrote, and that this one is when they are written together; the likeliest first."""
        if len(word) > LONGEST_PAIR or not word.isalpha():
            return []
        pairs = [(word[:at], word[at:]) for at in range(2, len(word) - 1)]
        stems = {half: self.stem(half) for pair in pairs for half in pair}
        self._counts |= dict.fromkeys(stems.values(), 0) | dict(self._db.execute(COUNTS, (packed(stems.values()),)))
        known = [pair for pair in pairs if all(self.count(stems[half]) for half in pair)]
        return sorted(known, key=lambda pair: -min(map(len, pair)))[:MOST_HALVES]

    def _like(self, word: str, terms: Iterable[str]) -> list[str]:
        """Those of the terms that are near to a word also as somebody wrote them: stems hide how far words are apart.

        Of a long word the nearest of them, which may differ from it by their ending as well.
        """
        most = bound(word) if len(word) < TWO else len(word) // 3
        found = {}
        for term, spelled in self.spelled(self._most_common(terms, 2 * MOST_MEANT)).items():
            forms = self._written(spelled) | self._inflected(word, term)
            ways = [away for form in forms if (away := distance(word, form, most)) is not None]
            if ways:
                found[term] = min(ways)
        least = min(found.values(), default=0)
        return [term for term, away in found.items() if away == least or len(word) < TWO]

    def _written(self, word: str) -> set[str]:
        """Words with the same stem as this one, as some texts write them."""
        expression = f'"{word}"'
        keys = self._db.execute(KNOWING, (expression, MOST_READ)).fetchall()
        texts = [text for (key,) in keys for (text,) in self._db.execute(SPELLED, (expression, key))]
        return {form.lower() for text in texts for form in _MARKED.findall(text)}

    def _inflected(self, word: str, term: str) -> set[str]:
        """A term's words with the ending that was typed: who writes `tsaks` means `tasks`, though all say `task`."""
        ends = (end for end in INFLECTIONS if word.endswith(end) and self.stem(word) == word.removesuffix(end))
        return {term + end for end in ends if self.stem(term + end) == term}

    def _bare(self, word: str) -> list[str]:
        """Terms that are near to a word without the ending that it has."""
        begun = list(bare(word))
        return nearest(
            begun, (term for each in begun for term in self._range(each[0], len(each) - 1, len(each) + 1)), 1
        )

    def _mended(self, word: str, most: int) -> list[str]:
        """Terms of words that this one becomes when its ending is put right, or that it is near to then."""
        words = dict.fromkeys(mended(word))
        known = self._known(words)
        if known or most == 1:
            return known
        stems = dict.fromkeys(stem for stem in map(self.stem, words) if stem)
        terms = (term for stem in stems for term in self._range(stem[:2], len(stem) - 1, len(stem) + 1))
        return nearest(stems, terms, 1)

    def _first_letter(self, stem: str) -> list[str]:
        """Terms that a stem becomes when its first letter is another, is put before it, or is taken away."""
        if len(stem) <= ONE or not stem.isascii():
            return []
        others = [letter + rest for rest in (stem, stem[1:]) for letter in ascii_lowercase]
        return [row[0] for row in self._db.execute(AMONG, (packed([stem[1:], *others]),))]

    def _known(self, words: Iterable[str]) -> list[str]:
        return self._most_common(map(self.stem, words), MOST_MEANT)

    def _range(self, begin: str, shortest: int, longest: int) -> list[str]:
        return [row[0] for row in self._db.execute(RANGE, (begin, begin + LAST, shortest, longest))]

    def _most_common(self, terms: Iterable[str], most: int) -> list[str]:
        found = [term for term in dict.fromkeys(terms) if self.count(term)]
        return sorted(found, key=lambda term: (-self.count(term), term))[:most]
