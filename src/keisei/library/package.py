"""Packages of atoms: metadata and layout. Four layouts, one answer; reading never raises."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from keisei.library.document import Document, parse
from keisei.library.load import load
from keisei.library.package_place import Place, ground_of, is_name, place_in
from keisei.library.shelf import Layer, entries
from keisei.library.source import Source, inside, is_file, is_folder, read_source, shown_path
from keisei.records.atom import PackageFile
from keisei.records.atom_spec import AtomPackage, Language
from keisei.records.error import AuthorError
from keisei.records.problem import Problem

TABLES: dict[str, tuple[tuple[str, ...], Language]] = {
    "pyproject.toml": (("tool", "keisei"), "python"),
    "Cargo.toml": (("package", "metadata", "keisei"), "program"),
}
Read = Callable[[Path], Source]
"""How a file is read; whoever remembers what was read hands in its own."""


class Package(NamedTuple):
    """One package of atoms."""

    name: str
    folder: Path
    version: str | None
    problems: tuple[Problem, ...]
    atoms: Path
    """The folder of its pages."""
    metadata: PackageFile | None = None
    """Its own table; None where it cannot be used."""
    language: Language = "python"
    import_root: str | None = None
    import_name: str | None = None

    def found(self) -> AtomPackage:
        """The package, ready to be used. Raises AuthorError where its metadata are broken."""
        if self.metadata is None:
            raise AuthorError(self.problems)
        is_python = self.language == "python"
        return AtomPackage(
            name=self.name,
            version=self.version or "",
            folder=str(self.folder),
            atoms=str(self.atoms),
            metadata=self.metadata,
            language=self.language,
            import_root=self.import_root if is_python else None,
            import_name=self.import_name if is_python else None,
        )


def read_package(folder: Path) -> Package:
    """The package in a folder with its version and what is wrong with its metadata. Never raises."""
    real = str(folder.resolve())
    place = place_in("root", real) or Place(folder.name, "root", real, f"{real}/atoms", real, None)
    return read_place(place)


def packages_of(layer: Layer) -> Iterator[Package]:
    """Every package of a layer."""
    return (read_place(place) for place in ground_of(layer).places())


def read_place(place: Place, read: Read = read_source) -> Package:
    """The package that stands there. Never raises."""
    folder = Path(place.folder)
    package = Package(
        name=place.name,
        folder=folder,
        version=place.version,
        problems=(),
        atoms=Path(place.atoms),
        import_root=place.import_root,
        import_name=place.import_name,
    )
    if not is_name(place.name):
        message = f"a package cannot be called `{place.name}`"
        hint = "lower-case letters and digits, words joined by `-`"
        return package._replace(
            problems=(Problem(code="bad-name", path=shown_path(folder), message=message, hint=hint),)
        )
    try:
        document = _metadata_file(folder, read)
    except AuthorError as error:
        return package._replace(problems=error.problems)
    return _filled(package, document, read)


def _metadata_file(folder: Path, read: Read) -> Document:
    """The file with keisei's table, else the first one there is. Raises AuthorError."""
    first: Document | None = None
    for name, (steps, _) in TABLES.items():
        document = _document(folder, name, read)
        if document is not None and _inside(document.data, steps) is not None:
            return document
        first = first or document
    if first is not None:
        return first
    message = "a package has pyproject.toml with [tool.keisei], or Cargo.toml with [package.metadata.keisei]"
    raise AuthorError([Problem(code="missing-file", path=shown_path(folder), message=message)])


def _document(folder: Path, name: str, read: Read) -> Document | None:
    path = folder / name
    if not stays_inside(folder, path):
        raise AuthorError([Problem(code="outside", path=shown_path(path), message="leads out of the package")])
    return parse(read(path)) if os.path.lexists(path) else None


def stays_inside(folder: Path, path: Path) -> bool:
    """Whether a file of one of a package's own folders is in the package: it is, unless it is a symlink out of it.

    A symlink that leads to no file passes: whoever reads it tells why it cannot.
    """
    return not path.is_symlink() or inside(folder, str(path)) is not None or not is_file(path)


def _filled(package: Package, document: Document, read: Read) -> Package:
    steps, language = TABLES[document.source.path.name]
    version = _version(document, package.folder, read) or package.version
    package = package._replace(version=version, language=language)
    data = _inside(document.data, steps)
    if data is None:
        problem = document.problem("missing-key", steps, f"missing table `[{'.'.join(steps)}]`")
        return package._replace(problems=(problem,))
    try:
        record: PackageFile = load(document, "package.file", data=data, prefix=steps).record
    except AuthorError as error:
        return package._replace(problems=error.problems)
    problem_ = _migrations(document, steps, record)
    if problem_ is None:
        return package._replace(metadata=record)
    # What is not there yet is lint's and the database's to tell; what leads out is used by nobody.
    return package._replace(problems=(problem_,), metadata=record if problem_.code == "missing-file" else None)


def _migrations(document: Document, steps: tuple[str, ...], record: PackageFile) -> Problem | None:
    if record.migrations_dir is None:
        return None
    place, folder = (*steps, "migrations_dir"), inside(document.source.path.parent, record.migrations_dir)
    if folder is None:
        return document.problem("outside", place, f"`{record.migrations_dir}` leads out of the package")
    if not is_folder(folder):
        return document.problem("missing-file", place, f"folder `{record.migrations_dir}` is missing")
    return None


def _version(document: Document, folder: Path, read: Read) -> str | None:
    for table in ("project", "package"):
        part = document.data.get(table)
        version = part.get("version") if isinstance(part, dict) else None
        if isinstance(version, str):
            return version
        if isinstance(version, dict) and version.get("workspace") is True:
            return _workspace_version(folder, read)
    return None


def _workspace_version(folder: Path, read: Read) -> str | None:
    """Cargo's `version.workspace = true` means the nearest workspace above."""
    for ancestor in folder.parents:
        try:
            document = parse(read(ancestor / "Cargo.toml"))
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
    return [path for path in entries(package.atoms) if path.suffix == ".md"]
