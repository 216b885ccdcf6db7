"""kei-hash::digest."""

from kei_hash.algorithm import chosen, data_of, started
from kei_hash.context import Context, Data


def run(given: Data, context: Context) -> Data:
    """The digest of a text or of bytes. Raises NotBase64."""
    data, algorithm = data_of(context, given["content"], given.get("encoding", "utf-8")), chosen(given)
    digest = started(algorithm)
    digest.update(data)
    return {"algorithm": algorithm, "digest": digest.hexdigest(), "size": len(data)}
