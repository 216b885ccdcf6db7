"""What a query looks for: each of its words as phrases that the index can be asked for."""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from keisei.graph.search_term import EAST, Vocabulary
from keisei.rules.query import MOST_WORDS, STOP, Word

SHORTEST: Final = 3
"""A shorter word that nobody wrote is no beginning of another."""
SHORTEST_OPEN: Final = 2
"""Nor is a shorter one that is being typed."""
RARE: Final = 200
"""A word that more texts know is whole, though it may go on."""
FEW: Final = 1500
"""So many texts are few, whatever there is."""
SAID: Final = "{name keywords title} : "
"""Where a text says what it is."""
WHOLE, JOINED, BEGUN, ALSO_BEGUN, MEANT, ASKED, PIECE = 1.0, 0.9, 0.6, 0.25, 0.4, 0.3, 0.15
"""What a phrase is worth: the word itself, written apart or together, a beginning where nobody wrote the word, a
beginning where somebody did, another word that may have been meant, a word that only asks, a piece of a word that
somebody wrote."""


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
    said: int = 0
    """How many texts say so of themselves, where most texts know the word; else 0."""

    @property
    def known(self) -> int:
        """How many texts know it, more or less."""
        return max((phrase.known for phrase, worth in self.phrases.items() if worth > ALSO_BEGUN), default=0)

    @property
    def is_asking(self) -> bool:
        """Whether it only asks."""
        return set(self.phrases.values()) <= {ASKED}

    def without(self, most: int) -> "Sought":
        """The same without beginnings that more texts know, where somebody wrote the word itself."""
        kept = {phrase: worth for phrase, worth in self.phrases.items() if worth > ALSO_BEGUN or phrase.known <= most}
        return self._replace(phrases=kept)

    def rarity(self, documents: int) -> float:
        """How much it tells that a text knows this word."""
        # a heading that every page has makes no word common
        known = math.sqrt(self.known * self.said) if self.said else self.known
        return math.log1p(documents / (1 + known))


class Wanted(NamedTuple):
    """What a query looks for."""

    words: list[Sought]
    unknown: tuple[str, ...]
    """Words that nothing can serve."""


def wanted(words: Sequence[Word], terms: Vocabulary, documents: int) -> Wanted:
    """What is looked for. What most texts know is left out beside others, unless it is what some of them are about."""
    found = [each for word in words for each in _served(word, terms)][:MOST_WORDS]
    for one, other in pairwise(found):
        count = terms.count(terms.stem(one.word + other.word)) if STOP.isdisjoint((one.word, other.word)) else 0
        if count:
            joined = Phrase(quoted(one.word + other.word), count)
            one.phrases.setdefault(joined, JOINED)
            other.phrases.setdefault(joined, JOINED)
    asking = {word.text for word in words if word.is_asking}
    unknown = dict.fromkeys(each.word for each in found if not each.phrases and each.word not in asking)
    most = max(FEW, documents // 2)
    served = [each.without(most) for each in found if each.phrases]
    told = [_telling(each, terms, documents) for each in served] if len(served) > 1 else served
    return Wanted([each for each in told if each.known <= most] or told, tuple(unknown))


def quoted(text: str, *, is_open: bool = False) -> str:
    """A text that FTS5 looks for as it stands; nothing in it is an operator."""
    return '"' + text.replace('"', '""') + ('" *' if is_open else '"')


def _telling(word: Sought, terms: Vocabulary, documents: int) -> Sought:
    """The same; where most texts know the word, with how many say so of themselves.

    Where those are few among very many, only they are looked for.
    """
    if word.known <= documents // 2 or word.meant or word.is_asking:
        return word
    common = max(word.phrases, key=lambda phrase: phrase.known)
    expression = SAID + common.expression
    said = terms.matches(expression)
    if word.known <= FEW:
        return word._replace(said=said)
    return word._replace(phrases={Phrase(expression, said): WHOLE}) if 0 < said <= RARE else word


def _served(word: Word, terms: Vocabulary) -> list[Sought]:
    if word.is_asking:
        expression = f"{{name keywords}} : {quoted(word.text)}"
        known = terms.matches(expression)
        return [Sought(word.text, {Phrase(expression, known): ASKED} if known else {})]
    phrases = _written(word, terms)
    if word.parts and (not phrases or all(map(str.isalpha, word.parts))):
        return _apart(word, phrases, terms)
    if not phrases or (word.is_open and sum(phrase.known for phrase in phrases) <= RARE):
        phrases |= _begun(word, terms, ALSO_BEGUN if phrases else BEGUN)
    if phrases or not terms.stems(word.text):
        return [Sought(word.text, phrases)]
    return _guessed(word.text, terms)


def _apart(word: Word, whole: dict[Phrase, float], terms: Vocabulary) -> list[Sought]:
    """A word of several pieces as those; where somebody wrote the whole, that serves each of them, and better."""
    last = len(word.parts) - 1
    pieces = [Word(part, is_open=word.is_open and at == last) for at, part in enumerate(word.parts)]
    if not whole:
        return [each for piece in pieces for each in _served(piece, terms)]
    value = PIECE if WHOLE in whole.values() else WHOLE
    return [Sought(piece.text, dict.fromkeys(_written(piece, terms), value) | whole) for piece in pieces]


def _guessed(word: str, terms: Vocabulary) -> list[Sought]:
    """A word that nobody wrote: two that belong apart, a misspelt one, or two that only it puts together."""
    halves = terms.halves(word)
    apart = _counted_phrases((f"{one} {other}" for one, other in halves), terms)
    meant = apart or _counted(terms.spelled(terms.meant(word)), terms, MEANT)
    if meant or not halves:
        return [Sought(word, meant, tuple(meant))]
    both = ({Phrase(quoted(half), terms.count(terms.stem(half))): JOINED} for half in halves[0])
    return [Sought(word, each, tuple(each)) for each in both]


def _counted_phrases(texts: Iterable[str], terms: Vocabulary) -> dict[Phrase, float]:
    """The phrase that most texts know, where any does."""
    phrases = [Phrase(quoted(text), terms.matches(quoted(text))) for text in texts]
    best = max(phrases, key=lambda phrase: phrase.known, default=None)
    return {best: JOINED} if best and best.known else {}


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
    if text < EAST and len(text) < (SHORTEST_OPEN if word.is_open else SHORTEST):
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
