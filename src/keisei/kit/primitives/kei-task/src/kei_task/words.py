"""Words: any text as an FTS5 query. No text is an error, and no text is an operator."""

import unicodedata

MOST_WORDS = 32
"""More words than this find nothing that these do not; FTS5 takes a few hundred."""


def match(text: str) -> str:
    """Every word of the text, quoted; empty where it has none.

    The last word also matches what begins with it, and so does every word that ends with `*`.
    """
    words = [word for word in text.replace("\0", " ").split() if any(map(_counts, word))][:MOST_WORDS]
    return " ".join(_quoted(word, last=index == len(words) - 1) for index, word in enumerate(words))


def _quoted(word: str, *, last: bool) -> str:
    begins = word.endswith("*") or (last and _counts(word[-1]))
    return '"' + word.replace('"', '""') + '"' + ("*" if begins else "")


def _counts(letter: str) -> bool:
    """Whether the tokenizer keeps it: letters, digits, and marks that stand on them."""
    return unicodedata.category(letter)[0] in "LNM"
