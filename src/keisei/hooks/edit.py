"""Editing: settings files read, backed up and written whole or not at all. They belong to somebody else."""

import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from keisei.library.source import read_source, shown_path
from keisei.records.error import OperatorError, WorldFault

SUFFIX = ".keisei-backup"
_PATIENCE_S = 10.0


class Backup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file was before we came."""

    original: str | None
    """The text; None where there was no file."""
    written: str
    """The digest of what we wrote: a file that still has it is restored byte by byte."""
    folders: int = 0
    """How many folders above the file we made."""
    holders: dict[str, list[str]] = {}
    """Codex's config.toml serves several hooks.json: for each, the keys that are ours."""


class Write(NamedTuple):
    """One file that changes; no content means that it goes."""

    path: Path
    content: bytes | None
    mode: int = 0o600
    """The permissions of a file that is new. One that exists keeps its own, and its owner."""


def real_path(path: Path, root: Path) -> Path:
    """The file with every symlink followed. Raises OperatorError where that leads out of `root`, or nowhere."""
    shown = shown_path(path)
    try:
        real, inside = path.resolve(), root.resolve()
    except (OSError, RuntimeError) as error:
        raise OperatorError(f"`{shown}` is a symlink that goes round in a circle", "replace it by a file") from error
    if path.is_symlink() and not real.exists():
        raise OperatorError(f"`{shown}` is a symlink to `{real}`, which does not exist", "make the file or remove it")
    if not real.is_relative_to(inside):
        hint = "a file elsewhere may serve others too; use --print and put the hooks there yourself"
        raise OperatorError(f"`{shown}` is a symlink that leads out of `{inside}`, to `{real}`", hint)
    return real


def read_text(path: Path) -> str | None:
    """The file, or None where there is none. Raises AuthorError for what is no file, too large, or not UTF-8."""
    return read_source(path).text if os.path.lexists(path) else None


def backup_path(path: Path) -> Path:
    """Where the backup of a file stands: beside it."""
    return path.with_name(path.name + SUFFIX)


def read_backup(path: Path) -> Backup | None:
    """The backup of a file, or None where there is none, or somebody has changed it beyond reading."""
    place = backup_path(path)
    try:
        raw = place.read_bytes() if place.is_file() and not place.is_symlink() else b""
        return msgspec.json.decode(raw, type=Backup)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def backup_write(path: Path, backup: Backup | None) -> Write:
    """The backup as a file to write; None takes it away."""
    content = msgspec.json.format(msgspec.json.encode(backup), indent=2) + b"\n" if backup else None
    return Write(backup_path(path), content)


def digest(text: str) -> str:
    """The digest of a file's text."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()


def missing_folders(path: Path) -> int:
    """How many folders above a file are not there yet."""
    return sum(not os.path.lexists(parent) for parent in path.parents)


@contextmanager
def locked(*folders: Path) -> Iterator[None]:
    """Nobody else of us edits below these folders meanwhile. Raises WorldFault where somebody does for too long."""
    with ExitStack() as stack:
        for folder in sorted(set(folders)):
            stack.callback(os.close, _locked(folder))
        yield


def _locked(folder: Path) -> int:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _fault(f"cannot open the folder {folder}", error) from error
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                os.close(handle)
                message = f"another keisei is changing hooks below {folder}"
                raise WorldFault(message, "try again when it has finished", retryable=True) from error
            time.sleep(0.02)
        except OSError as error:
            os.close(handle)
            raise _fault(f"cannot lock the folder {folder}", error) from error
        else:
            return handle


def apply(writes: Sequence[Write]) -> None:
    """Write them all. Everything is on disk before the first file changes, so that a full disk changes none.

    Raises WorldFault.
    """
    made: list[Path] = []
    beside: dict[Path, Path] = {}
    at = Path()
    try:
        for at, content, mode in writes:
            if content is not None:
                made += _make_folders(at.parent)
                beside[at] = _written_beside(at, content, mode)
        for at, _, _ in writes:
            if at in beside:
                beside[at].replace(at)
            else:
                at.unlink(missing_ok=True)
        for folder in {each.path.parent for each in writes}:
            _sync(folder)
    except OSError as error:
        for path in beside.values():
            path.unlink(missing_ok=True)
        remove_folders(reversed(made))
        raise _fault(f"cannot write {shown_path(at)}", error) from error


def remove_folders(folders: Iterator[Path]) -> None:
    """Remove them as long as they are empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _make_folders(folder: Path) -> list[Path]:
    missing = [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
    for each in reversed(missing):
        each.mkdir()
    return missing[::-1]


def _written_beside(path: Path, content: bytes, mode: int) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            _like(path, mode, handle)
            os.fsync(handle)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _like(path: Path, mode: int, handle: int) -> None:
    """Give the new file the owner and the permissions of the one it replaces."""
    try:
        old = os.lstat(path)
    except FileNotFoundError:
        os.fchmod(handle, mode)
        return
    new = os.fstat(handle)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, old.st_mode & 0o7777)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _fault(what: str, error: OSError) -> WorldFault:
    return WorldFault(f"{what}: {(error.strerror or str(error)).lower()}", "check its permissions and the free space")
