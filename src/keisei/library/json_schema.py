"""JSON Schemas in authored folders: draft-07, by file, with examples that fit. Nothing is ever fetched."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import jsonschema_rs

from keisei.library.document import Document, parse
from keisei.library.source import inside, is_file, read_source
from keisei.records.error import AuthorError
from keisei.records.problem import Problem

DRAFTS = ("http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema")
BASE = "json-schema:///"


def read_schema(path: Path) -> dict[str, Any]:
    """A schema file as data. Raises AuthorError."""
    document = parse(read_source(path))
    if not isinstance(document.data, dict):
        raise AuthorError([document.problem("bad-schema", (), "a schema is an object")])
    return document.data


def compiled(schema: dict[str, Any], path: Path) -> jsonschema_rs.Draft7Validator:
    """The schema compiled as a file: a non-absolute `$id` is overridden, references stay inside. Raises ValueError."""
    body = {key: value for key, value in schema.items() if key != "$id"}
    return jsonschema_rs.Draft7Validator(
        body,
        validate_formats=True,
        base_uri=BASE + quote(str(path.resolve()).lstrip("/")),
        retriever=_Retriever(path.parent),
    )


class _Retriever:
    """Answers references by file: inside the schema's folder, or in an ancestor's `_schemas/fragments/`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def __call__(self, uri: str) -> Any:  # noqa: ANN401 - a schema
        if not uri.startswith(BASE):
            message = f"`{uri}` is not a file beside the schema; nothing is fetched"
            raise ValueError(message)
        path = Path("/" + unquote(uri.removeprefix(BASE).partition("#")[0])).resolve()
        shared = (ancestor / "_schemas" / "fragments" for ancestor in self.folder.parents)
        if not any(path.is_relative_to(root) for root in (self.folder, *shared)):
            message = f"`{path.name}` is outside the schema's folder"
            raise ValueError(message)
        body = read_schema(path)
        return {key: value for key, value in body.items() if key != "$id"}


def schema_problems(document: Document, place: tuple[str | int, ...], folder: Path, relative: str) -> Iterator[Problem]:
    """Every complaint about a schema that a manifest names."""
    path = inside(folder, relative)
    if path is None:
        yield document.problem("outside", place, f"`{relative}` leads out of its folder")
    elif not is_file(path):
        yield document.problem("missing-file", place, f"schema `{relative}` is missing")
    else:
        yield from file_problems(path)


def file_problems(path: Path) -> Iterator[Problem]:
    """Every complaint about one schema file, told where it stands in that file."""
    try:
        document = parse(read_source(path))
    except AuthorError as error:
        yield from error.problems
        return
    schema = document.data
    if not isinstance(schema, dict):
        yield document.problem("bad-schema", (), "a schema is an object")
        return
    if schema.get("$schema") not in DRAFTS:
        message = f"`$schema` must be `{DRAFTS[0]}`, not `{schema.get('$schema')}`"
        yield document.problem("bad-schema", ("$schema",), message)
    try:
        validator = compiled(schema, path)
    except jsonschema_rs.ValidationError as error:
        yield document.problem("bad-schema", tuple(error.instance_path), f"does not compile: {_sentence(error)}")
        return
    except (ValueError, AuthorError, jsonschema_rs.ReferencingError) as error:
        yield document.problem("bad-schema", (), f"does not compile: {_sentence(error)}")
        return
    yield from _examples(document, validator)


def _sentence(error: Exception) -> str:
    return " ".join(str(getattr(error, "message", error)).split())[:200]


def _examples(document: Document, validator: jsonschema_rs.Draft7Validator) -> Iterator[Problem]:
    examples = document.data.get("examples")
    if not isinstance(examples, list) or not examples:
        message = "a schema has at least one example"
        yield document.problem("no-examples", ("examples",), message, 'add `"examples": [...]`')
        return
    for index, example in enumerate(examples):
        for error in validator.iter_errors(example):
            place = ("examples", index, *error.instance_path)
            yield document.problem("bad-schema", place, f"the example does not fit: {error.message[:160]}")


def canonical_text(schema: dict[str, Any]) -> str:
    """A schema as keisei writes it to disk."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
