"""The nodes of a draft-07 schema: which of its values are schemas, and how a pointer names one."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

ONE = frozenset(
    ("additionalItems", "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then")
)
LISTS = frozenset(("allOf", "anyOf", "oneOf", "items"))
TABLES = frozenset(("definitions", "$defs", "dependencies", "patternProperties", "properties"))
Pointer = tuple[str | int, ...]


def subschemas(node: dict[str, Any]) -> Iterator[tuple[Pointer, Any]]:
    """The schemas right below a schema. Those beside a `$ref` mean nothing, and may still be referred to."""
    for key, value in node.items():
        if key in ONE and isinstance(value, dict):
            yield (key,), value
        elif key in LISTS and isinstance(value, list):
            yield from (((key, index), child) for index, child in enumerate(value))
        elif key in TABLES and isinstance(value, dict):
            yield from (((key, name), child) for name, child in value.items())


def at(node: Any, pointer: Pointer) -> Any:  # noqa: ANN401 - any JSON
    """What a pointer leads to; None where it leads nowhere."""
    for step in pointer:
        if isinstance(node, dict):
            node = node.get(str(step))
        elif isinstance(node, list) and str(step).isdecimal() and int(step) < len(node):
            node = node[int(step)]
        else:
            return None
    return node


def escaped(step: str | int) -> str:
    """A step as a reference writes it."""
    return quote(str(step).replace("~", "~0").replace("/", "~1"), safe="~$")


def unescaped(step: str) -> str:
    """A step of a reference as the name it means."""
    return unquote(step).replace("~1", "/").replace("~0", "~")
