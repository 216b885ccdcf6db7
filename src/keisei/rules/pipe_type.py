"""Types of pipe values: what a JSON Schema says of one part of a value, and whether one value may stand for another.

What a schema says in ways that are not read here falls to "checked at run time", never to an error.
"""

from typing import Literal, NamedTuple

from keisei.contracts.containment import fits, impossible
from keisei.rules.schema_part import ALWAYS, EVERY, NOT_SCHEMAS, Looking, Part, Schema, TooMuch, combined


class Typed(NamedTuple):
    """What is known of a value before anything runs."""

    schema: Schema
    """What it fits."""
    root: Schema
    """The schema that `$ref` leads into."""
    sure: bool = True
    """Whether it is certainly there."""


class Gap(NamedTuple):
    """A part that is certainly not there."""

    kinds: frozenset[str]
    """What the value can be instead of something with parts; empty where it only lacks this one."""
    names: tuple[str, ...]
    """The properties it has."""


ANYTHING = Typed(ALWAYS, ALWAYS, sure=False)
TEXT = Typed({"type": "string"}, ALWAYS)
COUNT = Typed({"type": "integer", "minimum": 0}, ALWAYS)


def many(typed: Typed) -> Typed:
    """A list of such values."""
    return Typed({"type": "array", "items": typed.schema}, typed.root)


def literally(value: object) -> Typed:
    """A value that is known."""
    return Typed({"const": value}, ALWAYS)


def part_of(typed: Typed, part: Part) -> Typed | Gap:
    """A property, an item by its index, or any item (None): what is known of it, or why it cannot be there."""
    looking = Looking(typed.root)
    try:
        kinds = looking.kinds(typed.schema)
        if isinstance(part, int) and "array" not in kinds and "object" in kinds:
            part = str(part)
        seen = looking.part(typed.schema, part)
    except (TooMuch, RecursionError):
        return Typed(ALWAYS, typed.root, sure=False)
    if seen.state == "other":
        return Gap(kinds, ())
    if seen.state in ("closed", "absent"):
        return Gap(frozenset(), tuple(dict.fromkeys(seen.names)))
    schema = ALWAYS if seen.state != "declared" else combined("allOf", seen.schemas)
    return Typed(schema, typed.root, typed.sure and seen.required and seen.is_kind)


def kinds_of(typed: Typed) -> frozenset[str]:
    """The JSON types it can have. Every type where that is not known; a number may be an integer."""
    try:
        return Looking(typed.root).kinds(typed.schema)
    except (TooMuch, RecursionError):
        return EVERY


def names_of(typed: Typed) -> tuple[tuple[str, ...], frozenset[str]]:
    """The properties an object declares, and the ones it must have."""
    try:
        return Looking(typed.root).names(typed.schema)
    except (TooMuch, RecursionError):
        return (), frozenset()


def judged(source: Typed, target: Typed) -> tuple[Literal["fits", "never", "perhaps"], str | None]:
    """Whether the one may stand where the other is wanted; `perhaps` with what might not fit, in words."""
    if target.schema is True or target.schema == {}:
        return "fits", None
    here, there = standalone(source), standalone(target)
    answer, example = fits(here, there)
    if answer == "yes":
        return "fits", None
    return ("never", example) if impossible(here, there) else ("perhaps", example)


def standalone(typed: Typed) -> Schema:
    """The schema with what it refers to inside it; true where it nests too deeply to be looked through."""
    try:
        if typed.schema is typed.root or not _refers(typed.schema):
            return typed.schema
        return {"allOf": [_moved(typed.schema)], "definitions": {"root": _moved(typed.root)}}
    except RecursionError:
        return ALWAYS


def _refers(schema: Schema) -> bool:
    if isinstance(schema, dict):
        return isinstance(schema.get("$ref"), str) or any(
            _refers(item) for key, item in schema.items() if key not in NOT_SCHEMAS
        )
    return isinstance(schema, list) and any(map(_refers, schema))


def _moved(schema: Schema) -> Schema:
    """The schema with its references led through `definitions/root`."""
    if isinstance(schema, list):
        return [_moved(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        inside = reference == "#" or reference.startswith("#/")
        return {"$ref": f"#/definitions/root{reference[1:]}"} if inside else ALWAYS
    return {key: item if key in NOT_SCHEMAS else _moved(item) for key, item in schema.items()}
