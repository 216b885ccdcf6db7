"""What must never be written down: a private key or a mnemonic that was pasted into the wrong place.

This finds mistakes, not malice: keys as wallets and tools show them, whole, numbered or split into groups. Whoever
wants to hide one can.
"""

import re
from collections.abc import Iterator
from itertools import accumulate, groupby
from typing import Any, Final

from keisei.rules.wallet import base58

TOKEN: Final = re.compile(r"[0-9A-Za-z]+")
HEX: Final = re.compile(r"(?:0[xX])?[0-9a-fA-F]{64}(?:01)?")
"""A private key in hexadecimal, also with Stacks' mark behind it."""
FORMS: Final = (
    re.compile(r"[5KL9c][1-9A-HJ-NP-Za-km-z]{50,51}"),  # WIF
    re.compile(r"6P[1-9A-HJ-NP-Za-km-z]{56}"),  # BIP-38
    re.compile(r"[a-zA-Z]prv[1-9A-HJ-NP-Za-km-z]{50,}"),  # an extended private key
    re.compile(r"nsec1[02-9a-z]{20,}", re.IGNORECASE),
)
LENGTHS: Final = (51, 52, 58, 63, 64, 66, 111)
"""Of WIF, BIP-38, nsec, hexadecimal and extended keys; what is put together again has one of them."""
MARKS: Final = ("PRIVATE KEY", "AGE-SECRET-KEY-")
BREAK: Final = re.compile(r"[^0-9A-Za-z\s_\-\u2010-\u2015]+")
"""What ends a row of groups: all but spaces, dashes and new lines. So do colons: fingerprints are written with them."""
UUID: Final = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
LINK: Final = re.compile(r"https?://\S+|sha-?256[:=\-]\s?[0-9a-f]{64}\b", re.IGNORECASE)
"""Where 64 digits are a transaction's or a file's: in a link, and where the text itself says so."""
HASHES: Final = re.compile(r"hash|sha[-_]?[0-9]|digest|checksum|fingerprint|commit|tx_?id|transaction", re.IGNORECASE)
"""Names of keys whose 64 digits are a hash."""
WORD: Final = re.compile(r"[a-z]{3,8}")
COMMON: Final = re.compile(
    r"the|and|for|with|from|are|not|was|has|its|his|her|our|but|your|them|their|these|those|been|had|were|"
    r"would|should|could|may|might|who|whom|whose|which|why|how|than|does|did|done|each|every|both|others|onto|"
    r"after|through|without|within|while|most|many|some|here|too|per|via|yes|nor|out|four|five|nine|she|being|"
    r"against"
)
"""Words that sentences are full of, and no mnemonic (BIP-39, English) has."""
INFLECTED: Final = re.compile(r".*(?:[bdgklmpt]s|(?<!seri)es|ers)")
"""Endings of plurals and of `she signs`, which no word of a mnemonic has."""
COUNTS: Final = (12, 15, 18, 21, 24)
"""Words of a mnemonic."""
Place = tuple[str | int, ...]
"""Where in a document."""


def looks_secret(text: str, *, hashes: bool = False) -> bool:
    """Whether a private key, an extended one or a mnemonic stands in the text; with `hashes`, 64 digits are none."""
    return any(mark in text.upper() for mark in MARKS) or _has_key(text, hashes=hashes) or _has_mnemonic(text)


def secret_places(data: Any, place: Place = (), *, hashes: bool = False) -> Iterator[Place]:  # noqa: ANN401 - JSON
    """Where in a document something looks like a secret: the place of the value, or of the table whose key it is."""
    if isinstance(data, str):
        if looks_secret(data, hashes=hashes):
            yield place
    elif isinstance(data, dict):
        if any(looks_secret(key, hashes=True) for key in data):
            yield place
        for key, value in data.items():
            yield from secret_places(value, (*place, key), hashes=HASHES.search(key) is not None)
    elif isinstance(data, list):
        if place[-1:] != ("capabilities",) and _is_mnemonic(data):
            yield place
            return
        for index, value in enumerate(data):
            yield from secret_places(value, (*place, index), hashes=hashes)


def _has_key(text: str, *, hashes: bool) -> bool:
    tokens = TOKEN.findall(text)
    if any(form.fullmatch(token) for form in FORMS for token in tokens):
        return True
    if not hashes and any(HEX.fullmatch(token) for token in TOKEN.findall(LINK.sub(" . ", text))):
        return True
    return any(_is_split(row, hashes=hashes) for row in BREAK.split(UUID.sub(".", text)))


def _is_split(row: str, *, hashes: bool) -> bool:
    """Whether groups that follow each other are a key, put together. Words are groups too: a checksum tells."""
    groups = [group.removeprefix("0x").removeprefix("0X") for group in TOKEN.findall(row)]
    whole, bounds = "".join(groups), [0, *accumulate(map(len, groups))]
    ends = set(bounds)
    return any(
        _is_key(whole[start : start + length], hashes=hashes)
        for start, group in zip(bounds, groups, strict=False)
        for length in LENGTHS
        if 1 < len(group) < length and start + length in ends
    )


def _is_key(joined: str, *, hashes: bool) -> bool:
    if HEX.fullmatch(joined):
        return not hashes and not joined.isdecimal() and not joined.isalpha()
    if joined[:5].lower() == "nsec1":
        return FORMS[-1].fullmatch(joined) is not None
    if joined.islower() or joined.isupper() or not any(form.fullmatch(joined) for form in FORMS):
        return False
    try:
        base58.decode(joined)
    except ValueError:
        return False
    return True


def _has_mnemonic(text: str) -> bool:
    words = (token.strip("0123456789") for token in TOKEN.findall(text))
    runs = groupby(filter(None, words), _is_word)  # a number between two words counts for nothing
    return any(is_word and len(list(run)) >= COUNTS[0] for is_word, run in runs)


def _is_mnemonic(words: list[Any]) -> bool:
    """Whether a list is a mnemonic, word by word."""
    return len(words) in COUNTS and all(isinstance(word, str) and _is_word(word.strip()) for word in words)


def _is_word(token: str) -> bool:
    """Whether a mnemonic can have the word."""
    lower = token.lower()
    if WORD.fullmatch(lower) is None or token not in (lower, token.upper(), token.capitalize()):
        return False
    return COMMON.fullmatch(lower) is None and INFLECTED.fullmatch(lower) is None
