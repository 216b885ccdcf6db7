"""Schemas from types: fields, their lines and invariants as JSON Schema draft-07. Runs when the repository is built."""

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, get_args

import msgspec

from keisei.contracts.registry import record_type, schema_id
from keisei.records.form import Record

DRAFT = "http://json-schema.org/draft-07/schema#"


def generated_schema(name: str, examples: list[Any]) -> dict[str, Any]:
    """The whole schema of a published name: self-contained, with its examples."""
    published = record_type(name)
    members = get_args(published) or (published,)
    _, parts = msgspec.json.schema_components((published,), ref_template="#/definitions/{name}")
    classes = {cls.__name__: cls for cls in _record_classes(members)}
    definitions = {title: _finished(part, classes[title]) for title, part in sorted(parts.items())}
    head = {"$schema": DRAFT, "$id": schema_id(name)}
    body = definitions.pop(published.__name__) if len(members) == 1 else _union(members, definitions)
    tail = {"examples": examples, "definitions": definitions} if definitions else {"examples": examples}
    return head | body | tail


def _union(members: Iterable[type[Record]], definitions: dict[str, Any]) -> dict[str, Any]:
    """Choose by tag first: an error then speaks of the kind that was meant and not of every kind at once."""
    tags = {str(cls.__struct_config__.tag): cls for cls in members}
    tag_field = str(next(iter(tags.values())).__struct_config__.tag_field)
    return {
        "title": "AdapterConfig",
        "description": "How a harness is reached, told apart by `kind`.",
        "type": "object",
        "required": [tag_field],
        "properties": {key: {} for cls in tags.values() for key in definitions[cls.__name__]["properties"]}
        | {tag_field: {"enum": list(tags)}},
        "additionalProperties": False,
        "allOf": [
            {
                "if": {"properties": {tag_field: {"const": tag}}, "required": [tag_field]},
                "then": {"$ref": f"#/definitions/{cls.__name__}"},
            }
            for tag, cls in tags.items()
        ],
    }


def _finished(part: dict[str, Any], cls: type[Record]) -> dict[str, Any]:
    """One component with descriptions, honest defaults, exact optionality and the record's invariants."""
    lines = field_lines(cls)
    properties = {
        field.encode_name: _property(part["properties"][field.encode_name], field, lines[field.name])
        for field in msgspec.structs.fields(cls)
    }
    tags = {key: value for key, value in part["properties"].items() if key not in properties}
    finished: dict[str, Any] = {
        "title": cls.__name__,
        "description": inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0],
        "type": "object",
        "required": part.get("required", []),
        "properties": tags | properties,
        "additionalProperties": False,
    }
    if cls.INVARIANTS:
        finished["allOf"] = list(cls.INVARIANTS)
    return finished


def _property(part: dict[str, Any], field: msgspec.structs.FieldInfo, line: str) -> dict[str, Any]:
    prop = {key: value for key, value in part.items() if key != "default"}
    if field.default is None:
        return _without_null(prop) | {"description": line}
    value = _written_default(field)
    return prop | ({} if value is None else {"default": value}) | {"description": line}


def _without_null(prop: dict[str, Any]) -> dict[str, Any]:
    """An optional field is left out, never null."""
    if "anyOf" not in prop:
        return prop
    rest = [option for option in prop["anyOf"] if option != {"type": "null"}]
    others = {key: value for key, value in prop.items() if key != "anyOf"}
    return others | (rest[0] if len(rest) == 1 else {"anyOf": rest})


def _written_default(field: msgspec.structs.FieldInfo) -> Any:  # noqa: ANN401 - any JSON value
    """The default as JSON; None where the field has none."""
    if field.default is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default)
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default_factory())
    return None


def _record_classes(members: Iterable[type[Record]]) -> Iterator[type[Record]]:
    """Every record reachable from these, each once."""
    waiting, seen = list(members), set()
    while waiting:
        cls = waiting.pop()
        if cls in seen:
            continue
        seen.add(cls)
        yield cls
        for field in msgspec.structs.fields(cls):
            waiting.extend(_records_in(field.type))


def _records_in(annotation: Any) -> Iterator[type[Record]]:  # noqa: ANN401 - any type annotation
    if isinstance(annotation, type) and issubclass(annotation, Record):
        yield annotation
    for inner in get_args(annotation):
        yield from _records_in(inner)


def field_lines(cls: type[Record]) -> dict[str, str]:
    """The line under each field, own fields over inherited ones."""
    lines: dict[str, str] = {}
    for ancestor in reversed(cls.__mro__):
        if issubclass(ancestor, Record) and ancestor is not Record:
            lines |= _module_lines(ancestor.__module__).get(ancestor.__name__, {})
    return lines


@cache
def _module_lines(module: str) -> dict[str, dict[str, str]]:
    """Field lines by class, read from the module's source: Python keeps no docstrings of attributes."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: _class_lines(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _class_lines(node: ast.ClassDef) -> dict[str, str]:
    lines = {}
    for statement, after in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            lines[statement.target.id] = inspect.cleandoc(str(after.value.value))
    return lines
