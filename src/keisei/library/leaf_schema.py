"""Schemas of an atom as Sage needs them: whole where that can be had, and the words in them. Never raises."""

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from keisei.library.atom_spec import real_path
from keisei.library.json_schema import DRAFTS
from keisei.library.leaf_text import spelt
from keisei.library.parser import DEPTH
from keisei.library.schema_branch import LISTS, ONE, TABLES
from keisei.library.schema_bundle import bundled
from keisei.library.source import Source, read_raw, read_source
from keisei.records.error import AuthorError

MOST_PARTS = 2000
"""Subschemas whose words are gathered."""
ELSEWHERE = (b"$ref", b"$id", b"\\u")
"""What may lead out of a file: these words, or a letter of one in disguise."""
DIALECT = "$schema"
PLAIN = re.compile(r"(?:[^/.][^/]*/)?[^/.][^/]*\.json")
"""A file that is named without detours, beside the pages or one folder below."""


class Side(NamedTuple):
    """What goes into an atom, or comes out of it."""

    schema: dict[str, Any] | None
    """With everything it refers to; None where it cannot be read, or leads out of its folder."""
    words: list[str]
    """Names of its properties, and descriptions."""
    files: tuple[str, ...]
    """What was looked at, also where it is missing."""


def read_side(folder: Path, relative: str) -> Side:
    """The schema of that path in the folder of pages, which is a real one. It is not checked."""
    files = {f"{folder}/{relative}": None}
    schema = _alone(str(folder), relative) or _bundled(str(folder), relative, files)
    return Side(schema, [] if schema is None else _words(schema), tuple(files))


def _alone(folder: str, relative: str) -> dict[str, Any] | None:
    """The schema of a file that is plainly all there is: no symlinks, no references, not deep, our dialect."""
    above = f"{folder}/{relative.rpartition('/')[0]}"
    if not PLAIN.fullmatch(relative) or os.path.islink(above):  # noqa: PTH114 - text, and it never raises
        return None
    try:
        raw = read_raw(f"{folder}/{relative}", os.O_NOFOLLOW)
        if any(word in raw for word in ELSEWHERE) or raw.count(b"{") + raw.count(b"[") > DEPTH:
            return None
        schema = msgspec.json.decode(raw)
    except (AuthorError, msgspec.MsgspecError, ValueError):
        return None
    if not isinstance(schema, dict) or raw.count(DIALECT.encode()) != (DIALECT in schema):
        return None
    return schema if schema.get(DIALECT, DRAFTS[0]) in DRAFTS else None


def _bundled(folder: str, relative: str, files: dict[str, None]) -> dict[str, Any] | None:
    """The schema with everything it refers to; what is looked at is added to `files`."""
    path = real_path(folder, relative)
    if not path.startswith(f"{folder}/"):
        return None

    def noted(each: Path) -> Source:
        files[str(each)] = None
        return read_source(each)

    try:
        return bundled(Path(path), noted)
    except AuthorError:
        return None


def _words(schema: dict[str, Any]) -> list[str]:
    words: list[str] = []
    waiting: list[Any] = [schema]
    for _ in range(MOST_PARTS):
        if not waiting:
            break
        node = waiting.pop()
        below: list[Any] = []
        for key, value in node.items() if isinstance(node, dict) else ():
            if key == "description" and isinstance(value, str):
                words.append(value)
            elif key in TABLES and isinstance(value, dict):
                words += map(spelt, value) if key == "properties" else ()
                below += value.values()
            elif key in ONE and isinstance(value, dict):
                below.append(value)
            elif key in LISTS and isinstance(value, list):
                below += value
        waiting += reversed(below)
    return words
