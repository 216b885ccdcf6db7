"""What is authored, as it stands on disk just now: every thing once, from the highest layer that has it.

Looked at is cheap, read is not: `Spot.stamp` says whether a thing is what it was, and `Spot.entry` reads it.
"""

# ruff: noqa: PTH116 - paths are text here: there are thousands of them

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from keisei.graph.vault import Entry, Key, Known
from keisei.library.leaf import read_atom_leaf, read_found_leaf
from keisei.library.package import Package, read_place
from keisei.library.package_installed import Installed
from keisei.library.package_place import METADATA, Place, ground_of_root, is_name
from keisei.library.shelf import Found, Layer, layer_of, listed
from keisei.library.source import shown_path
from keisei.records.error import AuthorError, WorldFault
from keisei.records.problem import Problem
from keisei.records.sage import Leaf, NodeKind
from keisei.settings import Settings
from keisei.wiring import layers
from keisei.wiring.atom_walk import Walk, find_grounds
from keisei.wiring.file_stamp import HOT_NS, stamp_of

FILED: Final[tuple[NodeKind, ...]] = ("capability", "role", "skill", "workflow", "task-type", "rule")
"""Kinds that stand in a folder of their layer; atoms stand in packages."""
AHEAD_NS: Final = 60_000_000_000
Read = Callable[[], tuple[Leaf, tuple[str, ...]]]


class Spot(NamedTuple):
    """One authored thing on disk, not read yet."""

    key: Key
    path: str
    layer: str
    around: str | None
    """The stamp of files that are not its own and without which it cannot be read, such as a package's metadata, from
    before these are read. None where they changed a moment ago."""
    read: Read
    """The leaf, and every file that it was made from. Raises AuthorError, WorldFault."""

    def is_as(self, known: Known) -> bool:
        """Whether it is still what was read then."""
        return (
            known.stamp is not None
            and known.path == self.path
            and known.layer == self.layer
            and self._stamped(_stamp(known.files)) == known.stamp
        )

    def entry(self) -> Entry:
        """What it is now. Never raises: where it cannot be read, the entry says why."""
        began, folder = time.time_ns(), _identity(self.path)
        try:
            leaf, files = self.read()
            problem = None
        except (AuthorError, WorldFault) as error:
            leaf, files, problem = None, (self.path,), _problem(error, self.path)
        stamp = self._stamped(_stamp(files, before=began - HOT_NS)) if _identity(self.path) == folder else None
        return Entry(Known(self.path, self.layer, stamp, files, problem), leaf)

    def _stamped(self, own: str | None) -> str | None:
        return None if own is None or self.around is None else f"{self.around} {own}"


class Unit(NamedTuple):
    """Things that are looked at together: the atoms of a package, or all roles."""

    key: Key
    """What `unit_of` says of each of its things."""
    folders: tuple[str, ...]
    """Where its files are."""
    spots: Callable[[], list[Spot]]
    place: Place | None = None
    """Of a package."""

    def holds(self, path: str) -> bool:
        """Whether a path stands in one of its folders."""
        return any(path == folder or path.startswith(f"{folder}/") for folder in self.folders)


def unit_of(key: Key) -> Key:
    """To which unit a thing belongs: an atom to its package, others to their kind."""
    node, name = key
    return (node, name.partition("::")[0] if node == "atom" else "")


class Corpus:
    """Everything that is authored around a folder, or below roots that were named."""

    def __init__(
        self, settings: Settings, *, roots: Sequence[Path] = (), kit_root: Path | None = None, start: Path
    ) -> None:
        """Raises OperatorError for a root that is no folder."""
        grounds = find_grounds(settings, roots=roots, kit_root=kit_root, start=start)
        if roots:
            named = [Path(os.path.realpath(root)) for root in roots]
            self._layers = [layer_of("root", folder) for folder in reversed(named)]
            inner = [layer.folder for layer in reversed(self._layers) if layer.folder not in named]
            grounds += [ground_of_root(str(folder)) for folder in inner]  # a project's atoms stand in its `.keisei`
        else:
            self._layers = layers(settings, kit_root=kit_root or settings.kit_root, start=start)
        self._walk = Walk(grounds, None)

    @cached_property
    def places(self) -> tuple[str, ...]:
        """Where everything is looked for: two that look in the same places are the same."""
        installed = (
            each for ground in self._walk.grounds if isinstance(ground, Installed) for each in ground.search_path
        )
        return (*self.folders, "installed", *chain.from_iterable(installed))

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The folders of its layers."""
        grounds = (each for ground in self._walk.grounds if ground.layer != "installed" for each in ground.folders())
        return tuple(dict.fromkeys([*grounds, *(os.path.realpath(layer.folder) for layer in self._layers)]))

    def is_current(self, unit: "Unit") -> bool:
        """Whether a package is still found where it was; another layer's may have come before it."""
        return unit.place is None or next(self._walk.places(unit.place.name), None) == unit.place

    def units(self) -> list[Unit]:
        """What there is to look at, just now."""
        packages = [_package_unit(place) for place in self._walk.places()]
        return [*packages, *(_filed_unit(kind, self._layers) for kind in FILED)]

    def watched(self) -> list[str]:
        """The folders in which something may appear, those that are not there left out."""
        wanted = {*self.folders, *(folder for unit in self.units() for folder in unit.folders)}
        there = sorted(folder for folder in wanted if os.path.isdir(folder))  # noqa: PTH112 - never raises
        return [each for each in there if not any(each.startswith(f"{other}/") for other in there)]


def _package_unit(place: Place) -> Unit:
    return Unit(("atom", place.name), (place.folder, place.atoms), lambda: _pages(place), place)


def _pages(place: Place) -> list[Spot]:
    try:
        with os.scandir(place.atoms) as found:
            names = sorted(each.name[:-3] for each in found if each.name.endswith(".md") and each.name[0] != ".")
    except OSError as error:
        return [_closed(place, error)]
    around = _stamp([f"{place.folder}/{name}" for name in METADATA], before=time.time_ns() - HOT_NS)
    package = _Package(place)
    return [
        Spot(
            ("atom", f"{place.name}::{_text(name)}"),
            f"{place.atoms}/{name}.md",
            place.layer,
            around,
            lambda name=name: package.leaf(name),  # type: ignore[misc]
        )
        for name in names
    ]


def _closed(place: Place, error: OSError) -> Spot:
    """What stands for the pages of a folder that cannot be listed."""

    def read() -> tuple[Leaf, tuple[str, ...]]:
        raise WorldFault(f"cannot be read: {(error.strerror or str(error)).lower()}") from error

    return Spot(("atom", f"{place.name}::"), place.atoms, place.layer, None, read)


class _Package:
    """A package, read once for all of its pages."""

    def __init__(self, place: Place) -> None:
        self._place = place

    @cached_property
    def _read(self) -> Package:
        return read_place(self._place)

    def leaf(self, verb: str) -> tuple[Leaf, tuple[str, ...]]:
        if not is_name(verb):
            path = Path(self._place.atoms, f"{verb}.md")
            message = f"a verb cannot be called `{verb}`"
            raise AuthorError([Problem(code="bad-name", path=shown_path(path), message=message)])
        return read_atom_leaf(self._read, verb)


def _filed_unit(kind: NodeKind, found: Sequence[Layer]) -> Unit:
    folders = tuple(dict.fromkeys(str(layer.place(kind)) for layer in found))
    return Unit((kind, ""), folders, lambda: list(_filed(kind, found)))


def _filed(kind: NodeKind, found: Sequence[Layer]) -> Iterator[Spot]:
    winners: dict[str, Found] = {}
    for layer in found:
        winners.update((_text(each.name), each) for each in listed(kind, layer))
    for name, each in winners.items():
        path, layer_name = str(each.path.absolute()), each.layer.name
        yield Spot((kind, name), path, layer_name, "", lambda each=each: read_found_leaf(kind, each))  # type: ignore[misc]


def _text(name: str) -> str:
    """A name as it can be kept: names of files may be any bytes."""
    return name.encode("utf-8", "backslashreplace").decode()


def _stamp(files: Sequence[str], before: int | None = None) -> str | None:
    """What changes when one of them does. None where one changed after `before`, so that it may change unnoticed.

    When a file changed is told by its change time, which nobody sets; one that lies far ahead is a clock's mistake.
    """
    stamps: list[str] = []
    for file in files:
        try:
            found = os.stat(file)
        except (OSError, ValueError):
            stamps.append("-")
            continue
        if before is not None and before < found.st_ctime_ns < before + AHEAD_NS:
            return None
        stamps.append(stamp_of(found))
    return " ".join(stamps)


def _identity(path: str) -> tuple[int, ...]:
    """Which file stands in which folder: whoever switches a folder changes no file in it."""
    try:
        found = os.stat(path), os.stat(os.path.dirname(path))  # noqa: PTH120 - text, as above
    except (OSError, ValueError):
        return ()
    return tuple(number for each in found for number in (each.st_dev, each.st_ino))


def _problem(error: AuthorError | WorldFault, path: str) -> Problem:
    """The first thing that is wrong, as a warning, with the whole path: who is told may stand in another folder."""
    if isinstance(error, WorldFault):
        return Problem(code="unreadable", path=path, message=error.message, severity="warning")
    first, more = error.problems[0], len(error.problems) - 1
    message = f"{first.message} (and {more} more)" if more else first.message
    return replace(first, path=os.path.abspath(first.path), message=message, severity="warning")  # noqa: PTH100 - as it is linked to
