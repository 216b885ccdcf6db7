"""Relocation: files that hold the path of the folder they were made in, told another one.

A venv's scripts, its pyvenv.cfg and its editable installs, node's links and cargo's lists of files all name the folder
they were made in. Worktrees of a pool have paths of the same length, so the path is replaced byte for byte, whatever
the file is. What is packed or encoded (an archive, base64) is not seen.
"""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final
from urllib.parse import quote

PIECE: Final = 8 * 1024 * 1024
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def spellings(path: str) -> tuple[bytes, ...]:
    """How a path is written: as it is, in URLs, in a make file, in JSON. Most paths are the same in all of them."""
    raw = os.fsencode(path)
    text = raw.decode("utf-8", "replace")
    return (
        raw,
        quote(raw, safe="/").encode(),
        quote(raw, safe="/:@!$&'()*+,;=").encode(),
        raw.replace(b"\\", b"\\\\").replace(b" ", b"\\ "),
        json.dumps(text)[1:-1].encode(),
        json.dumps(text, ensure_ascii=False)[1:-1].encode(),
    )


def mover(old: str, new: str) -> Callable[[bytes], bytes]:
    """What puts one path in the place of another, in every spelling."""
    pairs: dict[bytes, bytes] = {}
    for before, after in zip(spellings(old), spellings(new), strict=True):
        pairs.setdefault(before, after)

    def moved(data: bytes) -> bytes:
        for before, after in pairs.items():
            data = data.replace(before, after)
        return data

    return moved


def keeps_length(old: str, new: str) -> bool:
    """Whether every spelling of one path is as long as the same spelling of the other."""
    return all(len(a) == len(b) for a, b in zip(spellings(old), spellings(new), strict=True))


def holds(path: Path, words: Iterable[bytes]) -> bool:
    """Whether one of the words stands somewhere in a file, read piece by piece. Raises OSError."""
    sought = tuple(dict.fromkeys(words))
    overlap = max(map(len, sought)) - 1
    descriptor = os.open(path, READ)
    try:
        tail = b""
        while piece := os.read(descriptor, PIECE):
            window = tail + piece if tail else piece
            if any(word in window for word in sought):
                return True
            tail = window[-overlap:]
    finally:
        os.close(descriptor)
    return False


def is_text(data: bytes) -> bool:
    """Whether bytes may be made longer or shorter without breaking what counts them."""
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
