"""Files: one file that somebody named, looked at without being led out of its folder, waiting, or reading for ever."""

import errno
import hashlib
import os
import stat
from pathlib import Path
from typing import Final

from keisei.records.snapshot import Looked
from keisei.workspace.snapshot import entry_of

LARGEST: Final = 1_073_741_824
"""Bytes that are read of one file; a larger one does not count."""
PIECE: Final = 1_048_576
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

KINDS: Final = {
    stat.S_IFDIR: "is a folder",
    stat.S_IFLNK: "is a link",
    stat.S_IFIFO: "is a pipe",
    stat.S_IFSOCK: "is a socket",
    stat.S_IFBLK: "is a device",
    stat.S_IFCHR: "is a device",
}


def look(folder: Path, relative: str, *, largest: int = LARGEST) -> Looked:
    """What stands under a relative path. Never raises, never blocks; everything but one plain file is a fault.

    Each part is opened from the one before and no link is followed, so nothing that is swapped meanwhile leads outside.
    Digest and facts are those of one open descriptor. A file with a second name (a hard link) is a fault too: it could
    be changed through that name, from outside the folder, after it was looked at.
    """
    *folders, name = relative.split("/")
    if ".." in (*folders, name):
        return Looked(fault="leads out of the folder")
    try:
        place = os.open(folder, FOLDER)
        for each in folders:
            place = _stepped(place, each)
    except (OSError, ValueError) as error:
        return Looked(fault=_why_not_reached(error))
    try:
        return _looked(place, name, largest)
    except (OSError, ValueError) as error:
        return Looked(fault=_why(error))
    finally:
        os.close(place)


def look_at(path: str) -> Looked:
    """What stands under an absolute path; otherwise as `look`, of the folder that the path names."""
    folder, name = os.path.split(path)
    return look(Path(folder), name)


def _stepped(place: int, name: str) -> int:
    """The next folder; the one before is closed, whatever happens."""
    try:
        return os.open(name, FOLDER, dir_fd=place)
    finally:
        os.close(place)


def _looked(place: int, name: str, largest: int) -> Looked:
    # Asked before it is opened, because to open a device can set something off.
    fault = _unfit(os.stat(name, dir_fd=place, follow_symlinks=False), largest)
    if fault is not None:
        return Looked(fault=fault)
    descriptor = os.open(name, READ, dir_fd=place)
    try:
        status = os.fstat(descriptor)
        fault = _unfit(status, largest)
        if fault is not None:
            return Looked(fault=fault)
        sha256 = _digest(descriptor, status.st_size)
        if sha256 is None or entry_of(os.fstat(descriptor)) != entry_of(status):
            return Looked(fault="was changed while it was read", entry=entry_of(status))
        return Looked(entry=entry_of(status), sha256=sha256)
    finally:
        os.close(descriptor)


def _unfit(status: os.stat_result, largest: int) -> str | None:
    if not stat.S_ISREG(status.st_mode):
        return KINDS.get(stat.S_IFMT(status.st_mode), "is not a file")
    if status.st_nlink > 1:
        return f"has {status.st_nlink} names (hard links), so it could be changed from elsewhere"
    return f"is larger than {largest} bytes" if status.st_size > largest else None


def _digest(descriptor: int, size: int) -> str | None:
    """The digest of exactly so many bytes; None where the file turns out to have more or fewer."""
    digest, left = hashlib.sha256(), size
    while piece := os.read(descriptor, min(PIECE, left + 1)):
        digest.update(piece)
        left -= len(piece)
        if left < 0:
            return None
    return digest.hexdigest() if left == 0 else None


def _why_not_reached(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "lies behind a link or a file, not in a folder"
    return _why(error)


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return "has a name that no file can have"
    if error.errno == errno.ENOENT:
        return "is missing"
    if error.errno == errno.ELOOP:
        return "is a link"
    return f"cannot be read: {error.strerror or error}"
