"""Atoms to be checked: which packages, with what links may name, since when, and mended first where that is asked."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from keisei.cli.output import write_whole
from keisei.cli.surroundings import settings
from keisei.library.atom import Judged, atom_ids, judged, misplaced, twice
from keisei.library.atom_fix import fixes
from keisei.library.atom_since import check_since
from keisei.library.catalog import Catalog
from keisei.library.lint import Report
from keisei.library.package import Package, read_place
from keisei.library.package_place import ground_of, ground_of_root
from keisei.library.source import shown_path
from keisei.library.telling import bounded
from keisei.records.error import OperatorError
from keisei.records.problem import Problem


class AtomOrder(NamedTuple):
    """What a person asks of the atoms."""

    roots: tuple[Path, ...] = ()
    """Where to look instead of the layers."""
    crate: str | None = None
    """The only package to judge."""
    since: str | None = None
    """A revision whose promises are to be kept."""
    fix: bool = False
    """Whether to mend first."""


class Ground(NamedTuple):
    """One layer or root, with its packages."""

    folder: Path
    packages: list[Package]
    is_ours: bool = False
    """Whether it is the kit that ships, which nobody mends in place."""


class Shelf(NamedTuple):
    """What is checked."""

    grounds: list[Ground]
    ids: frozenset[str]
    """Every atom that links may name."""
    rules: frozenset[str]
    crate: str | None
    """The only package that is judged."""

    def packages(self) -> Iterator[Package]:
        """The packages that are judged."""
        for ground in self.grounds:
            yield from (each for each in ground.packages if self.crate in (None, each.name))

    def judged(self) -> Iterator[Judged]:
        """Every file of them, with what is wrong with it. Ids defined twice are told with the second page."""
        again: dict[str, list[Problem]] = {}
        for ground in self.grounds:
            for problem in twice(ground.packages):
                again.setdefault(problem.path, []).append(problem)
        for ground in self.grounds if self.crate is None else ():
            yield from misplaced(ground.folder, ground.packages)
        for package in self.packages():
            for each in judged(package, self.ids, self.rules):
                yield Judged(each.path, [*each.problems, *again.get(shown_path(each.path), ())])


def open_shelf(catalog: Catalog, roots: Sequence[Path], crate: str | None) -> Shelf:
    """The packages of the roots, else of the layers over the kit, else of the kit. Raises OperatorError."""
    grounds = _named(roots) if roots else _layers(catalog)
    everywhere = [package for ground in _layers(catalog, every=True) for package in ground.packages]
    found = [package for ground in grounds for package in ground.packages]
    ids = frozenset([*atom_ids([*everywhere, *found]), *installed_ids()])
    if crate is not None and all(package.name != crate for package in found):
        names = ", ".join(sorted({f"`{package.name}`" for package in found})) or "none"
        raise OperatorError(f"no package is called `{crate}`", f"packages here: {names}")
    return Shelf(grounds, ids, frozenset(catalog.rules), crate)


def _named(roots: Sequence[Path]) -> list[Ground]:
    for root in roots:
        if not root.is_dir():
            raise OperatorError(f"root `{root}` is not a folder", "name a folder that holds packages of atoms")
    return [Ground(root, [read_place(each) for each in ground_of_root(str(root)).places()]) for root in roots]


def _layers(catalog: Catalog, *, every: bool = False) -> list[Ground]:
    own = [layer for layer in catalog.layers if layer.name != "kit"]
    chosen = catalog.layers if every or not own else own
    return [
        Ground(layer.folder, [read_place(place) for place in ground_of(layer).places()], layer.name == "kit")
        for layer in chosen
    ]


def installed_ids() -> list[str]:
    """Ids of installed packages: links may name them, and their own authors check them."""
    from keisei.wiring.atom_walk import find_grounds

    places = (place for ground in find_grounds(settings()) if ground.layer == "installed" for place in ground.places())
    return list(atom_ids(read_place(place) for place in places))


def mend(shelf: Shelf) -> list[str]:
    """Write every fix, each file whole or not at all; a sentence for each. The shipped kit is left alone."""
    told: list[str] = []
    ours = {id(package) for ground in shelf.grounds if ground.is_ours for package in ground.packages}
    for package in shelf.packages():
        if id(package) in ours:
            continue
        for fix in fixes(package):
            mode = fix.path.stat().st_mode & 0o777
            write_whole(fix.path, fix.content)
            fix.path.chmod(mode)
            told.extend(f"{shown_path(fix.path)}: {sentence}" for sentence in fix.told)
    return told


def report_of(shelf: Shelf) -> Report:
    """Everything wrong with the packages."""
    report = Report()
    for _ in shelf.packages():
        report.add("atom", ())
    for each in shelf.judged():
        report.problems.extend(bounded(each.problems))
    return report


def since(shelf: Shelf, revision: str) -> list[Problem]:
    """Promises of the revision that are not kept. Raises OperatorError."""
    from keisei.cli.lint_past import past_of

    with past_of(revision, [ground.folder for ground in shelf.grounds]) as past:
        return list(check_since(shelf.packages(), past, shelf.crate))


def checked_atoms(catalog: Catalog, order: AtomOrder) -> tuple[Report, list[str]]:
    """Everything wrong with the atoms, and what was mended before. Raises OperatorError."""
    shelf = open_shelf(catalog, order.roots, order.crate)
    mended = mend(shelf) if order.fix else []
    if mended:
        shelf = open_shelf(catalog, order.roots, order.crate)
    report = report_of(shelf)
    if order.since is not None:
        report.problems.extend(since(shelf, order.since))
    return report, mended
