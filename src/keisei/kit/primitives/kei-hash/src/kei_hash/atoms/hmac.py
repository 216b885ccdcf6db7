"""kei-hash::hmac."""

import hmac

from kei_hash.algorithm import NAMES, chosen, data_of
from kei_hash.context import Context, Data


def run(given: Data, context: Context) -> Data:
    """The keyed digest of a text or of bytes. Raises NotBase64."""
    data = data_of(context, given["content"], given.get("encoding", "utf-8"))
    key = data_of(context, given["key"], given.get("key_encoding", "utf-8"))
    algorithm = chosen(given)
    return {"algorithm": algorithm, "digest": hmac.digest(key, data, NAMES[algorithm]).hex(), "size": len(data)}
