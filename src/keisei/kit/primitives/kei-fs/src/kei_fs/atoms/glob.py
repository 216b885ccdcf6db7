"""kei-fs::glob."""

import os
from collections.abc import Iterator
from itertools import islice
from typing import Final

from kei_fs.context import Context, Data
from kei_fs.file import FOLDER, opened
from kei_fs.path import joined, place, telling, type_of, worded
from kei_fs.pattern import Pattern
from kei_fs.tree import DEEPEST

MOST_SEEN: Final = 1_000_000
"""Entries that are looked at in one call."""


def run(given: Data, context: Context) -> Data:
    """The paths below a folder that match. Raises BadPattern, NotFound, NotFolder, NotReadable, BadPath, Failed."""
    path, limit = place(context, given["path"]), int(given.get("limit", 1000))
    try:
        pattern = Pattern(given["pattern"], hidden=given.get("hidden", False))
    except ValueError as error:
        raise context.error("BadPattern", str(error)) from None
    search, prefix = Search(pattern), joined(path, "")
    with telling(context, path), opened(path, FOLDER) as folder:
        found = list(islice(search.below(folder, prefix, pattern.start), limit + 1))
    return {
        "matches": found[:limit],
        "truncated": len(found) > limit or search.is_cut,
        "unreadable": search.unreadable,
    }


class Search:
    """One walk along a pattern. No folder is entered in which nothing can match, and none through a link."""

    def __init__(self, pattern: Pattern) -> None:
        """Nothing is looked at yet."""
        self.unreadable = 0
        self.is_cut = False
        self._pattern, self._seen = pattern, 0

    def below(self, folder: int, prefix: str, states: frozenset[int], depth: int = 1) -> Iterator[Data]:
        """What matches in an open folder, by name, each folder's own before the next name. Raises OSError."""
        for name, mode in self._entries(folder):
            after = self._pattern.step(states, name)
            is_folder = mode == "folder"
            if self._pattern.is_whole(after) and (is_folder or not self._pattern.only_folders):
                yield {**worded("path", prefix + name), "type": mode}
            if is_folder and self._pattern.has_more(after):
                yield from self._inside(folder, name, f"{prefix}{name}/", after, depth)

    def _inside(self, folder: int, name: str, prefix: str, states: frozenset[int], depth: int) -> Iterator[Data]:
        if depth >= DEEPEST:
            self.is_cut = True
            return
        try:
            with opened(name, FOLDER | os.O_NOFOLLOW, dir_fd=folder) as inner:
                yield from self.below(inner, prefix, states, depth + 1)
        except FileNotFoundError:  # gone since it was listed
            return
        except OSError:
            self.unreadable += 1

    def _entries(self, folder: int) -> list[tuple[str, str]]:
        found = []
        with os.scandir(folder) as entries:
            for entry in entries:
                self._seen += 1
                if self._seen > MOST_SEEN:
                    self.is_cut = True
                    break
                found.append((entry.name, _type(entry)))
        return sorted(found, key=lambda each: os.fsencode(each[0]))


def _type(entry: "os.DirEntry[str]") -> str:
    """What it is, without asking the disk again where the folder says it."""
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    if entry.is_file(follow_symlinks=False):
        return "file"
    try:
        return type_of(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return "device"
