"""Schemas of atoms for people: a line a property. Schemas are hostile: deep, endless, or no schema at all."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from keisei.contracts.pointer import followed

DEEPEST: Final = 4
"""How many levels of properties are told; the JSON beside tells all."""
MOST: Final = 200
LONGEST: Final = 300
"""Lines of a table, and characters of one cell."""
PATTERN: Final = 60
"""Characters of a pattern that are told."""
HOPS: Final = 16
"""References that lead to references."""
LIMITS: Final = (
    ("minLength", "{} or more characters"),
    ("maxLength", "{} characters at most"),
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
    ("minItems", "{} or more items"),
    ("maxItems", "{} items at most"),
    ("minProperties", "{} or more properties"),
    ("maxProperties", "{} properties at most"),
    ("pattern", "matches {}"),
    ("format", "format {}"),
    ("const", "is {}"),
)
LARGEST: Final = 2**53 - 1
"""A limit that says no more than that JSON counts so far."""
EITHER: Final = ("anyOf", "oneOf", "allOf")


class AtomSchemaRow(Struct, frozen=True, kw_only=True):
    """One property of a schema, in words."""

    name: str
    """Its path: `tags[]`, `owner.name`."""
    type: str
    """What it takes or gives."""
    required: bool
    """Whether it is always there."""
    description: str
    """What it is for."""
    default: str | None
    """What it is where nobody says, as JSON."""
    constraints: tuple[str, ...]
    """What it must fulfil."""


def schema_rows(schema: Mapping[str, Any]) -> tuple[AtomSchemaRow, ...]:
    """The properties by their paths, at most some hundred. Never raises."""
    found = []
    for row in _below(schema, schema, "", 0):
        found.append(row)
        if len(found) == MOST:
            break
    return tuple(found)


def _below(root: Mapping[str, Any], part: Any, path: str, depth: int) -> Iterator[AtomSchemaRow]:  # noqa: ANN401 - JSON
    here = resolved(root, part)
    properties, items = here.get("properties"), here.get("items")
    required = here.get("required")
    if isinstance(properties, dict):
        for name, each in properties.items():
            inner = resolved(root, each)
            own = f"{path}.{name}" if path else str(name)
            yield _row(root, own, inner, isinstance(required, list) and name in required)
            if depth < DEEPEST:
                yield from _below(root, inner, own, depth + 1)
    elif isinstance(items, dict) and depth < DEEPEST:
        inner = resolved(root, items)
        if "properties" in inner or "items" in inner:
            yield from _below(root, inner, f"{path}[]", depth + 1)


def _row(root: Mapping[str, Any], path: str, part: Mapping[str, Any], required: bool) -> AtomSchemaRow:  # noqa: FBT001
    return AtomSchemaRow(
        name=path[:LONGEST],
        type=kind_words(root, part),
        required=required,
        description=described(part),
        default=told(part["default"]) if "default" in part else None,
        constraints=constraints(part),
    )


def resolved(root: Mapping[str, Any], part: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """A part of a schema, its reference followed; nothing where it leads nowhere or round."""
    for _ in range(HOPS):
        if not isinstance(part, dict):
            return {}
        reference = part.get("$ref")
        if not isinstance(reference, str):
            return part
        part = followed(root, reference)
    return {}


def kind_words(root: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    """What a place takes: `text`, `list of numbers`, `text or null`."""
    named = part.get("type")
    names = named if isinstance(named, list) else [named] if isinstance(named, str) else []
    words = [_word(root, str(each), part) for each in names[:8]]
    if not words and isinstance(part.get("enum"), list):
        words = ["one of a few values"]
    words = words or [_counted(part[key]) for key in EITHER if key in part][:1]
    return (" or ".join(words) or "anything")[:LONGEST]


def _counted(options: object) -> str:
    return f"one of {len(options)} forms" if isinstance(options, list) else "anything"


def _word(root: Mapping[str, Any], name: str, part: Mapping[str, Any]) -> str:
    if name != "array":
        return {"string": "text", "boolean": "true or false"}.get(name, name)
    item = resolved(root, part.get("items"))
    inner = item.get("type")
    return f"list of {inner}" if isinstance(inner, str) else "list"


def described(part: Mapping[str, Any]) -> str:
    """What the schema says a place is for."""
    words = part.get("description", part.get("title", ""))
    return words[: LONGEST * 2] if isinstance(words, str) else ""


def constraints(part: Mapping[str, Any]) -> tuple[str, ...]:
    """What a value must fulfil, a phrase each."""
    found = [words.format(_limit(key, part[key])) for key, words in LIMITS if key in part and part[key] != LARGEST]
    if isinstance(options := part.get("enum"), list):
        found.append(f"one of {', '.join(told(each) for each in options[:20])}{', …' if len(options) > 20 else ''}")  # noqa: PLR2004
    if part.get("uniqueItems") is True:
        found.append("no item twice")
    if part.get("additionalProperties") is False and "properties" in part:
        found.append("nothing beside what is named")
    if part.get("writeOnly") is True:
        found.append("a secret: never shown and never written down")
    return tuple(each[:LONGEST] for each in found)


def _limit(key: str, value: Any) -> str:  # noqa: ANN401 - any JSON
    if key not in ("pattern", "format") or not isinstance(value, str):
        return told(value)
    return value if len(value) <= PATTERN else f"{value[:PATTERN]}…"


def told(value: Any) -> str:  # noqa: ANN401 - any JSON
    """A value as JSON on one line."""
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        return "…"
