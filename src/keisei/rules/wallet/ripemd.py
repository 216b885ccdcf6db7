"""RIPEMD-160, and Bitcoin's two hashes that need no more. hashlib has it only where OpenSSL still offers it."""

import hashlib
from typing import Final

MASK: Final = 2**32 - 1
START: Final = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0)
RHO: Final = (7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8)
TURNS: Final = (
    (11, 14, 15, 12, 5, 8, 7, 9, 11, 13, 14, 15, 6, 7, 9, 8),
    (12, 13, 11, 15, 6, 9, 9, 7, 12, 15, 11, 13, 7, 8, 7, 7),
    (13, 15, 14, 11, 7, 7, 6, 8, 13, 14, 13, 12, 5, 5, 6, 9),
    (14, 11, 12, 14, 8, 6, 5, 5, 15, 12, 15, 14, 9, 9, 8, 6),
    (15, 12, 13, 13, 9, 5, 8, 6, 14, 11, 12, 11, 8, 6, 5, 5),
)
"""How far each word of the message is turned, by round."""
LEFT: Final = (0x00000000, 0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xA953FD4E)
RIGHT: Final = (0x50A28BE6, 0x5C4DD124, 0x6D703EF3, 0x7A6D76E9, 0x00000000)


def hash160(data: bytes) -> bytes:
    """RIPEMD-160 of SHA-256: what addresses keep of a key or a script."""
    return ripemd160(hashlib.sha256(data).digest())


def sha256d(data: bytes) -> bytes:
    """SHA-256 twice."""
    return hashlib.sha256(hashlib.sha256(data).digest()).digest()


def ripemd160(data: bytes) -> bytes:
    """The digest, 20 bytes."""
    padded = data + b"\x80" + bytes(-(len(data) + 9) % 64) + (8 * len(data)).to_bytes(8, "little")
    state = START
    for start in range(0, len(padded), 64):
        words = [int.from_bytes(padded[start + 4 * i : start + 4 * i + 4], "little") for i in range(16)]
        one = _line(state, words, list(range(16)), LEFT, 0)
        two = _line(state, words, [(9 * i + 5) % 16 for i in range(16)], RIGHT, 4)
        state = tuple((state[(i + 1) % 5] + one[(i + 2) % 5] + two[(i + 3) % 5]) & MASK for i in range(5))  # type: ignore[assignment]
    return b"".join(word.to_bytes(4, "little") for word in state)


def _line(
    state: tuple[int, ...], words: list[int], order: list[int], constants: tuple[int, ...], first: int
) -> tuple[int, ...]:
    """One of the two lines of five rounds; the right one takes the functions backwards, from `first` = 4."""
    a, b, c, d, e = state
    for number, constant in enumerate(constants):
        for index in order:
            mixed = a + _mixed(abs(first - number), b, c, d) + words[index] + constant
            a, b, c, d, e = e, (_turned(mixed & MASK, TURNS[number][index]) + e) & MASK, b, _turned(c, 10), d
        order = [RHO[index] for index in order]
    return a, b, c, d, e


def _mixed(kind: int, x: int, y: int, z: int) -> int:
    if kind == 0:
        return x ^ y ^ z
    if kind == 1:
        return (x & y) | (~x & z & MASK)
    if kind == 2:  # noqa: PLR2004 - the functions are numbered
        return (x | ~y & MASK) ^ z
    if kind == 3:  # noqa: PLR2004 - as above
        return (x & z) | (y & ~z & MASK)
    return x ^ (y | ~z & MASK)


def _turned(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & MASK
