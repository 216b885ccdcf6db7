"""Stamps of files: what changes when a file does, so that it is read once and not again."""

import os
import stat
import time

HOT_NS = 50_000_000
"""A file changed this short before it was read may change again under the same stamp, so it is not remembered."""


def stamp_of(found: os.stat_result) -> str:
    """What changes when a file does."""
    return f"{found.st_mtime_ns}.{found.st_ctime_ns}.{found.st_size}.{found.st_ino}"


def is_hot(found: os.stat_result) -> bool:
    """Whether a file changed a moment ago, or in the future."""
    return max(found.st_mtime_ns, found.st_ctime_ns) > time.time_ns() - HOT_NS


def settled_stamp(path: str) -> str | None:
    """The stamp of a regular file that did not change a moment ago; `-` where there is none, None otherwise."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return "-"
    except OSError:
        return None
    return stamp_of(found) if stat.S_ISREG(found.st_mode) and not is_hot(found) else None


def present_stamp(path: str) -> str:
    """The stamp of whatever stands there; `-` where nothing does."""
    try:
        return stamp_of(os.lstat(path))
    except OSError:
        return "-"
