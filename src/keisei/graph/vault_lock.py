"""The lock of those who write the vault: a file beside it, which the system lets go of when its holder dies."""

import fcntl
import os
from pathlib import Path
from typing import Final

ENDING: Final = ".lock"
FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class WriterLock:
    """One writer of one file, among threads' vaults and processes. Whoever uses it takes care of its own threads."""

    def __init__(self, path: Path) -> None:
        """Name the file that is written."""
        self._path = Path(f"{path}{ENDING}")
        self._descriptor: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether it is held through this one."""
        return self._descriptor is not None

    def taken(self) -> bool:
        """Take it now, unless somebody else has it. Raises OSError where no such file can be."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._path, FLAGS, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_there = os.path.samestat(os.fstat(descriptor), os.lstat(self._path))
        except (BlockingIOError, FileNotFoundError):
            is_there = False  # another has it, or removed it just now
        except BaseException:
            os.close(descriptor)
            raise
        if is_there:
            self._descriptor = descriptor
        else:
            os.close(descriptor)
        return is_there

    def release(self) -> None:
        """Let the next one in."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
