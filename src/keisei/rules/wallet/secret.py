"""What must never be written down: a private key or a mnemonic that was pasted into the wrong place."""

import re
from itertools import groupby
from typing import Final

TOKEN: Final = re.compile(r"[0-9A-Za-z]+")
FORMS: Final = (
    re.compile(r"(?:0[xX])?[0-9a-fA-F]{64}(?:01)?"),  # a private key in hexadecimal, also with Stacks' mark behind it
    re.compile(r"[5KL9c][1-9A-HJ-NP-Za-km-z]{50,51}"),  # WIF
    re.compile(r"6P[1-9A-HJ-NP-Za-km-z]{56}"),  # BIP-38
    re.compile(r"[a-zA-Z]prv[1-9A-HJ-NP-Za-km-z]{50,}"),  # an extended private key
    re.compile(r"nsec1[02-9a-z]{20,}", re.IGNORECASE),
)
MARKS: Final = ("PRIVATE KEY", "AGE-SECRET-KEY-")
WORD: Final = re.compile(r"[a-z]{3,8}")
SHORTEST: Final = 12
"""Words of a mnemonic."""


def looks_secret(text: str) -> bool:
    """Whether a private key, an extended one or a mnemonic stands in the text."""
    if any(mark in text.upper() for mark in MARKS):
        return True
    tokens = TOKEN.findall(text)
    if any(form.fullmatch(token) for form in FORMS for token in tokens):
        return True
    runs = groupby(tokens, lambda token: WORD.fullmatch(token.lower()) is not None)
    return any(is_word and len(list(run)) >= SHORTEST for is_word, run in runs)
