"""Schemas as rows: a form's lines become a JSON Schema, and a schema that says no more than they can becomes lines.

The order of rows is the order of properties. What rows cannot say is not dropped: such a schema stays raw JSON.
"""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, get_args

from msgspec.structs import replace

from keisei.records.draft import RowType, SchemaRow
from keisei.records.error import OperatorError

DEEPEST: Final = 8
"""Objects in objects that rows are made of."""
MOST: Final = 200
"""Rows of one object: more than that nobody reads in a form."""
HINT: Final = "edit it as raw JSON"
_TYPES: Final = frozenset(get_args(RowType)) - {"any"}
_BOUNDS: Final = {"minimum": "minimum", "maximum": "maximum", "min_length": "minLength", "max_length": "maxLength"}


def properties_of(rows: Sequence[SchemaRow], *, closed: bool) -> dict[str, Any]:
    """The part of a schema that says what an object has. Never raises; of two rows of one name the later one holds."""
    told = {
        "type": "object",
        "properties": {row.name: _part(row, closed=closed) for row in rows},
        "required": list(dict.fromkeys(row.name for row in rows if row.required)),
    }
    return {**told, "additionalProperties": False} if closed else told


def _part(row: SchemaRow, *, closed: bool) -> dict[str, Any]:
    part: dict[str, Any] = {}
    if row.type == "object" and row.fields is not None:
        part = properties_of(row.fields, closed=closed)
    elif row.type != "any":
        part["type"] = row.type
    if row.nullable and row.type != "any":
        part["type"] = [row.type, "null"]
    if row.description:
        part["description"] = row.description
    if row.choices:
        part["enum"] = [*row.choices, *([None] if row.nullable else [])]
    part |= {word: getattr(row, name) for name, word in _BOUNDS.items() if getattr(row, name) is not None}
    if row.type == "array" and row.items is not None and row.items != "any":
        part["items"] = _part(SchemaRow(type=row.items, fields=row.fields), closed=closed)
    return part


# --- examples ---------------------------------------------------------------------------------------------------------


def example_of(rows: Sequence[SchemaRow]) -> dict[str, Any]:
    """An object as the rows' examples say; a required one without gets a plain value, any other is left out."""
    return {row.name: value_of(row) for row in rows if row.required or row.example is not None}


def value_of(row: SchemaRow) -> Any:  # noqa: ANN401 - any JSON
    """The row's example, or a plain value. A text that should be JSON and is not stays the text."""
    if row.example is None:
        return _plain_value(row)
    if isinstance(row.example, str) and row.type not in ("string", "any"):
        try:
            return json.loads(row.example)
        except (ValueError, RecursionError):
            return row.example
    return row.example


def _plain_value(row: SchemaRow) -> Any:  # noqa: ANN401 - any JSON
    if row.type == "object":
        return example_of(row.fields or ())
    if row.type == "array":
        item = SchemaRow(type=row.items or "any", fields=row.fields)
        return [] if row.items in (None, "any") else [_plain_value(item)]
    if row.type in ("integer", "number"):
        return _within(row)
    if row.type == "string":
        text = row.choices[0] if row.choices else "text"
        return text if row.choices else text[: row.max_length].ljust(min(row.min_length or 0, 10_000), "x")
    return True if row.type == "boolean" else None


def _within(row: SchemaRow) -> int | float:
    least, most = row.minimum, row.maximum
    if least is not None and least > 1:
        return math.ceil(least) if row.type == "integer" else least
    return (math.floor(most) if row.type == "integer" else most) if most is not None and most < 1 else 1


# --- what is wrong with rows ------------------------------------------------------------------------------------------


def row_faults(rows: Sequence[SchemaRow], place: str, depth: int = 1) -> Iterator[tuple[str, str]]:
    """Where something is wrong with rows, as `input.rows[2].name`, and what. The schema they make tells the rest."""
    if depth > DEEPEST or len(rows) > MOST:
        yield place, f"rows are at most {MOST}, and at most {DEEPEST} deep"
        return
    names = [row.name for row in rows]
    for index, row in enumerate(rows):
        here = f"{place}[{index}]"
        if not row.name:
            yield f"{here}.name", "a row needs a name"
        elif row.name in names[:index]:
            yield f"{here}.name", f"`{row.name[:80]}` stands in two rows"
        yield from ((f"{here}.{name}", message) for name, message in _own_faults(row))
        if row.fields is not None:
            yield from row_faults(row.fields, f"{here}.fields", depth + 1)


def _own_faults(row: SchemaRow) -> Iterator[tuple[str, str]]:
    yield from _bound_faults(row)
    if row.choices and row.type != "string":
        yield "choices", "only a text has choices"
    if len(set(row.choices)) < len(row.choices):
        yield "choices", "a choice stands there twice"
    if row.items is not None and row.type != "array":
        yield "items", "only a list has items"
    if row.fields is not None and "object" not in (row.type, row.items):
        yield "fields", "only an object has properties of its own"
    if isinstance(row.example, str) and row.type not in ("string", "any") and value_of(row) is row.example:
        yield "example", f"is no {row.type}, written as JSON"


def _bound_faults(row: SchemaRow) -> Iterator[tuple[str, str]]:
    for name in _BOUNDS:
        value, is_length = getattr(row, name), name.endswith("length")
        fits = row.type == "string" if is_length else row.type in ("integer", "number")
        if value is not None and not fits:
            yield name, f"only a {'text' if is_length else 'number'} has it"
        elif value is not None and (not math.isfinite(value) or (is_length and value < 0)):
            yield name, "is no bound"
    for name, least, most in (("maximum", row.minimum, row.maximum), ("max_length", row.min_length, row.max_length)):
        if least is not None and most is not None and least > most:
            yield name, "is below the least"


# --- and back ---------------------------------------------------------------------------------------------------------


def rows_of(schema: dict[str, Any], *, closed: bool) -> tuple[SchemaRow, ...]:
    """The rows that make these properties, without examples. Raises OperatorError that names what rows cannot say."""
    return _rows(schema, "", closed=closed, depth=1)


def _rows(schema: dict[str, Any], place: str, *, closed: bool, depth: int) -> tuple[SchemaRow, ...]:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list) or depth > DEEPEST or len(properties) > MOST:
        raise _rich(place, "properties")
    rows = []
    for name, part in properties.items():
        here = f"{place}.{name}" if place else name
        if not name:
            raise _rich(here, "a name without letters")
        row = replace(_row(part, here, closed=closed, depth=depth), name=name, required=name in required)
        _compare(part, _part(row, closed=closed), here)
        rows.append(row)
    unknown = [each for each in required if each not in properties]
    if unknown:
        raise _rich(place, f"required `{unknown[0]}`")
    return tuple(rows)


def _row(part: object, place: str, *, closed: bool, depth: int) -> SchemaRow:
    """The row of one property, without its name; what it leaves out is found by making the property again."""
    if not isinstance(part, dict):
        raise _rich(place, json.dumps(part)[:40])
    kind, nullable = _type(part.get("type", "any"), place)
    nested = part
    items: RowType | None = None
    if kind == "array" and "items" in part:
        nested = part["items"]
        items = _row(nested, f"{place}[]", closed=closed, depth=depth + 1).type
    has_fields = "object" in (kind, items) and "properties" in nested
    choices = part.get("enum", [])
    try:
        return SchemaRow(
            type=kind,
            nullable=nullable,
            description=_as(str, part.get("description", "")),
            choices=tuple(_as(str, each) for each in choices if each is not None),
            items=items,
            fields=_rows(nested, place, closed=closed, depth=depth + 1) if has_fields else None,
            minimum=_number(part.get("minimum")),
            maximum=_number(part.get("maximum")),
            min_length=_length(part.get("minLength")),
            max_length=_length(part.get("maxLength")),
        )
    except TypeError as error:
        raise _rich(place, str(error) or "a value") from error


def _type(told: object, place: str) -> tuple[RowType, bool]:
    names = told if isinstance(told, list) else [told]
    plain = [each for each in names if each != "null"]
    if len(plain) != 1 or not isinstance(plain[0], str) or plain[0] not in _TYPES | {"any"}:
        raise _rich(place, f"type {json.dumps(told)[:40]}")
    return plain[0], len(names) > 1  # type: ignore[return-value]


def _as(kind: type[str], value: object) -> str:
    if not isinstance(value, kind):
        raise TypeError(json.dumps(value)[:40])
    return value


def _number(value: object) -> int | float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise TypeError(json.dumps(value)[:40])
    return value


def _length(value: object) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise TypeError(json.dumps(value)[:40])
    return value


def _compare(part: dict[str, Any], made: dict[str, Any], place: str) -> None:
    """Raises OperatorError with the first word of the schema that the rows do not say again."""
    was, now = _normal(part), _normal(made)
    for word in (*was, *now):
        if word not in was or word not in now or _text(was[word]) != _text(now[word]):
            raise _rich(place, word)


def _normal(part: dict[str, Any]) -> dict[str, Any]:
    """The same schema where it can be written in two ways: nothing required, and the order of what is."""
    changed = dict(part)
    required = changed.pop("required", [])
    if required:
        changed["required"] = sorted(map(str, required)) if isinstance(required, list) else required
    if isinstance(changed.get("properties"), dict):
        changed["properties"] = {
            name: _normal(each) if isinstance(each, dict) else each for name, each in changed["properties"].items()
        }
    if isinstance(changed.get("items"), dict):
        changed["items"] = _normal(changed["items"])
    return changed


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _rich(place: str, word: str) -> OperatorError:
    told = f"`{place[:80]}`" if place else "the schema"
    return OperatorError(f"{told} is too rich for rows: {word}", HINT)
