"""Drafts of schemas: raw JSON, rows or an example become one JSON Schema, and a schema becomes a draft again."""

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from keisei.library.inference import inferred, value_fault
from keisei.library.json_schema import DRAFTS
from keisei.library.schema_row import HINT, example_of, properties_of, row_faults, rows_of, value_of
from keisei.records.draft import FieldProblem, SchemaDraft, SchemaRow
from keisei.records.error import OperatorError

LARGEST: Final = 262_144
"""Characters of a schema or an example in a draft."""
EXACT: Final = 2**53
"""Whole numbers up to here are the same in a browser."""
TOP: Final = frozenset(
    ("$schema", "title", "description", "type", "properties", "required", "additionalProperties", "examples")
)


class Side(NamedTuple):
    """One of an atom's two schemas, as a draft's fields name it."""

    field: str
    """`input` or `output`."""
    title: str
    """What the schema is called unless somebody says."""
    closed: bool
    """Whether other properties are refused unless somebody says."""


def side_of(atom: str, field: str) -> Side:
    """The usual title, and the usual answer about other properties: readers pass over what they do not know."""
    return Side(field, f"{atom} {field}", field == "input")


def schema_in(draft: SchemaDraft, side: Side) -> tuple[dict[str, Any] | None, list[FieldProblem]]:
    """The schema, and what is wrong with the draft; None where there is none, or none can be made. Never raises."""
    try:
        if draft.raw is not None:
            return _raw(draft.raw), []
        if draft.rows is not None:
            return _from_rows(draft, draft.rows, side), list(_row_problems(draft.rows, draft.examples, side.field))
        if draft.example is not None:
            return inferred(_object(draft.example, "example"), side.title, closed=side.closed), []
    except _Fault as fault:
        message, hint = str(fault), fault.hint
        return None, [FieldProblem(field=f"{side.field}.{fault.field}", message=message, hint=hint)]
    return None, []


class _Fault(Exception):
    """A field that cannot be used."""

    def __init__(self, field: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.field, self.hint = field, hint


def _raw(given: object) -> dict[str, Any]:
    schema = _object(given, "raw")
    return schema if "$schema" in schema else {"$schema": DRAFTS[0], **schema}


def _object(given: object, field: str) -> dict[str, Any]:
    """An object, or one written as JSON. Raises _Fault."""
    if isinstance(given, str):
        if len(given) > LARGEST:
            raise _Fault(field, f"is longer than {LARGEST} characters", "shorten it, or split it into files")
        try:
            given = json.loads(given)
        except ValueError as error:
            raise _Fault(field, f"is not JSON: {error}", "write an object, in braces") from error
        except RecursionError as error:
            raise _Fault(field, "is nested too deeply") from error
    if not isinstance(given, dict):
        raise _Fault(field, "is not an object", """write it like '{"text": "hello"}'""")
    if fault := value_fault(given):
        raise _Fault(field, f"cannot be used: {fault}")
    return given


def _from_rows(draft: SchemaDraft, rows: tuple[SchemaRow, ...], side: Side) -> dict[str, Any]:
    told = {"description": draft.description} if draft.description else {}
    own = [example_of(rows)] if not draft.examples or any(row.example is not None for row in rows) else []
    return {
        "$schema": DRAFTS[0],
        "title": draft.title or side.title,
        **told,
        **properties_of(rows, closed=side.closed if draft.closed is None else draft.closed),
        "examples": [*own, *draft.examples],
    }


def _row_problems(rows: tuple[SchemaRow, ...], examples: tuple[Any, ...], field: str) -> Iterator[FieldProblem]:
    for place, message in row_faults(rows, f"{field}.rows"):
        yield FieldProblem(field=place, message=message)
    for index, row in enumerate(rows):
        if fault := value_fault(row.name) or value_fault(row.description) or value_fault(value_of(row)):
            yield FieldProblem(field=f"{field}.rows[{index}]", message=f"cannot be used: {fault}")
    for index, each in enumerate(examples):
        if fault := value_fault(each):
            yield FieldProblem(field=f"{field}.examples[{index}]", message=f"cannot be used: {fault}")


# --- and back ---------------------------------------------------------------------------------------------------------


def draft_of(schema: dict[str, Any], side: Side) -> SchemaDraft:
    """The schema as rows where they can say it, else as it is: `too_rich` tells why."""
    try:
        return rows_draft(schema, side)
    except OperatorError:
        return SchemaDraft(raw=schema)


def too_rich(schema: dict[str, Any], side: Side) -> str | None:
    """Why rows cannot say the schema; None where they can."""
    try:
        rows_draft(schema, side)
    except OperatorError as error:
        return f"{error.message}; {error.hint}"
    return None


def rows_draft(schema: dict[str, Any], side: Side) -> SchemaDraft:
    """The schema as rows that make it again. Raises OperatorError that names what rows cannot say."""
    closed = schema.get("additionalProperties", True)
    if word := next((each for each in schema if each not in TOP), None):
        raise OperatorError(f"the schema is too rich for rows: `{word}`", HINT)
    if schema.get("type") != "object" or not isinstance(closed, bool) or schema.get("$schema") not in (*DRAFTS, None):
        raise OperatorError("the schema is too rich for rows: it is not a plain object of draft-07", HINT)
    texts = [schema.get(word, "") for word in ("title", "description")]
    if not all(isinstance(each, str) for each in texts):
        raise OperatorError("the schema is too rich for rows: its title or description is no text", HINT)
    rows = rows_of(schema, closed=not closed)
    examples = schema.get("examples", [])
    if fault := _form_fault(rows, texts, examples):
        raise OperatorError(f"the schema is too rich for rows: {fault}", HINT)
    title = "" if texts[0] in ("", side.title) else texts[0]
    own = None if (not closed) == side.closed else not closed
    draft = SchemaDraft(rows=rows, title=title, description=texts[1], closed=own)
    return _with_examples(draft, examples, side)


def _form_fault(rows: tuple[SchemaRow, ...], texts: list[str], examples: object) -> str | None:
    """What the fields of a form would not give back as it was."""
    if place := next(row_faults(rows, "rows"), None):
        return ": ".join(place)
    every = list(_every(rows))
    lines = [*texts, *(text for row in every for text in (row.name, row.description, *row.choices))]
    if not all(map(_is_line, lines)) or any("" in row.choices for row in every):
        return "a text of more than one line, or a choice of no letters"
    bounds = [getattr(row, name) for row in every for name in ("minimum", "maximum", "min_length", "max_length")]
    if not isinstance(examples, list) or not all(map(_is_exact, (*bounds, examples))):
        return "a number that a browser cannot hold, or examples that are no list"
    return None


def _every(rows: tuple[SchemaRow, ...]) -> Iterator[SchemaRow]:
    for row in rows:
        yield row
        yield from _every(row.fields or ())


def _is_line(text: str) -> bool:
    """Whether a field of one line holds it."""
    return not any(char in text for char in "\n\r\0")


def _is_exact(value: object) -> bool:
    """Whether a browser reads the same numbers."""
    if isinstance(value, dict | list):
        return all(map(_is_exact, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, int) or abs(value) <= EXACT


def _with_examples(draft: SchemaDraft, examples: list[Any], side: Side) -> SchemaDraft:
    """The draft with its examples: the first one in the rows, where they then say it again."""
    rows, first = draft.rows or (), examples[0] if examples else None
    if isinstance(first, dict) and all(_is_typed(row, first.get(row.name)) for row in rows):
        shared = replace(
            draft,
            rows=tuple(replace(row, example=first.get(row.name)) for row in rows),
            examples=tuple(examples[1:]),
        )
        made, problems = schema_in(shared, side)
        if made is not None and not problems and _same(made["examples"], examples):
            return shared
    return replace(draft, examples=tuple(examples))


def _is_typed(row: SchemaRow, value: object) -> bool:
    """Whether a row's field gives this example back; one that is not there it does."""
    if value is None or row.type not in ("string", "any"):
        return True
    return isinstance(value, str) and value != "" and _is_line(value)


def _same(one: object, other: object) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def shaped(made: dict[str, Any], was: dict[str, Any], side: Side) -> dict[str, Any]:
    """The schema that rows made, written as the one before was where both say the same: its order, and no new title."""
    plain = dict(made)
    if not was.get("title") and made.get("title") == side.title:
        plain.pop("title", None)
    if was.get("$schema") is not None:
        plain["$schema"] = was["$schema"]
    return _shaped(plain, was)


def _shaped(made: dict[str, Any], was: object) -> dict[str, Any]:
    if not isinstance(was, dict):
        return made
    told = {word: made[word] for word in dict.fromkeys((*was, *made)) if word in made}
    if not made.get("required", True) and "required" not in was:
        del told["required"]
    elif _same(sorted(made.get("required", [])), sorted(map(str, was.get("required") or []))):
        told |= {"required": was["required"]} if "required" in was else {}
    if isinstance(then := was.get("properties"), dict) and "properties" in told:
        told["properties"] = {name: _shaped(each, then.get(name)) for name, each in made["properties"].items()}
    if "items" in told:
        told["items"] = _shaped(made["items"], was.get("items"))
    return told


def inferred_draft(example: object, side: Side) -> SchemaDraft:
    """What an example suggests, as rows where they can say it. Raises OperatorError for what is no example."""
    try:
        given = _object(example, "example")
    except _Fault as fault:
        raise OperatorError(f"the example {fault}", fault.hint) from fault
    return draft_of(inferred(given, side.title, closed=side.closed), side)
