"""Files: opened so that nothing blocks, copied so that holes stay holes, renamed so that nothing is overwritten."""

import ctypes
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
PIECE: Final = 1 << 20
AT_CWD: Final = -100
NOREPLACE: Final = 1


@contextmanager
def opened(path: str, flags: int, mode: int = 0o666, *, dir_fd: int | None = None) -> Iterator[int]:
    """A descriptor, closed again. Raises OSError."""
    descriptor = os.open(path, flags, mode, dir_fd=dir_fd)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def regular(path: str, *, dir_fd: int | None = None, follow: bool = True) -> Iterator[int]:
    """A file to be read. Raises OSError: EISDIR for a folder, ENXIO for what is neither.

    It is looked at before it is opened, since opening a pipe wakes who waits at its other end and a device may do
    anything, and once more behind that, since it may be another one by then.
    """
    _check(os.stat(path, dir_fd=dir_fd, follow_symlinks=follow), path)
    with opened(path, READ | (0 if follow else os.O_NOFOLLOW), dir_fd=dir_fd) as descriptor:
        _check(os.fstat(descriptor), path)
        yield descriptor


def _check(told: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(told.st_mode):
        raise OSError(errno.EISDIR, "is a folder", path)
    if not stat.S_ISREG(told.st_mode):
        raise OSError(errno.ENXIO, "is no file", path)


def write_all(descriptor: int, data: bytes) -> None:
    """All of it, whatever a single write takes. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def copy_data(source: int, target: int) -> int:
    """Copy a file's data, and leave out its holes; how many bytes were copied. Raises OSError."""
    size, place, copied = os.fstat(source).st_size, 0, 0
    if not size:  # empty, or a file of the system that does not say how long it is
        return _copy_until(source, target, None)
    while place < size and (part := _data(source, place, size)) is not None:
        start, end = part
        os.lseek(source, start, os.SEEK_SET)
        os.lseek(target, start, os.SEEK_SET)
        copied += _copy_until(source, target, end - start)
        place = end
    os.ftruncate(target, size)
    return copied


def _copy_until(source: int, target: int, most: int | None) -> int:
    """Copy from where both stand, to the end or so many bytes; how many they were."""
    copied = 0
    while (room := PIECE if most is None else min(PIECE, most - copied)) and (piece := os.read(source, room)):
        write_all(target, piece)
        copied += len(piece)
    return copied


def _data(source: int, place: int, size: int) -> tuple[int, int] | None:
    """Where the next data begin and end; None behind the last."""
    try:
        start = os.lseek(source, place, os.SEEK_DATA)
        return start, os.lseek(source, start, os.SEEK_HOLE)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return None
        if error.errno == errno.EINVAL:  # a file system that knows no holes
            return place, size
        raise


def rename_new(source: str, target: str, *, source_fd: int | None = None, target_fd: int | None = None) -> None:
    """Rename, and never overwrite. Raises FileExistsError, and OSError for the rest."""
    number = _renameat2(source, target, source_fd, target_fd)
    if number == 0:
        return
    if number not in (errno.ENOSYS, errno.EINVAL):
        raise OSError(number, os.strerror(number))
    # A system or a file system that cannot do it in one step.
    with suppress(FileNotFoundError):
        os.stat(target, dir_fd=target_fd, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)


def _renameat2(source: str, target: str, source_fd: int | None, target_fd: int | None) -> int:
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return errno.ENOSYS
    where = (AT_CWD if source_fd is None else source_fd, AT_CWD if target_fd is None else target_fd)
    done = call(where[0], os.fsencode(source), where[1], os.fsencode(target), NOREPLACE)
    return 0 if done == 0 else ctypes.get_errno()
