"""kei-http::download."""

import hashlib
from typing import BinaryIO

from kei_http.body import bounded, expect_status
from kei_http.context import Context, Data
from kei_http.exchange import Answer, exchange, read_order
from kei_http.fault import read_fault
from kei_http.packing import content
from kei_http.target import check, kept, written

DEFAULT_BYTES = 104_857_600
FETCHED = [200]
SHOWN = 200


def run(given: Data, context: Context) -> Data:
    """Fetch a file. One that is there and has the digest is not fetched again.

    Raises BadAddress, BadHeader, PrivateAddress, Unreachable, TlsFailed, TimedOut, BadAnswer, BadRedirect,
    UnexpectedStatus, TooLarge, WrongDigest, BadPath, NotFound, IsFolder, Exists, NotWritable, NoSpace.
    """
    most = int(given.get("max_bytes", DEFAULT_BYTES))
    order = read_order(context, given, {"accept-encoding": "identity"}, most)
    to, replace, wanted = given["to"], given.get("replace", False), given.get("sha256", "").lower()
    found = {"url": str(order.url), "to": to, "content_type": None, "content_encoding": None, "redirects": []}
    size = kept(to, wanted, most) if wanted else None
    if size is not None:
        return found | {"size": size, "sha256": wanted, "fetched": False}
    check(context, to, replace=replace)
    with exchange(context, order, given, read_fault) as answer:
        _expect(context, answer, most)
        with written(context, to, replace=replace) as file:
            size, digest = _copied(context, answer, file, most)
            if wanted not in {"", digest}:
                raise context.error("WrongDigest", f"what came has the SHA-256 {digest}")
    return found | _told(answer) | {"size": size, "sha256": digest, "fetched": True}


def _expect(context: Context, answer: Answer, most: int) -> None:
    """Raise UnexpectedStatus where there is no file, TooLarge where it is said to have too many bytes."""
    response = answer.response
    if response.status_code not in FETCHED:
        said = bounded(content(response), SHOWN)[0].decode("utf-8", "replace")
        expect_status(context, response.status_code, FETCHED, said)
    length = response.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise context.error("TooLarge", f"the file has {length} bytes; {most} are fetched at most")


def _copied(context: Context, answer: Answer, file: BinaryIO, most: int) -> tuple[int, str]:
    """Write the body as it comes; how many bytes, and their digest. Raises TooLarge."""
    size, digest = 0, hashlib.sha256()
    for chunk in answer.response.iter_raw():
        size += len(chunk)
        if size > most:
            raise context.error("TooLarge", f"the file has more than {most} bytes")
        digest.update(chunk)
        file.write(chunk)
    return size, digest.hexdigest()


def _told(answer: Answer) -> Data:
    headers = answer.response.headers
    return {
        "url": str(answer.url),
        "content_type": headers.get("content-type"),
        "content_encoding": headers.get("content-encoding"),
        "redirects": answer.redirects,
    }
