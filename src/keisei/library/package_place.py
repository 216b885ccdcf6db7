"""Where packages of atoms stand, found by looking at folders only: no file is read here, and almost nothing imported.

A listing of known files pays for this module and the index, so that it answers within a few dozen milliseconds.
"""

# ruff: noqa: PTH119, PTH120 - paths are text here: there are thousands of them, and the import alone would be felt

import os
import re
import stat
from collections.abc import Iterator
from typing import NamedTuple

from keisei.library.shelf import Layer

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""A package's name, and a verb."""
LONGEST = 128
METADATA = ("pyproject.toml", "Cargo.toml")


class Place(NamedTuple):
    """A package by its folders, nothing of it read."""

    name: str
    """By its folder, or by its entry point."""
    layer: str
    """Where it was found."""
    folder: str
    """Where its metadata stand, absolute, every symlink followed."""
    atoms: str
    """The folder of its pages."""
    import_root: str
    """What stands on `sys.path` for it."""
    import_name: str | None
    """The import package that holds `atoms`; None where they stand beside the metadata."""
    version: str | None = None
    """Of an installed package, as the installer wrote it."""


class Ground:
    """One layer's folders of packages. Which of them are there is looked at anew each time."""

    def __init__(self, layer: str, folder: str, shelves: tuple[str, ...], *, is_named: bool = False) -> None:
        """`shelves` hold packages, below `folder`. `is_named`: the folder itself may hold packages, or be one."""
        self.layer = layer
        self.folder = os.path.realpath(folder)
        self.is_named = is_named
        self._shelves = tuple(f"{self.folder}/{each}" for each in shelves)

    def find(self, name: str) -> Place | None:
        """The package of that name. Looks at a handful of paths, whatever else stands there. Never raises."""
        if not is_name(name):
            return None
        own = self._own()
        if own is not None and own.name == name:
            return own
        for parent in self._parents(own):
            folder = f"{parent}/{name}"
            if is_real_folder(folder) and (place := place_in(self.layer, folder)):
                return place
        return None

    def places(self) -> Iterator[Place]:
        """Every package, in the order of parents and names. A folder that cannot be listed holds none."""
        own = self._own()
        if own is not None:
            yield own
        for parent in self._parents(own):
            for name in real_folders(parent):
                if place := place_in(self.layer, f"{parent}/{name}"):
                    yield place

    def folders(self) -> list[str]:
        """The folders that everything it finds stands in."""
        return [self.folder]

    def _parents(self, own: Place | None) -> list[str]:
        """The folders that hold packages. One that is a package does not: its `src/atoms` is a crate's code."""
        there = [each for each in self._shelves if is_real_folder(each) and is_real_folder(os.path.dirname(each))]
        if self.is_named:
            return there if own is not None else [self.folder, *there]
        return there or [self.folder]

    def _own(self) -> Place | None:
        if not self.is_named or not any(os.path.lexists(f"{self.folder}/{file}") for file in METADATA):
            return None
        return place_in(self.layer, self.folder)


def ground_of(layer: Layer) -> Ground:
    """A layer's packages: in `primitives` and its `_rust` (a seed's `_primitives`), else in the folder itself."""
    shelf = layer.place("package").name
    return Ground(layer.name, str(layer.folder), (shelf, f"{shelf}/_rust"))


def ground_of_root(root: str) -> Ground:
    """A folder that was named: of packages, a kit root, or one package's own."""
    shelves = ("_primitives", "_primitives/_rust", "primitives", "primitives/_rust")
    return Ground("root", root, shelves, is_named=True)


def place_in(layer: str, folder: str) -> Place | None:
    """The package in a folder by where its `atoms` are; None where it has none. Symlinked folders are not entered.

    A folder one may not enter counts as a package: it must not give way to a lower layer's without a word.
    """
    name = os.path.basename(folder)
    if is_real_folder(f"{folder}/atoms"):
        source = f"{folder}/src"
        return Place(name, layer, folder, f"{folder}/atoms", source if is_real_folder(source) else folder, None)
    snake = name.replace("-", "_")
    for root in (f"{folder}/src", folder):
        package = f"{root}/{snake}"
        if is_real_folder(package) and is_real_folder(f"{package}/atoms") and is_real_folder(root):
            return Place(name, layer, folder, f"{package}/atoms", root, snake)
    if is_name(name) and not os.access(folder, os.X_OK):  # it may be one, which whoever reads it tells
        return Place(name, layer, folder, f"{folder}/atoms", folder, None)
    return None


def is_name(text: str) -> bool:
    """Whether a package or a verb may be called so."""
    return len(text) <= LONGEST and NAME.fullmatch(text) is not None


def is_real_folder(path: str) -> bool:
    """Whether a folder stands there that is no symlink. Never raises."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def real_folders(parent: str) -> list[str]:
    """Names of the real folders in a folder, in order, hidden ones left out; none where it cannot be listed."""
    try:
        with os.scandir(parent) as found:
            return sorted(each.name for each in found if each.name[0] != "." and each.is_dir(follow_symlinks=False))
    except OSError:
        return []
