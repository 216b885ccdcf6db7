"""kei-fs::remove."""

import os
import stat

from kei_fs.context import Context, Data
from kei_fs.file import FOLDER, opened
from kei_fs.path import REMOVING, removable, split, telling, worded
from kei_fs.tree import Removing


def run(given: Data, context: Context) -> Data:
    """Remove a file, a link or a folder; what is not there is removed already.

    Raises Protected, NotEmpty, NotFolder, NotWritable, TooLarge, BadPath, Failed.
    """
    path = removable(context, given["path"])
    folder, name = split(path)
    removing = Removing(context)
    with telling(context, path, REMOVING, denied="NotWritable"):
        try:
            with opened(folder, FOLDER) as parent:
                if given.get("recursive", False) or not _is_folder(name, parent):
                    removing.remove(name, parent)
                else:
                    os.rmdir(name, dir_fd=parent)
                    removing.entries = 1
        except FileNotFoundError:
            pass
    return {**worded("path", path), "removed": removing.entries}


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
