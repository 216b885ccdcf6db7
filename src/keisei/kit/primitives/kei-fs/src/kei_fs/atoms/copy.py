"""kei-fs::copy."""

from kei_fs import placing
from kei_fs.context import Context, Data
from kei_fs.path import worded


def run(given: Data, context: Context) -> Data:
    """Copy a file, a link or a tree to a path that is free.

    Raises NotFound, NotReadable, Exists, IntoItself, NotRegular, NotFolder, NotWritable, NoSpace, TooLarge, BadPath,
    Protected, Failed.
    """
    with placing.ways(given, context) as (source, target, kind):
        copied = placing.copy(source, target, context)
    return {
        "from": worded("path", source)["path"],
        "to": worded("path", target)["path"],
        "type": kind,
        "entries": copied.entries,
        "bytes": copied.bytes,
    }
