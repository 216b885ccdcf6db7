"""The library from afar: whether an authored file is another than before, found without reading one."""

import os
from collections.abc import Iterator
from itertools import islice
from typing import Final

from keisei.console.premises import Premises
from keisei.library.package_place import METADATA, ground_of
from keisei.library.shelf import FOLDERS, Layer
from keisei.records.error import KeiseiError
from keisei.wiring import layers
from keisei.wiring.file_stamp import present_stamp

DEPTH: Final = 3
"""Folders below the folder of a kind: a capability stands in its category, with files in folders of its own."""
MOST: Final = 50_000
"""Files that are looked at; what stands behind them changes unseen."""
PASSING: Final = "__pycache__"


def library_mark(premises: Premises) -> int:
    """Another number, in this process, where an authored file of project, user or kit root is another.

    The kit and what is installed are taken for unchanging. Never raises: what cannot be looked at counts as nothing.
    """
    try:
        settings = premises.settings
        found = layers(settings, kit_root=premises.kit_root or settings.kit_root, start=premises.start)
    except (KeiseiError, OSError):
        return 0
    stamps = (stamp for layer in found if layer.name != "kit" for stamp in _layer(layer))
    mark = 0
    for stamp in islice(stamps, MOST):
        mark ^= hash(stamp)  # folders are listed in any order
    return mark


def _layer(layer: Layer) -> Iterator[tuple[object, ...]]:
    yield from _folder(str(layer.folder), 0)
    for kind in FOLDERS:
        if kind != "package":
            yield from _folder(str(layer.place(kind)), DEPTH)
    for place in ground_of(layer).places():
        yield from ((place.folder, name, present_stamp(f"{place.folder}/{name}")) for name in METADATA)
        yield from _folder(place.atoms, 1)


def _folder(folder: str, depth: int) -> Iterator[tuple[object, ...]]:
    """What tells each file in a folder from what it was; and in those below, so deep."""
    try:
        with os.scandir(folder) as found:
            for each in found:
                if each.name[0] == "." or each.name == PASSING:
                    continue
                if not each.is_dir(follow_symlinks=False):
                    told = each.stat(follow_symlinks=False)
                    yield each.path, told.st_mtime_ns, told.st_ctime_ns, told.st_size, told.st_ino
                elif depth:
                    yield from _folder(each.path, depth - 1)
    except OSError:
        return
