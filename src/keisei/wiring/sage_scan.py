"""What is authored, as it stands on disk just now: every thing once, from the highest layer that has it.

Looked at is cheap, read is not: `Spot.stamp` says whether a thing is what it was, and `Spot.entry` reads it.
"""

# ruff: noqa: PTH116 - paths are text here: there are thousands of them

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from msgspec.structs import replace

from keisei.graph.vault import Entry, Key, Known
from keisei.library.leaf import read_atom_leaf, read_found_leaf
from keisei.library.package import Package, read_place
from keisei.library.package_place import METADATA, Place, is_name
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
Read = Callable[[], tuple[Leaf, tuple[str, ...]]]


class Spot(NamedTuple):
    """One authored thing on disk, not read yet."""

    key: Key
    path: str
    layer: str
    around: tuple[str, ...]
    """Files that are not its own and without which it cannot be read, such as a package's metadata."""
    read: Read
    """The leaf, and every file that it was made from. Raises AuthorError, WorldFault."""

    def is_as(self, known: Known) -> bool:
        """Whether it is still what was read then."""
        return (
            known.stamp is not None
            and known.path == self.path
            and known.layer == self.layer
            and (_stamp((*self.around, *known.files)) == known.stamp)
        )

    def entry(self) -> Entry:
        """What it is now. Never raises: where it cannot be read, the entry says why."""
        began = time.time_ns()
        try:
            leaf, files = self.read()
            problem = None
        except (AuthorError, WorldFault) as error:
            leaf, files, problem = None, (self.path,), _problem(error, self.path)
        stamp = _stamp((*self.around, *files), before=began - HOT_NS)
        return Entry(Known(self.path, self.layer, stamp, tuple(files), problem), leaf)


class Unit(NamedTuple):
    """Things that are looked at together: the atoms of a package, or all roles."""

    key: Key
    """What `unit_of` says of each of its things."""
    folders: tuple[str, ...]
    """Where its files are."""
    spots: Callable[[], list[Spot]]

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
        self._walk = Walk(find_grounds(settings, roots=roots, kit_root=kit_root, start=start), None)
        if roots:
            self._layers = [layer_of("root", root.absolute()) for root in reversed(roots)]
        else:
            self._layers = layers(settings, kit_root=kit_root or settings.kit_root, start=start)

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The folders of its layers: two that have the same ones are the same."""
        grounds = (
            folder for ground in self._walk.grounds if ground.layer != "installed" for folder in ground.folders()
        )
        return tuple(dict.fromkeys([*grounds, *(os.path.realpath(layer.folder) for layer in self._layers)]))

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
    return Unit(("atom", place.name), (place.folder, place.atoms), lambda: _pages(place))


def _pages(place: Place) -> list[Spot]:
    try:
        with os.scandir(place.atoms) as found:
            names = sorted(each.name[:-3] for each in found if each.name.endswith(".md") and each.name[0] != ".")
    except OSError:
        names = []
    around = tuple(f"{place.folder}/{name}" for name in METADATA)
    package = _Package(place)
    return [
        Spot(
            ("atom", f"{place.name}::{name}"),
            f"{place.atoms}/{name}.md",
            place.layer,
            around,
            lambda name=name: package.leaf(name),  # type: ignore[misc]
        )
        for name in names
    ]


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
        for each in listed(kind, layer):
            if _is_text(each.name):
                winners[each.name] = each
    for each in winners.values():
        path, layer_name = str(each.path.absolute()), each.layer.name
        yield Spot((kind, each.name), path, layer_name, (), lambda each=each: read_found_leaf(kind, each))  # type: ignore[misc]


def _is_text(name: str) -> bool:
    """Whether a name can be kept: names of files may be any bytes."""
    return name.isascii() or name == name.encode("utf-8", "replace").decode("utf-8")


def _stamp(files: Sequence[str], before: int | None = None) -> str | None:
    """What changes when one of them does. None where one changed after `before`, so that it may change unnoticed."""
    stamps: list[str] = []
    for file in files:
        try:
            found = os.stat(file)
        except (OSError, ValueError):
            stamps.append("-")
            continue
        if before is not None and max(found.st_mtime_ns, found.st_ctime_ns) > before:
            return None
        stamps.append(stamp_of(found))
    return " ".join(stamps)


def _problem(error: AuthorError | WorldFault, path: str) -> Problem:
    """The first thing that is wrong, as a warning."""
    if isinstance(error, WorldFault):
        return Problem(code="unreadable", path=shown_path(Path(path)), message=error.message, severity="warning")
    first, more = error.problems[0], len(error.problems) - 1
    message = f"{first.message} (and {more} more)" if more else first.message
    return replace(first, message=message, severity="warning")
