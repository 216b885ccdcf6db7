"""Witnesses: a few documents that a schema plausibly admits, so that a claim about schemas can be shown on one.

Some stand at the edge of what a schema says (the empty text, the longest), others are ordinary: seen every day.

Nothing is promised of a single document: whoever draws one asks a validator. Patterns are read as Python reads them.
"""

import re
import warnings
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

from keisei.contracts.pointer import followed

EACH, DEEPEST, LONGEST, MOST_ITEMS = 12, 12, 4096, 64
"""Documents of one place, levels, characters of a text and members of a list that are still drawn."""
MOST, SHALLOW = 400, 4
"""Documents of the whole; down to which level there may be as many."""
WORK = 5_000
"""Schemas that are looked at for one question."""
TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
FORMATS = {
    "date-time": "2026-01-02T03:04:05Z",
    "date": "2026-01-02",
    "time": "03:04:05Z",
    "email": "a@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/",
    "uri-reference": "a",
    "uuid": "0190a0a0-0000-7000-8000-000000000000",
    "regex": "a",
    "json-pointer": "/a",
}


ORDINARY = "Fix auth bug #42 (Zürich), today."
"""A text as people write it: capitals, spaces, digits, punctuation, a letter that is not ASCII."""
FEW = 10_000
"""Bounds of a number that are met in daily life; others only keep nonsense out."""


class _World(NamedTuple):
    """Where documents are drawn from."""

    root: object
    """The schema that references lead into."""
    ordinary: bool = False
    """Only documents that are seen every day: no bounds of texts, nothing where nothing is said."""
    left: Iterator[int] = iter(())
    """How many schemas may still be looked at: one that refers to itself in ten places would not end."""


def documents(schema: object) -> Iterator[Any]:
    """Documents worth trying on the schema, the plainest first; finitely many, and never an exception."""
    return _some(schema, _World(schema, left=iter(range(WORK))))


def ordinary(schema: object) -> Iterator[Any]:
    """Documents that are to be expected of the schema, null and the empty list among them. As `documents` otherwise."""
    return _some(schema, _World(schema, ordinary=True, left=iter(range(WORK))))


def _some(schema: object, world: _World) -> Iterator[Any]:
    try:
        yield from islice(_drawn(schema, world, 0), MOST)
    except (RecursionError, TypeError, ValueError, OverflowError, ArithmeticError):
        return


def _drawn(schema: object, world: _World, depth: int) -> Iterator[Any]:
    if depth > DEEPEST or schema is False or next(world.left, None) is None:
        return
    if not isinstance(schema, dict):
        yield from () if world.ordinary else ("a", 1, None, True, [], {})
        return
    if isinstance(schema.get("$ref"), str):
        yield from _drawn(pointed(world.root, schema["$ref"]), world, depth + 1)
        return
    if "const" in schema or isinstance(schema.get("enum"), list):
        yield from [schema["const"]] if "const" in schema else islice(schema["enum"], EACH)
        return
    for key in ("anyOf", "oneOf", "allOf"):
        for branch in islice(_list(schema.get(key)), EACH):
            rest = {name: value for name, value in schema.items() if name != key}
            yield from islice(_drawn(_merged(rest, branch, world), world, depth + 1), _most(depth))
    yield from _list(schema.get("examples"))[:EACH]
    kinds = schema.get("type", _suggested(schema, world))
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        yield from islice(DRAW.get(kind, _nothing)(schema, world, depth), _most(depth))


def _most(depth: int) -> int:
    """How many documents are drawn so far down."""
    return MOST if depth <= SHALLOW else EACH * 2


def pointed(root: object, reference: str) -> object:
    """What a reference inside the document leads to; False, which admits nothing, where it leads nowhere."""
    found = followed(root, reference)
    return False if found is None else found


def _merged(rest: dict[str, Any], branch: object, world: _World) -> object:
    """Two schemas that hold at once, roughly: bounds of the branch win, properties and demands add up."""
    if isinstance(branch, dict) and isinstance(branch.get("$ref"), str):
        branch = pointed(world.root, branch["$ref"])
    if not isinstance(branch, dict):
        return rest if branch is True else branch
    both = rest | branch
    for key in ("properties", "definitions"):
        if isinstance(rest.get(key), dict) and isinstance(branch.get(key), dict):
            both[key] = rest[key] | branch[key]
    if isinstance(rest.get("required"), list) and isinstance(branch.get("required"), list):
        both["required"] = [*rest["required"], *branch["required"]]
    return both


def _suggested(schema: dict[str, Any], world: _World) -> list[str]:
    """Types a schema without `type` speaks of; to be expected are only those it says something of."""
    speaks = any(key in schema for key in ("properties", "required", "propertyNames", "minProperties"))
    if world.ordinary:
        return ["object"] if speaks else []
    return ["object", *TYPES[:-1]] if speaks else list(TYPES)


def _nothing(_schema: dict[str, Any], _world: _World, _depth: int) -> Iterator[Any]:
    return iter(())


def _texts(schema: dict[str, Any], world: _World, _depth: int) -> Iterator[Any]:
    low, high = _whole(schema.get("minLength"), 0), _whole(schema.get("maxLength"), None)
    if isinstance(schema.get("format"), str):
        yield FORMATS.get(schema["format"], "a")
    if isinstance(schema.get("pattern"), str):
        yield from _matching(schema["pattern"])
    if world.ordinary:
        yield (ORDINARY * (low // len(ORDINARY) + 1))[: high if low <= len(ORDINARY) else low]
        return
    for size in dict.fromkeys((low, max(low, 1), high, low + 1, 100)):
        if size is not None and size <= LONGEST and (high is None or size <= high):
            yield "a" * size
    yield from ("A", "0", "a b", "-", "ü")


def _integers(schema: dict[str, Any], _world: _World, _depth: int) -> Iterator[Any]:
    yield from (int(each) for each in _numbers(schema, _world, _depth) if float(each).is_integer())


def _numbers(schema: dict[str, Any], world: _World, _depth: int) -> Iterator[Any]:
    step = schema.get("multipleOf", 1)
    if world.ordinary:
        bounds = [schema.get(key) for key in ("minimum", "maximum")]
        yield from (bound for bound in bounds if isinstance(bound, int | float) and abs(bound) <= FEW)
        yield from (step, 42 * step, 0.5)
        return
    for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        bound = schema.get(key)
        if isinstance(bound, int | float):
            whole = int(bound)
            yield from (bound, whole + 1, whole - 1, bound + 0.5, bound - 0.5)
            yield from (whole // step * step, whole // step * step + step)
    yield from (0, step, -step, 1, -1, 0.5, 2**31)


def _lists(schema: dict[str, Any], world: _World, depth: int) -> Iterator[Any]:
    low, high = _whole(schema.get("minItems"), 0), _whole(schema.get("maxItems"), MOST_ITEMS)
    items = schema.get("items", True)
    first = [next(_drawn(each, world, depth + 1), None) for each in items[:EACH]] if isinstance(items, list) else []
    more = schema.get("additionalItems", True) if isinstance(items, list) else items
    drawn = list(islice(_drawn(more, world, depth + 1), _most(depth))) + list(
        islice(chain.from_iterable(_drawn(each, world, depth + 1) for each in _contained(schema)), EACH)
    )
    sizes = [size for size in dict.fromkeys((low, max(low, 1), low + 1, high)) if size <= min(high, MOST_ITEMS)]
    least = max(low, 1) if high >= 1 else 0
    if low == 0:
        yield []
    yield from ([*first, *([value] * least)][: max(least, len(first))] for value in drawn)
    yield from ([*first, *_mixed(drawn, size)][:size] for size in ([] if world.ordinary else sizes))


def _mixed(values: list[Any], size: int) -> list[Any]:
    return [values[index % len(values)] for index in range(size)] if values else []


def _contained(schema: dict[str, Any]) -> list[object]:
    return [schema["contains"]] if "contains" in schema else []


def _objects(schema: dict[str, Any], world: _World, depth: int) -> Iterator[Any]:
    properties = schema["properties"] if isinstance(schema.get("properties"), dict) else {}
    needed = [name for name in _list(schema.get("required")) if isinstance(name, str)][:MOST_ITEMS]
    names = dict.fromkeys([*needed, *list(properties)[:MOST_ITEMS]])
    each = max(EACH, _most(depth) // max(len(names), 1))
    drawn = {
        name: list(islice(_drawn(properties.get(name, _others(schema)), world, depth + 1), each)) for name in names
    }
    plain = {name: drawn[name][0] for name in needed if drawn[name]}
    yield plain
    yield {name: values[0] for name, values in drawn.items() if values}
    for number in range(each):  # in turns, so that no property is left out where only some are looked at
        yield from (plain | {name: values[number]} for name, values in drawn.items() if number < len(values))
    for name in () if world.ordinary else islice(_names(schema), 4):
        yield from (plain | {name: value} for value in islice(_drawn(_others(schema), world, depth + 1), 4))


def _names(schema: dict[str, Any]) -> Iterator[str]:
    """Names that no property has."""
    if "propertyNames" in schema:
        yield from (
            each
            for each in _drawn(schema["propertyNames"], _World(schema, left=iter(range(EACH))), DEEPEST - 2)
            if isinstance(each, str)
        )
    yield from ("other", "x")


def _others(schema: dict[str, Any]) -> object:
    return schema.get("additionalProperties", True)


def _flags(_schema: dict[str, Any], _world: _World, _depth: int) -> Iterator[Any]:
    yield from (True, False)


def _nulls(_schema: dict[str, Any], _world: _World, _depth: int) -> Iterator[Any]:
    yield None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _whole(value: object, other: Any) -> Any:  # noqa: ANN401 - a bound, or what the caller takes for none
    return int(value) if isinstance(value, int | float) and 0 <= value <= LONGEST else other


def _matching(pattern: str) -> Iterator[str]:
    """A shortest and a slightly longer text the pattern matches, as far as it is made of plain parts."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python finds odd about a pattern is not ours to tell
            parsed: Any = re._parser.parse(pattern)  # type: ignore[attr-defined]  # noqa: SLF001 - the only one there is
        for extra in (0, 1):
            yield _written(parsed, extra)
    except (re.error, ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return


def _written(parsed: Any, extra: int) -> str:  # noqa: ANN401 - sre's own
    return "".join(_part(str(name), value, extra) for name, value in parsed)[:LONGEST]


def _part(name: str, value: Any, extra: int) -> str:  # noqa: ANN401 - sre's own
    if name == "LITERAL":
        return chr(value)
    if name == "NOT_LITERAL":
        return "a" if value != ord("a") else "b"
    if name == "ANY":
        return "a"
    if name == "IN":
        return _member(value, extra)
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        low, high, inner = value
        text = _written(inner, extra)
        times = min(int(low) + (extra if high > low else 0), LONGEST // max(len(text), 1) + 1)
        return text * times
    if name == "SUBPATTERN":
        return _written(value[3], extra)
    if name == "BRANCH":
        return _written(value[1][min(extra, len(value[1]) - 1)], extra)
    return ""


def _member(items: Any, extra: int) -> str:  # noqa: ANN401 - sre's own
    """One character of a class."""
    name, value = items[-1] if extra and str(items[0][0]) != "NEGATE" else items[0]
    if str(name) == "LITERAL":
        return chr(value)
    if str(name) == "RANGE":
        return chr(value[extra and 1])
    if str(name) == "NEGATE":
        return next((char for char in "a0 -A" if char not in _excluded(items[1:])), "é")
    return {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " "}.get(str(value), "a")


def _excluded(items: Any) -> str:  # noqa: ANN401 - sre's own
    singles = (chr(value) for name, value in items if str(name) == "LITERAL")
    ranges = (
        chr(code) for name, value in items if str(name) == "RANGE" for code in range(value[0], value[1] + 1)[:512]
    )
    return "".join(chain(singles, ranges))


DRAW = {
    "string": _texts,
    "integer": _integers,
    "number": _numbers,
    "boolean": _flags,
    "null": _nulls,
    "array": _lists,
    "object": _objects,
}
