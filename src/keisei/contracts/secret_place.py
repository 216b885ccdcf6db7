"""Places of a value that a schema marks `"writeOnly": true`: what stands there, and all below it, is a secret.

Read cautiously: a mark in any branch that might apply counts, patterns of keys are taken to fit, and where schema and
value are too large to be followed, everything is a secret.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from keisei.contracts.check import Path
from keisei.contracts.pointer import followed

MARK: Final = "writeOnly"
UNFOLDED: Final = 100_000
"""Parts a schema may have once its references are followed."""
STEPS: Final = 100_000
"""Pairs of a schema's part and a value's that are looked at."""
SAME: Final = ("allOf", "anyOf", "oneOf", "if", "then", "else", "not", "dependencies")
"""Keywords whose schemas are about the same place."""
BELOW: Final = ("properties", "patternProperties", "additionalProperties", "items", "additionalItems", "contains")
"""Keywords whose schemas are about places below."""


class Unfolded(NamedTuple):
    """What becomes of a schema when its references are followed."""

    parts: int
    """How many parts it has; one more than `UNFOLDED` where it has more."""
    is_endless: bool
    """It refers to itself."""


class _TooLargeError(Exception):
    """Schema and value cannot be followed to their end."""


def secret_values(schema: dict[str, Any], value: Any) -> tuple[str, ...]:  # noqa: ANN401 - any JSON
    """The texts and numbers at places marked `writeOnly`, as text, each once. Never raises. Falls closed."""
    if not _holds(schema, MARK):
        return ()
    try:
        found = [_at(value, path) for path in _places(schema, value)]
    except (_TooLargeError, RecursionError):
        found = [value]
    return tuple(dict.fromkeys(text for each in found for text in _texts(each)))


def hides(schema: dict[str, Any], value: object, path: Path) -> bool:
    """Whether a place is marked or lies below one that is. Falls closed."""
    if not _holds(schema, MARK):
        return False
    try:
        return any(path[: len(place)] == place for place in _places(schema, value))
    except (_TooLargeError, RecursionError):
        return True


def unfolded(schema: dict[str, Any]) -> Unfolded:
    """How large a schema is. Never raises, and unfolds nothing."""
    counter = _Counter(schema)
    try:
        parts = counter.parts(schema)
    except RecursionError:
        parts = UNFOLDED + 1
    return Unfolded(min(parts, UNFOLDED + 1), counter.is_endless)


class _Counter:
    """Counts parts: what a reference leads to is counted once and then added, however often it is named."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.is_endless = False
        self._root = root
        self._known: dict[str, int] = {}
        self._open: set[str] = set()

    def parts(self, node: object) -> int:
        """The node and all below it."""
        if not isinstance(node, dict):
            return 1
        inner = sum(self.parts(each) for keyword in (*SAME, *BELOW, "propertyNames") for each in _under(node, keyword))
        return 1 + inner + (self._target(node["$ref"]) if isinstance(node.get("$ref"), str) else 0)

    def _target(self, reference: str) -> int:
        if reference in self._open:
            self.is_endless = True
            return 1
        if reference not in self._known:
            self._open.add(reference)
            self._known[reference] = self.parts(followed(self._root, reference))
            self._open.discard(reference)
        return self._known[reference]


def _places(schema: dict[str, Any], value: object) -> Iterator[Path]:
    """Every marked place that is there. Raises _TooLargeError."""
    waiting: list[tuple[Any, Any, Path]] = [(schema, value, ())]
    seen: set[tuple[int, Path]] = set()
    known: dict[int, bool] = {}
    while waiting:
        node, here, path = waiting.pop()
        if not isinstance(node, dict) or (id(node), path) in seen or not _may_mark(node, known):
            continue
        seen.add((id(node), path))
        if len(seen) > STEPS:
            raise _TooLargeError
        if node.get(MARK) is True:
            yield path
            continue
        waiting.extend((each, here, path) for keyword in SAME for each in _under(node, keyword))
        if isinstance(node.get("$ref"), str):
            waiting.append((_followed(schema, node["$ref"]), here, path))
        waiting.extend((each, inner, (*path, part)) for each, inner, part in _below(node, here))


def _below(node: dict[str, Any], here: object) -> Iterator[tuple[Any, Any, str | int]]:
    """Schemas of the places below, with what stands there."""
    if isinstance(here, dict):
        own = node.get("properties")
        own = own if isinstance(own, dict) else {}
        others = (*_under(node, "patternProperties"), *_under(node, "additionalProperties"))
        for key, inner in here.items():
            yield own.get(key), inner, key
            if others and (key not in own or "patternProperties" in node):
                yield from ((each, inner, key) for each in others)
    elif isinstance(here, list | tuple):
        row = node.get("items")
        each_item = (*(() if isinstance(row, list) else (row,)), *_under(node, "contains"), node.get("additionalItems"))
        for index, inner in enumerate(here):
            yield from ((each, inner, index) for each in each_item)
            if isinstance(row, list) and index < len(row):
                yield row[index], inner, index


def _under(node: dict[str, Any], keyword: str) -> Iterator[Any]:
    """The schemas a keyword holds: one, a list of them, or some by name."""
    held = node.get(keyword)
    if isinstance(held, list):
        yield from held
    elif isinstance(held, dict):
        yield from held.values() if keyword in {"properties", "patternProperties", "dependencies"} else (held,)


def _may_mark(node: object, known: dict[int, bool]) -> bool:
    """Whether a mark, or a reference that may lead to one, stands anywhere in it. Each part is looked at once."""
    if not isinstance(node, dict | list):
        return False
    if id(node) not in known:
        inner = node.values() if isinstance(node, dict) else node
        own = isinstance(node, dict) and (MARK in node or "$ref" in node)
        known[id(node)] = own or any(_may_mark(each, known) for each in inner)
    return known[id(node)]


def _holds(node: object, key: str) -> bool:
    """Whether a key stands anywhere in it."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if key in each:
                return True
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
    return False


def _followed(root: dict[str, Any], reference: str) -> object:
    found = followed(root, reference)
    if found is None:
        raise _TooLargeError
    return found


def _at(value: Any, path: Path) -> Any:  # noqa: ANN401 - any JSON
    for part in path:
        value = value[part]
    return value


def _texts(value: object) -> Iterator[str]:
    """Every text and number in it."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, int | float) and not isinstance(each, bool):
            yield repr(each)
        elif isinstance(each, dict):
            waiting.extend((*each, *each.values()))
        elif isinstance(each, list | tuple):
            waiting.extend(each)
