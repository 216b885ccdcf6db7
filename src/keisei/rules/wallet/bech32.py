"""Bech32 and Bech32m (BIP-173, BIP-350): segregated witness addresses."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

ALPHABET: Final = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
GENERATOR: Final = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
PLAIN: Final = 1
"""What a Bech32 checksum comes to; witness version 0."""
MODIFIED: Final = 0x2BC830A3
"""What a Bech32m checksum comes to; every later version."""
LONGEST: Final = 90
CHECKSUM: Final = 6
LAST_VERSION: Final = 16


class Witness(NamedTuple):
    """What a segregated witness address says."""

    prefix: str
    """Whose address: `bc`, `tb`, `bcrt`."""
    version: int
    """0 to 16."""
    program: bytes
    """The hash or key, 2 to 40 bytes."""


def decode(text: str) -> Witness:
    """The address. Raises ValueError, also for a version 0 under Bech32m and a later one under Bech32."""
    prefix, data, kind = _split(text)
    if not data:
        raise ValueError("nothing stands between its prefix and its checksum")
    version, program = data[0], _bytes(data[1:])
    if version > LAST_VERSION:
        raise ValueError(f"witness version {version} does not exist")
    if not 2 <= len(program) <= 40:  # noqa: PLR2004 - BIP-141
        raise ValueError(f"its program has {len(program)} bytes, not 2 to 40")
    if version == 0 and len(program) not in (20, 32):
        raise ValueError(f"its program has {len(program)} bytes, and one of version 0 has 20 or 32")
    if kind != (MODIFIED if version else PLAIN):
        raise ValueError(f"its checksum is {'Bech32' if version else 'Bech32m'}'s, which is not for version {version}")
    return Witness(prefix, version, program)


def encode(prefix: str, version: int, program: bytes) -> str:
    """The address, in small letters."""
    data = [version, *_fives(program)]
    left = _polymod([*_expanded(prefix), *data, *[0] * CHECKSUM]) ^ (MODIFIED if version else PLAIN)
    checksum = [left >> 5 * (CHECKSUM - 1 - i) & 31 for i in range(CHECKSUM)]
    return f"{prefix}1{''.join(ALPHABET[each] for each in [*data, *checksum])}"


def _split(text: str) -> tuple[str, list[int], int]:
    """Prefix, groups of five bits and kind of checksum."""
    if len(text) > LONGEST:
        raise ValueError(f"it has more than {LONGEST} characters")
    if not all("!" <= character <= "~" for character in text):
        raise ValueError("it has a character that no address has")
    if text not in (text.lower(), text.upper()):
        raise ValueError("it mixes small and capital letters")
    prefix, separator, tail = text.lower().rpartition("1")
    if not separator or not prefix:
        raise ValueError("it has no prefix with a 1 behind it")
    if len(tail) < CHECKSUM or not set(tail) <= set(ALPHABET):
        raise ValueError("it has a character that Bech32 does not have, or too few of them")
    values = [ALPHABET.index(character) for character in tail]
    kind = _polymod([*_expanded(prefix), *values])
    if kind not in (PLAIN, MODIFIED):
        raise ValueError("its checksum is wrong: a character is mistyped or missing")
    return prefix, values[:-CHECKSUM], kind


def _polymod(values: Iterable[int]) -> int:
    found = 1
    for value in values:
        top = found >> 25
        found = (found & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(GENERATOR):
            found ^= generator if top >> bit & 1 else 0
    return found


def _expanded(prefix: str) -> list[int]:
    return [*(ord(each) >> 5 for each in prefix), 0, *(ord(each) & 31 for each in prefix)]


def _bytes(groups: Sequence[int]) -> bytes:
    """Eight bits for five. What is left over must be less than a group, and zero."""
    number = 0
    for group in groups:
        number = number << 5 | group
    spare = 5 * len(groups) % 8
    if spare > 4 or number & ((1 << spare) - 1):  # noqa: PLR2004 - a whole group says something
        raise ValueError("it is padded with more than the few zero bits it needs")
    return (number >> spare).to_bytes(5 * len(groups) // 8)


def _fives(program: bytes) -> list[int]:
    count = -(-8 * len(program) // 5)
    number = int.from_bytes(program) << (5 * count - 8 * len(program))
    return [number >> 5 * (count - 1 - i) & 31 for i in range(count)]
