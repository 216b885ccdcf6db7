"""Inference: the JSON Schema that an example suggests, and examples read so that every language can hold them."""

import math
from typing import Any, Final

from keisei.library.json_schema import DRAFTS
from keisei.records.error import OperatorError

DEEPEST: Final = 32
LONGEST_KEY: Final = 256
LARGEST_NUMBER: Final = 2**53 - 1


def checked_example(value: object, what: str) -> dict[str, Any]:
    """The example. Raises OperatorError for what is no object, or cannot stand in JSON, YAML and code alike."""
    if not isinstance(value, dict):
        raise OperatorError(f"the {what} is not an object", """write it like '{"text": "hello"}'""")
    if fault := value_fault(value):
        raise OperatorError(f"the {what} cannot be used: {fault}", "give a simpler example")
    return value


def value_fault(value: object) -> str | None:
    """Why a value cannot stand in JSON, YAML and code alike; None where it can."""
    return _fault(value, 0)


def _fault(value: object, depth: int) -> str | None:
    if depth > DEEPEST:
        return "it is nested too deeply"
    if isinstance(value, str):
        return _text_fault(value)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or len(key) > LONGEST_KEY:
                return f"a key is no text, or longer than {LONGEST_KEY} characters"
        inner = (_text_fault(key) or _fault(each, depth + 1) for key, each in value.items())
        return next(filter(None, inner), None)
    if isinstance(value, list):
        return next(filter(None, (_fault(each, depth + 1) for each in value)), None)
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int) and abs(value) <= LARGEST_NUMBER:
        return None
    return None if isinstance(value, float) and math.isfinite(value) else "a number is too large, or no JSON value"


def _text_fault(text: str) -> str | None:
    return "a text holds half a character" if any("\ud800" <= char <= "\udfff" for char in text) else None


def inferred(example: dict[str, Any], title: str, *, closed: bool) -> dict[str, Any]:
    """A schema that the example fits. With `closed`, keys that the example does not have are refused."""
    return {"$schema": DRAFTS[0], "title": title, **_schema(example, closed=closed), "examples": [example]}


def _schema(value: object, *, closed: bool) -> dict[str, Any]:
    if isinstance(value, dict):
        properties = {key: _schema(each, closed=closed) for key, each in value.items()}
        told = {"type": "object", "properties": properties, "required": list(value)}
        return {**told, "additionalProperties": False} if closed else told
    if isinstance(value, list):
        return {"type": "array", **_items([_schema(each, closed=closed) for each in value])}
    names = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": names[type(value)]} if type(value) in names else {}


def _items(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """What items have in common: one schema, or any of a few; nothing where one of them may be anything."""
    distinct = [each for index, each in enumerate(schemas) if each not in schemas[:index]]
    if not distinct or {} in distinct:
        return {}
    return {"items": distinct[0] if len(distinct) == 1 else {"anyOf": distinct}}
