"""Rows by hand without secrets: nothing can be taken out of a ledger again, so it is taken out before."""

from collections.abc import Mapping
from typing import Any, Final

from keisei.rules.redact import DEEPEST, MARK, SENSITIVE, Redactor

NAMED: Final = 256
"""Characters at the end of a name that say what it names."""


def cleaned(body: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """The facts without what is a secret, or looks like one; nothing is cut. Never raises."""
    found: dict[str, Any] = _object(body, redactor, 0)
    return found


def marked(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The facts of which something was taken out, by name."""
    return tuple(name for name, value in body.items() if MARK in name or _is_marked(value))


def is_secret(text: str, redactor: Redactor) -> bool:
    """Whether a name is, holds, or looks like a secret."""
    return redactor.text(text) != text


def _object(body: Mapping[str, Any], redactor: Redactor, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in body.items():
        name = redactor.text(key)
        while name in found:
            name += "+"
        named = isinstance(value, str) and value != "" and SENSITIVE.search(key[-NAMED:]) is not None
        found[name] = MARK if named else _value(value, redactor, depth + 1)
    return found


def _value(value: Any, redactor: Redactor, depth: int) -> Any:  # noqa: ANN401 - JSON in, JSON out
    if isinstance(value, str):
        return redactor.text(value)
    if depth >= DEEPEST and isinstance(value, dict | list | tuple):
        return MARK
    if isinstance(value, dict):
        return _object(value, redactor, depth)
    if isinstance(value, list | tuple):
        return [_value(each, redactor, depth + 1) for each in value]
    return redactor.redact(value)


def _is_marked(value: object) -> bool:
    if isinstance(value, str):
        return MARK in value
    if isinstance(value, dict):
        return any(MARK in name or _is_marked(each) for name, each in value.items())
    return isinstance(value, list) and any(map(_is_marked, value))
