"""Comparing schemas: does the new one still accept every document the old one accepted?

Whether it does is proved by jsonschema-rs where it can (its containment is experimental, so only a yes frees and only a
no convicts); what changed is told by walking the two side by side. What neither can decide is `unknown`, and a person
looks at it.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import jsonschema_rs

Kind = Literal["breaking", "compatible", "unknown"]
WORDS = frozenset(("$id", "$comment", "title", "description", "default", "examples"))
"""Keywords for people; a validator passes them over."""
TYPES = frozenset(("string", "integer", "number", "boolean", "array", "object", "null"))
LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
DEEPEST = 64


class Change(NamedTuple):
    """One difference."""

    path: str
    """Where in the schema, as a JSON pointer."""
    kind: Kind
    """Whether a document that was valid may be refused now."""
    message: str
    """The difference in words."""


def changes(old: object, new: object, *, proved: bool = True) -> tuple[Change, ...]:
    """Every difference that matters to a validator; empty where there is none. Never raises, always ends.

    A proof can take half a minute of a hostile schema, and holds every thread up: without one it is quick.
    """
    try:
        return _changes(old, new, proved=proved)
    except RecursionError:
        return (Change("", "unknown", "nested too deeply to compare"),)


def _changes(old: object, new: object, *, proved: bool) -> tuple[Change, ...]:
    before, after = _plain(old), _plain(new)
    if json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True):
        return ()
    found = tuple(dict.fromkeys(_compared(before, after, "")))
    if _draft(old) != _draft(new):
        return (*found, Change("/$schema", "unknown", "the draft changed"))
    proof = _covers(_formats_as_patterns(after), _formats_as_patterns(before)) if proved else "unknown"
    return _judged(found, proof)


def _judged(found: tuple[Change, ...], proof: str) -> tuple[Change, ...]:
    """The differences in the light of the proof."""
    if proof == "yes":
        freed = (each._replace(kind="compatible") for each in found)
        return tuple(freed) or (Change("", "compatible", "says the same or more in another way"),)
    if any(each.kind == "breaking" for each in found):
        return found
    if proof == "no":
        convicted = tuple(each._replace(kind="breaking") if each.kind == "unknown" else each for each in found)
        certain = any(each.kind == "breaking" for each in convicted)
        return convicted if certain else (*found, Change("", "breaking", "documents that were valid are refused now"))
    return (
        found if any(each.kind == "unknown" for each in found) else (*found, Change("", "unknown", "cannot be decided"))
    )


def _covers(new: Any, old: Any) -> str:  # noqa: ANN401 - any JSON; what is no schema is unknown
    """Whether every document of the old schema is one of the new: yes, no, or unknown. Any failure is unknown."""
    try:
        return str(jsonschema_rs.canonicalize(new, offline=True).covers(jsonschema_rs.canonicalize(old, offline=True)))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - a panic in Rust arrives as a BaseException
        return "unknown"


def _draft(schema: object) -> object:
    return str(schema.get("$schema", "")).rstrip("#") if isinstance(schema, dict) else ""


def _plain(schema: object) -> object:
    """The schema without words for people."""
    return _mapped(schema, lambda part: {key: value for key, value in part.items() if key not in WORDS})


def _formats_as_patterns(schema: object) -> object:
    """The schema with each format as a pattern of its own: the proof takes formats for words, and we check them."""

    def spelt(part: dict[str, Any]) -> dict[str, Any]:
        if "format" not in part:
            return part
        rest = {key: value for key, value in part.items() if key != "format"}
        return rest | {"allOf": [*_listed(rest.get("allOf")), {"pattern": f"^format {part['format']}$"}]}

    return _mapped(schema, spelt)


def _mapped(schema: object, change: Callable[[dict[str, Any]], dict[str, Any]]) -> object:
    """The schema with every schema in it changed. Names of properties are not keywords, whatever they are called."""
    if isinstance(schema, list):
        return [_mapped(each, change) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _mapped(each, change) for name, each in value.items()}
        if key in ("properties", "patternProperties", "definitions", "dependencies") and isinstance(value, dict)
        else value
        if key in ("enum", "const", "required")
        else _mapped(value, change)
        for key, value in change(schema).items()
    }


def _compared(old: object, new: object, path: str) -> Iterator[Change]:
    """Differences at one place. A shared definition is compared where it stands, once."""
    if old == new or path.count("/") > DEEPEST:
        return
    before, after = _spelt_out(old), _spelt_out(new)
    if before is None or after is None or _reference(before) != _reference(after):
        yield Change(path, "unknown", "refers to something else")
        return
    for key in dict.fromkeys([*before, *after]):
        if key not in WORDS and key != "$schema" and before.get(key) != after.get(key):
            yield from KEYWORDS.get(key, _other)(key, before, after, f"{path}/{key}")


def _spelt_out(schema: object) -> dict[str, Any] | None:
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return schema if isinstance(schema, dict) else None


def _reference(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", ""))


Parts = dict[str, Any]


def _properties(_key: str, old: Parts, new: Parts, path: str) -> Iterator[Change]:
    before, after = _table(old, "properties"), _table(new, "properties")
    for name in dict.fromkeys([*before, *after]):
        place = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        if name not in after:
            closed = new.get("additionalProperties", True) is False
            yield Change(place, "breaking" if closed else "unknown", f"`{name}` is gone")
        elif name not in before:
            closed = old.get("additionalProperties", True) is False
            yield Change(place, "compatible" if closed else "unknown", f"`{name}` is new")
        else:
            yield from _compared(before[name], after[name], place)


def _definitions(_key: str, old: Parts, new: Parts, path: str) -> Iterator[Change]:
    before, after = _table(old, "definitions"), _table(new, "definitions")
    for name in before.keys() & after.keys():
        yield from _compared(before[name], after[name], f"{path}/{name}")


def _table(schema: Parts, key: str) -> Parts:
    value = schema.get(key, {})
    return value if isinstance(value, dict) else {}


def _inner(key: str, old: Parts, new: Parts, path: str) -> Iterator[Change]:
    """A schema that holds for many: items, additionalProperties, propertyNames."""
    before, after = old.get(key, True), new.get(key, True)
    if before is True or after is False:
        yield Change(path, "breaking", "less is allowed now")
    elif before is False or after is True:
        yield Change(path, "compatible", "more is allowed now")
    else:
        yield from _compared(before, after, path)


def _type(key: str, old: Parts, new: Parts, path: str) -> Iterator[Change]:
    before, after = _types(old.get(key)), _types(new.get(key))
    yield from _sets(before - after, after - before, path)


def _types(value: object) -> frozenset[str]:
    if value is None:
        return TYPES
    found = frozenset(str(each) for each in _listed(value))
    return found | {"integer"} if "number" in found else found


def _enum(key: str, old: Parts, new: Parts, path: str) -> Iterator[Change]:
    if key not in new or key not in old:
        less = key in new
        yield Change(path, "unknown" if less else "compatible", f"`{key}` is {'new' if less else 'gone'}")
        return
    before, after = _listed(old[key]), _listed(new[key])
    yield from _sets([x for x in before if x not in after], [x for x in after if x not in before], path)


def _sets(lost: Iterable[object], gained: Iterable[object], path: str) -> Iterator[Change]:
    told = [f"{_words(values)} is {what} now" for values, what in ((lost, "refused"), (gained, "accepted")) if values]
    if told:
        yield Change(path, "breaking" if lost else "compatible", ", ".join(told))


def _required(key: str, old: Parts, new: Parts, path: str) -> Iterator[Change]:
    before, after = _listed(old.get(key)), _listed(new.get(key))
    for name in after:
        if name not in before:
            yield Change(path, "breaking", f"`{name}` is required now")
    for name in before:
        if name not in after:
            yield Change(path, "compatible", f"`{name}` is optional now")


def _bound(key: str, old: Parts, new: Parts, path: str) -> Iterator[Change]:
    before, after = old.get(key), new.get(key)
    if after is None:
        yield Change(path, "compatible", "the bound is gone")
    elif not isinstance(after, int | float) or not isinstance(before, int | float | None):
        yield Change(path, "unknown", "the bound changed")
    else:
        tighter = before is None or (after < before if key in UPPER else after > before)
        was = "there was none" if before is None else f"it was {before}"
        yield Change(path, "breaking" if tighter else "compatible", f"the bound is {after} now; {was}")


def _other(key: str, old: Parts, new: Parts, path: str) -> Iterator[Change]:
    """Patterns, formats, rules and choices: taken away they free, anything else is left to the proof."""
    if key not in new:
        yield Change(
            path, "compatible" if key in ("pattern", "format", "not", "allOf") else "unknown", f"`{key}` is gone"
        )
    else:
        yield Change(path, "unknown", f"`{key}` {'changed' if key in old else 'is new'}")


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _words(values: Iterable[object]) -> str:
    return ", ".join(f"`{each}`" for each in sorted(values, key=str))


KEYWORDS: Mapping[str, Callable[[str, Parts, Parts, str], Iterator[Change]]] = {
    "properties": _properties,
    "definitions": _definitions,
    "items": _inner,
    "additionalProperties": _inner,
    "propertyNames": _inner,
    "type": _type,
    "enum": _enum,
    "const": _enum,
    "required": _required,
    **dict.fromkeys((*LOWER, *UPPER), _bound),
}
