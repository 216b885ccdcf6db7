"""Fields: the properties of an input schema as options and arguments of a command line.

What a schema says in a way no option could follow (names no shell likes, two names that differ in a dash) is left to
`--input`. Nothing is judged here but the spelling of numbers and JSON; the runtime validates.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, NoReturn

import click
from click.shell_completion import CompletionItem

from keisei.cli.json_input import NotJson, json_of
from keisei.contracts.pointer import followed

Kind = Literal["text", "integer", "number", "flag", "json"]
KINDS: dict[str, Kind] = {"string": "text", "integer": "integer", "number": "number", "boolean": "flag"}
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
RESERVED = frozenset({"input", "help"})
MOST_STEPS = 32
"""References and branches followed in a row."""


class Field(NamedTuple):
    """One property."""

    name: str
    """As the schema spells it."""
    kind: Kind
    """How its value is written, or each of its values."""
    many: bool
    """Whether it is a list, given by saying the option again."""
    choices: tuple[str, ...]
    """The only values, where they are a few words."""
    help: str
    """What it is."""
    required: bool
    """Whether there is no input without it."""

    @property
    def option(self) -> str:
        """`--milestone-id`."""
        return "--" + self.name.lower().replace("_", "-")

    @property
    def fits_a_place(self) -> bool:
        """Whether it may also be given without its name."""
        return self.required and not self.many and self.kind in ("text", "integer", "number")


def fields_of(schema: Mapping[str, Any]) -> list[Field]:
    """The properties that can be options, required ones first. The schema needs no other file."""
    taken = {f"--{name}" for name in RESERVED}
    found: list[Field] = []
    for name, node, required in _properties(schema):
        field = _field(schema, name, node, required=required)
        spellings = {field.option, f"--no-{field.option[2:]}"} if field.kind == "flag" else {field.option}
        if NAME.fullmatch(name) and not spellings & taken:
            taken |= spellings
            found.append(field)
    return found


def _properties(schema: Mapping[str, Any]) -> list[tuple[str, Any, bool]]:
    properties: dict[str, Any] = {}
    required: dict[str, None] = {}
    for branch in _branches(schema, schema, MOST_STEPS):
        own, needed = branch.get("properties"), branch.get("required")
        properties = {**(own if isinstance(own, dict) else {}), **properties}
        required |= dict.fromkeys(filter(properties.__contains__, needed if isinstance(needed, list) else ()))
    rest = [name for name in properties if name not in required]
    return [(name, properties[name], name in required) for name in (*required, *rest)]


def _branches(root: Mapping[str, Any], node: object, steps: int) -> Iterator[Mapping[str, Any]]:
    """The schema and everything it demands besides, by `allOf` and references."""
    found = _followed(root, node)
    if steps and isinstance(found, dict):
        yield found
        demanded = found.get("allOf")
        for each in demanded if isinstance(demanded, list) else ():
            yield from _branches(root, each, steps - 1)


def _followed(root: Mapping[str, Any], node: object) -> object:
    """What a reference leads to."""
    for _ in range(MOST_STEPS):
        if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
            return node
        node = followed(root, node["$ref"])
    return {}


def _field(root: Mapping[str, Any], name: str, node: object, *, required: bool) -> Field:
    described = node.get("description") if isinstance(node, dict) else None
    shape = _shape(root, node)
    items = _shape(root, shape.get("items")) if shape.get("type") == "array" else {}
    many = _kind(items) in ("text", "integer", "number") if items else False
    kind, choices = _kind(items if many else shape), _choices(items if many else shape)
    words = described or shape.get("description") or ""
    return Field(name, kind, many, choices, " ".join(str(words).split())[:300], required)


def _shape(root: Mapping[str, Any], node: object) -> dict[str, Any]:
    """The one schema a value that is not null is held against; empty where there are several."""
    for _ in range(MOST_STEPS):
        node = _followed(root, node)
        if not isinstance(node, dict):
            return {}
        branches = next((node[key] for key in ("anyOf", "oneOf", "allOf") if isinstance(node.get(key), list)), None)
        if branches is None:
            return node
        real = [each for each in branches if each != {"type": "null"}]
        if len(real) != 1:
            return {}
        node = real[0]
    return {}


def _kind(shape: Mapping[str, Any]) -> Kind:
    types = shape.get("type")
    named = [each for each in (types if isinstance(types, list) else [types]) if each not in ("null", None)]
    if len(named) == 1:
        return KINDS.get(str(named[0]), "json")
    return "text" if "string" in named or _choices(shape) else "json"


def _choices(shape: Mapping[str, Any]) -> tuple[str, ...]:
    known = shape.get("enum")
    words = [each for each in known if each is not None] if isinstance(known, list) else []
    return tuple(words) if all(isinstance(each, str) for each in words) else ()


class Held(NamedTuple):
    """A value that was given; even null is something."""

    value: Any


class Value(click.ParamType[Held]):
    """The text of one value."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.name = field.kind

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> Held:
        """The value. Fails with a sentence."""
        if self.field.kind == "text":
            return Held(value)
        try:
            found = json_of(value) if self.field.kind == "json" else json.loads(value)
        except (NotJson, ValueError, RecursionError):
            self._refuse(value, param, ctx)
        is_number = isinstance(found, int | float) and not isinstance(found, bool) and abs(found) != float("inf")
        fits = {"json": True, "number": is_number and found == found, "integer": is_number and isinstance(found, int)}  # noqa: PLR0124 - NaN
        return Held(found) if fits[self.field.kind] else self._refuse(value, param, ctx)

    def _refuse(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> NoReturn:
        wanted = {"json": "JSON", "integer": "a whole number", "number": "a number"}[self.field.kind]
        self.fail(f"{value[:80]!r} is not {wanted}.", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """The few values there are."""
        return [CompletionItem(each) for each in self.field.choices if each.startswith(incomplete)]


def parameters(fields: Sequence[Field]) -> list[click.Parameter]:
    """The options of the fields, and one list of words for those that fit a place."""
    places = [field for field in fields if field.fits_a_place]
    words = " ".join(f"[{field.name.upper()}]" for field in places)
    arguments = [click.Argument(["words"], nargs=-1, metavar=words)] if places else []
    return [*arguments, *(_option(index, field) for index, field in enumerate(fields))]


def _option(index: int, field: Field) -> click.Option:
    if field.kind == "flag":
        return click.Option([f"{field.option}/--no-{field.option[2:]}", f"f{index}"], default=None, help=field.help)
    metavar = "|".join(field.choices) if 0 < len(field.choices) <= 8 else field.kind.upper()  # noqa: PLR2004
    words = [field.help, *(["May be given again."] if field.many else []), *(["Required."] if field.required else [])]
    return click.Option(
        [field.option, f"f{index}"],
        type=Value(field),
        multiple=field.many,
        metavar=metavar,
        help=" ".join(filter(None, words)),
    )


def given_of(fields: Sequence[Field], words: Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The properties that were given, by name or by place. Raises UsageError for a word too many."""
    named = {field.name: options[f"f{index}"] for index, field in enumerate(fields)}
    given = {name: _plain(value) for name, value in named.items() if value not in (None, ())}
    places = [field for field in fields if field.fits_a_place and field.name not in given]
    if len(words) > len(places):
        raise click.UsageError(f"Got unexpected extra argument ({words[len(places)]})")
    placed = zip(places, words, strict=False)
    return {field.name: Value(field).convert(word, None, None).value for field, word in placed} | given


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, Held):
        return value.value
    return [each.value for each in value] if isinstance(value, tuple) else value
