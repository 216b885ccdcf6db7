"""Looks: what a process is like from outside. A worker that is not as it was before a call is not used again.

What the process says of itself is not asked here: the kernel is.
"""

import os
import re
import time
from contextlib import suppress
from typing import Final, NamedTuple

GROWTH_KIB: Final = 262_144
"""How much memory a worker may gain over its calls."""
LEAK: Final = 16
"""How many files more than at the beginning a worker may hold open: databases and sockets it keeps warm."""

_STATUS: Final = re.compile(
    rb"VmRSS:\s+(\d+) .*?\nThreads:\s+(\d+)\n.*?SigBlk:\s+(\w+)\nSigIgn:\s+(\w+)\nSigCgt:\s+(\w+)\n", re.DOTALL
)
_OF_LIBC: Final = ~(0b11 << 31)
"""The C library catches 32 and 33 for itself from the first thread on."""
_PATIENCE: Final = (0.0, 0.0005, 0.001, 0.003, 0.01)
"""A thread that was joined is gone from the kernel's list only a moment later."""


class Look(NamedTuple):
    """One look."""

    memory_kib: int
    threads: int
    signals: tuple[int, int, int]
    """Which are blocked, ignored, caught."""
    files: int
    children: bool


def look(pid: int) -> Look | None:
    """What the kernel says of a process; None where it is gone or may not be looked at."""
    try:
        found = _STATUS.search(_read(f"/proc/{pid}/status"))
        if found is None:
            return None
        threads = int(found[2])
        blocked, ignored, caught = (int(found[group], 16) & _OF_LIBC for group in (3, 4, 5))
        return Look(int(found[1]), threads, (blocked, ignored, caught), _files(pid), _children(pid, threads))
    except OSError:
        return None


def is_as_before(pid: int, before: Look) -> bool:
    """Whether a worker may be used again. Falls on the side of a new one."""
    for pause in _PATIENCE:
        time.sleep(pause) if pause else None
        now = look(pid)
        if now is None or now.memory_kib > before.memory_kib + GROWTH_KIB or now.signals != before.signals:
            return False
        if not before.files <= now.files <= before.files + LEAK:
            return False
        if now.threads == before.threads and not now.children:
            return True
    return False


def _files(pid: int) -> int:
    # Kernels since 6.2 tell the number as the size of the folder.
    return os.stat(f"/proc/{pid}/fd").st_size or len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH116, PTH208 - quick


def _children(pid: int, threads: int) -> bool:
    """Whether any thread of it has a child. A kernel that does not tell is believed to say no: the host looks, too."""
    numbers = [str(pid)] if threads == 1 else os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - names, quickly
    with suppress(FileNotFoundError):
        return any(_read(f"/proc/{pid}/task/{number}/children") for number in numbers)
    return False


def _read(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(handle, 8192)
    finally:
        os.close(handle)
