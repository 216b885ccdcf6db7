"""Shapes: schemas of objects without what is only said to people, so that equal ones are one."""

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import msgspec

from keisei.contracts.containment import LARGEST
from keisei.contracts.witness import pointed

NOTES: Final = frozenset(
    ("title", "description", "examples", "default", "readOnly", "writeOnly", "deprecated", "$comment", "$schema")
)
"""What is said to people: no document is refused for it."""
NAMED: Final = frozenset(("properties", "patternProperties", "definitions", "$defs", "dependencies"))
"""What holds schemas by name; a name may be one of the words above."""
NESTED: Final = frozenset(
    ("items", "additionalItems", "contains", "additionalProperties", "propertyNames", "allOf", "anyOf", "oneOf")
) | {"not", "if", "then", "else"}
"""What holds schemas."""
PLAIN: Final = frozenset(("type", "properties", "required", "additionalProperties", "definitions"))
"""What a schema says that only speaks of single fields."""
BRANCHES: Final[tuple[tuple[str, Callable[[Iterable[bool]], bool]], ...]] = (
    ("allOf", any),
    ("anyOf", all),
    ("oneOf", all),
)
"""What holds if it holds in one branch, and what must hold in all."""
REFERENCE: Final = '"$ref":'
LOCAL: Final = '"$ref":"#/definitions/'
ADDRESS: Final = '"$id":'
"""How a part of a schema leads to another, to one that has a name, and says where that begins."""
ANY: Final = "true"
DEEPEST: Final = 8
"""References and branches that are followed for fields."""


class Shape(NamedTuple):
    """A schema of objects."""

    sha: str
    """Its digest."""
    text: str
    """The schema, in one spelling."""
    fields: frozenset[str]
    """What its documents may have, by name."""
    always: frozenset[str]
    """What all of them have."""
    parts: dict[str, str] | None
    """What it says of each field that it names, as a schema of its own; None where it says more than that."""
    others: str
    """What it says of all other fields, likewise."""

    def part(self, field: str) -> str:
        """What it says of a field."""
        return (self.parts or {}).get(field, self.others)


def shape(schema: object) -> Shape | None:
    """The shape of a bundled schema; None for what has no fields, is too large or is no JSON."""
    try:
        bare = _bare(schema)
        if isinstance(bare, dict):
            bare.pop("$id", None)  # an address; inside it would say where references begin
        text = _encoded(bare)
        found = _fields(bare, bare, 0) if len(text) <= LARGEST else None
        return _shaped(_digest(text), text, bare, found) if found else None
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None


def kept(sha: str, text: str) -> Shape:
    """The shape that this text and digest were taken from."""
    bare = msgspec.json.decode(text)
    found = _fields(bare, bare, 0)
    if not found:
        raise msgspec.DecodeError("a shape that is none")
    return _shaped(sha, text, bare, found)


def _shaped(sha: str, text: str, bare: dict[str, Any], found: dict[str, bool]) -> Shape:
    always = frozenset(field for field, is_always in found.items() if is_always)
    if not _is_plain(bare, text):
        return Shape(sha, text, frozenset(found), always, None, ANY)
    parts = {field: _part(each, bare) for field, each in bare.get("properties", {}).items()}
    return Shape(sha, text, frozenset(found), always, parts, _part(bare.get("additionalProperties", True), bare))


def _is_plain(bare: dict[str, Any], text: str) -> bool:
    """Whether a schema says no more than what single fields are like, each of which stands for itself."""
    if not bare.keys() <= PLAIN or ADDRESS in text or text.count(REFERENCE) != text.count(LOCAL):
        return False
    named, required = bare.get("properties", {}), bare.get("required", [])
    parts = (*named.values(), bare.get("additionalProperties", True)) if isinstance(named, dict) else (None,)
    return isinstance(required, list) and all(isinstance(each, dict | bool) for each in parts)


def _part(schema: Any, bare: dict[str, Any]) -> str:  # noqa: ANN401 - any JSON
    """A part as a schema of its own, with what its references lead to."""
    text = _encoded(schema)
    return _encoded(schema | {"definitions": bare.get("definitions", {})}) if REFERENCE in text else text


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _encoded(value: object) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


def _bare(schema: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(schema, list):
        return [_bare(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    bare = {}
    for word, value in schema.items():
        if word in NAMED and isinstance(value, dict):
            bare[word] = {name: _bare(each) for name, each in value.items()}
        elif word in NESTED:
            bare[word] = _bare(value)
        elif word not in NOTES:
            bare[word] = value
    return bare


def _fields(schema: Any, root: Any, depth: int) -> dict[str, bool] | None:  # noqa: ANN401 - any JSON
    """The fields of an object, and whether each is always there; None for what need not be an object."""
    if not isinstance(schema, dict) or depth > DEEPEST:
        return None
    if isinstance(schema.get("$ref"), str):
        return _fields(pointed(root, schema["$ref"]), root, depth + 1)
    found = dict.fromkeys(_names(schema.get("properties")), False) | dict.fromkeys(_names(schema.get("required")), True)
    is_object = schema.get("type") == "object"
    for word, judge in BRANCHES:
        if word in schema:
            ways = [_fields(each, root, depth + 1) for each in _listed(schema[word])]
            is_object |= bool(ways) and judge(way is not None for way in ways)
            for field in {field for way in ways for field in way or ()}:
                found[field] = found.get(field, False) or judge((way or {}).get(field, False) for way in ways)
    return found if is_object else None


def _names(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list | dict) else []


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
