"""Comparing schemas: does the new one still accept every document the old one accepted?

The answer is sound and not complete: what cannot be decided is `unknown`, and a person looks at it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

Kind = Literal["breaking", "compatible", "unknown"]
ANNOTATIONS = frozenset(("$id", "$schema", "$comment", "title", "description", "default", "examples", "definitions"))
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
    """The difference in a sentence."""


def changes(old: object, new: object) -> tuple[Change, ...]:
    """Every difference that matters to a validator; words for people do not. Never raises, always ends."""
    return tuple(dict.fromkeys(_Comparison(old, new).compared(old, new, "")))


class _Comparison:
    """Two documents, so that references into each can be followed."""

    def __init__(self, old_root: object, new_root: object) -> None:
        self.old_root, self.new_root = old_root, new_root
        self.open: set[tuple[str, str]] = set()

    def compared(self, old: object, new: object, path: str) -> Iterator[Change]:
        """Differences of two schemas at one place. A reference that leads back here was compared already."""
        mark = (_reference(old), _reference(new))
        before, after = _followed(old, self.old_root), _followed(new, self.new_root)
        if before is None or after is None or path.count("/") > DEEPEST:
            if old != new:
                yield Change(path, "unknown", "a reference cannot be followed")
        elif (all(mark) and mark in self.open) or old is False:
            return  # compared already, or nothing was valid before
        else:
            self.open.add(mark)
            yield from self._branches(before, after, path)
            self.open.discard(mark)

    def _branches(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Change]:
        """Every choice of the old schema must still be one of the new schema's choices."""
        before, after = _choices(old), _choices(new)
        if len(before) == len(after) == 1:
            yield from self._keywords(before[0], after[0], path)
            return
        for branch in before:
            tries = [list(self.compared(branch, choice, path)) for choice in after]
            best = min(tries, key=lambda found: (any(each.kind != "compatible" for each in found), len(found)))
            yield from (each for each in best if each.kind != "compatible" or len(before) == len(after))
        if len(after) > len(before):
            yield Change(path, "compatible", "there is one more choice")

    def _keywords(self, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Change]:
        for key in dict.fromkeys([*old, *new]):
            if key not in ANNOTATIONS and (key in STRUCTURE or old.get(key) != new.get(key)):
                yield from STRUCTURE.get(key, _changed)(self, key, old, new, f"{path}/{key}")

    def properties(self, _key: str, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Change]:
        """A key that was known may go only where anything goes; a new one may come only where nothing else could."""
        before, after = old.get("properties", {}), new.get("properties", {})
        for name in before:
            if name in after:
                yield from self.compared(before[name], after[name], f"{path}/{name}")
            else:
                rest = new.get("additionalProperties", True)
                refused = _relabelled(self.compared(before[name], rest, f"{path}/{name}"), f"`{name}` is gone")
                yield refused or Change(f"{path}/{name}", "compatible", f"`{name}` is not described any more")
        for name in (each for each in after if each not in before):
            rest = old.get("additionalProperties", True)
            if rest is False:
                yield Change(f"{path}/{name}", "compatible", f"`{name}` is new")
            else:
                yield from self.compared(rest, after[name], f"{path}/{name}")

    def inner(self, key: str, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Change]:
        """items, additionalProperties, propertyNames: a schema that holds for many."""
        before, after = old.get(key, True), new.get(key, True)
        if isinstance(before, list) or isinstance(after, list):
            if before != after:
                yield Change(path, "unknown", f"`{key}` changed")
        elif before is False and after is not False:
            yield Change(path, "compatible", "more is allowed now")
        else:
            yield from self.compared(before, after, path)


def _changed(_self: _Comparison, key: str, old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Change]:
    """A keyword that stands alone: what it allows is compared as a value."""
    before, after = old.get(key), new.get(key)
    if key in VALUES:
        yield from VALUES[key](before, after, path)
    elif after is None:
        yield Change(path, "compatible", f"`{key}` is gone")
    elif before is None:
        yield Change(path, "breaking", f"`{key}` is new")
    elif key == "allOf" and all(each in _listed(before) for each in _listed(after)):
        yield Change(path, "compatible", "a rule is gone")
    elif key == "allOf" and all(each in _listed(after) for each in _listed(before)):
        yield Change(path, "breaking", "there is one more rule")
    else:
        yield Change(path, "unknown", f"`{key}` changed")


def _type(before: object, after: object, path: str) -> Iterator[Change]:
    lost, gained = _types(before) - _types(after), _types(after) - _types(before)
    if "number" in _types(after):
        lost -= {"integer"}
    if lost:
        yield Change(path, "breaking", f"{_words(lost)} is refused now")
    elif gained:
        yield Change(path, "compatible", f"accepts {_words(gained)} too")


def _required(before: object, after: object, path: str) -> Iterator[Change]:
    old, new = _listed(before), _listed(after)
    for name in (each for each in new if each not in old):
        yield Change(path, "breaking", f"`{name}` is required now")
    for name in (each for each in old if each not in new):
        yield Change(path, "compatible", f"`{name}` is optional now")


def _values(before: object, after: object, path: str) -> Iterator[Change]:
    """For enum; a missing one allows everything."""
    if after is None:
        yield Change(path, "compatible", "any value is allowed now")
    elif before is None:
        yield Change(path, "breaking", "only certain values are allowed now")
    else:
        lost = [each for each in _listed(before) if each not in _listed(after)]
        gained = [each for each in _listed(after) if each not in _listed(before)]
        if lost:
            yield Change(path, "breaking", f"{_words(lost)} is refused now")
        elif gained:
            yield Change(path, "compatible", f"accepts {_words(gained)} too")


def _bound(before: object, after: object, path: str, *, upper: bool) -> Iterator[Change]:
    if after is None:
        yield Change(path, "compatible", "the bound is gone")
    elif not isinstance(after, int | float) or isinstance(before, str | list | dict):
        yield Change(path, "unknown", "the bound changed")
    elif before is None or (after < before if upper else after > before):  # type: ignore[operator]
        yield Change(path, "breaking", f"the bound is {after} now" + ("" if before is None else f", it was {before}"))
    else:
        yield Change(path, "compatible", f"the bound is {after} now, it was {before}")


def _opaque(before: object, after: object, path: str) -> Iterator[Change]:
    """For pattern and format: whether one allows all that the other did is for a person to say."""
    if after is None:
        yield Change(path, "compatible", "the form is free now")
    else:
        kind: Kind = "breaking" if before is None else "unknown"
        yield Change(path, kind, f"the form must be `{after}` now")


STRUCTURE: dict[str, Callable[[_Comparison, str, dict[str, Any], dict[str, Any], str], Iterator[Change]]] = {
    "properties": _Comparison.properties,
    "items": _Comparison.inner,
    "additionalProperties": _Comparison.inner,
    "propertyNames": _Comparison.inner,
}
VALUES: Mapping[str, Callable[[object, object, str], Iterator[Change]]] = {
    "type": _type,
    "required": _required,
    "enum": _values,
    "const": lambda before, after, path: _values(_one(before), _one(after), path),
    "pattern": _opaque,
    "format": _opaque,
    **{key: lambda before, after, path: _bound(before, after, path, upper=False) for key in LOWER},
    **{key: lambda before, after, path: _bound(before, after, path, upper=True) for key in UPPER},
}


def _followed(schema: object, root: object) -> dict[str, Any] | None:
    """The schema itself: booleans spelt out, local references followed. None where that fails."""
    for _ in range(DEEPEST):
        if isinstance(schema, bool):
            return {} if schema else {"not": {}}
        if not isinstance(schema, dict):
            return None
        if "$ref" not in schema:
            return schema
        schema = _pointed(root, _reference(schema))
    return None


def _reference(schema: object) -> str:
    return str(schema["$ref"]) if isinstance(schema, dict) and "$ref" in schema else ""


def _pointed(root: object, reference: str) -> object:
    node = root if reference.startswith("#") else None
    for step in reference.removeprefix("#").split("/")[1:]:
        node = node.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(node, dict) else None
    return node


def _choices(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The schema once for each branch of its anyOf, the rest of it beside each; itself where it has none."""
    branches = schema.get("anyOf")
    if not isinstance(branches, list) or not branches:
        return [schema]
    rest = {key: value for key, value in schema.items() if key != "anyOf" and key not in ANNOTATIONS}
    if rest or not all(isinstance(each, dict) for each in branches):
        return [rest | {"anyOf, beside other keywords": branches}]
    return branches


def _relabelled(found: Iterator[Change], message: str) -> Change | None:
    worst = next((each for each in found if each.kind != "compatible"), None)
    return worst and Change(worst.path.removesuffix("/not"), worst.kind, message)


def _types(value: object) -> frozenset[str]:
    if value is None:
        return TYPES
    found = frozenset(str(each) for each in _listed(value))
    return found | {"integer"} if "number" in found else found


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _one(value: object) -> list[object] | None:
    return None if value is None else [value]


def _words(values: Iterable[object]) -> str:
    return ", ".join(f"`{each}`" for each in sorted(values, key=str))
