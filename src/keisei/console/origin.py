"""Origins: where a project's consoles are while they are there, written down for whoever makes links to them."""

import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from keisei.console.key import FOLDER, console_folder, own_folder
from keisei.records.error import OperatorError

ORIGINS: Final = "origins"
LARGEST: Final = 4096
LEFT_S: Final = 60.0
"""A file that nobody holds and that is older belongs to a console that was killed."""
FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextmanager
def told_origin(home_folder: Path, origin: str) -> Iterator[None]:
    """Say it until the block ends, or this process does: the file counts as long as it is locked."""
    folder = own_folder(console_folder(home_folder) / ORIGINS)
    _sweep(folder)
    path = folder / f"{time.time_ns():020d}-{secrets.token_hex(4)}"
    try:
        descriptor = os.open(path, FLAGS | os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise OperatorError(f"`{path}` cannot be written: {(error.strerror or str(error)).lower()}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # whoever looks just now holds it for a moment
        os.pwrite(descriptor, json.dumps({"origin": origin}).encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def known_origin(home_folder: Path) -> str | None:
    """Where the project's console is, of several the newest; None where none runs on this machine."""
    found = (_read(path) for path in _files(home_folder / FOLDER / ORIGINS))
    return next((origin for origin in found if origin is not None), None)


def _files(folder: Path) -> list[Path]:
    """Newest first."""
    try:
        return sorted(folder.iterdir(), reverse=True)
    except OSError:
        return []


def _read(path: Path) -> str | None:
    """What a console says that is there; None for one that is gone."""
    try:
        descriptor = os.open(path, FLAGS | os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        with suppress(ValueError, KeyError, TypeError):
            return str(json.loads(os.pread(descriptor, LARGEST, 0))["origin"])
    except OSError:
        pass
    finally:
        os.close(descriptor)
    return None


def _sweep(folder: Path) -> None:
    """Remove what consoles left that were killed."""
    for path in _files(folder):
        with suppress(OSError):
            if time.time() - path.lstat().st_mtime > LEFT_S and _read(path) is None:
                path.unlink()
