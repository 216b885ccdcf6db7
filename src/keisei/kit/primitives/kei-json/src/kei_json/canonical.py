"""Canonical JSON (RFC 8785): one value, one text."""

import json
from decimal import Decimal

from kei_json.value import Json

LEAST_PLAIN, MOST_PLAIN = 1e-6, 1e21
"""ECMAScript writes numbers between these without an exponent."""


def canonical(value: Json) -> str:
    """The text of a value that JSON can carry: keys by their UTF-16 code units, numbers as ECMAScript writes them."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{_text(key)}:{canonical(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    return _number(value) if isinstance(value, float) else json.dumps(value)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(value: float) -> str:
    """Python finds the same shortest digits as ECMAScript, and lays them out another way."""
    if value == 0:
        return "0"
    if LEAST_PLAIN <= abs(value) < MOST_PLAIN:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"
