"""The content of one file, brought into another: blocks shared where the disk can, holes left as they are."""

import errno
import fcntl
import os
from collections.abc import Iterator
from typing import Final

FICLONE: Final = 0x40049409
"""Linux: have one file share the blocks of another (btrfs, xfs, bcachefs)."""
NOT_CLONED: Final = frozenset({errno.EOPNOTSUPP, errno.EXDEV, errno.ENOTTY, errno.EINVAL, errno.ENOSYS, errno.EPERM})
PIECE: Final = 0x4000_0000
BLOCK: Final = 512


def clone(original: int, copy: int) -> bool:
    """Have an empty file share the blocks of another. False where this disk cannot. Raises OSError."""
    try:
        fcntl.ioctl(copy, FICLONE, original)
    except OSError as error:
        if error.errno not in NOT_CLONED:
            raise
        return False
    return True


def pour(original: int, copy: int, found: os.stat_result) -> None:
    """Copy every byte that is there, and fill no hole. Raises OSError."""
    for start, end in _filled(original, found):
        os.lseek(copy, start, os.SEEK_SET)
        while start < end and (sent := os.sendfile(copy, original, start, min(PIECE, end - start))):
            start += sent  # noqa: PLW2901 - how far it has come
    if found.st_blocks * BLOCK < found.st_size:
        os.ftruncate(copy, found.st_size)


def _filled(original: int, found: os.stat_result) -> Iterator[tuple[int, int]]:
    """The parts of a file that are no holes."""
    size = found.st_size
    if found.st_blocks * BLOCK >= size:
        yield 0, size
        return
    start = 0
    while start < size:
        try:
            start = os.lseek(original, start, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:  # holes up to the end
                return
            raise
        end = os.lseek(original, start, os.SEEK_HOLE)
        yield start, end
        start = end


def read(descriptor: int) -> bytes:
    """The whole content. Raises OSError."""
    with open(descriptor, "rb", closefd=False) as file:
        return file.read()


def write(descriptor: int, data: bytes) -> None:
    """Write all of it. Raises OSError."""
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
