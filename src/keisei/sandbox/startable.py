"""Startable: the files the kernel opens to run when a program is started, each of which must be allowed to be executed.

A program is one of them, and so are the interpreter that a script's first line names and the loader that an ELF file
names; a shared library is only read.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from shutil import which
from typing import BinaryIO, Final, NamedTuple

_LINE: Final = 512
_DEEPEST: Final = 4
"""Scripts whose interpreters are scripts; the kernel follows as many."""
_LOADER: Final = 3
"""The kind of part of an ELF file that names its loader."""
_PARTS: Final = 1024


class _Shape(NamedTuple):
    """Where the numbers of an ELF file stand, as pairs of an offset and a size."""

    table: tuple[int, int]
    width: tuple[int, int]
    parts: tuple[int, int]
    start: tuple[int, int]
    """Of a part: where its content begins."""
    size: tuple[int, int]


_SHAPES: Final = {
    1: _Shape((0x1C, 4), (0x2A, 2), (0x2C, 2), (0x04, 4), (0x10, 4)),
    2: _Shape((0x20, 8), (0x36, 2), (0x38, 2), (0x08, 8), (0x20, 8)),
}


def startable(argv0: str, path: str, cwd: str) -> tuple[str, ...]:
    """What is executed when a program is started, as real paths, itself first. Empty where there is no program.

    A name without a slash is looked up on `path`; a relative one with a slash stands below `cwd`.
    """
    found = which(os.path.join(cwd, argv0) if "/" in argv0 else argv0, path=path)  # noqa: PTH118 - it is text
    return () if found is None else tuple(dict.fromkeys(_chain(found, path, depth=0)))


def with_loaders(paths: Iterable[str]) -> tuple[str, ...]:
    """Programs, and what each of them that is a file needs to be started."""
    return tuple(dict.fromkeys(each for path in paths for each in (path, *_chain(path, os.defpath, depth=0))))


def _chain(found: str, path: str, depth: int) -> Iterator[str]:
    real = os.path.realpath(found)
    yield real
    if depth == _DEEPEST or not os.path.isfile(real):  # noqa: PTH113 - never raises; a pipe would be waited for
        return
    try:
        with Path(real).open("rb") as program:
            named = _named(program, path)
    except (OSError, ValueError):
        return
    for each in named:
        yield from _chain(each, path, depth + 1)


def _named(program: BinaryIO, path: str) -> list[str]:
    """What else the kernel opens, or `env` starts in its place."""
    head = program.read(_LINE)
    if head.startswith(b"\x7fELF"):
        return [os.fsdecode(each) for each in _loader(program, head)]
    words = os.fsdecode(re.split(rb"[\n\0]", head[2:], maxsplit=1)[0]).split() if head.startswith(b"#!") else []
    if not words or Path(words[0]).name != "env":
        return words[:1]
    rest = (each for each in words[1:] if not each.startswith("-") and "=" not in each)
    return [words[0], *filter(None, (which(each, path=path) for each in list(rest)[:1]))]


def _loader(program: BinaryIO, head: bytes) -> Iterator[bytes]:
    """The loader an ELF file names; a static one names none. Raises OSError, ValueError for a damaged file."""
    shape = _SHAPES.get(head[4])
    if shape is None:
        return
    order = "little" if head[5] == 1 else "big"

    def number(data: bytes, place: tuple[int, int]) -> int:
        return int.from_bytes(data[place[0] : sum(place)], order)  # type: ignore[arg-type] # it is one of both

    width = number(head, shape.width)
    for index in range(min(number(head, shape.parts), _PARTS)):
        program.seek(number(head, shape.table) + index * width)
        part = program.read(width)
        if number(part, (0, 4)) == _LOADER:
            program.seek(number(part, shape.start))
            yield program.read(min(number(part, shape.size), os.pathconf("/", "PC_PATH_MAX"))).partition(b"\0")[0]
            return
