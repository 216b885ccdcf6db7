"""Atoms and their packages: frontmatter, schemas, metadata, links. The scan is tolerant, lint is strict."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import jsonschema_rs

from keisei.contracts.words import nearest
from keisei.library.document import Document, parse, parse_frontmatter
from keisei.library.json_schema import compiled, read_schema, schema_problems
from keisei.library.load import Loaded, load
from keisei.library.shelf import entries
from keisei.library.source import inside, is_file, is_folder, read_source, shown_path
from keisei.records.atom import AtomManifest
from keisei.records.error import AuthorError
from keisei.records.problem import Problem

LINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
METADATA = {"pyproject.toml": ("tool", "keisei"), "Cargo.toml": ("package", "metadata", "keisei")}


class Package(NamedTuple):
    """One package of atoms."""

    name: str
    folder: Path
    version: str | None
    problems: tuple[Problem, ...]


class Atom(NamedTuple):
    """One atom, as it stands."""

    manifest: AtomManifest
    body: str
    body_line: int
    loaded: Loaded
    package: Package


def read_package(folder: Path) -> Package:
    """A package with its version and what is wrong with its metadata. Never raises."""
    for file, steps in METADATA.items():
        if is_file(folder / file):
            try:
                document = parse(read_source(folder / file))
            except AuthorError as error:
                return Package(folder.name, folder, None, error.problems)
            return Package(folder.name, folder, _version(document, folder), tuple(_metadata(document, steps)))
    message = "a package has pyproject.toml with [tool.keisei], or Cargo.toml with [package.metadata.keisei]"
    problem = Problem(code="missing-file", path=shown_path(folder), message=message)
    return Package(folder.name, folder, None, (problem,))


def _metadata(document: Document, steps: tuple[str, ...]) -> Iterator[Problem]:
    data = _inside(document.data, steps)
    if data is None:
        yield document.problem("missing-key", steps, f"missing table `[{'.'.join(steps)}]`")
        return
    try:
        record = load(document, "package.file", data=data, prefix=steps).record
    except AuthorError as error:
        yield from error.problems
        return
    if record.migrations_dir is not None:
        place, folder = (*steps, "migrations_dir"), inside(document.source.path.parent, record.migrations_dir)
        if folder is None:
            yield document.problem("outside", place, f"`{record.migrations_dir}` leads out of the package")
        elif not is_folder(folder):
            yield document.problem("missing-file", place, f"folder `{record.migrations_dir}` is missing")


def _version(document: Document, folder: Path) -> str | None:
    for table in ("project", "package"):
        part = document.data.get(table)
        version = part.get("version") if isinstance(part, dict) else None
        if isinstance(version, str):
            return version
        if isinstance(version, dict) and version.get("workspace") is True:
            return _workspace_version(folder)
    return None


def _workspace_version(folder: Path) -> str | None:
    """Cargo's `version.workspace = true` means the nearest workspace above."""
    for ancestor in folder.parents:
        try:
            document = parse(read_source(ancestor / "Cargo.toml"))
        except AuthorError:
            continue
        version = _inside(document.data, ("workspace", "package", "version"))
        if isinstance(version, str):
            return version
    return None


def _inside(data: object, steps: tuple[str, ...]) -> object:
    for step in steps:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def atom_files(package: Package) -> list[Path]:
    """The pages of a package, in order."""
    return [path for path in entries(package.folder / "atoms") if path.suffix == ".md"]


def read_atom(path: Path, package: Package) -> Atom:
    """One page. Raises AuthorError."""
    source = read_source(path)
    document, body = parse_frontmatter(source)
    loaded = load(document, "atom.manifest")
    body_line = source.text[: len(source.text) - len(body)].count("\n") + 1
    return Atom(loaded.record, body, body_line, loaded, package)


def check_package(package: Package, ids: frozenset[str], rules: Iterable[str]) -> Iterator[Problem]:
    """Every complaint about a package and its atoms. `ids` and `rules` are what links may name."""
    yield from package.problems
    for path in atom_files(package):
        try:
            atom = read_atom(path, package)
        except AuthorError as error:
            yield from error.problems
            continue
        yield from atom.loaded.warnings
        yield from check_atom(atom, ids, rules)


def atom_ids(packages: Iterable[Package]) -> Counter[str]:
    """Every id that a file stands for; an id that counts twice is defined twice."""
    return Counter(f"{package.name}::{path.stem}" for package in packages for path in atom_files(package))


def check_atom(atom: Atom, ids: frozenset[str], rules: Iterable[str]) -> Iterator[Problem]:
    """Seed 003's rules and ours, as far as one atom and its schemas go."""
    manifest, document = atom.manifest, atom.loaded.document
    expected = f"{atom.package.name}::{document.source.path.stem}"
    if manifest.atom != expected:
        message = f"atom `{manifest.atom}` stands where `{expected}` belongs"
        yield document.problem("bad-name", ("atom",), message, f"write `{expected}`, or move the file")
    if atom.package.version is not None and manifest.version != atom.package.version:
        message = f"version `{manifest.version}` differs from the package's `{atom.package.version}`"
        yield document.problem("version-mismatch", ("version",), message)
    yield from _effects(manifest, document)
    yield from _errors(manifest, document)
    for side in ("input", "output"):
        yield from _schema(atom, side)
    yield from _links(atom, ids, frozenset(rules))
    if manifest.stability == "deprecated" and not manifest.deprecated:
        message = "stability is `deprecated`, and `deprecated` does not say what to use instead"
        yield document.problem("contradiction", ("stability",), message)


def _effects(manifest: AtomManifest, document: Document) -> Iterator[Problem]:
    if manifest.kind == "transform" and manifest.side_effects:
        yield document.problem("effects", ("side_effects",), "a transform has no side effects")
    if manifest.kind == "query":
        for index, effect in enumerate(manifest.side_effects):
            if effect.op != "read":
                message = f"a query only reads; this effect is `{effect.op}`"
                yield document.problem("effects", ("side_effects", index, "op"), message)
    for index, effect in enumerate(manifest.side_effects):
        if effect.domain.split(":")[0] in ("read", "write", "network", "subprocess", "other"):
            message = f"domain `{effect.domain}` repeats the operation; write the two apart"
            yield document.problem("effects", ("side_effects", index, "domain"), message)


def _errors(manifest: AtomManifest, document: Document) -> Iterator[Problem]:
    for code, count in Counter(error.code for error in manifest.errors).items():
        if count > 1:
            index = max(i for i, error in enumerate(manifest.errors) if error.code == code)
            yield document.problem(
                "duplicate-name", ("errors", index, "code"), f"error `{code}` is listed {count} times"
            )


def _schema(atom: Atom, side: str) -> Iterator[Problem]:
    document = atom.loaded.document
    part = getattr(atom.manifest, side)
    folder = document.source.path.parent
    yield from schema_problems(document, (side, "schema"), folder, part.schema)
    path = inside(folder, part.schema)
    if path is None or not is_file(path):
        return
    try:
        schema = read_schema(path)
        validator = compiled(schema, path)
    except (AuthorError, ValueError, jsonschema_rs.ReferencingError):
        return  # told with the schema
    if part.example is not None:
        for error in validator.iter_errors(part.example):
            place = (side, "example", *error.instance_path)
            yield document.problem("bad-schema", place, f"the example does not fit: {error.message[:160]}")
    if side != "input" or "required" not in document.data.get("input", {}):
        return
    required = schema.get("required", [])
    if isinstance(required, list) and sorted(map(str, required)) != sorted(part.required):
        message = f"required {list(part.required)} differs from the schema's {required}"
        yield document.problem("contradiction", ("input", "required"), message)


def _links(atom: Atom, ids: frozenset[str], rules: frozenset[str]) -> Iterator[Problem]:
    document = atom.loaded.document
    for index, link in enumerate(atom.manifest.related):
        if problem := _dead(link[2:-2].strip(), ids, rules):
            yield document.problem("dangling", ("related", index), *problem)
    for number, line in enumerate(atom.body.split("\n"), start=atom.body_line):
        for match in LINK.finditer(line):
            if problem := _dead(match[1].strip(), ids, rules):
                message, hint = problem
                column = match.start() + 1
                shown = document.source.shown
                yield Problem(code="dangling", path=shown, line=number, column=column, message=message, hint=hint)


def _dead(target: str, ids: frozenset[str], rules: frozenset[str]) -> tuple[str, str | None] | None:
    """The complaint about a link that leads nowhere. Links that name neither an atom nor a rule are notes."""
    if target.startswith(("rules/", "RULE ", "rule ")):
        name = target.removeprefix("rules/").removesuffix(".md")
        name = name if name in rules else name.replace("rule ", "RULE ", 1)
        return None if name in rules else (f"link `[[{target}]]` leads to no rule", nearest(name, rules))
    if "::" in target:
        return None if target in ids else (f"link `[[{target}]]` leads to no atom", nearest(target, ids))
    return None
