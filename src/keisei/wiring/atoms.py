"""Atoms by id: found by looking, never by a scan, and kept in memory while none of their files changes."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from keisei.contracts.words import nearest
from keisei.graph.index import Index
from keisei.library.atom_spec import read_spec
from keisei.library.package import Package, read_place
from keisei.library.package_place import LONGEST, METADATA, Place, is_name
from keisei.library.source import Source, read_source, shown_path
from keisei.records.atom_spec import AtomPackage, AtomRow, AtomSpec
from keisei.records.error import AuthorError, MissingAtom
from keisei.records.problem import Problem
from keisei.settings import Settings
from keisei.wiring.atom_code import CodeDigest
from keisei.wiring.atom_pass import Listed
from keisei.wiring.atom_walk import Findable, Walk, find_grounds
from keisei.wiring.file_stamp import is_hot, stamp_of


class _Remembered(NamedTuple):
    """An atom as it was read."""

    place: Place
    stamps: dict[str, str | None]
    """Every file that was looked at, with the stamp it had before; None for one that was not there."""
    spec: AtomSpec


class Shelf:
    """The atoms of all layers, or of the roots that were named. Any thread may ask."""

    def __init__(self, grounds: Sequence[Findable], index_path: Path | None = None) -> None:
        """`grounds` stand in their order, the highest first. `index_path` may be missing, broken or in use."""
        self._walk = Walk(grounds, Index(index_path) if index_path is not None else None)
        self._specs: dict[str, _Remembered] = {}
        self._packages: dict[Place, tuple[Package, dict[str, str | None]]] = {}
        self._rows: dict[str, tuple[dict[str, Any], AtomRow]] = {}
        self._code = CodeDigest()

    def atom(self, atom_id: str) -> AtomSpec:
        """The atom as it is now. Raises MissingAtom with the nearest name, AuthorError where its files are broken."""
        name, _, verb = atom_id.partition("::")
        place = self._place(name)
        if place is None or not is_name(verb) or not os.path.lexists(f"{place.atoms}/{verb}.md"):
            self._specs.pop(atom_id, None)
            raise self._missing(atom_id[:LONGEST], name, place)
        remembered = self._specs.get(atom_id)
        if remembered is not None and remembered.place == place and _is_current(remembered.stamps):
            return remembered.spec
        return self._read(atom_id, place, verb)

    def package(self, name: str) -> AtomPackage:
        """The package as it is now. Raises MissingAtom, AuthorError."""
        place = self._place(name)
        if place is None:
            raise self._missing(name[:LONGEST], name, None)
        return self._package(place)[0].found()

    def rows(
        self, *, kind: str | None = None, package: str | None = None, stability: str | None = None
    ) -> tuple[list[AtomRow], list[Problem]]:
        """The atoms by id, and a warning for each one that had to be left out. Never raises."""
        found, problems = self._walk.listed(package)
        rows = [
            self._row(each)
            for each in found
            if kind in (None, each.body["kind"]) and stability in (None, each.body["stability"])
        ]
        return rows, problems

    def code_sha(self, spec: AtomSpec, program: str | None = None) -> str:
        """A digest of the code that answers: the package's sources and the interpreter, or the program's bytes."""
        return self._code.of(spec.package, program)

    def _row(self, listed: Listed) -> AtomRow:
        known = self._rows.get(listed.path)
        if known is not None and known[0] is listed.body and known[1].layer == listed.place.layer:
            return known[1]
        row = msgspec.convert({**listed.body, "path": listed.path, "layer": listed.place.layer}, AtomRow)
        self._rows[listed.path] = (listed.body, row)
        return row

    def _place(self, name: str) -> Place | None:
        return next((place for ground in self._walk.grounds if (place := ground.find(name)) is not None), None)

    def _read(self, atom_id: str, place: Place, verb: str) -> AtomSpec:
        package, stamps = self._package(place)
        notes = _Notes(stamps)
        spec = read_spec(package, verb, notes.read)
        if spec.function is not None:
            notes.look(spec.function)
        if notes.are_settled:
            self._specs[atom_id] = _Remembered(place, notes.stamps, spec)
        return spec

    def _package(self, place: Place) -> tuple[Package, dict[str, str | None] | None]:
        """The package, and the files it was read from; None where they changed a moment ago and may change again."""
        known = self._packages.get(place)
        if known is not None and _is_current(known[1]):
            return known
        notes = _Notes({})
        for name in METADATA:
            notes.look(f"{place.folder}/{name}")
        package = read_place(place, notes.read)
        if not notes.are_settled:
            return package, None
        self._packages[place] = (package, notes.stamps)
        return package, notes.stamps

    def _missing(self, wanted: str, name: str, place: Place | None) -> MissingAtom | AuthorError:
        """What to say of an atom that is not there, or whose folder lets nobody see whether it is."""
        if place is not None:
            try:
                names = [f"{place.name}::{file[:-3]}" for file in _pages(place)]
            except OSError as error:
                message = f"cannot be read: {(error.strerror or str(error)).lower()}"
                return AuthorError([Problem(code="unreadable", path=shown_path(Path(place.atoms)), message=message)])
            return MissingAtom(f"there is no atom `{wanted}`", nearest(wanted, names) or _list_hint(place.name))
        if not is_name(name):
            hint = f"an id is a package and a verb, as in `kei-task::create`; {_list_hint()}"
            return MissingAtom(f"there is no atom `{wanted}`", hint)
        names = [each.name for each in self._walk.places()]
        return MissingAtom(f"there is no atom `{wanted}`: no package `{name}`", nearest(name, names) or _list_hint())


def _list_hint(package: str | None = None) -> str:
    return f"`kei-runtime list-atoms{f' --crate {package}' if package else ''}` tells which there are"


def _pages(place: Place) -> list[str]:
    """Raises OSError."""
    with os.scandir(place.atoms) as found:
        return sorted(each.name for each in found if each.name.endswith(".md"))


class _Notes:
    """Which files were read, and the stamp each had before it was."""

    def __init__(self, before: dict[str, str | None] | None) -> None:
        """`before` was looked at already; None where that cannot be remembered, nor can what follows from it."""
        self.stamps = dict(before or {})
        self.are_settled = before is not None

    def read(self, path: Path) -> Source:
        self.look(str(path))
        return read_source(path)

    def look(self, path: str) -> None:
        if path in self.stamps:
            return
        try:
            found = os.stat(path)  # noqa: PTH116 - text, as in the walk
        except OSError:
            self.stamps[path] = None
            return
        self.stamps[path] = stamp_of(found)
        self.are_settled &= not is_hot(found)


def _is_current(stamps: dict[str, str | None]) -> bool:
    for path, stamp in stamps.items():
        try:
            if stamp_of(os.stat(path)) != stamp:  # noqa: PTH116 - as above
                return False
        except OSError:
            if stamp is not None:
                return False
    return True


def open_shelf(
    settings: Settings,
    *,
    index_path: Path | None = None,
    roots: Sequence[Path] = (),
    kit_root: Path | None = None,
    start: Path | None = None,
) -> Shelf:
    """The shelf of a working directory, or of roots and nothing else. Raises OperatorError for what is no folder."""
    return Shelf(find_grounds(settings, roots=roots, kit_root=kit_root, start=start), index_path)
