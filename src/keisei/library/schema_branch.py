"""The parts of a draft-07 schema, and how many of them a value is held against: references may double at each step."""

from collections.abc import Iterator
from typing import Any

from keisei.contracts.pointer import Pointer, followed
from keisei.library.document import Document
from keisei.records.error import AuthorError

MOST_BRANCHES = 50_000
"""Subschemas that one value may be held against, references followed; more is an attack on whoever validates."""
DEEPEST = 128
"""References in a row; Python and validators alike follow them on a stack."""
ONE = frozenset(
    ("additionalItems", "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then")
)
LISTS = frozenset(("allOf", "anyOf", "oneOf", "items"))
TABLES = frozenset(("definitions", "$defs", "dependencies", "patternProperties", "properties"))
IN_PLACE = ("else", "if", "not", "then")
IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")


def subschemas(node: dict[str, Any]) -> Iterator[tuple[Pointer, Any]]:
    """The schemas right below a schema. Those beside a `$ref` mean nothing, and may still be referred to."""
    for key, value in node.items():
        if key in ONE and isinstance(value, dict):
            yield (key,), value
        elif key in LISTS and isinstance(value, list):
            yield from (((key, index), child) for index, child in enumerate(value))
        elif key in TABLES and isinstance(value, dict):
            yield from (((key, name), child) for name, child in value.items())


def refuse_many_branches(document: Document, schema: dict[str, Any]) -> None:
    """Raise AuthorError for a schema that would keep a validator busy for years: a few lines of references suffice."""
    known: dict[int, tuple[int, int]] = {}
    message = "its references multiply, or stand in too long a row, for one value to be held against"

    def measured(node: object, depth: int) -> tuple[int, int]:
        """How many schemas a value is held against here, and how many in a row."""
        if not isinstance(node, dict):
            return 1, 1
        if id(node) in known:
            return known[id(node)]
        known[id(node)] = 1, 1  # a circle is entered once
        below = [measured(child, depth + 1) for child in (_in_place(schema, node) if depth <= DEEPEST else ())]
        count, height = 1 + sum(each for each, _ in below), 1 + max((each for _, each in below), default=0)
        if count > MOST_BRANCHES or max(height, depth) > DEEPEST:
            raise AuthorError([document.problem("too-deep", (), message)])
        known[id(node)] = count, height
        return count, height

    waiting: list[Any] = [schema]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict) and id(node) not in seen:
            seen.add(id(node))
            measured(node, 0)
            waiting.extend(child for _, child in subschemas(node))


def _in_place(root: dict[str, Any], node: dict[str, Any]) -> Iterator[Any]:
    """What else a value is held against that is held against a schema."""
    if "$ref" in node:
        yield followed(root, node["$ref"])
        return
    yield from (node[key] for key in IN_PLACE if key in node)
    for key in IN_PLACE_LISTS:
        if isinstance(node.get(key), list):
            yield from node[key]
    if isinstance(node.get("dependencies"), dict):
        yield from node["dependencies"].values()
