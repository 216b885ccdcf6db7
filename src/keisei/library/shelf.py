"""Shelves: which folders hold authored files, and which file wins. Kit, then kit root, then user, then project."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

LayerName = Literal["kit", "root", "user", "project"]


class Layer(NamedTuple):
    """One folder of authored files."""

    name: LayerName
    folder: Path
    seed: bool = False
    """Whether the folders are the originals': `_capabilities`, `_roles`, `_primitives`."""

    def place(self, kind: str) -> Path:
        """The folder of one kind of file."""
        return self.folder / ((SEED_FOLDERS if self.seed else FOLDERS).get(kind, kind))


FOLDERS = {
    "capability": "capabilities",
    "role": "roles",
    "profile": "profiles",
    "skill": "skills",
    "workflow": "workflows",
    "task-type": "task-types",
    "agent": "agents",
    "rule": "rules",
    "package": "primitives",
}
SEED_FOLDERS = FOLDERS | {"capability": "_capabilities", "role": "_roles", "package": "_primitives"}
SLUG = re.compile(r"[a-z][a-z0-9-]{0,63}")
FILE_STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")


def layer_of(name: LayerName, folder: Path) -> Layer:
    """A folder as a layer; the originals' layout is recognised by its underscores."""
    seed = any((folder / each).is_dir() for each in ("_capabilities", "_roles", "_primitives"))
    if not seed and (folder / ".keisei").is_dir():
        return Layer(name, folder / ".keisei")
    return Layer(name, folder, seed)


class Found(NamedTuple):
    """A file and the layer it stands in."""

    name: str
    path: Path
    layer: Layer


def candidates(kind: str, name: str, layer: Layer) -> list[Path]:
    """Where a layer would keep that name; empty for a name that cannot be a file's."""
    place = layer.place(kind)
    if kind == "capability":
        category, _, slug = name.partition("::")
        fits = SLUG.fullmatch(category) and SLUG.fullmatch(slug)
        return _in_real_folder(place / category / slug / "capability.toml") if fits else []
    if not FILE_STEM.fullmatch(name):
        return []
    if kind == "skill":
        return _in_real_folder(place / name / "SKILL.md")
    if kind == "agent":
        return _in_real_folder(place / name / "agent.toml")
    endings = (".toml", ".json") if kind in ("workflow", "profile", "task-type") else (".toml",)
    return [place / f"{name}{ending}" for ending in endings]


def _in_real_folder(path: Path) -> list[Path]:
    """The path, unless its folder is a symlink: such folders are not listed, so they are not used either."""
    return [] if path.parent.is_symlink() or path.parent.parent.is_symlink() else [path]


def listed(kind: str, layer: Layer) -> Iterator[Found]:
    """Every file of that kind in a layer, in order. Folders that are symlinks are not entered."""
    place = layer.place(kind)
    if kind == "capability":
        for category in _folders(place):
            for slug in _folders(category):
                if _there(slug / "capability.toml"):
                    yield Found(f"{category.name}::{slug.name}", slug / "capability.toml", layer)
    elif kind in ("skill", "agent"):
        file = "SKILL.md" if kind == "skill" else "agent.toml"
        for folder in _folders(place):
            if _there(folder / file):
                yield Found(folder.name, folder / file, layer)
    else:
        endings = {"rule": {".md"}, "role": {".toml"}}.get(kind, {".toml", ".json"})
        for path in entries(place):
            if path.suffix in endings:
                yield Found(path.stem, path, layer)


def packages(layer: Layer) -> Iterator[Path]:
    """Folders that hold a package of atoms: under `primitives`, `_primitives` and its `_rust`, or the folder's own."""
    from keisei.library.package_place import ground_of  # noqa: PLC0415 - it knows layers, and layers know it here

    return (Path(place.folder) for place in ground_of(layer).places())


def _there(path: Path) -> bool:
    """Whether a file stands there, broken symlinks and all: a file that cannot be read is told of, not passed over."""
    return os.path.lexists(path)


def entries(folder: Path) -> list[Path]:
    """What a folder holds, in order, hidden names left out; nothing where it cannot be read, or goes away meanwhile."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def _folders(folder: Path) -> list[Path]:
    return [path for path in entries(folder) if path.is_dir() and not path.is_symlink()]
