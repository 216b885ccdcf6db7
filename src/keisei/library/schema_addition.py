"""Additions: a property that was declared nowhere before takes nothing from those who keep to what was declared.

Told by the shape of two schemas and not by a proof, so that their size does not matter. What combines schemas is taken
strictly: there a property is new only if the old schema does not know its name at all.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

PLAIN, OPEN, UNHEARD = range(3)
"""Where one schema alone speaks; where a closed one would take from its sisters what is theirs; everywhere else."""
LOGIC: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contains")
COMBINED: Final = frozenset((*LOGIC, "$ref", "dependencies", "patternProperties", "propertyNames", "enum", "const"))
COUNTED: Final = frozenset(("minProperties", "maxProperties"))
SHAPES: Final = frozenset(("properties", "items", "additionalItems", "additionalProperties"))
TABLES: Final = frozenset(("properties", "patternProperties", "definitions", "dependencies"))
SAID: Final = frozenset(("enum", "const", "required", "default", "examples"))
"""Keywords that hold values, not schemas."""


class _Old(NamedTuple):
    """What is known of the old schema as a whole."""

    names: frozenset[str]
    """Every name of a property that it mentions, wherever."""
    has_maps: bool
    """Whether it speaks of properties without naming them."""
    definitions: int
    """How strictly its shared parts are taken: as strictly as the strictest place that refers to one."""
    required: bool
    """Whether a new property may be required: what comes out may say more."""


def without_additions(was: Any, now: Any, *, required: bool = False) -> Any:  # noqa: ANN401 - any JSON
    """The new schema without the properties that are only additions to the old one. Bundled draft-07; never raises."""
    try:
        strictness = max(_strictest(was), _strictest(now))
        old = _Old(frozenset(_names(was)), any(map(_is_map, _objects(was))), strictness, required)
        return _tidied(was, _stripped(was, now, PLAIN, old))
    except RecursionError:
        return now


def differing(was: Any, now: Any) -> tuple[Any, Any]:  # noqa: ANN401 - any JSON
    """Both without properties that are the same in both, where they stand alone: what is left to be proved."""
    try:
        shared = not any(COMBINED - {"$ref"} & each.keys() for part in (was, now) for each in _objects(part))
        return _narrowed(was, now, shared=shared)
    except RecursionError:
        return was, now


def _stripped(was: Any, now: Any, level: int, old: _Old) -> Any:  # noqa: ANN401 - any JSON
    if was == now or not (isinstance(was, dict) and isinstance(now, dict)):
        return now
    here = UNHEARD if COMBINED & (was.keys() | now.keys()) else level
    kept = dict(now)
    for key, inner in now.items():
        before = was.get(key)
        if key == "properties":
            kept[key] = _declared(was, now, here, old)
            if not kept[key] and before is None:
                del kept[key]
        elif key in TABLES and isinstance(inner, dict) and isinstance(before, dict):
            inward = old.definitions if key == "definitions" else UNHEARD
            kept[key] = {name: _stripped(before.get(name), each, inward, old) for name, each in inner.items()}
        elif key not in SAID:
            kept[key] = _inward(before, inner, _level(key, was, now, level), old)
    if old.required and isinstance(now.get("required"), list):
        gone = _table(now).keys() - _table(kept).keys()
        kept["required"] = [name for name in now["required"] if not (isinstance(name, str) and name in gone)]
        if not kept["required"] and "required" not in was:
            del kept["required"]
    return kept


def _tidied(was: Any, kept: Any) -> Any:  # noqa: ANN401 - any JSON
    """Without shared parts that are new and that nothing refers to which is left."""
    if not (isinstance(was, dict) and isinstance(kept, dict) and isinstance(kept.get("definitions"), dict)):
        return kept
    known = was["definitions"] if isinstance(was.get("definitions"), dict) else {}
    parts = {name: part for name, part in kept["definitions"].items() if name in known}
    rest = {key: value for key, value in kept.items() if key != "definitions"}
    if parts or "definitions" in was:
        rest["definitions"] = parts
    led = [str(each["$ref"]).split("/") for each in _objects(rest) if "$ref" in each]
    return (
        rest if all(steps[:2] == ["#", "definitions"] and steps[2:3] and steps[2] in known for steps in led) else kept
    )


def _inward(before: Any, inner: Any, level: int, old: _Old) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(inner, list) and isinstance(before, list) and len(inner) == len(before):
        return [_stripped(one, other, level, old) for one, other in zip(before, inner, strict=True)]
    return _stripped(before, inner, level, old)


def _level(key: str, was: dict[str, Any], now: dict[str, Any], level: int) -> int:
    """How strictly the schemas under a keyword are taken."""
    beside = (COMBINED | SHAPES) & (was.keys() | now.keys()) - {key}
    if key in SHAPES:
        return UNHEARD if beside & COMBINED else level
    if key in ("anyOf", "oneOf") and not beside:
        return level if key == "anyOf" else max(level, OPEN)
    return UNHEARD


def _declared(was: dict[str, Any], now: dict[str, Any], here: int, old: _Old) -> Any:  # noqa: ANN401 - any JSON
    before, after = _table(was), now["properties"]
    if not isinstance(after, dict):
        return after
    return {
        name: _stripped(before.get(name), each, here, old)
        for name, each in after.items()
        if name in before or not _is_addition(name, was, now, here, old)
    }


def _is_addition(name: str, was: dict[str, Any], now: dict[str, Any], here: int, old: _Old) -> bool:
    if was.get("additionalProperties", True) not in (True, False, {}):  # there was a word on it
        return False
    if name in _list(was, "required") or (name in _list(now, "required") and not old.required):
        return False
    is_open = all(each.get("additionalProperties", True) is not False for each in (was, now))
    if here == PLAIN or (here == OPEN and is_open):
        return True
    return name not in old.names and not old.has_maps


def _narrowed(was: Any, now: Any, *, shared: bool) -> tuple[Any, Any]:  # noqa: ANN401 - any JSON
    if not (isinstance(was, dict) and isinstance(now, dict)):
        return was, now
    one, other = dict(was), dict(now)
    if shared:
        _pairwise(one, other, "definitions", lambda a, b: _narrowed(a, b, shared=shared))
    if (COMBINED | COUNTED) & (was.keys() | now.keys()):
        return one, other
    before, after = _table(was), _table(now)
    needed = [set(_list(each, "required")) for each in (was, now)]
    same = {name for name in before.keys() & after.keys() if before[name] == after[name]}
    same = {name for name in same if (name in needed[0]) == (name in needed[1]) and not _refers(before[name])}
    for each, table in ((one, before), (other, after)):
        if table:
            each["properties"] = {name: part for name, part in table.items() if name not in same}
        if "required" in each and isinstance(each["required"], list):
            each["required"] = [name for name in each["required"] if name not in same]
    _pairwise(one, other, "properties", lambda a, b: _narrowed(a, b, shared=shared))
    one_item, other_item = _narrowed(was.get("items"), now.get("items"), shared=shared)
    if "items" in was and "items" in now:
        one["items"], other["items"] = one_item, other_item
    return one, other


def _pairwise(
    one: dict[str, Any], other: dict[str, Any], key: str, change: Callable[[Any, Any], tuple[Any, Any]]
) -> None:
    before, after = one.get(key), other.get(key)
    if isinstance(before, dict) and isinstance(after, dict):
        pairs = {name: change(before[name], after[name]) for name in before.keys() & after.keys()}
        one[key] = before | {name: pair[0] for name, pair in pairs.items()}
        other[key] = after | {name: pair[1] for name, pair in pairs.items()}


def _table(schema: dict[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _list(schema: dict[str, Any], key: str) -> list[str]:
    found = schema.get(key)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []


def _objects(data: object) -> Iterator[dict[str, Any]]:
    """Every table in it, schema or not: more than there are, never fewer."""
    if isinstance(data, dict):
        yield data
    for each in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _objects(each)


def _names(schema: object) -> Iterator[str]:
    for each in _objects(schema):
        yield from _list(each, "required")
        for key in ("properties", "dependencies", "enum", "const"):
            value = each.get(key)
            for table in _objects(value):
                yield from table if key in ("enum", "const") or table is value else ()
        for listed in each["dependencies"].values() if isinstance(each.get("dependencies"), dict) else ():
            yield from (name for name in listed if isinstance(name, str)) if isinstance(listed, list) else ()


def _is_map(schema: dict[str, Any]) -> bool:
    return "patternProperties" in schema or schema.get("additionalProperties", True) not in (True, False, {})


def _refers(schema: object) -> bool:
    return any("$ref" in each for each in _objects(schema))


def _strictest(schema: object) -> int:
    """How strictly shared parts are taken: what refers to one from inside a combination counts."""
    found = PLAIN
    for each in _objects(schema):
        for key in (COMBINED | SHAPES) & each.keys() - {"$ref"}:
            if _refers(each[key]):
                found = max(found, _level(key, each, each, PLAIN))
    return found
