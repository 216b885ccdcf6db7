"""Checks at the doors: data against a published schema, every difference told in words, then the record itself."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from keisei.contracts.registry import known, record_type
from keisei.contracts.schema import schema, validator
from keisei.contracts.words import FORMATS, PATTERNS, TYPES, kind_of, listed, nearest, shown
from keisei.records.error import ContractViolation

if TYPE_CHECKING:
    import jsonschema_rs

Path = tuple[str | int, ...]
HINTS = 50
"""Unknown keys of one object that are compared with the known ones; a flood of them is not a slip."""


LINE_ENDING = rb'\n"'
"""How JSON writes a text that ends with a line break, and few others."""


class Violation(NamedTuple):
    """One difference between data and schema."""

    path: Path
    """Where, from the root; for an unknown key the key itself, for a missing one the object that lacks it."""
    at: Literal["key", "value"]
    """Whether to point at the key or at the value."""
    code: str
    """The problem code it becomes in an authored file."""
    message: str
    """What is wrong and what was expected."""
    hint: str | None = None
    """What to do."""


def violations(name: str, data: object) -> list[Violation]:
    """Every way in which data differs from the schema of that name; empty means it fits."""
    try:
        return differences(validator(name).iter_errors(data), schema(name))
    except ValueError as error:  # data that is not JSON at all, such as a key that is not a string
        return [Violation((), "value", "wrong-type", str(error))]


def differences(errors: Iterable["jsonschema_rs.ValidationError"], root: Mapping[str, Any]) -> list[Violation]:
    """What a validator says of data, in our words, each difference once. `root` is the schema it was compiled from."""
    return _once([violation for error in errors for violation in _told(error, root)])


def _once(found: list[Violation]) -> list[Violation]:
    """Each difference once. A union tells an unknown key for all members and for the one meant, which lists fewer."""
    best: dict[tuple[Path, str], Violation] = {}
    for each in found:
        other = best.pop((each.path, each.message), each)
        best[each.path, each.message] = min(each, other, key=lambda one: len(one.hint or ""))
    return list(best.values())


def build(name: str, data: object) -> Any:  # noqa: ANN401 - the record type that belongs to the name
    """The record. Raises ContractViolation with every difference."""
    record, found = tried(name, data)
    if not found:
        return record
    raise ContractViolation(known(name), [f"{pointer(each.path)}: {each.message}" for each in found])


def tried(name: str, data: object) -> tuple[Any, list[Violation]]:
    """The record, or every way in which data differs from it.

    Types and schemas have one source, so what a type takes strictly fits its schema; only the rest is asked of the
    schema, which says what is wrong in words.
    """
    with suppress(msgspec.ValidationError, TypeError, ValueError, RecursionError):
        record = msgspec.convert(data, record_type(name))
        if LINE_ENDING not in msgspec.json.encode(data) or not _ends_lines(data):
            return record, []
    found = violations(name, data)
    if found:
        return None, found
    try:
        return convert(name, data), []
    except msgspec.ValidationError as error:
        return None, [invariant(error)]


def _ends_lines(data: object) -> bool:
    """Whether a single line ends with a line break: there `$` means something else to a type than to a schema."""
    if isinstance(data, str):
        return data.endswith("\n") and "\n" not in data[:-1]
    if isinstance(data, dict):
        return any(_ends_lines(key) or _ends_lines(value) for key, value in data.items())
    return isinstance(data, list | tuple) and any(map(_ends_lines, data))


def convert(name: str, data: object) -> Any:  # noqa: ANN401 - the record type that belongs to the name
    """The record of data that fits its schema. Lax, because to JSON Schema 5.0 is an integer too."""
    return msgspec.convert(data, record_type(name), strict=False)


def data_of(record: object) -> Any:  # noqa: ANN401 - JSON
    """A record as JSON-ready data; what was left out stays left out."""
    return msgspec.json.decode(msgspec.json.encode(record))


def pointer(path: Path) -> str:
    """A place as people write it: `states[2].task_type`; the root is `document`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "document"


def invariant(error: msgspec.ValidationError) -> Violation:
    """What a record says when it refuses to be built; msgspec writes the place behind the sentence."""
    message, _, place = str(error).partition(" - at `$")
    return Violation(_parsed(place.removesuffix("`")), "value", "wrong-value", message)


def _parsed(place: str) -> Path:
    parts = place.replace("[...]", "").replace("[", ".").replace("]", "").split(".")
    return tuple(int(part) if part.isdigit() else part for part in parts if part)


def _told(error: "jsonschema_rs.ValidationError", root: Mapping[str, Any]) -> Iterator[Violation]:
    """One validator error in our words; a choice is told by the branch that was meant."""
    kind = type(error.kind).__name__
    facts = error.kind.as_dict()
    path: Path = tuple(error.instance_path)
    if kind in ("AnyOf", "OneOfNotValid"):
        yield from _choice(error, facts, root)
    elif kind == "AdditionalProperties":
        names = list(_node(root, error.schema_path[:-1]).get("properties", {}))
        for number, key in enumerate(facts["unexpected"]):
            near = nearest(key, names) if number < HINTS else None
            hint = near or f"known keys: {', '.join(names) or 'none'}"
            yield Violation((*path, key), "key", "unknown-key", f"unknown key {shown(key)}", hint)
    elif kind == "Required":
        yield Violation(path, "value", "missing-key", _because(error, root, f"missing key `{facts['property']}`"))
    elif kind == "PropertyNames":
        inner = facts["error"]
        message = f"the key {shown(inner.instance)} must be {_expected(inner)}"
        yield Violation((*path, str(inner.instance)), "key", "wrong-value", message)
    else:
        yield _value(error, kind, facts, root)


def _value(
    error: "jsonschema_rs.ValidationError", kind: str, facts: dict[str, Any], root: Mapping[str, Any]
) -> Violation:
    path: Path = tuple(error.instance_path)
    name = f"`{path[-1]}`" if path and isinstance(path[-1], str) else pointer(path)
    code = "wrong-type" if kind == "Type" else "wrong-value"
    got = kind_of(error.instance) if kind == "Type" else shown(error.instance)
    message = _because(error, root, f"{name} must be {_expected(error)}, not {got}")
    hint = nearest(error.instance, facts["options"]) if kind == "Enum" else None
    return Violation(path, "value", code, message, hint)


def _choice(
    error: "jsonschema_rs.ValidationError", facts: dict[str, Any], root: Mapping[str, Any]
) -> Iterator[Violation]:
    """The branch whose type fits is the one that was meant; where none fits, all types are named."""
    branches = [branch for branch in facts["context"] if branch]
    here = list(error.instance_path)
    meant = [
        branch
        for branch in branches
        if not any(list(inner.instance_path) == here and type(inner.kind).__name__ == "Type" for inner in branch)
    ]
    if len(meant) == 1:
        for inner in meant[0]:
            yield from _told(inner, root)
        return
    path: Path = tuple(error.instance_path)
    name = f"`{path[-1]}`" if path else "document"
    expected = " or ".join(dict.fromkeys(_expected(branch[0]) for branch in branches))
    yield Violation(path, "value", "wrong-type", f"{name} must be {expected}, not {kind_of(error.instance)}")


def _expected(error: "jsonschema_rs.ValidationError") -> str:
    """What the schema wants at this place."""
    kind, facts = type(error.kind).__name__, error.kind.as_dict()
    told = EXPECTED.get(kind)
    return told(facts) if told else f"something else ({error.message})"


EXPECTED: dict[str, Callable[[dict[str, Any]], str]] = {
    "Type": lambda facts: " or ".join(TYPES[each] for each in facts["types"]),
    "Enum": lambda facts: f"one of {listed(facts['options'])}",
    "Constant": lambda facts: shown(facts["expected_value"]),
    "Pattern": lambda facts: PATTERNS.get(facts["pattern"], f"text that matches `{facts['pattern']}`"),
    "Format": lambda facts: FORMATS.get(facts["format"], facts["format"]),
    "MinLength": lambda facts: "not empty" if facts["limit"] == 1 else f"at least {facts['limit']} characters long",
    "MaxLength": lambda facts: f"at most {facts['limit']} characters long",
    "MinItems": lambda facts: (
        "a list that is not empty" if facts["limit"] == 1 else f"a list of {facts['limit']} or more"
    ),
    "Minimum": lambda facts: f"at least {facts['limit']}",
    "Maximum": lambda facts: f"at most {facts['limit']}",
    "ExclusiveMinimum": lambda facts: f"above {facts['limit']}",
}
"""What each keyword of a schema wants, in words."""


def _because(error: "jsonschema_rs.ValidationError", root: Mapping[str, Any], message: str) -> str:
    """Name the condition, where a rule holds only under one."""
    steps = list(error.schema_path)
    if "then" not in steps:
        return message
    condition = _node(root, steps[: len(steps) - steps[::-1].index("then") - 1]).get("if", {})
    wanted = condition.get("properties", {})
    reasons = [f"`{key}` is {shown(rule['const'])}" for key, rule in wanted.items() if "const" in rule]
    return f"{message}, because {' and '.join(reasons)}" if reasons else message


def _node(root: Mapping[str, Any], steps: list[str | int]) -> dict[str, Any]:
    node: Any = root
    for step in steps:
        node = node[step]
    return node if isinstance(node, dict) else {}
