"""Listing atoms: folders are walked, and what the index knows of a file is not read again.

Imports are few on purpose: a list of known atoms is asked for often, by people and by agents.
"""

# ruff: noqa: PTH112 - paths are text here: there are thousands of them
# ruff: noqa: PLC0415 - what reads files is imported when a file has to be read

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from keisei.graph.index import FILE, Index, Kept
from keisei.library.package_installed import Installed, beginning
from keisei.library.package_place import Place, ground_of, ground_of_root
from keisei.settings import Settings
from keisei.wiring import layers, project_layer
from keisei.wiring.atom_pass import Known, Listed, Pass

if TYPE_CHECKING:
    from keisei.records.problem import Problem

FIELDS = {"atom", "kind", "version", "stability", "summary", "deprecated", "keywords"}
"""What is kept of a page: an AtomRow without path and layer."""
NONE: set[str] = set()
"""What is kept of a package's metadata: that they can be used."""
PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class Findable(Protocol):
    """One layer of packages."""

    layer: str

    def find(self, name: str) -> Place | None:
        """The package of that name."""

    def places(self) -> Iterator[Place]:
        """Every package."""

    def folders(self) -> list[str]:
        """The folders that everything it finds stands in."""


def find_grounds(
    settings: Settings, *, roots: Sequence[Path] = (), kit_root: Path | None = None, start: Path | None = None
) -> list[Findable]:
    """Where packages are looked for, the highest layer first. Raises OperatorError for a root that is no folder."""
    if roots:
        for root in roots:
            if not os.path.isdir(root):
                from keisei.records.error import OperatorError

                raise OperatorError(f"root `{root}` is not a folder", "name a folder that holds packages of atoms")
        return [ground_of_root(str(root)) for root in roots]
    here = start or Path.cwd()
    found = layers(settings, kit_root=kit_root or settings.kit_root, start=here)
    low: list[Findable] = [ground_of(layer) for layer in found if layer.name in ("kit", "root")]
    high: list[Findable] = [ground_of(layer) for layer in found if layer.name not in ("kit", "root")]
    return [*reversed(high), Installed(_search_path()), *reversed(low)]


def _search_path() -> list[str]:
    """`sys.path` without the folder somebody happens to stand in: a project is no installation."""
    here = os.path.realpath(os.curdir)
    return [each for each in sys.path if each.endswith("-packages") or os.path.realpath(each) != here]


def find_index(settings: Settings, start: Path) -> Path | None:
    """The index of the project around a folder; None where there is no state folder, or keisei.toml is broken."""
    if settings.state_home is None:
        return None
    layer = project_layer(start)
    for folder in (layer.folder.parent, layer.folder) if layer is not None else ():
        if os.path.lexists(folder / "keisei.toml"):
            name = _project_name(beginning(str(folder / "keisei.toml")))
            return settings.state_home / name / FILE if name else None
    return settings.state_home / "default" / FILE


def _project_name(text: str) -> str | None:
    import tomllib

    try:
        project = tomllib.loads(text).get("project", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        return None
    name = project.get("name", "default") if isinstance(project, dict) else None
    return name if isinstance(name, str) and PROJECT.fullmatch(name) else None


class Walk:
    """Lists atoms, and remembers what it read: in this process, and in the index where there is one."""

    def __init__(self, grounds: Sequence[Findable], index: Index | None) -> None:
        self.grounds = grounds
        self.index = index
        self._known: Known | None = None

    def places(self, package: str | None = None) -> Iterator[Place]:
        """Every package that is not hidden by a higher layer's; or the one of that name."""
        seen: set[str] = set()
        for ground in self.grounds:
            place = ground.find(package) if package is not None else None
            for each in ((place,) if place else ()) if package is not None else ground.places():
                if each.name not in seen:
                    seen.add(each.name)
                    yield each

    def listed(self, package: str | None = None) -> tuple[list[Listed], list["Problem"]]:
        """Every atom by id, and a warning for each page or package that is left out. Never raises."""
        places = list(self.places(package))
        known = self._recalled(places if package is not None else None)
        walk = Pass(known)
        for place in places:
            walk.visit(place)
        known.update(walk.read)
        if self.index is not None and walk.read:
            gone = [path for path in list(known) if path not in walk.read and not os.path.lexists(path)]
            for path in gone:
                known.pop(path, None)  # other threads list too
            self.index.keep({path: (stamp, json.dumps(body)) for path, (stamp, body) in walk.read.items()}, gone)
        walk.found.sort(key=lambda each: each.body["atom"])
        walk.problems.sort(key=lambda each: each.path)
        return walk.found, walk.problems

    def _recalled(self, places: list[Place] | None) -> Known:
        """What is known of the files: all of them, or those of a few packages where nobody asked for all yet."""
        if self.index is None or self._known is not None:
            self._known = self._known or {}
        elif places is not None:
            return _parsed(self.index.kept(place.folder for place in places))
        else:
            self._known = _parsed(self.index.kept(folder for ground in self.grounds for folder in ground.folders()))
        return self._known


def _parsed(kept: Kept) -> Known:
    """What the index kept, as data; nothing where it is not what was written there."""
    try:
        bodies = json.loads(f"[{','.join(text for _, text in kept.values())}]")
    except ValueError:
        return {}
    if len(bodies) != len(kept) or not all(isinstance(body, dict) and body.keys() in (FIELDS, NONE) for body in bodies):
        return {}
    return {path: (stamp, body) for (path, (stamp, _)), body in zip(kept.items(), bodies, strict=True)}
