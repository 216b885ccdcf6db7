"""kei-fs::read."""

import base64
import codecs
import hashlib
import os
from io import BytesIO
from typing import BinaryIO, Final, NamedTuple

from kei_fs.context import Context, Data
from kei_fs.file import regular
from kei_fs.path import place, telling, worded

MOST: Final = 1 << 20
"""Bytes that come back at once."""
WHOLE: Final = 16 << 20
"""Bytes of a file that is read as a whole, so that its digest and its content are of the same moment."""
SKIPPED: Final = 1 << 30
"""Bytes that are looked through for the line to begin with."""
LONGEST_LETTER: Final = 4


class Piece(NamedTuple):
    """A part of a file."""

    data: bytes
    units: int
    """How many lines or bytes it has."""
    more: bool
    """Whether something stands behind it."""


def run(given: Data, context: Context) -> Data:
    """A part of a file. Raises NotFound, NotReadable, IsFolder, NotRegular, NotText, TooLarge, BadPath, Failed."""
    path = place(context, given["path"])
    with telling(context, path), regular(path) as descriptor, os.fdopen(os.dup(descriptor), "rb") as file:
        whole = file.read(WHOLE + 1)
        if len(whole) <= WHOLE:
            told = {"size": len(whole), "sha256": hashlib.sha256(whole).hexdigest()}
            piece, content = _part(BytesIO(whole), given, context)
        else:
            told = {"size": os.fstat(descriptor).st_size, "sha256": None}
            piece, content = _part(file, given, context)
    offset = int(given.get("offset", 0))
    after = offset + piece.units if piece.more else None
    return {
        **worded("path", path),
        "content": content,
        "encoding": given.get("encoding", "utf-8"),
        **told,
        "offset": offset,
        "next": after,
        "truncated": piece.more,
    }


def _part(file: BinaryIO, given: Data, context: Context) -> tuple[Piece, str]:
    """The part that is asked for, and how it is written in JSON."""
    offset, limit = int(given.get("offset", 0)), int(given.get("limit", MOST))
    if given.get("encoding") == "base64":
        piece = _bytes(file, offset, limit)
        return piece, base64.b64encode(piece.data).decode()
    if given.get("unit") == "bytes":
        return _letters(_bytes(file, offset, max(limit, LONGEST_LETTER)), context)
    return _letters(_lines(file, offset, limit, context), context, whole=True)


def _bytes(file: BinaryIO, offset: int, limit: int) -> Piece:
    file.seek(offset)
    data = file.read(min(limit, MOST))
    return Piece(data, len(data), bool(file.read(1)))


def _lines(file: BinaryIO, offset: int, limit: int, context: Context) -> Piece:
    _skip(file, offset, context)
    lines: list[bytes] = []
    room = MOST
    while len(lines) < limit and (line := file.readline(room + 1)):
        if len(line) > room:
            if not lines:
                raise context.error("TooLarge", f"line {offset} is longer than {MOST} bytes; read it with unit `bytes`")
            return Piece(b"".join(lines), len(lines), more=True)
        lines.append(line)
        room -= len(line)
    return Piece(b"".join(lines), len(lines), bool(file.read(1)))


def _skip(file: BinaryIO, lines: int, context: Context) -> None:
    """Go to a line, or to the end. Raises TooLarge where it stands too far away."""
    file.seek(0)
    while lines and (piece := file.readline(MOST)):
        lines -= piece.endswith(b"\n")
        if file.tell() > SKIPPED:
            raise context.error("TooLarge", f"the line stands behind {SKIPPED} bytes; read it with unit `bytes`")


def _letters(piece: Piece, context: Context, *, whole: bool = False) -> tuple[Piece, str]:
    """The part as text. Counted in bytes it ends before a letter that is cut through. Raises NotText."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(piece.data, final=whole or not piece.more)
    except UnicodeDecodeError as error:
        raise context.error("NotText", f"byte {error.start} of this part is no UTF-8; read it as base64") from None
    if "\0" in text:
        raise context.error("NotText", "it holds NUL, as no text does; read it as base64")
    cut = len(decoder.getstate()[0])
    return (piece._replace(units=piece.units - cut) if cut else piece), text
