"""What somebody typed, as words to look for. Any text is a query, and none is an error."""

import re
import unicodedata
from itertools import groupby
from typing import Final, NamedTuple

LONGEST: Final = 512
"""Characters of a text that are looked at."""
MOST_WORDS: Final = 16
"""Words of a text that are looked at."""
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
FOREIGN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that have no place within a line: they control, break, turn the direction, or are halves of others."""
STOP: Final = frozenset(
    re.findall(
        r"[a-z]+",
        """a an and are as at be by can did do does for from has have i in into is it its me my of on or our so some
        that the their them there these this those to was we were will with would you your""",
    )
)
"""Words that say nothing of what is wanted: they are left out where others remain."""
ASKING: Final = frozenset({"what", "when", "where", "which", "who", "whom", "whose", "why", "how"})
"""Words that ask. Every text has them; only who has one among its keywords means it."""


class Word(NamedTuple):
    """One word of a query."""

    text: str
    """In small letters, as it would stand in a text."""
    parts: tuple[str, ...] = ()
    """What it is made of, where it is more than one piece: `readFile`, `sha256`."""
    is_open: bool = False
    """Whether the text ends with it, so that more letters may follow."""
    is_asking: bool = False
    """Whether it only asks, beside others that say for what."""


class Query(NamedTuple):
    """A text that was typed."""

    said: str
    """The text itself in one line, as a name would be written; without what no text can hold."""
    words: tuple[Word, ...]
    """What is looked for, in the order of the text, once each."""

    @property
    def is_blank(self) -> bool:
        """Whether nothing was typed, so that everything is meant. A sign without a letter or digit means nothing."""
        return not self.said


def query_of(text: str) -> Query:
    """The words of a text, whatever it is. Long texts are cut; small words count only where there are no others."""
    text = text.lstrip()
    cut = unicodedata.normalize("NFKC", text[:LONGEST])[:LONGEST]
    runs = ["".join(run) for is_letter, run in groupby(cut, _is_letter) if is_letter]
    open_at = len(runs) - 1 if cut and _is_letter(cut[-1]) and len(text) <= LONGEST else -1
    said: dict[str, Word] = {}
    for at, run in enumerate(runs):
        word = Word(run.lower(), _parts(run), at == open_at)
        said[word.text] = said.get(word.text, word)._replace(is_open=word.is_open)
    words = [word for text, word in said.items() if text not in STOP] or list(said.values())
    if any(word.text not in ASKING for word in words):
        words = [word._replace(is_asking=word.text in ASKING) for word in words]
    return Query(plain(text[:LONGEST]), tuple(words[:MOST_WORDS]))


def plain(text: str) -> str:
    """A text in one line, without characters that have no place in it."""
    return " ".join(FOREIGN.sub(" ", text).split())


def _is_letter(letter: str) -> bool:
    return letter.isalnum() or unicodedata.category(letter)[0] == "M"


def _parts(run: str) -> tuple[str, ...]:
    """The pieces of a word that mixes capitals or digits with letters. A word of other alphabets is one piece."""
    found = _PART.findall(run) if run.isascii() else []
    return tuple(each.lower() for each in found[:MOST_WORDS]) if len(found) > 1 else ()
