"""Mending atoms: copies that differ from their original, and spellings of one thing. Nothing that has a meaning.

Text is changed in place, so that comments and order stay. A change is kept only where the file, read again, says
exactly what was meant; a file that does not parse is not touched.
"""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from keisei.library.document import Document, parse, parse_frontmatter
from keisei.library.json_schema import DRAFTS
from keisei.library.package import Package, atom_files
from keisei.library.source import Source, inside, read_source
from keisei.records.error import AuthorError

VERSION = re.compile(r"""(version:[ \t]*)("[^"\\]*"|'[^']*'|[^\s#'"\[{&*!|>][^#\r]*?)([ \t]*(?:[ \t]#.*)?\r?)""")
REQUIRED = re.compile(r"([ \t]+required:[ \t]*)\[[^\]\r]*\]([ \t]*(?:[ \t]#.*)?\r?)")
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
RESERVED = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
DRAFT = re.compile(r"\s*(?:https?://json-schema\.org/)?draft-?0?7(?:/schema)?/?#?/?\s*", re.IGNORECASE)


class Fix(NamedTuple):
    """One file, mended."""

    path: Path
    content: bytes
    """The whole file as it should be."""
    told: tuple[str, ...]
    """What was changed, one sentence each."""


class _Edit(NamedTuple):
    text: str
    data: Any
    """What the file must say then."""
    told: str


def fixes(package: Package) -> Iterator[Fix]:
    """Every file of a package that can be mended without a decision; mending twice is mending once."""
    for page in atom_files(package):
        if page.is_symlink() or inside(package.folder, str(page)) is None:
            continue
        try:
            source = read_source(page)
            data = parse_frontmatter(source)[0].data
        except AuthorError:
            continue
        schemas = [_schema_of(page, data, side) for side in ("input", "output")]
        for schema in dict.fromkeys(each for each in schemas if each is not None):
            yield from _schema(schema)
        yield from _page(source, package, schemas[0])


def _schema_of(page: Path, data: object, side: str) -> Path | None:
    """The schema a page names, where it is a file of its own in the folder."""
    part = data.get(side) if isinstance(data, dict) else None
    name = part.get("schema") if isinstance(part, dict) else None
    path = inside(page.parent, name) if isinstance(name, str) else None
    return path if path is not None and path == page.parent.resolve() / str(name) else None


def _page(source: Source, package: Package, schema: Path | None) -> Iterator[Fix]:
    told: list[str] = []
    text = source.text
    for change in (partial(_version, version=package.version), partial(_required, schema=schema)):
        document, body = parse_frontmatter(source._replace(text=text))
        edit: _Edit | None = change(document)
        if edit is not None and _says(source, edit, body):
            text, told = edit.text, [*told, edit.told]
    if told:
        yield Fix(source.path, text.encode("utf-8"), tuple(told))


def _says(source: Source, edit: _Edit, body: str) -> bool:
    """Whether the page, read again, says what was meant and nothing else."""
    try:
        document, rest = parse_frontmatter(source._replace(text=edit.text))
    except AuthorError:
        return False
    return bool(document.data == edit.data) and rest == body


def _version(document: Document, version: str | None) -> _Edit | None:
    data = document.data
    if version is None or not isinstance(data, dict) or data.get("version") in (None, version):
        return None
    text = _replaced(document, ("version",), VERSION, lambda found: f"{found[1]}{json.dumps(version)}{found[3]}")
    told = f"version `{data['version']}` is `{version}` now"
    return _Edit(text, data | {"version": version}, told) if text else None


def _required(document: Document, schema: Path | None) -> _Edit | None:
    data = document.data
    part = data.get("input") if isinstance(data, dict) else None
    needed = _needed(schema)
    if not isinstance(part, dict) or needed is None or not isinstance(part.get("required"), list):
        return None
    if sorted(map(str, part["required"])) == sorted(needed):
        return None
    listed = ", ".join(name if _is_plain(name) else json.dumps(name) for name in needed)
    text = _replaced(document, ("input", "required"), REQUIRED, lambda found: f"{found[1]}[{listed}]{found[2]}")
    told = f"input.required is [{listed}] now, as the schema's"
    return _Edit(text, data | {"input": part | {"required": needed}}, told) if text else None


def _needed(schema: Path | None) -> list[str] | None:
    try:
        data = parse(read_source(schema)).data if schema is not None else None
    except AuthorError:
        return None
    needed = data.get("required", []) if isinstance(data, dict) else None
    return needed if isinstance(needed, list) and all(isinstance(each, str) for each in needed) else None


def _is_plain(name: str) -> bool:
    return PLAIN.fullmatch(name) is not None and name.lower() not in RESERVED


def _replaced(document: Document, place: tuple[str, ...], line: re.Pattern[str], new: Any) -> str:  # noqa: ANN401 - a function
    """The file's text with the line of that place rewritten; empty where the line has another form."""
    number = document.position(place).line - 1
    lines = document.source.text.split("\n")
    found = line.fullmatch(lines[number])
    if found is None:
        return ""
    lines[number] = new(found)
    return "\n".join(lines)


def _schema(path: Path) -> Iterator[Fix]:
    """A schema's `$schema`, spelt as it is spelt."""
    try:
        source = read_source(path)
        document = parse(source)
    except AuthorError:
        return
    data = document.data
    if not isinstance(data, dict) or not data or data.get("$schema") in DRAFTS:
        return
    written = data.get("$schema", DRAFTS[1])
    if not isinstance(written, str) or not DRAFT.fullmatch(written):
        return
    text = _respelt(document, written) if "$schema" in data else _begun(source.text)
    try:
        now = parse(source._replace(text=text)).data if text else None
    except AuthorError:
        return
    if now == {"$schema": DRAFTS[0]} | data | {"$schema": DRAFTS[0]}:
        told = f"`$schema` is `{DRAFTS[0]}` now"
        yield Fix(path, text.encode("utf-8"), (told,))


def _respelt(document: Document, written: str) -> str:
    place = document.position(("$schema",))
    lines = document.source.text.split("\n")
    line = lines[place.line - 1]
    before, rest = line[: place.column - 1], line[place.column - 1 :]
    literal = json.dumps(written)
    if not rest.startswith(literal):
        return ""
    lines[place.line - 1] = before + json.dumps(DRAFTS[0]) + rest[len(literal) :]
    return "\n".join(lines)


def _begun(text: str) -> str:
    """The schema with `$schema` as its first key, in the author's own indentation."""
    found = re.match(r"(\s*\{)(\s*)", text)
    if found is None:
        return ""
    return f'{found[1]}{found[2]}"$schema": {json.dumps(DRAFTS[0])},{found[2] or " "}{text[found.end() :]}'
