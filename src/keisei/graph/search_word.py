"""What a query looks for: each of its words as phrases that the index can be asked for."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from keisei.graph.search_term import Vocabulary
from keisei.rules.query import STOP, Word

SHORTEST: Final = 3
"""A shorter word that nobody wrote is no beginning of another."""
SHORTEST_OPEN: Final = 2
"""Nor is a shorter one that is being typed."""
RARE: Final = 200
"""A word that more texts know is whole, though it may go on."""
FEW: Final = 1500
"""So many texts are few, whatever there is."""
WHOLE, JOINED, BEGUN, ALSO_BEGUN, MEANT, ASKED = 1.0, 0.9, 0.6, 0.25, 0.4, 0.3
"""What a phrase is worth: the word itself, written apart or together, a beginning where nobody wrote the word, a
beginning where somebody did, another word that may have been meant, a word that only asks."""


class Phrase(NamedTuple):
    """Something the index is asked for."""

    expression: str
    """As FTS5 reads it: a quoted text, of which at most the ending is open."""
    known: int
    """How many texts know it."""


class Sought(NamedTuple):
    """A word, and what is looked for in its place."""

    word: str
    """As it was typed."""
    phrases: dict[Phrase, float]
    """What serves it, with what that is worth."""
    meant: tuple[Phrase, ...] = ()
    """Those of the phrases that stand for other words, which may have been meant."""

    @property
    def known(self) -> int:
        """How many texts know it, more or less."""
        return max((phrase.known for phrase, worth in self.phrases.items() if worth > ALSO_BEGUN), default=0)

    def without(self, most: int) -> "Sought":
        """The same without beginnings that more texts know, where somebody wrote the word itself."""
        kept = {phrase: worth for phrase, worth in self.phrases.items() if worth > ALSO_BEGUN or phrase.known <= most}
        return self._replace(phrases=kept)

    def rarity(self, documents: int) -> float:
        """How much it tells that a text knows this word."""
        return math.log1p(documents / (1 + self.known))


def sought(words: Sequence[Word], terms: Vocabulary, documents: int) -> list[Sought]:
    """What is looked for. A word that nothing can serve is left out, and so is what most texts know, beside others."""
    found = [each for word in words for each in _served(word, terms)]
    for one, other in pairwise(found):
        count = terms.count(terms.stem(one.word + other.word)) if STOP.isdisjoint((one.word, other.word)) else 0
        if count:
            joined = Phrase(quoted(one.word + other.word), count)
            one.phrases.setdefault(joined, JOINED)
            other.phrases.setdefault(joined, JOINED)
    most = max(FEW, documents // 2)
    found = [each.without(most) for each in found if each.phrases]
    return [each for each in found if each.known <= most] or found


def quoted(text: str, *, is_open: bool = False) -> str:
    """A text that FTS5 looks for as it stands; nothing in it is an operator."""
    return '"' + text.replace('"', '""') + ('" *' if is_open else '"')


def _served(word: Word, terms: Vocabulary) -> list[Sought]:
    if word.is_asking:
        expression = f"{{name keywords}} : {quoted(word.text)}"
        known = terms.matches(expression)
        return [Sought(word.text, {Phrase(expression, known): ASKED} if known else {})]
    phrases = _written(word, terms)
    if not phrases and word.parts:
        last = len(word.parts) - 1
        return [
            each
            for at, part in enumerate(word.parts)
            for each in _served(Word(part, is_open=word.is_open and at == last), terms)
        ]
    if not phrases or (word.is_open and sum(phrase.known for phrase in phrases) <= RARE):
        phrases |= _begun(word, terms, ALSO_BEGUN if phrases else BEGUN)
    if phrases or not terms.stems(word.text):
        return [Sought(word.text, phrases)]
    meant = _counted(terms.spelled(terms.meant(word.text)), terms, MEANT)
    return [Sought(word.text, meant, tuple(meant))]


def _written(word: Word, terms: Vocabulary) -> dict[Phrase, float]:
    """The word as it stands, and its parts side by side."""
    found: dict[Phrase, float] = {}
    for text, worth in ((word.text, WHOLE), (" ".join(word.parts), JOINED)):
        stems = terms.stems(text)
        count = terms.count(stems[0]) if len(stems) == 1 else terms.matches(quoted(text)) if stems else 0
        if count:
            found[Phrase(quoted(text), count)] = worth
    return found


def _begun(word: Word, terms: Vocabulary, worth: float) -> dict[Phrase, float]:
    """Words that begin like this one, which is not written out."""
    text = word.text
    if len(text) < (SHORTEST_OPEN if word.is_open else SHORTEST):
        return {}
    if terms.stems(text) == [text]:
        expression = quoted(text, is_open=True)
        count = terms.matches(expression)
        if count:
            return {Phrase(expression, count): worth}
    # a beginning that has a stem of its own would find what begins like that stem
    others = terms.beginning(text) or terms.containing(text) or terms.completing(text)
    return _counted(terms.spelled(others), terms, worth)


def _counted(spelled: dict[str, str], terms: Vocabulary, worth: float) -> dict[Phrase, float]:
    return {Phrase(quoted(word), terms.count(term)): worth for term, word in spelled.items()}


def all_phrases(words: Iterable[Sought]) -> list[Phrase]:
    """Every phrase once, in the order of the words."""
    return list(dict.fromkeys(phrase for each in words for phrase in each.phrases))
