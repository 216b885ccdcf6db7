"""Functions of constants, computed with limits so that no input costs much."""

import base64
import binascii
import bz2
import codecs
import lzma
import operator
import posixpath
import shlex
import zlib
from collections.abc import Callable

from keisei.rules.shell.code.python.fold import WIDEST, safely
from keisei.rules.shell.code.python.value import LONG, Blank, known, text
from keisei.rules.shell.code.result import MOST, names


def _inflate(data: bytes, bits: int = zlib.MAX_WBITS) -> bytes:
    return zlib.decompressobj(bits).decompress(data, MOST)


def _decoded(data: str | bytes, name: str = "utf-8") -> object:
    form = name.lower().replace("-", "").replace("_", "")
    if form in {"rot13", "rot_13"}:
        return codecs.decode(text(data), "rot13")
    raw = data.encode() if isinstance(data, str) else data
    if form in {"hex", "hexcodec"}:
        return bytes.fromhex(raw.decode())
    if form in {"base64", "base64codec"}:
        return base64.b64decode(raw)
    return raw.decode(name)


_FUNCTIONS: dict[str, Callable[..., object]] = {
    "builtins.chr": chr,
    "builtins.ord": ord,
    "builtins.hex": hex,
    "builtins.oct": oct,
    "builtins.bin": bin,
    "builtins.int": int,
    "builtins.float": float,
    "builtins.abs": abs,
    "builtins.len": len,
    "builtins.sum": sum,
    "builtins.repr": repr,
    "builtins.ascii": ascii,
    "builtins.bytes": bytes,
    "builtins.bytearray": bytes,
    "builtins.slice": slice,
    "builtins.bytes.fromhex": bytes.fromhex,
    "builtins.bytearray.fromhex": bytes.fromhex,
    "base64.b64decode": base64.b64decode,
    "base64.standard_b64decode": base64.b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
    "base64.decodebytes": base64.decodebytes,
    "base64.b32decode": base64.b32decode,
    "base64.b16decode": base64.b16decode,
    "base64.a85decode": base64.a85decode,
    "base64.b85decode": base64.b85decode,
    "binascii.unhexlify": binascii.unhexlify,
    "binascii.a2b_hex": binascii.unhexlify,
    "binascii.a2b_base64": binascii.a2b_base64,
    "codecs.decode": _decoded,
    "codecs.encode": _decoded,
    "zlib.decompress": _inflate,
    "gzip.decompress": lambda data: _inflate(data, 31),
    "bz2.decompress": lambda data: bz2.BZ2Decompressor().decompress(data, MOST),
    "lzma.decompress": lambda data: lzma.LZMADecompressor().decompress(data, MOST),
    "shlex.split": shlex.split,
    "shlex.quote": shlex.quote,
    "os.path.dirname": posixpath.dirname,
    "os.path.basename": posixpath.basename,
    "os.path.normpath": posixpath.normpath,
    "operator.add": operator.add,
    "operator.concat": operator.concat,
}
_WORDY = 4096
"""Longer text is not taken apart as a shell would."""
_NUMBERS = frozenset(
    names(
        "builtins.len builtins.int builtins.float builtins.ord builtins.sum builtins.abs builtins.round builtins.hash "
        "builtins.id builtins.hex builtins.bool shlex.quote os.getpid os.cpu_count time.time"
    )
)


def function(name: str, arguments: list[object], named: dict[str, object]) -> object:
    """What a known function of constants gives; a number where only that is known."""
    if name in _FUNCTIONS and known(arguments) and known(named) and not _vast(name, arguments):
        made = safely(_FUNCTIONS[name], *arguments, **named)
        if made is not Blank.ANY:
            return made
    if name == "shlex.split" and arguments and isinstance(arguments[0], str):
        return list(arguments[0].split()[:LONG])
    return Blank.NUMBER if name in _NUMBERS else Blank.ANY


def _vast(name: str, arguments: list[object]) -> bool:
    """Whether a function would make something huge of small arguments: `bytes(10**9)`, `int` of a long text."""
    first = arguments[0] if arguments else None
    if name in {"builtins.bytes", "builtins.bytearray"}:
        return isinstance(first, int) and first > MOST
    if name.startswith("shlex."):
        return isinstance(first, str) and len(first) > _WORDY
    return isinstance(first, str) and len(first) > WIDEST
