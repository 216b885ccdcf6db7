"""Places inside a JSON document: how a reference names one, and what stands there. References are hostile."""

from typing import Any
from urllib.parse import quote, unquote

Pointer = tuple[str | int, ...]
"""The steps from a document's root."""
LONGEST = 9
"""Digits of an index; no list is longer, and Python refuses to read very many."""


def followed(root: object, reference: str) -> Any:  # noqa: ANN401 - any JSON
    """What `#/definitions/name` leads to in its document; None where it leads nowhere, or to another document."""
    place = steps(reference[1:]) if reference.startswith("#") else None
    return None if place is None else at(root, place)


def steps(fragment: str) -> tuple[str, ...] | None:
    """The steps of what stands behind `#`; None for the name of an anchor, which is no place."""
    first, *rest = unquote(fragment).split("/")
    return None if first else tuple(each.replace("~1", "/").replace("~0", "~") for each in rest)


def at(node: Any, pointer: Pointer) -> Any:  # noqa: ANN401 - any JSON
    """What stands at a place; None where there is no such place."""
    for step in map(str, pointer):
        if isinstance(node, dict):
            node = node.get(step)
        elif isinstance(node, list) and step.isdecimal() and len(step) <= LONGEST and int(step) < len(node):
            node = node[int(step)]
        else:
            return None
    return node


def fragment(pointer: Pointer) -> str:
    """A place as a reference writes it behind `#`."""
    return "".join("/" + quote(str(each).replace("~", "~0").replace("/", "~1"), safe="~$") for each in pointer)
