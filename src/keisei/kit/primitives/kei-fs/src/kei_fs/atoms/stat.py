"""kei-fs::stat."""

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

from kei_fs.context import Context, Data
from kei_fs.path import place, telling, type_of, worded


def run(given: Data, context: Context) -> Data:
    """What stands at a path; a link is told of itself. Raises NotFound, NotFolder, NotReadable, BadPath, Failed."""
    path = place(context, given["path"])
    with telling(context, path):
        told = os.lstat(path)
        link = _link(path) if stat.S_ISLNK(told.st_mode) else {}
    return {
        **worded("path", path),
        "type": type_of(told.st_mode),
        "size": told.st_size,
        "mode": f"{stat.S_IMODE(told.st_mode):04o}",
        "modified_at": _moment(told.st_mtime_ns),
        **link,
    }


def _link(path: str) -> Data:
    """What a link says, and what stands where it leads: null where that is nothing, or cannot be reached."""
    try:
        leads_to = type_of(Path(path).stat().st_mode)
    except OSError:
        leads_to = None
    return {"target": worded("target", str(Path(path).readlink()))["target"], "leads_to": leads_to}


def _moment(nanoseconds: int) -> str | None:
    """A time as text; null for one that no calendar holds."""
    try:
        moment = datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds // 1_000_000 % 1000:03d}Z"
