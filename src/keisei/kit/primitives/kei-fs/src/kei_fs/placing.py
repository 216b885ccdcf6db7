"""Placing: a file, a link or a tree put where nothing stands yet, whole or not at all."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kei_fs.context import Context, Data
from kei_fs.file import FOLDER, opened, rename_new
from kei_fs.folder import make_folder, temporary
from kei_fs.path import PLACING, is_below, named, place, real, split, telling, type_of
from kei_fs.tree import Copying, Removing


@contextmanager
def ways(given: Data, context: Context) -> Iterator[tuple[str, str, str]]:
    """Where from, where to, and what it is; what can be refused beforehand is, and the rest told of the target."""
    source, target = place(context, given["from"]), named(context, given["to"])
    with telling(context, source):
        mode = os.lstat(source).st_mode
        if stat.S_ISDIR(mode) and is_below(real(target), os.path.realpath(source)):
            raise context.error("IntoItself", f"`{target}` stands in `{source}`")
    with telling(context, target, PLACING, denied="NotWritable"):
        if os.path.lexists(target):
            raise context.error("Exists", f"`{target}` exists already; remove it first")
        if given.get("parents", False):
            make_folder(split(target)[0])
        yield source, target, type_of(mode)


def copy(source: str, target: str, context: Context) -> Copying:
    """Copy to a name beside the target, then rename it to the target. Raises OSError and declared errors."""
    folder, name = split(target)
    beside, copying = temporary(), Copying(context, target)
    with opened(folder, FOLDER) as parent:
        try:
            with telling(context, source):
                copying.copy(source, beside, None, parent)
            rename_new(beside, name, source_fd=parent, target_fd=parent)
        except BaseException:
            with suppress(OSError):
                Removing(context).remove(beside, parent)
            raise
    return copying
