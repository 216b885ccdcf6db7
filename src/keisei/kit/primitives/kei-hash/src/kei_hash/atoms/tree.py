"""kei-hash::tree."""

from kei_hash.algorithm import chosen
from kei_hash.context import Context, Data
from kei_hash.file import opened, place, telling, worded
from kei_hash.tree import FOLDER, Tree


def run(given: Data, context: Context) -> Data:
    """One digest of everything below a folder.

    Raises NotFound, NotReadable, NotFolder, IsFolder, NotRegular, TooLarge, BadPath, Failed.
    """
    path, algorithm = place(context, given["path"]), chosen(given)
    tree = Tree(context, algorithm, frozenset(given.get("exclude", ())))
    with telling(context, path), opened(path, FOLDER) as folder:
        digest = tree.folder(folder)
    counts = {name: tree.counts[name] for name in ("files", "folders", "links", "others", "bytes")}
    return {**worded(path), "algorithm": algorithm, "digest": digest.hexdigest(), **counts}
