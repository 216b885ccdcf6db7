"""What a JSON Schema says of one part of a value. Draft-07; what is not read here counts as not said."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

Schema = Any
"""A JSON Schema: an object, true or false."""
Part = str | int | None
"""A property, an index, or None for any item."""
NUMBERS = frozenset({"number", "integer"})
EVERY = NUMBERS | {"string", "boolean", "array", "object", "null"}
ALWAYS: Schema = True
BUDGET = 2_000
"""Parts of a schema that one question looks at; a schema that needs more is checked at run time."""
HOPS = 32
NOT_SCHEMAS = ("const", "enum", "examples", "default")


class TooMuch(Exception):
    """The schema has more parts than one question looks at."""


class Seen(NamedTuple):
    """What one schema says of one part."""

    state: Literal["declared", "open", "silent", "absent", "closed", "other"]
    """Open: more may come. Silent: nothing is said. Absent: others are named, not this. Other: no such parts."""
    schemas: tuple[Schema, ...] = ()
    required: bool = False
    """It is there, if the value has parts of this kind."""
    is_kind: bool = False
    """The value has parts of this kind."""
    names: tuple[str, ...] = ()


class Looking:
    """One question to a schema, with a budget."""

    def __init__(self, root: Schema) -> None:
        """`root` is what references lead into."""
        self._root = root
        self._left = BUDGET

    def plain(self, schema: Schema) -> Schema:
        """The schema behind its references; true where one leads nowhere."""
        for _ in range(HOPS):
            self._left -= 1
            if self._left < 0:
                raise TooMuch
            if not isinstance(schema, dict):
                return schema if isinstance(schema, bool) else ALWAYS
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                return schema
            schema = _pointed(self._root, reference)
        return ALWAYS

    def kinds(self, schema: Schema) -> frozenset[str]:
        """The JSON types it can have. Raises TooMuch, as every question here."""
        schema = self.plain(schema)
        if isinstance(schema, bool):
            return EVERY if schema else frozenset()
        found = _own_kinds(schema)
        for each in _list(schema, "allOf"):
            found &= self.kinds(each)
        for key in ("anyOf", "oneOf"):
            if branches := _list(schema, key):
                found &= frozenset().union(*map(self.kinds, branches))
        return found

    def names(self, schema: Schema) -> tuple[tuple[str, ...], frozenset[str]]:
        """The properties it declares, and the ones it demands."""
        schema = self.plain(schema)
        if isinstance(schema, bool):
            return (), frozenset()
        found = dict.fromkeys(_table(schema, "properties"))
        needed = {each for each in _list(schema, "required") if isinstance(each, str)}
        for each in _list(schema, "allOf"):
            names, needs = self.names(each)
            found |= dict.fromkeys(names)
            needed |= needs
        for key in ("anyOf", "oneOf"):
            for each in _list(schema, key):
                found |= dict.fromkeys(self.names(each)[0])
        return tuple(found), frozenset(needed)

    def values(self, schema: Schema) -> list[Any] | None:
        """Every value it takes, where it counts them; perhaps some more."""
        schema = self.plain(schema)
        if isinstance(schema, bool):
            return None
        if "const" in schema or isinstance(schema.get("enum"), list):
            return [schema["const"]] if "const" in schema else schema["enum"]
        if _own_kinds(schema) == {"null"}:
            return [None]
        counted = [found for each in _list(schema, "allOf") if (found := self.values(each)) is not None]
        for key in ("anyOf", "oneOf"):
            branches = [self.values(each) for each in _list(schema, key)]
            if branches and None not in branches:
                counted.append([value for branch in branches for value in branch or ()])
        return min(counted, key=len, default=None)

    def longest(self, schema: Schema) -> float:
        """How many characters a text or a number, a boolean, has at most; infinite where that is not plain."""
        values = self.values(schema)
        if values is not None:
            return max([_length(each) for each in values], default=math.inf)
        found = self.plain(schema)
        kinds = self.kinds(found)
        if isinstance(found, bool) or kinds - {"string", "integer", "boolean"}:
            return math.inf
        most = [_number(found.get("maxLength"), math.inf)] if "string" in kinds else []
        most += [max(_length(found.get(key)) for key in ("minimum", "maximum"))] if "integer" in kinds else []
        return max([*most, len("false")])

    def without_null(self, schema: Schema) -> Schema:
        """The schema without null, where it says null plainly."""
        found = self.plain(schema)
        if isinstance(found, bool):
            return schema
        for key in ("anyOf", "oneOf"):
            branches = _list(found, key)
            left = [each for each in branches if self.kinds(each) != {"null"}]
            if left and len(left) < len(branches):
                return left[0] if len(left) == 1 and len(found) == 1 else found | {key: left}
        kinds = [each for each in _list(found, "type") if each != "null"]
        if kinds and len(kinds) < len(found["type"]):
            return found | {"type": kinds}
        return schema

    def part(self, schema: Schema, part: Part) -> Seen:
        """What it says of one part."""
        schema = self.plain(schema)
        if isinstance(schema, bool):
            return Seen("silent" if schema else "closed")
        seen = [_property(schema, part) if isinstance(part, str) else _item(schema, part)]
        seen += [self.part(each, part) for each in _list(schema, "allOf")]
        for key in ("anyOf", "oneOf"):
            if branches := _list(schema, key):
                seen.append(_either([self.part(each, part) for each in branches]))
        if any(key in schema for key in ("then", "else", "dependencies")):
            seen.append(Seen("open"))
        return _both(seen)


def _both(seen: list[Seen]) -> Seen:
    """All of them hold."""
    states = {each.state for each in seen}
    order: tuple[Literal["other", "closed", "declared", "open", "absent", "silent"], ...]
    order = ("other", "closed", "declared", "open", "absent", "silent")
    return Seen(
        next(state for state in order if state in states),
        tuple(schema for each in seen for schema in each.schemas),
        any(each.required for each in seen),
        any(each.is_kind for each in seen),
        tuple(name for each in seen for name in each.names),
    )


def _either(seen: list[Seen]) -> Seen:
    """One of them holds. What cannot have such parts counts only where nothing else is left."""
    live = [each for each in seen if each.state not in ("other", "closed")]
    names = tuple(name for each in seen for name in each.names)
    is_kind = all(each.is_kind for each in seen)
    if not live:
        every_other = all(each.state == "other" for each in seen)
        return Seen("other" if every_other else "closed", names=names)
    required = all(each.required for each in seen)
    states = {each.state for each in live}
    if states <= {"absent"}:
        return Seen("absent", (), required, is_kind, names)
    if states <= {"declared", "absent"}:
        schemas = tuple(combined("allOf", each.schemas) for each in live if each.state == "declared")
        return Seen("declared", (combined("anyOf", schemas),), required, is_kind, names)
    return Seen("silent" if states == {"silent"} else "open", (), required, is_kind, names)


def combined(key: str, schemas: Iterable[Schema]) -> Schema:
    """Several schemas as one."""
    different: list[Schema] = []
    for each in schemas:
        if each not in different:
            different.append(each)
    return different[0] if len(different) == 1 else {key: different}


def _property(schema: Mapping[str, Any], name: str) -> Seen:
    kinds = _own_kinds(schema)
    if "object" not in kinds:
        return Seen("other")
    properties = _table(schema, "properties")
    required = name in _list(schema, "required")
    is_kind = kinds == {"object"}
    more = schema.get("additionalProperties")
    told = Seen("silent", (), required, is_kind, tuple(properties))
    if name in properties:
        return told._replace(state="closed" if properties[name] is False else "declared", schemas=(properties[name],))
    if _table(schema, "patternProperties") or more is True:
        return told._replace(state="open")
    if more is False:
        return told._replace(state="closed")
    if isinstance(more, dict):
        return told._replace(state="declared", schemas=(more,))
    return told._replace(state="absent") if properties else told


def _item(schema: Mapping[str, Any], index: int | None) -> Seen:
    kinds = _own_kinds(schema)
    if "array" not in kinds:
        return Seen("other")
    least, most = _number(schema.get("minItems"), 0), _number(schema.get("maxItems"), math.inf)
    told = Seen("silent", (), index is None or least > index, kinds == {"array"})
    if most <= (index or 0):
        return told._replace(state="closed")
    items = schema.get("items")
    if isinstance(items, list):
        return _placed(items, schema.get("additionalItems", ALWAYS), index, told)
    return told if items is None else told._replace(state="declared", schemas=(items,))


def _placed(items: list[Schema], rest: Schema, index: int | None, told: Seen) -> Seen:
    """An item of a list whose places differ."""
    if index is None:
        return told._replace(state="declared", schemas=(combined("anyOf", [*items, rest]),))
    found = items[index] if index < len(items) else rest
    return told._replace(state="closed" if found is False else "declared", schemas=(found,))


def _own_kinds(schema: Mapping[str, Any]) -> frozenset[str]:
    """What `type`, `const` and `enum` leave."""
    written = schema.get("type", [])
    names = [written] if isinstance(written, str) else written if isinstance(written, list) else []
    found = frozenset(name for name in names if isinstance(name, str)) & EVERY
    found = found | NUMBERS if "number" in found else found or EVERY
    if "const" in schema:
        found &= _kinds_of_value(schema["const"])
    values = schema.get("enum")
    return found & frozenset().union(*map(_kinds_of_value, values)) if isinstance(values, list) and values else found


def _kinds_of_value(value: object) -> frozenset[str]:
    if value is None:
        return frozenset({"null"})
    names = {bool: "boolean", str: "string", list: "array", dict: "object"}
    name = names.get(type(value))
    return NUMBERS if name is None else frozenset({name})


def _length(value: object) -> float:
    if isinstance(value, str):
        return len(value)
    return len(str(value)) if isinstance(value, int) else math.inf


def _number(value: object, otherwise: float) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def _table(schema: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = schema.get(key)
    return value if isinstance(value, dict) else {}


def _list(schema: Mapping[str, Any], key: str) -> list[Any]:
    value = schema.get(key)
    return value if isinstance(value, list) else []


def _pointed(root: Schema, reference: str) -> Schema:
    """What a JSON pointer of the schema leads to; true where it leads nowhere."""
    if not reference.startswith("#") or (len(reference) > 1 and reference[1] != "/"):
        return ALWAYS
    found = root
    for token in reference[2:].split("/") if len(reference) > 1 else ():
        step = token.replace("%25", "%").replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdigit() and int(step) < len(found):
            found = found[int(step)]
        else:
            return ALWAYS
    return found
