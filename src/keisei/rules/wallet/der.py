"""ECDSA signatures in DER, as strictly as BIP-66 wants them: one way to write each."""

from typing import Final

from keisei.rules.wallet.curve import N

LONGEST: Final = 72
"""Bytes: two numbers of 33, and what is around them."""
SEQUENCE: Final = 0x30
INTEGER: Final = 0x02


def parse_der(raw: bytes) -> tuple[int, int]:
    """The numbers r and s. Raises ValueError for what is written in any other way, and for numbers out of range."""
    if not 8 <= len(raw) <= LONGEST or raw[0] != SEQUENCE or raw[1] != len(raw) - 2:  # noqa: PLR2004 - two small numbers
        raise ValueError("the signature in the witness is not DER")
    r, rest = _integer(raw[2:])
    s, rest = _integer(rest)
    if rest:
        raise ValueError("the signature in the witness is not DER: something stands behind it")
    if not (0 < r < N and 0 < s < N):
        raise ValueError("r or s of the signature is zero, or not below the order of the curve")
    return r, s


def _integer(raw: bytes) -> tuple[int, bytes]:
    if len(raw) < 3 or raw[0] != INTEGER or not 0 < raw[1] <= len(raw) - 2:  # noqa: PLR2004 - mark, length, a byte
        raise ValueError("the signature in the witness is not DER")
    number, rest = raw[2 : 2 + raw[1]], raw[2 + raw[1] :]
    if number[0] & 0x80:
        raise ValueError("the signature in the witness is not DER: a number is negative")
    if len(number) > 1 and number[0] == 0 and not number[1] & 0x80:
        raise ValueError("the signature in the witness is not DER: a number begins with a zero it does not need")
    return int.from_bytes(number), rest
