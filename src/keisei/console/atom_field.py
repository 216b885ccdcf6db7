"""Fields: an input schema as a form, and what a form says as an input. Schemas and words are hostile."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from keisei.console.asking import Fault, Unfit
from keisei.console.atom_schema import constraints, described, kind_words, resolved, told

FieldKind = Literal["text", "long", "integer", "number", "boolean", "choice", "list", "json"]
SCALARS: Final[dict[str, FieldKind]] = {
    "string": "text",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
}
MOST: Final = 100
"""Fields of a form; an input with more is written as JSON."""
CHOICES: Final = 200
NOISE: Final = ("matches ", "one of ")
"""What a form shows by itself, or nobody reads there."""
LONG: Final = 5000
"""A text that may have more characters is given a field of many lines."""


class AtomField(Struct, frozen=True, kw_only=True):
    """One field of the form that calls an atom."""

    name: str
    """The property it fills."""
    kind: FieldKind
    """How it is asked for."""
    item: FieldKind | None = None
    """Of a list: what each of its lines is."""
    type: str
    """What it takes, in words."""
    required: bool
    """Whether it must be said."""
    description: str
    """What it is for."""
    constraints: tuple[str, ...]
    """What it must fulfil, in words."""
    choices: tuple[str, ...] = ()
    """Of a choice: the values, as JSON."""
    value: str = ""
    """What stands in it at first."""
    secret: bool = False
    """It is not shown and not written down."""


def fields_of(schema: Mapping[str, Any], example: Any) -> tuple[AtomField, ...] | None:  # noqa: ANN401 - any JSON
    """The fields of an input; None where it is no plain object, so that it is written as JSON."""
    root = resolved(schema, schema)
    properties = root.get("properties", {})
    if root.get("type", "object") != "object" or not isinstance(properties, dict) or len(properties) > MOST:
        return None
    required = root.get("required")
    needed = {each for each in required if isinstance(each, str)} if isinstance(required, list) else set()
    given = example if isinstance(example, dict) else {}
    if not needed <= properties.keys() or not given.keys() <= properties.keys():
        return None
    return tuple(_field(schema, name, part, name in needed, given) for name, part in properties.items())


def _field(root: Mapping[str, Any], name: str, part: Any, required: bool, given: Mapping[str, Any]) -> AtomField:  # noqa: ANN401, FBT001
    found = resolved(root, part)
    kind, item, choices = _kind(root, found)
    value = given.get(name, found.get("default"))
    text = "" if value is None and name not in given else _text(kind, value)
    secret = found.get("writeOnly") is True
    is_long = kind == "text" and ("\n" in text or _allows(found) > LONG)
    return AtomField(
        name=name,
        kind="long" if is_long else kind,
        item=item,
        type=kind_words(root, found),
        required=required,
        description=described(found),
        constraints=tuple(each for each in constraints(found) if not each.startswith(NOISE)),
        choices=choices,
        value="" if secret else text,
        secret=secret,
    )


def _allows(part: Mapping[str, Any]) -> int:
    most = part.get("maxLength", 0)
    return most if isinstance(most, int) else 0


def _kind(root: Mapping[str, Any], part: Mapping[str, Any]) -> tuple[FieldKind, FieldKind | None, tuple[str, ...]]:
    options = part.get("enum")
    if isinstance(options, list) and 0 < len(options) <= CHOICES:
        return "choice", None, tuple(told(each) for each in options)
    name = _type(part)
    if name in SCALARS:
        return SCALARS[name], None, ()
    item = resolved(root, part.get("items")) if name == "array" and isinstance(part.get("items"), dict) else {}
    inner = SCALARS.get(_type(item))
    return ("list", inner, ()) if inner is not None else ("json", None, ())


def _type(part: Mapping[str, Any]) -> str:
    """The one type it may have beside null; nothing where there are several."""
    named = part.get("type")
    names = [each for each in named if each != "null"] if isinstance(named, list) else [named]
    return names[0] if len(names) == 1 and isinstance(names[0], str) else ""


def _text(kind: FieldKind, value: Any) -> str:  # noqa: ANN401 - any JSON
    """A value as it stands in its field."""
    if kind == "text" and isinstance(value, str):
        return value
    if kind == "list" and isinstance(value, list):
        return "\n".join(each if isinstance(each, str) else told(each) for each in value)
    if kind == "json":
        return json.dumps(value, ensure_ascii=False, indent=2)
    return told(value)


def input_of(fields: Sequence[AtomField], words: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What a form says, as an input. What is no number stays text: the schema says what is wrong with it.

    An empty field is not said, except where it must be. Raises Unfit for what should be JSON and is not.
    """
    found: dict[str, Any] = {}
    for field in fields:
        word = "\n".join(words.get(field.name, ())).replace("\r\n", "\n")
        if word or (field.required and field.kind in ("text", "long", "list")):
            found[field.name] = _said(field, word)
    return found


def _said(field: AtomField, word: str) -> Any:  # noqa: ANN401 - any JSON
    if field.kind == "list":
        return [_scalar(field.item or "text", each) for each in word.split("\n") if each]
    if field.kind in ("json", "choice"):
        return parsed(word, field.name)
    return _scalar(field.kind, word)


def _scalar(kind: FieldKind, word: str) -> Any:  # noqa: ANN401 - as above
    if kind not in ("integer", "number", "boolean"):
        return word
    with suppress(msgspec.DecodeError):
        value = msgspec.json.decode(word.strip())
        if isinstance(value, bool) == (kind == "boolean") and isinstance(value, bool | int | float):
            return value
    return word


def parsed(text: str, field: str) -> Any:  # noqa: ANN401 - as above
    """The JSON of a field. Raises Unfit."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Unfit([Fault(field, f"is not JSON: {error}")]) from None
