"""c32check: the notation of Stacks addresses, base 32 after Crockford with a checksum of four bytes."""

from typing import Final

from keisei.rules.wallet.ripemd import sha256d

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
WIDTH: Final = 20
"""Bytes of the hash in an address."""
LONGEST: Final = 41


def decode(text: str) -> tuple[int, bytes]:
    """Version and hash of an address. Raises ValueError, also for one that is not written in the one usual way."""
    if not 6 < len(text) <= LONGEST or not text.startswith("S"):  # noqa: PLR2004 - a version and a checksum at least
        raise ValueError("it does not begin with S, or has no length that a Stacks address can have")
    if not set(text) <= set(ALPHABET):
        raise ValueError("it has a character that c32check does not have (capital letters only, and no I, L, O, U)")
    number = 0
    for character in text[2:]:
        number = number * 32 + ALPHABET.index(character)
    version = ALPHABET.index(text[1])
    if number >= 1 << 8 * (WIDTH + 4):
        raise ValueError("it is too long")
    raw = number.to_bytes(WIDTH + 4)
    if _checksum(version, raw[:WIDTH]) != raw[WIDTH:]:
        raise ValueError("its checksum is wrong: a character is mistyped or missing")
    if encode(version, raw[:WIDTH]) != text:
        raise ValueError("it is not written in the usual way: zeros stand in front that do not belong there")
    return version, raw[:WIDTH]


def encode(version: int, hashed: bytes) -> str:
    """The address: each zero byte in front becomes one 0, as in Base58."""
    whole = hashed + _checksum(version, hashed)
    number, digits = int.from_bytes(whole), ""
    while number:
        number, digit = divmod(number, 32)
        digits = ALPHABET[digit] + digits
    return f"S{ALPHABET[version]}{'0' * (len(whole) - len(whole.lstrip(bytes(1))))}{digits}"


def _checksum(version: int, hashed: bytes) -> bytes:
    return sha256d(bytes([version]) + hashed)[:4]
