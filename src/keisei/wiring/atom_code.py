"""The code of an atom as one digest: what a kept result depends on beside its input."""

# ruff: noqa: PTH112, PTH113, PTH116, PTH118 - paths are text here, as in the walk

import hashlib
import os
import sys
from typing import Final

from keisei.records.atom_spec import AtomPackage
from keisei.wiring.file_stamp import is_hot, stamp_of
from keisei.workers.source import PASSED_OVER, own_folder

MOST: Final = 5_000
"""Files of a package whose bytes are read; of a larger one the stamps count, which change no less."""
LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a package that are read; of a larger one the stamps count."""
Signature = tuple[tuple[str, str], ...]
"""Every file with its stamp, in order."""


class CodeDigest:
    """Digests by folder or program, computed again when a file has another stamp."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], tuple[Signature, str]] = {}

    def of(self, package: AtomPackage, program: str | None) -> str:
        """sha256 over the sources of a Python package and the interpreter, or over a program. Never raises.

        Reads a bounded number of bytes, however large the package is.
        """
        places = (program or package.folder,) if package.language == "program" else _sources(package)
        found = {path: _stat(path) for place in places for path in _files(place)}
        signature = tuple(sorted((path, "-" if told is None else stamp_of(told)) for path, told in found.items()))
        known = self._known.get(places)
        if known is not None and known[0] == signature:
            return known[1]
        stats = [told for told in found.values() if told is not None]
        is_read = len(found) <= MOST and sum(told.st_size for told in stats) <= LARGEST
        digest = _digest(places[0], signature, is_read=is_read)
        if not any(map(is_hot, stats)):
            self._known[places] = (signature, digest)
        return digest


def _sources(package: AtomPackage) -> tuple[str, ...]:
    """The folder of its modules, and that of its functions where it stands beside."""
    own = own_folder(package)
    return (own,) if package.atoms.startswith(f"{own}/") else (own, package.atoms)


def _files(place: str) -> list[str]:
    if not os.path.isdir(place):
        return [place]
    found: list[str] = []
    for folder, below, names in os.walk(place):
        below[:] = [name for name in below if name[0] != "." and name not in PASSED_OVER]
        found += [os.path.join(folder, name) for name in names if name[0] != "."]
    return found


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _digest(place: str, signature: Signature, *, is_read: bool) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for path, stamp in signature:
        content = _content(path) if is_read else None
        named = os.path.relpath(path, place)
        digest.update(f"{named}\0{'' if content is not None else stamp}\0".encode("utf-8", "surrogateescape"))
        digest.update(content or b"")
    return digest.hexdigest()


def _content(path: str) -> bytes | None:
    """The digest of a regular file; None where there is none to read."""
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - text paths, as above
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return None
