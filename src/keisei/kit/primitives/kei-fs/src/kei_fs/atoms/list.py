"""kei-fs::list."""

import os
from collections.abc import Iterator
from heapq import nsmallest

from kei_fs.context import Context, Data
from kei_fs.file import FOLDER, opened
from kei_fs.path import joined, place, telling, type_of, worded


def run(given: Data, context: Context) -> Data:
    """The entries of one folder, by name. Raises NotFound, NotFolder, NotReadable, BadPath, Failed."""
    path, limit = place(context, given["path"]), int(given.get("limit", 1000))
    with telling(context, path), opened(path, FOLDER) as folder:
        with os.scandir(folder) as entries:  # a folder may have more names than there is memory
            names = nsmallest(limit + 1, (entry.name for entry in entries), key=os.fsencode)
        shown = list(_shown(names[:limit], folder, path))
    return {**worded("path", path), "entries": shown, "truncated": len(names) > limit}


def _shown(names: list[str], folder: int, path: str) -> Iterator[Data]:
    for name in names:
        try:
            told = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:  # gone since it was listed
            continue
        own = {**worded("name", name), **worded("path", joined(path, name))}
        yield {**own, "type": type_of(told.st_mode), "size": told.st_size}
