"""Sources: whether the files a worker was loaded from are still the same, by stat."""

import os
from itertools import islice
from typing import Final

from keisei.records.atom_spec import AtomPackage, AtomSpec

MOST: Final = 2_000
"""How many Python files of a package are watched, and in how many folders."""
ENTRIES: Final = 20_000
"""How much of one folder is looked at."""

PASSED_OVER: Final = frozenset({"__pycache__", "node_modules", "venv", "build", "dist", "target"})
"""Folders that hold no sources of the package."""

Mark = tuple[int, int, int, int, int] | None
"""What tells one state of a file from another; None where it is not there."""


class Sources:
    """The Python files of a package as they were at one moment."""

    def __init__(self, spec: AtomSpec) -> None:
        """Note them: before a worker loads them, so that a change meanwhile is seen."""
        self._function = spec.function or spec.page
        self._folder = own_folder(spec.package)
        self._folders, self._files = self._found()

    def are_unchanged(self) -> bool:
        """Whether no Python file was edited, added or removed since. About a microsecond a file."""
        if any(_mark(path) != mark for path, mark in self._files.items()):
            return False
        if all(_mark(path) == mark for path, mark in self._folders.items()):
            return True
        # Something else came into a folder or left it: a database, a cache.
        self._folders, files = self._found()
        return files == self._files

    def _found(self) -> tuple[dict[str, Mark], dict[str, Mark]]:
        """Folders and Python files of the package. Symlinked folders are not entered."""
        folders: dict[str, Mark] = {}
        files = {self._function: _mark(self._function)}
        ahead = [self._folder]
        while ahead and len(folders) < MOST and len(files) < MOST:
            folder = ahead.pop()
            folders[folder] = _mark(folder)
            inside = _entries(folder)
            names = (entry.path for entry in inside if entry.name.endswith(".py"))
            files |= {path: _mark(path) for path in islice(names, MOST)}
            ahead += [entry.path for entry in inside if _is_entered(entry)]
        return folders, files


def own_folder(package: AtomPackage) -> str:
    """The folder of a package's own modules."""
    root = package.import_root or package.folder
    return os.path.join(root, *package.import_name.split(".")) if package.import_name else root  # noqa: PTH118 - text


def _entries(folder: str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return sorted(islice(entries, ENTRIES), key=lambda entry: entry.name)
    except OSError:
        return []


def _is_entered(entry: "os.DirEntry[str]") -> bool:
    if entry.name.startswith(".") or entry.name in PASSED_OVER:
        return False
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _mark(path: str) -> Mark:
    try:
        told = os.stat(path)  # noqa: PTH116 - many of them, quickly
    except (OSError, ValueError):
        return None
    return told.st_mtime_ns, told.st_ctime_ns, told.st_size, told.st_ino, told.st_dev
