"""Schemas of an atom as Sage needs them: whole where that can be had, and the words in them. Never raises."""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from keisei.library.atom_spec import real_path
from keisei.library.json_schema import DRAFTS
from keisei.library.leaf_text import spelt
from keisei.library.package import Read
from keisei.library.parser import DEPTH
from keisei.library.schema_branch import subschemas
from keisei.library.schema_bundle import bundled
from keisei.library.source import Source
from keisei.records.error import AuthorError

MOST_PARTS = 2000
"""Subschemas whose words are gathered."""
ELSEWHERE = (b"$ref", b"$id", b"\\u")
"""What may lead out of a file: these words, or a letter of one in disguise."""
DIALECT = "$schema"


class Side(NamedTuple):
    """What goes into an atom, or comes out of it."""

    schema: dict[str, Any] | None
    """With everything it refers to; None where it cannot be read, or leads out of its folder."""
    words: list[str]
    """Names of its properties, and descriptions."""
    files: tuple[str, ...]
    """What was looked at, also where it is missing."""


def read_side(folder: Path, relative: str, read: Read) -> Side:
    """The schema of that path in the folder of pages, which is a real one. It is not checked."""
    files = {f"{folder}/{relative}": None}
    path = real_path(str(folder), relative)
    if not path.startswith(f"{folder}/"):
        return Side(None, [], tuple(files))

    def noted(each: Path) -> Source:
        files[str(each)] = None
        return read(each)

    try:
        schema = _schema(Path(path), noted)
    except AuthorError:
        schema = None
    return Side(schema, [] if schema is None else _words(schema), tuple(files))


def _schema(path: Path, read: Read) -> dict[str, Any]:
    """The bundled schema; one that needs no other file is not bundled. Raises AuthorError."""
    source = read(path)
    return (_alone(source) if path.suffix == ".json" else None) or bundled(path, read)


def _alone(source: Source) -> dict[str, Any] | None:
    """The schema of a file that is plainly all there is: no references, not deep, our dialect and no other."""
    raw = source.raw
    if any(word in raw for word in ELSEWHERE) or raw.count(b"{") + raw.count(b"[") > DEPTH:
        return None
    try:
        schema = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, ValueError):
        return None
    if not isinstance(schema, dict) or raw.count(DIALECT.encode()) != (DIALECT in schema):
        return None
    return schema if schema.get(DIALECT, DRAFTS[0]) in DRAFTS else None


def _words(schema: dict[str, Any]) -> list[str]:
    words: list[str] = []
    waiting: list[Any] = [schema]
    for _ in range(MOST_PARTS):
        if not waiting:
            break
        node = waiting.pop()
        if not isinstance(node, dict):
            continue
        if isinstance(described := node.get("description"), str):
            words.append(described)
        if isinstance(properties := node.get("properties"), dict):
            words += map(spelt, properties)
        waiting += [child for _, child in subschemas(node)][::-1]
    return words
