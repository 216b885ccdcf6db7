"""kei-fs::make-folder."""

from kei_fs.context import Context, Data
from kei_fs.folder import make_folder
from kei_fs.path import WRITING, place, telling, worded


def run(given: Data, context: Context) -> Data:
    """Make a folder and those above it that are missing; one that is there is no error.

    Raises NotFound, NotFolder, NotWritable, NoSpace, BadPath, Failed.
    """
    path = place(context, given["path"])
    with telling(context, path, WRITING, denied="NotWritable"):
        return {**worded("path", path), "created": make_folder(path)}
