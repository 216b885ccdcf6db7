"""Databases of packages, as doors tell of them: where each is, how far it has come, and what was run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keisei.records.atom_spec import AtomPackage
from keisei.records.error import KeiseiError, MissingAtom, OperatorError
from keisei.settings import Settings
from keisei.store.migrate import Migration
from keisei.store.package_database import DatabaseState
from keisei.wiring.atom_runtime import working_directory
from keisei.wiring.atoms import Shelf, open_shelf
from keisei.wiring.package_database import PackageDatabases
from keisei.wiring.verb_error import as_code, outside_attempts


class Standing:
    """One package's database."""

    def __init__(
        self, package: AtomPackage, state: DatabaseState | KeiseiError | None, ran: Sequence[Migration] = ()
    ) -> None:
        """As it was found; an error where it could not be looked at, None where keisei keeps none for it."""
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
        """The same as JSON."""
        data: dict[str, Any] = {"package": self.package.name, "status": self.word, "database": None}
        if isinstance(self.state, KeiseiError):
            return {**data, "error": self.state.message, "hint": self.state.hint}
        if self.state is not None:
            data["database"] = str(self.state.path)
            data["applied"], data["missing"] = names(self.state.applied), names(self.state.missing)
        return {**data, "ran": names(self.ran)} if self.ran else data


def names(steps: Sequence[Migration]) -> list[str]:
    """Migrations, as their files are called."""
    return [f"{step.version:04}_{step.name}" for step in steps]


def looked_at(databases: PackageDatabases, package: AtomPackage, ran: Sequence[Migration] = ()) -> Standing:
    """How a database stands. Never raises for what is wrong with it."""
    try:
        return Standing(package, databases.state(package), ran)
    except KeiseiError as error:
        return Standing(package, error, ran)


def brought_up(databases: PackageDatabases, package: AtomPackage) -> Standing:
    """Make a database and run what is missing. Likewise."""
    try:
        ran = databases.bring_up(package)
    except KeiseiError as error:
        return Standing(package, error)
    return looked_at(databases, package, ran)


def standings(
    settings: Settings,
    wanted: Sequence[str],
    *,
    up: bool = False,
    roots: Sequence[Path] = (),
    kit_root: Path | None = None,
) -> list[Standing]:
    """How the databases of these packages stand, or of every package that has one; brought up to date first if asked.

    Raises MissingAtom, AuthorError, OperatorError.
    """
    shelf = open_shelf(settings, roots=roots, kit_root=kit_root, start=working_directory())
    databases = PackageDatabases(settings, shelf.package)
    work = brought_up if up else looked_at
    return [work(databases, package) for package in _found(shelf, wanted)]


def told(wanted: Sequence[str], *, up: bool = False, settings: Settings | None = None) -> dict[str, Any]:
    """How the databases stand, for an atom. Raises VerbError; inside an attempt nothing is told of them."""
    hint = "the atoms of a package find its database as it should be"
    own = outside_attempts(settings, "databases are neither told of nor brought up to date", hint)
    with as_code("StoreAway", OperatorError), as_code("UnknownPackage", MissingAtom):
        found = standings(own, wanted, up=up)
    return {
        "databases": [each.data() for each in found],
        "is_current": all(each.word in ("current", "none") for each in found),
    }


def _found(shelf: Shelf, wanted: Sequence[str]) -> list[AtomPackage]:
    if wanted:
        return [shelf.package(name) for name in dict.fromkeys(wanted)]
    known = sorted({row.atom.partition("::")[0] for row in shelf.rows()[0]})
    return [package for package in map(shelf.package, known) if package.metadata.backend == "sqlite"]
