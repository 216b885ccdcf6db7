"""One supervisor a project and machine: a lock in the state folder, and who holds it."""

import fcntl
import json
import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from keisei.records.error import OperatorError, Refused
from keisei.records.problem import printable
from keisei.wiring.runner import born, host
from keisei.wiring.store import Home, make_folder

NAME: Final = "up.lock"
LARGEST: Final = 4096
MOMENT_S: Final = 1.0
PAUSE_S: Final = 0.01
FLAGS: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Holder(NamedTuple):
    """The supervisor that is up."""

    pid: int
    born: str
    """When it was started, so that another process with its number is not taken for it."""
    host: str
    console: str | None = None
    """Where its console listens."""

    @property
    def is_alive(self) -> bool:
        """Whether it is there, as far as this machine can tell."""
        return self.host == host() and bool(self.born) and born(self.pid) == self.born


class Lock:
    """Held from `hold` on, until this process ends or the block does."""

    def __init__(self, descriptor: int) -> None:
        """Held by this descriptor."""
        self._descriptor = descriptor
        self.tell()

    def tell(self, console: str | None = None) -> None:
        """Write down who holds it, and where its console listens."""
        holder = Holder(os.getpid(), born(os.getpid()), host(), console)
        data = json.dumps(holder._asdict()).encode()
        os.pwrite(self._descriptor, data, 0)
        os.ftruncate(self._descriptor, len(data))


@contextmanager
def hold(home: Home) -> Iterator[Lock]:
    """Be the supervisor of a project. Raises Refused where another one is, OperatorError where the file cannot be."""
    make_folder(home.folder)
    descriptor = _opened(home, FLAGS | os.O_CREAT)
    try:
        if not _is_free(descriptor, fcntl.LOCK_EX):
            raise Refused(*_already(home.name, _read(descriptor)))
        yield Lock(descriptor)
    finally:
        os.close(descriptor)


def holder(home: Home) -> Holder | None:
    """The supervisor of a project that is up; None where none is. Raises OperatorError where it cannot be told."""
    if not (home.folder / NAME).exists():
        return None
    descriptor = _opened(home, FLAGS)
    try:
        if _is_free(descriptor, fcntl.LOCK_SH):
            return None
        found = _read(descriptor)
    finally:
        os.close(descriptor)
    if found is None or not found.is_alive:
        message = f"project {home.name} is up, but not by a process that can be seen from here"
        where = "" if found is None else f" (process {found.pid} on `{printable(found.host)}`)"
        raise OperatorError(f"{message}{where}", "ask again where it was started")
    return found


def ask_to_stop(found: Holder) -> int | None:
    """Ask a supervisor to stop: a descriptor that is readable once it has ended, to be closed by the caller.

    None where it has ended meanwhile. Raises OperatorError where it is another user's.
    """
    try:
        process = os.pidfd_open(found.pid)
    except ProcessLookupError:
        return None
    try:
        if not found.is_alive:  # asked after it was opened, so the number is still the one that was meant
            os.close(process)
            return None
        signal.pidfd_send_signal(process, signal.SIGTERM)
    except ProcessLookupError:
        return process
    except PermissionError as error:
        os.close(process)
        raise OperatorError(
            f"process {found.pid} may not be stopped by this user", "ask the one it belongs to"
        ) from error
    return process


def wait_for(process: int) -> None:
    """Until it has ended."""
    poll = select.poll()
    poll.register(process, select.POLLIN)
    poll.poll()


def _opened(home: Home, flags: int) -> int:
    path: Path = home.folder / NAME
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        message = f"`{path}` cannot be opened: {(error.strerror or str(error)).lower()}"
        raise OperatorError(message, "check its permissions, or remove it") from error


def _is_free(descriptor: int, how: int) -> bool:
    """Take it, where nobody has it. One whose holder cannot be seen is asked for again, for a moment.

    It may not have written its name yet, or somebody may be looking who does not keep it.
    """
    until = time.monotonic() + MOMENT_S
    while True:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            found = _read(descriptor)
            if (found is not None and found.is_alive) or time.monotonic() > until:
                return False
            time.sleep(PAUSE_S)
        else:
            return True


def _read(descriptor: int) -> Holder | None:
    """Who holds it, as it has written; None where it has not yet."""
    try:
        told = json.loads(os.pread(descriptor, LARGEST, 0))
        console = told["console"]
        return Holder(int(told["pid"]), str(told["born"]), str(told["host"]), None if console is None else str(console))
    except (ValueError, KeyError, TypeError):
        return None


def _already(name: str, found: Holder | None) -> tuple[str, str]:
    who = "" if found is None else f", by process {found.pid}"
    where = "" if found is None or found.console is None else f"; its console is at {printable(found.console)}"
    return f"project {name} is up already{who}{where}", "`keisei down` ends it"
