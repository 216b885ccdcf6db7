"""Slots of a pool: who has one, told by a lock that ends with its process and by a file that does not."""

import fcntl
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec import Struct

from keisei.records.error import WorldFault

NAME: Final = re.compile(r"a[0-9]{3}")
MOST: Final = 1000
FILE: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
LARGEST: Final = 65_536
PAUSE_S: Final = 0.005


class Owner(Struct, frozen=True, kw_only=True):
    """Whose work is in a slot."""

    attempt: str
    """The attempt."""
    base: str
    """The commit its worktree stands on."""
    over: bool = False
    """The work was kept elsewhere or is not wanted: what is left in the slot belongs to nobody."""


class Place:
    """The files of one slot. Paths only: whoever changes them holds the lock."""

    def __init__(self, folder: Path, name: str) -> None:
        """Name them."""
        self.name = name
        self.path = folder / name
        self.lock = folder / f"{name}.lock"
        self.owner_file = folder / f"{name}.json"
        self.private = folder / f"{name}.git"

    def owner(self) -> Owner | None:
        """Whose work is in it; None where nobody's is. A file that cannot be read is somebody's nobody can name."""
        try:
            text = self.owner_file.read_bytes()[:LARGEST]
            return msgspec.json.decode(text, type=Owner)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError):
            return Owner(attempt="", base="")

    def own(self, owner: Owner) -> None:
        """Write whose work is in it, whole and for good before this returns. Raises OSError."""
        draft = self.owner_file.with_suffix(".json.new")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, FILE | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(owner))
            file.flush()
            os.fsync(descriptor)
        draft.rename(self.owner_file)
        sync(self.owner_file.parent)

    def disown(self) -> None:
        """Say that nobody's work is in it. Raises OSError. After a power cut it may say again that work is over."""
        self.owner_file.unlink(missing_ok=True)


class Lock:
    """The right to change one slot, for as long as this process lives."""

    def __init__(self, descriptor: int) -> None:
        """Keep the descriptor whose lock it is."""
        self._descriptor = descriptor

    @classmethod
    def of(cls, place: Place, tries: int = 1) -> Self | None:
        """The lock; None where somebody else has it. Raises WorldFault."""
        for left in reversed(range(tries)):
            descriptor = _locked(place.lock)
            if descriptor is not None:
                return cls(descriptor)
            if left:
                time.sleep(PAUSE_S)
        return None

    def is_open(self) -> bool:
        """It was not let go yet."""
        return self._descriptor >= 0

    def touch(self) -> None:
        """Note that the slot was used."""
        with suppress(OSError):
            os.utime(self._descriptor)

    def close(self) -> None:
        """Let go. Safe to say twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _locked(path: Path) -> int | None:
    try:
        descriptor = os.open(path, FILE, 0o600)
    except OSError as error:
        raise WorldFault(f"`{path}` cannot be opened: {error.strerror or error}", retryable=True) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Somebody may have removed the file since: then the next one locks another file.
        if os.path.samestat(os.fstat(descriptor), path.lstat()):
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def sync(folder: Path) -> None:
    """Have the names in a folder survive a power cut. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
