"""Packed bodies: gzip and deflate, unpacked in small pieces, so that a bomb is never held."""

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

import httpcore2
import httpx2

PIECE: Final = 65_536
"""Bytes that are unpacked at once."""
GZIP: Final = 16 + zlib.MAX_WBITS
WINDOWS: Final = {"gzip": GZIP, "x-gzip": GZIP, "deflate": zlib.MAX_WBITS}
MAGIC: Final = b"\x1f\x8b"
ZLIB: Final = 8
"""The low half of the first byte of deflate with its header; some servers leave the header out."""


def is_readable(response: httpx2.Response) -> bool:
    """Whether a body is packed in a way that was asked for, or not at all."""
    return _kind(response) in {"", "identity", *WINDOWS}


def content(response: httpx2.Response) -> Iterator[bytes]:
    """A body, unpacked; as it came where it is packed in a way that nobody asked for.

    Raises RemoteProtocolError where it is not packed as it says, or ends in the middle.
    """
    window = WINDOWS.get(_kind(response))
    return response.iter_raw() if window is None else _unpacked(response.iter_raw(), window)


def _kind(response: httpx2.Response) -> str:
    return str(response.headers.get("content-encoding", "")).strip().lower()


def _unpacked(chunks: Iterable[bytes], window: int) -> Iterator[bytes]:
    unpacking, held = None, b""
    try:
        for chunk in chunks:
            rest, held = held + chunk, b""
            while rest:
                if unpacking is None or (unpacking.eof and window == GZIP and rest.startswith(MAGIC)):
                    unpacking = zlib.decompressobj(window if window == GZIP or rest[0] & 15 == ZLIB else -window)
                elif unpacking.eof:
                    held = rest if rest == MAGIC[:1] else b""  # else what stands behind it is nothing
                    break
                yield unpacking.decompress(rest, PIECE)
                rest = unpacking.unconsumed_tail or unpacking.unused_data
        while unpacking is not None and not unpacking.eof and (piece := unpacking.decompress(b"", PIECE)):
            yield piece
    except zlib.error as error:
        message = f"it is not packed as it says: {error}"
        raise httpcore2.RemoteProtocolError(message) from error
    if unpacking is not None and not unpacking.eof:
        message = "it is packed, and ends in the middle"
        raise httpcore2.RemoteProtocolError(message)
