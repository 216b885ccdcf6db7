"""One walk over packages: known pages are listed as they are known, the others are read."""

# ruff: noqa: PLC0415 - what reads files is imported when a file has to be read

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from keisei.library.package_place import METADATA, Place, is_name
from keisei.wiring.file_stamp import present_stamp, settled_stamp, stamp_of

if TYPE_CHECKING:
    from keisei.library.package import Package
    from keisei.records.error import AuthorError
    from keisei.records.problem import Problem

Known = dict[str, tuple[str, dict[str, Any]]]
"""Stamp and fields by path."""


class Listed(NamedTuple):
    """One atom of a list."""

    place: Place
    path: str
    body: dict[str, Any]
    """The fields of an AtomRow, without path and layer."""


class Pass:
    """One walk."""

    def __init__(self, known: Known) -> None:
        self.known = known
        self.read: Known = {}
        self.found: list[Listed] = []
        self.problems: list[Problem] = []

    def visit(self, place: Place) -> None:
        """List the pages of one package."""
        try:
            with os.scandir(place.atoms) as entries:
                pages = [each for each in entries if each.name.endswith(".md") and each.name[0] != "."]
        except OSError as error:
            self._skip(place.atoms, "unreadable", f"cannot be read: {(error.strerror or str(error)).lower()}")
            return
        package: Package | None = None
        if not self._is_usable(place):
            package = self._package(place)
            if package is None:
                return
        for page in pages:
            if self._is_listed(place, page):
                continue
            package = package or self._package(place)
            if package is None:
                return
            self._read(place, page, package)

    def _is_listed(self, place: Place, page: os.DirEntry[str]) -> bool:
        """List a page that is known. One that is a symlink is looked at anew each time."""
        known = self.known.get(page.path)
        if known is None or known[1].get("atom") != f"{place.name}::{page.name[:-3]}":
            return False
        try:
            found = page.stat(follow_symlinks=False)
        except OSError:
            return False
        if known[0] != stamp_of(found):
            return False
        self.found.append(Listed(place, page.path, known[1]))
        return True

    def _read(self, place: Place, page: os.DirEntry[str], package: "Package") -> None:
        if not is_name(page.name[:-3]):
            self._skip(page.path, "bad-name", f"a verb cannot be called `{page.name[:-3]}`")
            return
        import msgspec

        from keisei.library.atom_spec import read_row
        from keisei.records.error import AuthorError

        found = settled_stamp(page.path)
        try:
            body = msgspec.to_builtins(read_row(package, page.name[:-3], place.layer))
        except AuthorError as error:
            self._warn(error)
            return
        del body["path"], body["layer"]
        self.found.append(Listed(place, page.path, body))
        if found is not None:
            self.read[page.path] = (found, body)

    def _is_usable(self, place: Place) -> bool:
        """Whether the metadata were read before, as they are now, and could be used."""
        known = self.known.get(f"{place.folder}/{METADATA[0]}")
        if known is None or not is_name(place.name):
            return False
        return known[0] == " ".join(present_stamp(f"{place.folder}/{name}") for name in METADATA)

    def _package(self, place: Place) -> "Package | None":
        from keisei.library.package import read_place
        from keisei.records.error import AuthorError

        stamps = [settled_stamp(f"{place.folder}/{name}") for name in METADATA]
        package = read_place(place)
        if package.metadata is None:
            self._warn(AuthorError(package.problems))
            return None
        if None not in stamps:
            self.read[f"{place.folder}/{METADATA[0]}"] = (" ".join(map(str, stamps)), {})
        return package

    def _warn(self, error: "AuthorError") -> None:
        from msgspec.structs import replace

        first, more = error.problems[0], len(error.problems) - 1
        message = f"{first.message} (and {more} more)" if more else first.message
        self.problems.append(replace(first, message=message, severity="warning"))

    def _skip(self, path: str, code: str, message: str) -> None:
        from keisei.library.source import shown_path
        from keisei.records.problem import Problem

        self.problems.append(Problem(code=code, path=shown_path(Path(path)), message=message, severity="warning"))
