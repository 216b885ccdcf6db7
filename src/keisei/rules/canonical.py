"""Canonical JSON (RFC 8785): one value, one sequence of bytes. Bundles, cache keys and the ledger hash these bytes."""

import hashlib
import json
import math
from collections.abc import Callable
from typing import Final

LARGEST = 2**53 - 1
_TEXT: Final = json.encoder.encode_basestring
_WORDS: Final = {None: "null", True: "true", False: "false"}
FEW, MANY = -7, 21
"""ECMAScript writes numbers from 1e-6 up to 1e21 without an exponent."""


def canonical(value: object) -> bytes:
    """The bytes. Raises ValueError for what has no canonical form: NaN, integers above 2^53-1, half surrogates."""
    parts: list[str] = []
    try:
        _write(value, parts.append)
        return "".join(parts).encode("utf-8")
    except UnicodeEncodeError as error:
        message = "text with half a surrogate pair has no canonical form"
        raise ValueError(message) from error
    except RecursionError as error:
        message = "nested too deeply for a canonical form"
        raise ValueError(message) from error


def digest(value: object) -> str:
    """sha256 of the canonical bytes, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def _write(value: object, write: Callable[[str], None]) -> None:
    if isinstance(value, dict):
        _write_object(value, write)
    elif isinstance(value, list | tuple):
        ahead = "["
        for item in value:
            write(ahead)
            ahead = ","
            # most of a large value are leaves: they are written without another call
            write(_TEXT(item)) if type(item) is str else _write(item, write)
        write("]" if value else "[]")
    else:
        write(_scalar(value))


def _write_object(value: dict[object, object], write: Callable[[str], None]) -> None:
    keys = [key for key in value if isinstance(key, str)]
    if len(keys) != len(value):
        message = "an object with keys that are not strings has no canonical form"
        raise ValueError(message)
    ahead = "{"
    for key in sorted(keys, key=None if all(map(str.isascii, keys)) else _utf16):
        item = value[key]
        write(f"{ahead}{_TEXT(key)}:")
        ahead = ","
        write(_TEXT(item)) if type(item) is str else _write(item, write)
    write("}" if value else "{}")


def _utf16(key: str) -> bytes:
    """Sort by UTF-16 code units, as ECMAScript does; big-endian bytes compare the same way."""
    return key.encode("utf-16-be", "surrogatepass")


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return _TEXT(value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int):
        if not -LARGEST <= value <= LARGEST:
            message = f"{value} is beyond 2^53-1 and has no canonical form"
            raise ValueError(message)
        return int.__repr__(value)
    if isinstance(value, float):
        return _number(value)
    message = f"a {type(value).__name__} has no canonical form"
    raise ValueError(message)


def _number(value: float) -> str:
    """ECMAScript's Number.toString: Python's shortest digits, laid out its way."""
    if not math.isfinite(value):
        message = f"{value} has no canonical form"
        raise ValueError(message)
    if value == 0:
        return "0"
    plain = float.__repr__(value)
    if "e" not in plain:  # both write these alike, but for a fraction of nothing
        return plain.removesuffix(".0")
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    return sign + _laid_out(digits.rstrip("0"), point)


def _laid_out(digits: str, point: int) -> str:
    """Digits with the decimal point after the first `point` of them, with an exponent only where it is far away."""
    count = len(digits)
    if count <= point <= MANY:
        return digits + "0" * (point - count)
    if 0 < point <= MANY:
        return f"{digits[:point]}.{digits[point:]}"
    if FEW < point - 1 < 0 or point == 0:
        return f"0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if count > 1 else ""
    return f"{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"
