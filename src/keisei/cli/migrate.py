"""`kei-migrate`: the databases of packages, which migrations ran on them, and the ones that are still to run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.output import emit_json, json_option, table
from keisei.cli.surroundings import kit_root_option, root_option, settings
from keisei.records.error import KeiseiError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.records.atom_spec import AtomPackage
    from keisei.store.migrate import Migration
    from keisei.store.package_database import DatabaseState
    from keisei.wiring.atoms import Shelf
    from keisei.wiring.package_database import PackageDatabases

HELP = {"help_option_names": ["-h", "--help"]}

group = click.Group(
    "migrate",
    help="Databases of packages: which migrations ran, which are missing. Status, up.",
    context_settings=HELP,
)


@group.command("status")
@click.argument("packages", nargs=-1, metavar="[PACKAGE]...")
@root_option
@kit_root_option
@json_option
def status(packages: tuple[str, ...], roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """Where each database is, and how far it has come. Exits 1 where one cannot be used."""
    databases, found = _databases(packages, roots, kit_root)
    return _told([_looked_at(databases, package) for package in found], as_json=as_json)


@group.command("up")
@click.argument("packages", nargs=-1, metavar="[PACKAGE]...")
@click.option("--dry-run", is_flag=True, help="Only tell what would run.")
@root_option
@kit_root_option
@json_option
def up(packages: tuple[str, ...], dry_run: bool, roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """Make the databases and run what is missing, each migration in one transaction. Exits 1 where one fails."""
    databases, found = _databases(packages, roots, kit_root)
    work = _looked_at if dry_run else _brought_up
    return _told([work(databases, package) for package in found], as_json=as_json)


class _Row:
    """One package's line."""

    def __init__(
        self, package: "AtomPackage", state: "DatabaseState | KeiseiError | None", ran: "Sequence[Migration]" = ()
    ) -> None:
        self.package, self.state, self.ran = package, state, tuple(ran)

    @property
    def word(self) -> str:
        """How it stands, in a word."""
        if isinstance(self.state, KeiseiError):
            return "error"
        if self.state is None:
            return "none"
        return "current" if self.state.is_current else "behind" if self.state.exists else "absent"

    def data(self) -> dict[str, Any]:
        """The line as JSON."""
        data: dict[str, Any] = {"package": self.package.name, "status": self.word, "database": None}
        if isinstance(self.state, KeiseiError):
            return {**data, "error": self.state.message, "hint": self.state.hint}
        if self.state is not None:
            data["database"] = str(self.state.path)
            data["applied"], data["missing"] = _names(self.state.applied), _names(self.state.missing)
        return {**data, "ran": _names(self.ran)} if self.ran else data

    def cells(self) -> tuple[str, ...]:
        """The line for people."""
        if self.state is None or isinstance(self.state, KeiseiError):
            return (self.package.name, self.word, "", "", "")
        applied, missing = self.state.applied, self.state.missing
        newest = f"{applied[-1].version:04}" if applied else "-"
        return (
            self.package.name,
            self.word,
            newest,
            ", ".join(_names(missing)) or "-",
            printable(str(self.state.path)),
        )


def _told(rows: list[_Row], *, as_json: bool) -> int:
    """Print the lines, and the errors on stderr. The exit code."""
    failed = [row for row in rows if isinstance(row.state, KeiseiError)]
    if as_json:
        emit_json([row.data() for row in rows])
    else:
        for row in rows:
            for name in _names(row.ran):
                click.echo(f"ran {row.package.name} {name}")
        table(("package", "status", "newest", "missing", "database"), [row.cells() for row in rows])
        for row in failed:
            _complain(row)
    return 1 if failed else 0


def _complain(row: _Row) -> None:
    from keisei.cli.door import complain

    error = row.state
    if isinstance(error, KeiseiError):
        complain(f"{row.package.name}: {error.message}", error.hint)


def _names(steps: "Sequence[Migration]") -> list[str]:
    return [f"{step.version:04}_{step.name}" for step in steps]


def _looked_at(databases: "PackageDatabases", package: "AtomPackage", ran: "Sequence[Migration]" = ()) -> _Row:
    try:
        return _Row(package, databases.state(package), ran)
    except KeiseiError as error:
        return _Row(package, error, ran)


def _brought_up(databases: "PackageDatabases", package: "AtomPackage") -> _Row:
    try:
        ran = databases.bring_up(package)
    except KeiseiError as error:
        return _Row(package, error)
    return _looked_at(databases, package, ran)


def _databases(
    names: Sequence[str], roots: Sequence[Path], kit_root: Path | None
) -> "tuple[PackageDatabases, list[AtomPackage]]":
    """The databases, and the packages that were named, or every package that has one. Raises MissingAtom."""
    from keisei.wiring.atom_runtime import working_directory
    from keisei.wiring.atoms import open_shelf
    from keisei.wiring.package_database import PackageDatabases

    own = settings()
    shelf = open_shelf(own, roots=roots, kit_root=kit_root, start=working_directory())
    return PackageDatabases(own, shelf.package), _found(shelf, names)


def _found(shelf: "Shelf", names: Sequence[str]) -> "list[AtomPackage]":
    if names:
        return [shelf.package(name) for name in dict.fromkeys(names)]
    known = sorted({row.atom.partition("::")[0] for row in shelf.rows()[0]})
    return [package for package in map(shelf.package, known) if package.metadata.backend == "sqlite"]
