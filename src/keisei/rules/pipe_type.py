"""Types of pipe values: what a JSON Schema says of one part of a value, and whether one value may stand for another.

What a schema says in ways that are not read here falls to "checked at run time", never to an error.
"""

import json
import math
from itertools import chain
from typing import Any, Literal, NamedTuple

from keisei.contracts.containment import fits, impossible, misfit, refusing
from keisei.contracts.witness import ORDINARY, documents, ordinary
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


class Verdict(NamedTuple):
    """Whether one value may stand where another is wanted."""

    answer: Literal["fits", "never", "likely", "perhaps"]
    """It does, it cannot, something to be expected does not fit, or only something unusual might not."""
    example: str | None = None
    """What does not, in words."""


FITS = Verdict("fits")


def judged(source: Typed, target: Typed) -> Verdict:
    """Whether the one may stand where the other is wanted."""
    if target.schema is True or target.schema == {}:
        return FITS
    here, there = standalone(source), standalone(target)
    answer, example = fits(here, there)
    if answer == "yes":
        return FITS
    if impossible(here, there):
        return Verdict("never", example)
    expected = misfit(here, there)
    return Verdict("perhaps", example) if expected is None else Verdict("likely", expected)


class Text(NamedTuple):
    """A text that is made at run time, as far as it is known."""

    sample: str
    """How it may look like."""
    least: int
    """Characters it has at least."""
    most: float
    """And at most."""

    @property
    def typed(self) -> Typed:
        """As a schema."""
        bounds = {} if self.most == math.inf else {"maxLength": int(self.most)}
        return Typed({"type": "string", "minLength": self.least, **bounds}, ALWAYS)


class TextPlace:
    """A place where a text is wanted."""

    def __init__(self, target: Typed) -> None:
        """Look at its schema once."""
        self._target = target
        self._refuses = refusing(standalone(target))
        try:
            plain = Looking(target.root).plain(target.schema)
        except TooMuch:
            plain = ALWAYS
        self._plain: dict[str, Any] | None = plain if _is_plain_text(plain) else None

    def judged(self, text: Text) -> Verdict:
        """As `judged`, for a text that is known by its length and by how it may look like."""
        found = judged(text.typed, self._target) if self._plain is None else _sized(text, self._plain)
        if found.answer in ("fits", "never"):
            return found
        expected = self._refuses(text.sample)
        return Verdict("perhaps", found.example) if expected is None else Verdict("likely", expected)


SAID = frozenset({"type", "minLength", "maxLength", "pattern", "format"})
UNSAID = frozenset({"$schema", "$id", "$comment", "title", "description", "examples", "default", "definitions"})
"""What a schema of a text says that is understood here, and what refuses nothing."""


def _is_plain_text(schema: Schema) -> bool:
    if not isinstance(schema, dict) or schema.get("type") != "string" or set(schema) - SAID - UNSAID:
        return False
    return all(isinstance(schema.get(bound, 0), int) for bound in ("minLength", "maxLength"))


def _sized(text: Text, plain: dict[str, Any]) -> Verdict:
    low, high = plain.get("minLength", 0), plain.get("maxLength", math.inf)
    if text.least > high or text.most < low:
        return Verdict("never")
    if text.most > high:
        return Verdict("perhaps", f"a text of {high + 1} characters or more")
    if text.least < low:
        return Verdict("perhaps", f"a text of {text.least} characters")
    return Verdict("perhaps") if "pattern" in plain or "format" in plain else FITS


def example(typed: Typed) -> Any:  # noqa: ANN401 - any JSON
    """A value that fits; null where none is found."""
    schema = standalone(typed)
    refuses = refusing(schema)
    return next((each for each in chain(ordinary(schema), documents(schema)) if refuses(each) is None), None)


def longest(typed: Typed) -> float:
    """How long the value is at most inside a text; infinite where that is not said."""
    try:
        return Looking(typed.root).longest(typed.schema)
    except (TooMuch, RecursionError):
        return math.inf


def sample(typed: Typed) -> str:
    """How the value may look like inside a text."""
    for each in ordinary(standalone(typed)):
        if each is not None:
            return each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
    return ORDINARY


def values_of(typed: Typed) -> list[Any] | None:
    """Every value it can have, where the schema counts them."""
    try:
        return Looking(typed.root).values(typed.schema)
    except (TooMuch, RecursionError):
        return None


def without_null(typed: Typed) -> Typed:
    """The value, known not to be null; the same where the schema does not say it plainly."""
    try:
        schema = Looking(typed.root).without_null(typed.schema)
    except (TooMuch, RecursionError):
        return typed
    return typed._replace(schema=schema)


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
