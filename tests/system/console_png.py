"""Small pictures: a PNG of at most 256 colours, which is enough for pages."""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

MARK = b"\x89PNG\r\n\x1a\n"
MOST = 256
ALIKE = 48
"""Colours that are no farther apart, squared, look alike."""
Colour = tuple[int, int, int]


def with_palette(data: bytes) -> bytes:
    """The picture in at most 256 of its colours, each pixel in the nearest. Reads 8-bit RGB and RGBA."""
    width, height, pixels = _pixels(data)
    palette = _palette(Counter(pixels))
    index = {colour: _nearest(colour, palette)[1] for colour in set(pixels)}
    rows = (bytes(map(index.__getitem__, pixels[at : at + width])) for at in range(0, width * height, width))
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    chunks = ((b"IHDR", head), (b"PLTE", bytes(part for colour in palette for part in colour)), (b"IDAT", body))
    return MARK + b"".join(_chunk(*each) for each in (*chunks, (b"IEND", b"")))


def _palette(counted: Counter[Colour]) -> list[Colour]:
    """The commonest colours; of those that look alike only one, so that rare ones have a place, too."""
    found: list[Colour] = []
    for colour, _ in counted.most_common():
        if len(found) < MOST and (not found or _nearest(colour, found)[0] > ALIKE):
            found.append(colour)
    return found


def _nearest(colour: Colour, palette: list[Colour]) -> tuple[int, int]:
    """How far the nearest is, and its place."""
    red, green, blue = colour
    return min(((red - r) ** 2 + (green - g) ** 2 + (blue - b) ** 2, place) for place, (r, g, b) in enumerate(palette))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(MARK)
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at + 8 : at + 8 + length]
        at += 12 + length


def _pixels(data: bytes) -> tuple[int, int, list[Colour]]:
    chunks = list(_chunks(data))
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", dict(chunks)[b"IHDR"])
    assert (depth, interlaced) == (8, 0), "a PNG as browsers make it"
    size = {2: 3, 6: 4}[kind]
    packed = zlib.decompress(b"".join(part for name, part in chunks if name == b"IDAT"))
    rows, before, step = [], bytes(width * size), width * size + 1
    for at in range(0, height * step, step):
        before = _row(packed[at], packed[at + 1 : at + step], before, size)
        rows.append(before)
    flat = b"".join(rows)
    return width, height, list(zip(flat[0::size], flat[1::size], flat[2::size], strict=True))


def _row(kind: int, packed: bytes, above: bytes, size: int) -> bytes:
    """One row without its filter: none, left, above, their mean, or whichever fits best."""
    if kind == 0:
        return packed
    row = bytearray(packed)
    for at in range(len(row)):
        left = row[at - size] if at >= size else 0
        corner = above[at - size] if at >= size else 0
        guess = (left, above[at], (left + above[at]) // 2, _paeth(left, above[at], corner))[kind - 1]
        row[at] = (row[at] + guess) & 255
    return bytes(row)


def _paeth(left: int, above: int, corner: int) -> int:
    base = left + above - corner
    return min((left, above, corner), key=lambda each: abs(base - each))
