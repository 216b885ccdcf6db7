"""Algorithms: by the names of the schemas."""

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING, Final

from kei_hash.context import Context, Data

if TYPE_CHECKING:
    from hashlib import _Hash

NAMES: Final = {
    "sha256": "sha256",
    "sha512": "sha512",
    "sha1": "sha1",
    "md5": "md5",
    "blake2b": "blake2b",
    "sha3-256": "sha3_256",
}


def chosen(given: Data) -> str:
    """The algorithm that is asked for; sha256 unless said."""
    return str(given.get("algorithm", "sha256"))


def started(name: str) -> "_Hash":
    """A digest of nothing yet. The weak ones are for telling files apart, also where a machine forbids them else."""
    return hashlib.new(NAMES[name], usedforsecurity=False)


def data_of(context: Context, text: str, encoding: str) -> bytes:
    """The bytes that a text stands for. Raises NotBase64."""
    try:
        return base64.b64decode(text, validate=True) if encoding == "base64" else text.encode("utf-8")
    except (binascii.Error, ValueError):
        raise context.error("NotBase64", f"the text is not what its encoding, {encoding}, says") from None
