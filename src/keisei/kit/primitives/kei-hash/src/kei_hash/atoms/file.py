"""kei-hash::file."""

from kei_hash.algorithm import chosen
from kei_hash.context import Context, Data
from kei_hash.file import digest_file, place, telling, worded


def run(given: Data, context: Context) -> Data:
    """A digest of a file. Raises NotFound, NotReadable, IsFolder, NotFolder, NotRegular, BadPath, Failed."""
    path, algorithm = place(context, given["path"]), chosen(given)
    with telling(context, path):
        digest, size = digest_file(path, algorithm)
    return {**worded(path), "algorithm": algorithm, "digest": digest.hexdigest(), "size": size}
