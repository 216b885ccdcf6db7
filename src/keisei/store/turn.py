"""Turns: one writing process at a time, by a lock on a file beside the database.

SQLite's own waiting sleeps and tries again, so that under load one writer can starve for seconds and its lease with it.
The kernel's queue for a file lock is fair enough, and here a wait in it ends at a deadline.
"""

import errno
import fcntl
import os
import stat
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path

from keisei.records.error import OperatorError, WorldFault

TRIES, PAUSE_S = 10, 0.0002
"""Most waits end within a write transaction or two: look so often before a thread is started to wait."""
LONGEST = 32
CLOSED = {errno.EROFS, errno.EACCES, errno.EPERM}
"""What is said where a place cannot be written."""


class NoTurn(OperatorError):
    """Nothing can be written here: a mount that is only read, or the folder of somebody else."""


class Turn:
    """The right to write to one database. Used by one thread at a time; every object is a party of its own."""

    def __init__(self, path: Path) -> None:
        """Open the lock file, made with mode 0600. Raises OperatorError where that cannot be; NoTurn is one of them."""
        self.path = path
        self._fd = _opened(path)
        self._name = f"{os.getpid()}\n".encode()
        self._wait: _Wait | None = None
        _turns.add(self)

    def take(self, timeout_s: float) -> None:
        """Wait for the turn. Raises WorldFault, naming who has it, when the time is over."""
        deadline = time.monotonic() + timeout_s
        if self._fd < 0:  # it was closed, and is wanted once more
            self._fd = _opened(self.path)
        if not self._taken_soon() and not self._taken_by(deadline):
            raise WorldFault(
                f"another process holds the database: pid {self.holder() or 'unknown'} ({self.path})",
                "it may be stopped or busy: let it go on or end it, then try again",
                retryable=True,
            )
        if os.pread(self._fd, LONGEST, 0) != self._name:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, self._name, 0)

    def give(self) -> None:
        """Let the next one in."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def holder(self) -> int | None:
        """Who had the turn last, as far as it said so."""
        told = os.pread(self._fd, LONGEST, 0).strip()
        return int(told) if told.isdigit() else None

    def close(self) -> None:
        """Give back the file, and with it the turn. Safe to say twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def leave_to_parent(self) -> None:
        """In the child of a fork: these locks are the parent's, and must end with the parent."""
        if self._wait is not None:
            os.close(self._wait.fd)
            self._wait = None
        self.close()

    def _taken_soon(self) -> bool:
        for _ in range(TRIES):
            with suppress(BlockingIOError):
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            time.sleep(PAUSE_S)
        return False

    def _taken_by(self, deadline: float) -> bool:
        """Wait in the kernel's queue, in a thread, because flock knows no deadline."""
        if self._wait is None or not self._wait.is_wanted_again():
            self._wait = _Wait(_opened(self.path))
            self._wait.start()
        if not self._wait.granted.wait(max(0.0, deadline - time.monotonic())) and self._wait.is_given_up():
            return False
        self.close()
        self._fd, self._wait = self._wait.fd, None
        return True


class _Wait(threading.Thread):
    """One wait for the lock, on a descriptor of its own. Given up, it lets the lock go as soon as it has it."""

    def __init__(self, fd: int) -> None:
        super().__init__(name="keisei-turn", daemon=True)
        self.fd = fd
        self.granted = threading.Event()
        self._lock = threading.Lock()
        self._wanted, self._done = True, False

    def run(self) -> None:
        """Wait as long as it takes."""
        fcntl.flock(self.fd, fcntl.LOCK_EX)
        with self._lock:
            self._done = True
            if self._wanted:
                self.granted.set()
            else:
                os.close(self.fd)

    def is_given_up(self) -> bool:
        """Nobody waits any more. False: too late, the lock is there."""
        with self._lock:
            self._wanted = self._done
            return not self._done

    def is_wanted_again(self) -> bool:
        """Somebody waits again. False: too late, the lock was there and is gone."""
        with self._lock:
            self._wanted = not self._done
            return self._wanted


_turns: weakref.WeakSet[Turn] = weakref.WeakSet()


def _leave_to_parent() -> None:
    for turn in tuple(_turns):
        turn.leave_to_parent()
    _turns.clear()


os.register_at_fork(after_in_child=_leave_to_parent)


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(path, flags, 0o600)
    except OSError as error:
        message = f"{path} cannot be opened: {error.strerror}"
        if error.errno in CLOSED:
            raise NoTurn(message, "copy its folder to a place where you may write, and use it there") from error
        raise OperatorError(message) from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OperatorError(f"{path} is not a regular file", "move it away: keisei makes it anew")
    return fd
