"""One atom, read whole: page, schemas with everything they refer to, and where its function stands."""

import hashlib
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from keisei.contracts.validator import unusable
from keisei.library.document import Document, parse_frontmatter
from keisei.library.load import Loaded, load
from keisei.library.package import Package, Read, stays_inside
from keisei.library.schema_bundle import bundled
from keisei.library.source import is_file, read_source, shown_path
from keisei.records.atom import AtomManifest
from keisei.records.atom_spec import AtomPackage, AtomRow, AtomSpec
from keisei.records.error import AuthorError
from keisei.records.problem import Problem

LINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
"""How a page names another atom."""
SUMMARY = 300
"""Characters of a page's first paragraph that are kept."""


class Atom(NamedTuple):
    """One page, as it stands."""

    manifest: AtomManifest
    body: str
    body_line: int
    loaded: Loaded
    package: Package


def read_atom(path: Path, package: Package, read: Read = read_source) -> Atom:
    """One page. Raises AuthorError."""
    source = read(path)
    document, body = parse_frontmatter(source)
    loaded = load(document, "atom.manifest")
    body_line = source.text[: len(source.text) - len(body)].count("\n") + 1
    return Atom(loaded.record, body, body_line, loaded, package)


def read_row(package: Package, verb: str, layer: str) -> AtomRow:
    """What a list tells of an atom: its page only. Raises AuthorError."""
    package.found()
    atom = placed(package, verb, read_source)
    manifest = atom.manifest
    return AtomRow(
        atom=manifest.atom,
        kind=manifest.kind,
        version=manifest.version,
        stability=manifest.stability,
        summary=summary(atom.body),
        path=str(package.atoms / f"{verb}.md"),
        layer=layer,
        deprecated=manifest.deprecated,
        keywords=manifest.keywords,
    )


def read_spec(package: Package, verb: str, read: Read = read_source) -> AtomSpec:
    """The atom, ready to be called. Raises AuthorError with the first thing that makes it unusable."""
    found = package.found()
    atom = placed(package, verb, read)
    document = atom.loaded.document
    input_schema = _schema(document, package, "input", atom.manifest.input.schema, read)
    output_schema = _schema(document, package, "output", atom.manifest.output.schema, read)
    return AtomSpec(
        manifest=atom.manifest,
        summary=summary(atom.body),
        page=str(package.atoms / f"{verb}.md"),
        package=found,
        input_schema=input_schema,
        output_schema=output_schema,
        spec_sha=_sha(document.source.raw, input_schema, output_schema),
        function=_function(document, found, verb),
    )


def placed(package: Package, verb: str, read: Read) -> Atom:
    """The page of a verb, which says it is that verb's. Raises AuthorError."""
    path = package.atoms / f"{verb}.md"
    if not stays_inside(package.folder, path):
        raise AuthorError([Problem(code="outside", path=shown_path(path), message="leads out of the package")])
    atom = read_atom(path, package, read)
    expected = f"{package.name}::{verb}"
    if atom.manifest.atom != expected:
        message = f"atom `{atom.manifest.atom}` stands where `{expected}` belongs"
        hint = f"write `{expected}`, or move the file"
        raise AuthorError([atom.loaded.document.problem("bad-name", ("atom",), message, hint)])
    return atom


def _schema(document: Document, package: Package, side: str, relative: str, read: Read) -> dict[str, Any]:
    place = (side, "schema")
    path = real_path(str(package.atoms), relative)
    if not path.startswith(f"{package.atoms}/"):
        raise AuthorError([document.problem("outside", place, f"`{relative}` leads out of its folder")])
    if not os.path.isfile(path):  # noqa: PTH113 - text, and it never raises
        raise AuthorError([document.problem("missing-file", place, f"schema `{relative}` is missing")])
    schema = bundled(Path(path), read)
    if why := unusable(schema):
        raise AuthorError([document.problem("bad-schema", place, f"`{relative}`: {why}")])
    return schema


def real_path(folder: str, relative: str) -> str:
    """The path with every symlink followed. `folder` has none, so a plain name below it is looked at step by step."""
    path = folder
    for step in relative.split("/"):
        path = f"{path}/{step}"
        if step in ("", ".", "..") or os.path.islink(path):  # noqa: PTH114 - text, and it never raises
            return os.path.realpath(f"{folder}/{relative}")
    return path


def _function(document: Document, package: AtomPackage, verb: str) -> str | None:
    """The file with `run`. Raises AuthorError where it is missing, or leads out of the package."""
    if package.language != "python":
        return None
    name = f"{verb.replace('-', '_')}.py"
    path = Path(package.atoms, name)
    if not stays_inside(Path(package.folder), path):
        raise AuthorError([document.problem("outside", (), f"`{name}` leads out of the package")])
    if not is_file(path):
        raise AuthorError([missing_function(document, name)])
    return str(path)


def missing_function(document: Document, name: str) -> Problem:
    """What is told where a page has no function."""
    hint = f"write `def run(input, context)` in `{name}` beside the page"
    return document.problem("missing-function", ("atom",), f"the function `{name}` is missing", hint)


def _sha(page: bytes, *schemas: dict[str, Any]) -> str:
    digest = hashlib.sha256(len(page).to_bytes(8, "big") + page)
    for schema in schemas:
        digest.update(msgspec.json.encode(schema, order="sorted") + b"\n")
    return digest.hexdigest()


def summary(body: str) -> str:
    """The first paragraph of a page, headings left out, as one line."""
    words: list[str] = []
    for line in map(str.strip, body.splitlines()):
        if line and not line.startswith("#"):
            words += line.split()
        elif words:
            break
    text = " ".join(words)
    return text if len(text) <= SUMMARY else text[:SUMMARY] + "…"
