"""Installed packages of atoms: found by the entry points `keisei.atoms`, read from the installer's own files.

Nothing of a package is imported, and neither is the standard library's reader: a listing would wait for it.
"""

# ruff: noqa: PTH112, PTH113, PTH116, PTH117, PTH120, PTH208 - paths are text here: there are thousands of them, and the import alone would be felt

import os
import re
from collections.abc import Iterator, Sequence

from keisei.library.package_place import Place, is_name, is_real_folder

GROUP = "keisei.atoms"
LARGEST = 65_536
"""Bytes of an installer's file that are read."""
ABOVE = 3
"""How many folders above an import package its pyproject.toml may stand, where it is worked on in place."""
IMPORTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
Stamps = tuple[int, ...]


class Installed:
    """The packages on a search path. What was found is kept until a folder of the path changes."""

    layer = "installed"

    def __init__(self, search_path: Sequence[str]) -> None:
        """`search_path` is `sys.path`, without the folder a person happens to stand in."""
        self.search_path = tuple(dict.fromkeys(each for each in search_path if os.path.isabs(each)))
        self._known: tuple[Stamps, dict[str, Place]] = ((), {})

    def find(self, name: str) -> Place | None:
        """The package with that entry point; the first on the path wins. Never raises."""
        return self._current().get(name)

    def places(self) -> Iterator[Place]:
        """Every package, by name."""
        found = self._current()
        return (found[name] for name in sorted(found))

    def folders(self) -> list[str]:
        """The folders that everything it finds stands in."""
        return [place.folder for place in self._current().values()]

    def _current(self) -> dict[str, Place]:
        stamps = tuple(map(_changed_at, self.search_path))
        known, found = self._known
        if stamps != known:
            found = {}
            for place in (place for folder in self.search_path for place in _declared(folder)):
                found.setdefault(place.name, place)
            self._known = (stamps, found)  # at once: other threads ask too
        return found


def _changed_at(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return -1


def _declared(folder: str) -> Iterator[Place]:
    """The packages that the distributions of one folder declare."""
    for record in _records(folder):
        text = beginning(f"{folder}/{record}/entry_points.txt")
        if GROUP not in text:
            continue
        for name, value in entry_points(text):
            imported = value.partition(":")[0].partition("[")[0].strip()
            if is_name(name) and IMPORTED.fullmatch(imported) and (place := _place(name, folder, record, imported)):
                yield place


def _records(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return sorted(each.name for each in found if each.name.endswith((".dist-info", ".egg-info")))
    except OSError:
        return []


def entry_points(text: str) -> Iterator[tuple[str, str]]:
    """Names and values of our group in an entry_points.txt."""
    ours = False
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            ours = line == f"[{GROUP}]"
        elif ours and line and line[0] not in "#;":
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()


def _place(name: str, folder: str, record: str, imported: str) -> Place | None:
    relative = imported.replace(".", "/")
    for root in (folder, *_pointed_at(folder), *_by_finder(imported)):
        package = os.path.realpath(f"{root}/{relative}")
        if is_real_folder(f"{package}/atoms"):
            version = record.rpartition(".")[0].partition("-")[2].partition("-")[0] or None
            root_ = package[: -len(relative) - 1] if package.endswith(f"/{relative}") else os.path.realpath(root)
            return Place(name, "installed", _home(package), f"{package}/atoms", root_, imported, version)
    return None


def _pointed_at(folder: str) -> Iterator[str]:
    """The folders that .pth files of a folder name: a package that is worked on in place stands in one of them."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".pth"))
    except OSError:
        return
    for name in names:
        lines = map(str.strip, beginning(f"{folder}/{name}").splitlines())
        yield from (line for line in lines if os.path.isabs(line) and os.path.isdir(line))


def _by_finder(imported: str) -> Iterator[str]:
    """The folder above a package that an import hook answers for. Only its first name is asked: nothing is run."""
    from importlib.util import find_spec  # noqa: PLC0415 - rarely needed

    try:
        spec = find_spec(imported.partition(".")[0])
    except (ImportError, ValueError, AttributeError):
        return
    for location in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield os.path.dirname(location)


def _home(package: str) -> str:
    """Where its metadata stand: beside its modules, else the nearest folder above that has pyproject.toml."""
    folder = package
    for _ in range(ABOVE + 1):
        if os.path.isfile(f"{folder}/pyproject.toml"):
            return folder
        folder = os.path.dirname(folder)
    return package


def beginning(path: str) -> str:
    """The beginning of a file; empty where it cannot be read, or is a pipe."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(handle, LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(handle)
