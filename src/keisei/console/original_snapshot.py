"""Snapshots of the artifact folder, listed, read and compared as the original does it."""

import os
import stat
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from keisei.console.original_file import beginning, reached
from keisei.records.error import KeiseiError, OperatorError
from keisei.wiring.compat_snapshot import FOLDER, compared, count_of, read_snapshot

MOST: Final = 100
"""Snapshots that are listed: the newest by their names, which begin with the time."""
LOOKED_AT: Final = 20_000
"""Names that are looked at for it."""
LARGEST: Final = 8 * 1024 * 1024
"""Bytes of a snapshot that is read."""
AT_ONCE: Final = 64 * 1024 * 1024
"""Bytes of snapshots that are read for one list."""


def listed(root: Path) -> list[dict[str, Any]]:
    """The snapshots, newest first. What is none is left out. Raises WorldFault."""
    found, read = [], 0
    for name in _names(root):
        try:
            data = _data(root, name)
            snapshot = _decoded(data, name)
        except KeiseiError:
            continue
        found.append(
            {
                "name": name,
                "path": f"{FOLDER}/{name}",
                "captured_at": snapshot["captured_at"],
                "runtime_name": snapshot.get("runtime_name"),
                "queued_tasks": len(snapshot["queued_tasks"]),
                "completed_tasks": count_of(snapshot, "completed"),
            }
        )
        read += len(data)
        if read > AT_ONCE:
            break
    return sorted(found, key=lambda each: str(each["captured_at"]), reverse=True)


def snapshot(root: Path, path: str) -> dict[str, Any]:
    """One snapshot, by what the list calls its path. Raises OperatorError, WorldFault."""
    if not path:
        raise OperatorError("snapshot path required")
    name = _name(root, path)
    return _decoded(_data(root, name), name)


def report(root: Path, before: str, after: str) -> dict[str, Any]:
    """What happened between two snapshots. Raises OperatorError, WorldFault."""
    if not before or not after:
        raise OperatorError("before and after snapshot paths are required")
    return compared(snapshot(root, before), snapshot(root, after))


def latest(root: Path) -> dict[str, Any] | None:
    """What happened between the two newest; None where there are fewer. Raises WorldFault."""
    newest = [each["path"] for each in listed(root)[:2]]
    return report(root, newest[1], newest[0]) if len(newest) == 2 else None  # noqa: PLR2004 - two


def _names(root: Path) -> list[str]:
    if not (root / FOLDER).is_dir():
        return []
    try:
        with reached(root, (FOLDER,)) as folder:
            if not stat.S_ISDIR(os.fstat(folder).st_mode):
                return []
            with os.scandir(folder) as inside:
                names = [each.name for each in islice(inside, LOOKED_AT)]
    except OperatorError:  # a link stands there
        return []
    return sorted((each for each in names if each.endswith(".json") and each.isprintable()), reverse=True)[:MOST]


def _name(root: Path, path: str) -> str:
    """The name of a file right in the folder; its whole path, as the original says it, is understood too."""
    name = path.removeprefix(f"{root / FOLDER}/").removeprefix(f"{FOLDER}/")
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise OperatorError("invalid snapshot path")
    return name


def _data(root: Path, name: str) -> bytes:
    with reached(root, (FOLDER, name)) as file:
        data, _about = beginning(file, LARGEST + 1)
    if len(data) > LARGEST:
        raise OperatorError(f"snapshot `{name}` is too large to be read here")
    return data


def _decoded(data: bytes, name: str) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise OperatorError(f"`{name}` is no snapshot: it is not JSON", "`snapshot` writes them") from None
    return read_snapshot(found, name)
