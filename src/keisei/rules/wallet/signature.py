"""Signatures as they are handed over: hexadecimal or base64, of bounded length; and what is said of them."""

import base64
import binascii
import re
from typing import Final, NamedTuple

from msgspec import Struct

from keisei.rules.wallet.curve import N

LONGEST: Final = 4096
"""Characters of a signature that are read; the longest that is understood has about 200."""
COMPACT: Final = 65
"""Bytes of a signature from which the key is recovered."""
HEX: Final = re.compile(r"(?:0[xX])?((?:[0-9a-fA-F]{2})+)")


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether a signature holds."""

    valid: bool
    """It is a signature of this message by the holder of this address's key."""
    scheme: str
    """How it was read."""
    reason: str
    """One sentence: what was proved, or why it was refused."""
    public_key: str | None = None
    """The key that signed, compressed, in hexadecimal; for p2tr the 32 bytes of the address."""


class Compact(NamedTuple):
    """A signature from which the key is recovered."""

    r: int
    s: int
    mark: int
    """The byte beside them: a header, `v`, or a recovery number."""


def from_hex(text: str) -> bytes:
    """The bytes of a hexadecimal signature, with 0x or without. Raises ValueError."""
    fits = HEX.fullmatch(_bounded(text))
    if fits is None:
        raise ValueError("the signature is not hexadecimal")
    return bytes.fromhex(fits[1])


def from_base64(text: str) -> bytes:
    """The bytes of a base64 signature, written in the one usual way. Raises ValueError."""
    plain = _bounded(text)
    try:
        raw = base64.b64decode(plain, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("the signature is not base64") from error
    if base64.b64encode(raw).decode("ascii") != plain:
        raise ValueError("the signature is base64, but not as base64 is written: bits are set that do not count")
    return raw


def compact(raw: bytes, *, first: bool) -> Compact:
    """Its three parts; `first` says that the mark stands before r and s. Raises ValueError."""
    if len(raw) != COMPACT:
        raise ValueError(f"the signature has {len(raw)} bytes, not {COMPACT}")
    mark, rest = (raw[0], raw[1:]) if first else (raw[-1], raw[:-1])
    r, s = int.from_bytes(rest[:32]), int.from_bytes(rest[32:])
    if not (0 < r < N and 0 < s < N):
        raise ValueError("r or s of the signature is zero, or not below the order of the curve")
    return Compact(r, s, mark)


def _bounded(text: str) -> str:
    plain = text.strip()
    if not plain:
        raise ValueError("the signature is empty")
    if len(plain) > LONGEST:
        raise ValueError(f"the signature has more than {LONGEST} characters")
    if not plain.isascii():
        raise ValueError("the signature has a character that neither base64 nor hexadecimal has")
    return plain


def length_prefix(length: int) -> bytes:
    """A length as Bitcoin writes it: one, three, five or nine bytes."""
    if length < 0xFD:  # noqa: PLR2004 - the marks of the longer forms begin here
        return bytes([length])
    size = 2 if length <= 0xFFFF else 4 if length <= 0xFFFFFFFF else 8  # noqa: PLR2004 - what fits
    return bytes([{2: 0xFD, 4: 0xFE, 8: 0xFF}[size]]) + length.to_bytes(size, "little")
