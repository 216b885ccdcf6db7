"""A package's own metadata, beyond their shape: migrations, the tables it shares, where its pages stand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from keisei.contracts.words import nearest
from keisei.library.document import Document, parse
from keisei.library.package import TABLES, Package
from keisei.library.package_place import is_real_folder
from keisei.library.shelf import entries
from keisei.library.source import inside, is_folder, read_source, shown_path
from keisei.records.atom import PackageFile
from keisei.records.error import AuthorError
from keisei.records.problem import Problem
from keisei.rules.migration_name import MIGRATION


def metadata_file(package: Package) -> Path:
    """The file with keisei's table, whether it is there or not."""
    names = {language: name for name, (_, language) in TABLES.items()}
    return package.folder / names[package.language]


def check_metadata(package: Package, ids: frozenset[str]) -> Iterator[Problem]:
    """What the metadata say that is not so. Nothing where they cannot be read, which is told already."""
    yield from _two_places(package)
    if package.metadata is None:
        return
    try:
        document = parse(read_source(metadata_file(package)))
    except AuthorError:
        return
    steps = TABLES[document.source.path.name][0]
    yield from _migrations(document, steps, package)
    owner = package.metadata.tables_of
    names = {each.partition("::")[0] for each in ids}
    if owner is not None and owner not in names:
        message = f"package `{owner}` does not exist"
        yield document.problem("dangling", (*steps, "tables_of"), message, nearest(owner, names))


def _two_places(package: Package) -> Iterator[Problem]:
    """Pages in a second layout of the same package, which nobody reads."""
    snake = package.name.replace("-", "_")
    for other in (f"{package.folder}/src/{snake}/atoms", f"{package.folder}/{snake}/atoms"):
        pages = [path for path in entries(Path(other)) if path.suffix == ".md"] if is_real_folder(other) else []
        if pages and Path(other) != package.atoms:
            message = f"the package's atoms stand in {shown_path(package.atoms)}; this page is read by nobody"
            yield Problem(code="duplicate-name", path=shown_path(pages[0]), line=1, column=1, message=message)


def _migrations(document: Document, steps: tuple[str, ...], package: Package) -> Iterator[Problem]:
    """A program may make its tables itself, as the originals do; then its numbers are its own affair."""
    metadata, place = package.metadata or PackageFile(backend="memory"), (*steps, "schema_version")
    severity: Literal["error", "warning"] = "error" if package.language == "python" else "warning"
    if metadata.migrations_dir is None:
        if metadata.schema_version is not None:
            message = "`schema_version` counts migrations, and the package names no `migrations_dir`"
            yield document.problem("schema-version", place, message, severity="warning")
        return
    folder = inside(document.source.path.parent, metadata.migrations_dir)
    if folder is None or not is_folder(folder):
        return  # told with the metadata
    files = [path for path in entries(folder) if path.suffix == ".sql"]
    yield from _numbered(files)
    newest = len({path.name[:4] for path in files if MIGRATION.fullmatch(path.name)})
    if (metadata.schema_version or 0) != newest:
        told = "is missing" if metadata.schema_version is None else f"is {metadata.schema_version}"
        message = f"`schema_version` {told}, and the newest migration is {newest or 'not there'}"
        hint = f"write `schema_version = {newest}`" if newest else None
        yield document.problem("schema-version", place, message, hint, severity=severity)


def _numbered(files: list[Path]) -> Iterator[Problem]:
    """Files whose names are not the next number."""
    expected, last = 1, ""
    for path in files:
        found = MIGRATION.fullmatch(path.name)
        if found is None:
            message = f"`{path.name}` is not called like a migration"
            yield _misnamed(path, message, f"write `{expected:04}_what_it_does.sql`")
            continue
        if found[1] == last:
            yield _misnamed(path, f"number {found[1]} is taken by another migration", None)
        elif int(found[1]) != expected:
            yield _misnamed(path, f"the next migration is {expected:04}, not {found[1]}", "numbers have no gaps")
        expected, last = int(found[1]) + 1, found[1]


def _misnamed(path: Path, message: str, hint: str | None) -> Problem:
    return Problem(code="bad-migrations", path=shown_path(path), line=1, column=1, message=message, hint=hint)
