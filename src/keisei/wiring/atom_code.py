"""The code of an atom as one digest: what a kept result depends on beside its input."""

# ruff: noqa: PTH112, PTH113, PTH116, PTH118 - paths are text here, as in the walk

import hashlib
import os
import sys

from keisei.records.atom_spec import AtomPackage
from keisei.wiring.file_stamp import is_hot, stamp_of

MOST = 5_000
"""Files of a package whose bytes are read; of a larger one the stamps count, which change no less."""
Signature = tuple[tuple[str, str], ...]


class CodeDigest:
    """Digests by folder or program, computed again when a file has another stamp."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Signature, str]] = {}

    def of(self, package: AtomPackage, program: str | None) -> str:
        """sha256 over the sources of a Python package and the interpreter, or over a program. Never raises."""
        place = program or package.folder if package.language == "program" else _sources(package)
        signature, hot = _signature(place)
        known = self._known.get(place)
        if known is not None and known[0] == signature:
            return known[1]
        digest = _digest(place, signature)
        if not hot:
            self._known[place] = (signature, digest)
        return digest


def _sources(package: AtomPackage) -> str:
    if package.import_root is None or package.import_name is None:
        return package.folder
    return os.path.join(package.import_root, *package.import_name.split("."))


def _signature(place: str) -> tuple[Signature, bool]:
    """Every file with its stamp, in order, and whether one of them changed a moment ago."""
    stamps: dict[str, str] = {}
    hot = False
    for path in _files(place):
        try:
            found = os.stat(path)
        except OSError:
            stamps[path] = "-"
            continue
        stamps[path], hot = stamp_of(found), hot or is_hot(found)
    return tuple(sorted(stamps.items())), hot


def _files(place: str) -> list[str]:
    if not os.path.isdir(place):
        return [place]
    found: list[str] = []
    for folder, below, names in os.walk(place):
        below[:] = [name for name in below if name[0] != "." and name != "__pycache__"]
        found += [os.path.join(folder, name) for name in names if name[0] != "."]
    return found


def _digest(place: str, signature: Signature) -> str:
    digest = hashlib.sha256(sys.version.encode())
    for path, stamp in signature:
        content = _content(path) if len(signature) <= MOST else None
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
