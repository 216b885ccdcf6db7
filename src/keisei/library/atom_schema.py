"""An atom's schemas, held against draft-07, their own examples and the page that names them."""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs

from keisei.contracts.check import Violation, differences
from keisei.contracts.containment import empty_parts
from keisei.contracts.validator import unusable
from keisei.contracts.words import TYPES, nearest
from keisei.library.atom_spec import Atom
from keisei.library.document import Document, parse
from keisei.library.json_schema import DRAFTS, compiled
from keisei.library.schema_bundle import bundled
from keisei.library.source import inside, is_file, read_source
from keisei.records.error import AuthorError
from keisei.records.problem import Problem

SHOWN = 160


def check_schema(atom: Atom, side: str) -> Iterator[Problem]:
    """Every complaint about one of an atom's schemas, told where it stands."""
    document = atom.loaded.document
    relative = getattr(atom.manifest, side).schema
    place, path = (side, "schema"), inside(document.source.path.parent, relative)
    if path is None:
        yield document.problem("outside", place, f"`{relative}` leads out of its folder")
    elif not is_file(path):
        yield document.problem("missing-schema", place, f"schema `{relative}` is missing")
    else:
        yield from _file(atom, side, path)


def _file(atom: Atom, side: str, path: Path) -> Iterator[Problem]:
    try:
        document = parse(read_source(path))
    except AuthorError as error:
        yield from error.problems
        return
    if not isinstance(document.data, dict):
        yield document.problem("bad-schema", (), "a schema is an object")
        return
    if "$schema" not in document.data:  # a wrong one is told by `bundled`
        yield document.problem("schema-draft", ("$schema",), f"`$schema` must be `{DRAFTS[0]}`")
    made = yield from _compiled(document, path)
    if made is None:
        return
    validator, whole = made
    yield from _empty(document, whole)
    yield from _examples(document, validator)
    yield from _page(atom, side, document.data, validator)


def _compiled(
    document: Document, path: Path
) -> Generator[Problem, None, tuple[jsonschema_rs.Draft7Validator, dict[str, Any]] | None]:
    """The schema compiled, and with everything it refers to; None where a reference or a keyword fails, told then."""
    try:
        whole = bundled(path)  # first: it knows where a reference stands that leads nowhere
        found = compiled(document.data, path)
    except jsonschema_rs.ValidationError as error:
        place = tuple(error.instance_path)
        hint = nearest(error.instance, TYPES) if place[-1:] == ("type",) else None
        yield document.problem("bad-schema", place, f"does not compile: {_sentence(error)}", hint)
    except AuthorError as error:
        yield from error.problems
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        yield document.problem("bad-schema", (), f"does not compile: {_sentence(error)}")
    else:
        why = unusable(whole)  # a call compiles it with limits of its own
        if why is None:
            return found, whole
        yield document.problem("bad-schema", (), why)
    return None


def _sentence(error: Exception) -> str:
    return " ".join(str(getattr(error, "message", error)).split())[:200]


def _empty(document: Document, whole: dict[str, Any]) -> Iterator[Problem]:
    """Parts that admit nothing. Where that is the whole, nothing can ever be passed."""
    parts = empty_parts(whole)
    if "" in parts:
        yield document.problem("empty-schema", (), "no document satisfies this schema")
        parts = tuple(each for each in parts if each)
    for pointer in parts:
        steps = tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
        place = _steps(document.data, steps)
        if place is not None:
            message = f"nothing satisfies `{pointer}`"
            yield document.problem("empty-schema", place, message, severity="warning")


def _steps(data: Any, steps: tuple[str, ...]) -> tuple[str | int, ...] | None:  # noqa: ANN401 - any JSON
    """The place in this file, or None for one that stands in another."""
    place: list[str | int] = []
    for step in steps:
        key: str | int = int(step) if isinstance(data, list) and step.isdecimal() else step
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return None
        place.append(key)
    return tuple(place)


def _examples(document: Document, validator: jsonschema_rs.Draft7Validator) -> Iterator[Problem]:
    examples = document.data.get("examples")
    if not isinstance(examples, list) or not examples:
        message = "a schema has at least one example"
        yield document.problem("no-examples", ("examples",), message, 'add `"examples": [...]`')
        return
    for index, example in enumerate(examples):
        yield from _misfits(document, ("examples", index), example, validator)


def _misfits(
    document: Document,
    place: tuple[str | int, ...],
    example: Any,  # noqa: ANN401 - any JSON
    validator: jsonschema_rs.Draft7Validator,
) -> Iterator[Problem]:
    for each in _differences(list(validator.iter_errors(example)), document.data):
        message = f"the example does not fit: {each.message[:SHOWN]}"
        yield document.problem("example-mismatch", (*place, *each.path), message, each.hint, at=each.at)


def _differences(errors: list[jsonschema_rs.ValidationError], schema: Any) -> list[Violation]:  # noqa: ANN401 - any JSON
    """What the validator says, in our words where there are some."""
    try:
        return differences(errors, schema)
    except (LookupError, TypeError, AttributeError):  # what it says stands in another file
        return [Violation(tuple(each.instance_path), "value", "wrong-value", each.message) for each in errors]


def _page(atom: Atom, side: str, schema: dict[str, Any], validator: jsonschema_rs.Draft7Validator) -> Iterator[Problem]:
    """What the page says of the schema: an example, and which properties it requires."""
    document, part = atom.loaded.document, getattr(atom.manifest, side)
    if part.example is not None:
        yield from _misfits(document, (side, "example"), part.example, validator)
    if side != "input" or "required" not in document.data.get("input", {}):
        return
    required = schema.get("required", [])
    if isinstance(required, list) and sorted(map(str, required)) != sorted(part.required):
        message = f"required {list(part.required)} differs from the schema's {required}"
        yield document.problem("required-mismatch", ("input", "required"), message)
