"""Locks: one file a key beside what it guards; the system lets go of it when its holder dies, however it dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from keisei.records.error import WorldFault

LOCK: Final = ".lock"
PAUSE_S: Final = 0.05
FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class BusyError(WorldFault):
    """Somebody else holds it."""


class KeyLocks:
    """The locks of one folder. They hold between threads and between processes."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; it is made when the first lock is taken."""
        self._folder = folder

    @contextmanager
    def own(self, key: str, patience_s: float = 0) -> Iterator[None]:
        """Hold a key alone. Raises BusyError where others hold it longer than that."""
        with self._held(key, fcntl.LOCK_EX, patience_s):
            yield

    @contextmanager
    def share(self, key: str, patience_s: float = 0) -> Iterator[None]:
        """Hold a key together with others who share it. Raises BusyError where one holds it alone for longer."""
        with self._held(key, fcntl.LOCK_SH, patience_s):
            yield

    def is_held(self, key: str) -> bool:
        """Whether anybody holds a key just now."""
        try:
            with self.own(key):
                return False
        except BusyError:
            return True

    def forget(self, key: str) -> None:
        """Remove the lock file of a key that is held alone; whoever waits for it makes a new one."""
        (self._folder / f"{key}{LOCK}").unlink(missing_ok=True)

    @contextmanager
    def _held(self, key: str, how: int, patience_s: float) -> Iterator[None]:
        deadline = time.monotonic() + patience_s
        while (descriptor := self._taken(key, how)) is None:
            if time.monotonic() >= deadline:
                message = f"{self._folder.name}/{key[:12]} is in use by another runner"
                raise BusyError(message, "wait until it is done", retryable=True)
            time.sleep(PAUSE_S)
        try:
            yield
        finally:
            os.close(descriptor)

    def _taken(self, key: str, how: int) -> int | None:
        """The lock file, locked; None where somebody else has it, or removed it just now."""
        path = self._folder / f"{key}{LOCK}"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(path, FLAGS, 0o600)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise WorldFault(f"the lock `{path}` cannot be made: {why}", retryable=True) from error
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), path.lstat()):
                return descriptor
        except (BlockingIOError, FileNotFoundError):
            pass
        os.close(descriptor)
        return None
