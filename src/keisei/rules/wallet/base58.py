"""Base58, and Base58Check: Bitcoin's older notation, with a checksum of four bytes."""

from typing import Final

from keisei.rules.wallet.ripemd import sha256d

ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
LONGEST: Final = 128
"""Characters that are read; an address has at most 35."""


def decode(text: str) -> bytes:
    """The bytes without their checksum. Raises ValueError."""
    if not 0 < len(text) <= LONGEST:
        raise ValueError("it has no length that a Base58 address can have")
    if not set(text) <= set(ALPHABET):
        raise ValueError("it has a character that Base58 does not have")
    number = 0
    for character in text:
        number = number * 58 + ALPHABET.index(character)
    zeros = len(text) - len(text.lstrip("1"))
    raw = bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8)
    if len(raw) < 5 or sha256d(raw[:-4])[:4] != raw[-4:]:  # noqa: PLR2004 - a checksum, and something to check
        raise ValueError("its checksum is wrong: a character is mistyped or missing")
    return raw[:-4]


def encode(raw: bytes) -> str:
    """The bytes with their checksum, as text."""
    return text_of(raw + sha256d(raw)[:4])


def text_of(raw: bytes) -> str:
    """The bytes as they are, without a checksum, as text."""
    number, digits = int.from_bytes(raw), ""
    while number:
        number, digit = divmod(number, 58)
        digits = ALPHABET[digit] + digits
    return "1" * (len(raw) - len(raw.lstrip(b"\0"))) + digits
