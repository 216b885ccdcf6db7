"""kei-fs::watch."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kei_fs.context import Context, Data
from kei_fs.path import joined, place, telling, worded
from kei_fs.watching import CannotWatch, Told, TooManyFolders, Watching

MOST_AT_ONCE: Final = 1000
"""Changes of one moment that are told one by one."""
BEFORE_S: Final = 1.0
"""How long before the end of its time it ends by itself."""


def run(given: Data, context: Context) -> Iterator[Data]:
    """Every change below a folder, until the time is up, `count` are told or the folder is gone.

    Raises NotFound, NotFolder, NotReadable, TooLarge, NotWatchable, BadPath, Failed.
    """
    path = place(context, given["path"])
    until = time.monotonic() + min(float(given.get("for_s", 60)), context.remaining_s() - BEFORE_S)
    left = int(given.get("count", 0)) or -1
    with telling(context, path):
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        root = os.path.realpath(path)
        try:
            with Watching(root, recursive=given.get("recursive", True)) as watching:
                while left and time.monotonic() < until and Path(root).is_dir():
                    for item in _items(watching.take(), root, path):
                        yield item
                        left -= 1
                        if not left:
                            return
        except TooManyFolders as error:
            raise context.error("TooLarge", f"`{path}` {error}") from None
        except CannotWatch as error:
            raise context.error("NotWatchable", f"`{path}` cannot be watched: {error}") from None


def _items(changes: Told, root: str, path: str) -> Iterator[Data]:
    """The changes of one moment by path, as the caller names it; of too many, how many are left out."""
    told = sorted(changes)
    for name, change in told[:MOST_AT_ONCE]:
        inside = name[len(root) :].strip("/")
        yield {**worded("path", joined(path, inside) if inside else path), "change": change}
    if len(told) > MOST_AT_ONCE:
        yield {"path": path, "change": "more", "left_out": len(told) - MOST_AT_ONCE}
