"""kei-fs::move."""

import errno

from kei_fs import placing
from kei_fs.context import Context, Data
from kei_fs.file import FOLDER, opened, rename_new
from kei_fs.path import PLACING, REMOVING, removable, split, telling, worded
from kei_fs.tree import Removing


def run(given: Data, context: Context) -> Data:
    """Move a file, a link or a tree to a path that is free.

    Raises NotFound, NotReadable, Exists, IntoItself, NotRegular, NotFolder, NotWritable, NoSpace, TooLarge, BadPath,
    Protected, Failed.
    """
    removable(context, given["from"])
    with placing.ways(given, context) as (source, target, kind):
        copied = _moved(source, target, context)
    ends = {"from": worded("path", source)["path"], "to": worded("path", target)["path"]}
    return {**ends, "type": kind, "copied": copied}


def _moved(source: str, target: str, context: Context) -> bool:
    """Move it; True where it had to be copied, because the two places are not of one file system."""
    with telling(context, f"{source}` or `{target}", PLACING, denied="NotWritable"):
        try:
            rename_new(source, target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
        else:
            return False
    placing.copy(source, target, context)
    folder, name = split(source)
    with telling(context, source, REMOVING, denied="NotWritable"), opened(folder, FOLDER) as parent:
        Removing(context).remove(name, parent)
    return True
