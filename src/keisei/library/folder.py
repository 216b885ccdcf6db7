"""Folders by content: every file below one, hashed. Whatever can stand in a folder can stand in a hostile one."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from keisei.library.source import inside, shown_path
from keisei.records.error import AuthorError, WorldFault
from keisei.records.material import FileHash
from keisei.records.problem import Problem
from keisei.rules.prompt import visible

MOST_FILES = 2000
MOST_BYTES = 64 * 1024 * 1024
"""Of one folder; a larger one is a store of data, and would be hashed for every attempt."""
DEEPEST = 16
PART = 1024 * 1024


def folder_files(folder: Path) -> tuple[FileHash, ...]:
    """Every file below a folder, hidden ones too, sorted by path. A symlink counts by where it leads.

    Raises AuthorError for what cannot be hashed: a link out of the folder, a pipe or a device, a name that is not plain
    text, too many files or bytes. Raises WorldFault, which may pass, for a file that goes away meanwhile.
    """
    files: list[FileHash] = []
    left = MOST_BYTES
    for relative in _entries(folder, "", 0):
        if len(files) == MOST_FILES:
            raise _problem(folder, "too-large", f"holds more than {MOST_FILES:,} files")
        found, size = _hashed(folder, relative, left)
        left -= size
        files.append(FileHash(path=relative, sha256=found))
    return tuple(sorted(files, key=lambda each: each.path))


def moved(path: Path) -> WorldFault:
    """What to say of a file that is not the one it was."""
    return WorldFault(f"`{shown_path(path)}` changed while it was read", "try again", retryable=True)


def _entries(folder: Path, below: str, depth: int) -> Iterator[str]:
    """The relative path of everything that is not a folder; links are not entered."""
    if depth > DEEPEST:
        raise _problem(folder / below, "too-deep", f"lies more than {DEEPEST} folders deep")
    try:
        with os.scandir(folder / below) as entries:
            listed = [(each.name, each.is_dir(follow_symlinks=False)) for each in entries]
    except OSError as error:
        raise _unreadable(folder / below, error) from error
    for name, is_folder in listed:
        relative = f"{below}/{name}" if below else name
        if visible(relative) != relative:
            raise _problem(folder / below, "not-text", f"holds a name that is not plain text: {visible(name)}")
        if is_folder:
            yield from _entries(folder, relative, depth + 1)
        else:
            yield relative


def _hashed(folder: Path, relative: str, left: int) -> tuple[str, int]:
    """The hash of one file, and its size."""
    path = folder / relative
    try:
        if path.is_symlink():
            if inside(folder, relative) is None:
                raise _problem(path, "outside", "is a link that leads out of its folder")
            return hashlib.sha256(b"-> " + os.fsencode(path.readlink())).hexdigest(), 0
        return _content(path, left)
    except OSError as error:
        raise _unreadable(path, error) from error


def _content(path: Path, left: int) -> tuple[str, int]:
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | os.O_NOFOLLOW)
    with open(handle, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor, so that nothing changes in between
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _problem(path, "unreadable", "cannot be read: it is not a regular file")
        found, size = hashlib.sha256(), 0
        while part := file.read(PART):
            found.update(part)
            size += len(part)
            if size > left:
                raise _problem(path, "too-large", f"takes its folder beyond {MOST_BYTES // PART} MiB")
    return found.hexdigest(), size


def _unreadable(path: Path, error: OSError) -> AuthorError | WorldFault:
    if isinstance(error, FileNotFoundError):
        return moved(path)
    return _problem(path, "unreadable", f"cannot be read: {(error.strerror or str(error)).lower()}")


def _problem(path: Path, code: str, message: str) -> AuthorError:
    return AuthorError([Problem(code=code, path=shown_path(path), message=message)])
