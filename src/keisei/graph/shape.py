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
    only: frozenset[str] | None
    """What they can have at all; None where that is not said."""
    is_open: bool
    """Whether they may certainly have anything else."""


def shape(schema: object) -> Shape | None:
    """The shape of a bundled schema; None for what has no fields, is too large or is no JSON."""
    try:
        bare = _bare(schema)
        if isinstance(bare, dict):
            bare.pop("$id", None)  # an address; inside it would say where references begin
        text = msgspec.json.encode(bare, order="deterministic")
        found = _fields(bare, bare, 0) if len(text) <= LARGEST else None
    except (TypeError, ValueError, OverflowError, RecursionError):
        return None
    return _shaped(text, bare, found) if found else None


def _shaped(text: bytes, bare: dict[str, Any], found: dict[str, bool]) -> Shape:
    others = bare.get("additionalProperties", True)
    is_closed = others is False and not {"patternProperties", "$ref"} & bare.keys()
    return Shape(
        sha=hashlib.sha256(text).hexdigest(),
        text=text.decode(),
        fields=frozenset(found),
        always=frozenset(field for field, is_always in found.items() if is_always),
        only=frozenset(_names(bare.get("properties"))) if is_closed else None,
        is_open=others is True and bare.keys() <= PLAIN,
    )


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
