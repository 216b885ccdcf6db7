"""The doorbell: how a process that waits for work hears that there is some. Never the truth: a ring may be lost.

SQLite is one machine: a datagram socket for every process that waits, in one folder, and a ring is sent to all of them.
PostgreSQL is many; its bell stands in `notify`. Both ring inside the process too, by a pipe.
"""

import contextlib
import errno
import os
import select
import socket
from collections.abc import Iterator
from pathlib import Path

from keisei.records.error import OperatorError

SUFFIX = ".bell"
LONGEST = 103
"""Bytes of a socket's path that every system takes."""
HEARD = 4096
GONE = (errno.ECONNREFUSED, errno.ENOENT)


class Wake:
    """A pipe that one thread writes and another waits for. Its ends are closed when nobody knows it any more."""

    def __init__(self) -> None:
        self.heard, self._rings = os.pipe()
        os.set_blocking(self.heard, False)
        os.set_blocking(self._rings, False)

    def ring(self) -> None:
        """Wake who waits, now or when it comes to wait."""
        with contextlib.suppress(OSError):  # a full pipe is rung already
            os.write(self._rings, b"!")

    def drain(self) -> None:
        """Forget every ring up to now."""
        with contextlib.suppress(BlockingIOError):
            while len(os.read(self.heard, HEARD)) == HEARD:
                continue

    def __del__(self) -> None:
        os.close(self.heard)
        os.close(self._rings)


class SocketBell:
    """The bell of one machine. Without a folder it rings inside the process only.

    One thread waits; any thread, and a signal handler, may ring. A child of a fork has a bell of its own.
    """

    def __init__(self, folder: Path | None) -> None:
        """Raises OperatorError for a folder whose name is too long for a socket."""
        self._folder = folder
        self._path = _checked(folder / _name()) if folder is not None else None
        self._pid = os.getpid()
        self._wake = Wake()
        self._listens: socket.socket | None = None

    def ring(self) -> None:
        """Tell every process that waits in this folder, and this one. Never raises, never waits."""
        self._wake.ring()
        if self._folder is None:
            return
        with contextlib.suppress(OSError), _datagrams() as sender:
            for path in _sockets(self._folder):
                _send(sender, path)

    def wait(self, timeout_s: float) -> None:
        """Wait for a ring or the time. A call that hangs up the bell returns at once: look again, then wait.

        The first one does, and one that finds its socket swept away.
        """
        if os.getpid() != self._pid:
            self._begin_again()
        if self._path is not None and (self._listens is None or not self._path.exists()):
            self.close()
            self._listens = _bound(self._path)
            if self._listens is not None:
                return
        heard = [self._wake.heard] if self._listens is None else [self._wake.heard, self._listens.fileno()]
        if wait_for(heard, timeout_s):
            self._drain()

    def close(self) -> None:
        """Take the bell down. Safe to say twice."""
        if self._listens is not None:
            self._listens.close()
            self._listens = None
            if self._path is not None and os.getpid() == self._pid:
                with contextlib.suppress(OSError):
                    self._path.unlink()

    def _drain(self) -> None:
        self._wake.drain()
        if self._listens is not None:
            with contextlib.suppress(OSError):
                while True:
                    self._listens.recv(HEARD)

    def _begin_again(self) -> None:
        """After a fork: the parent's socket and pipe are left to the parent."""
        if self._listens is not None:
            self._listens.close()
            self._listens = None
        self._pid, self._wake = os.getpid(), Wake()
        self._path = self._folder / _name() if self._folder is not None else None


def wait_for(heard: list[int], timeout_s: float) -> bool:
    """Whether one of the descriptors can be read, or is broken, before the time is over."""
    poll = select.poll()  # select() knows no descriptor above 1023
    for each in heard:
        poll.register(each, select.POLLIN)
    return bool(poll.poll(max(0.0, min(timeout_s, 3600.0)) * 1000))


def _name() -> str:
    return f"{os.getpid()}-{os.urandom(4).hex()}{SUFFIX}"


def _checked(path: Path) -> Path:
    """The path, if its folder leaves room for the longest name there can be."""
    room = LONGEST - len(f"/4194304-01234567{SUFFIX}")
    if len(os.fsencode(path.parent)) > room:
        message = f"the folder for doorbells, `{path.parent}`, is too long: a socket's path must be short"
        raise OperatorError(message, f"choose one of at most {room} bytes, with XDG_RUNTIME_DIR for example")
    return path


def _datagrams() -> socket.socket:
    found = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    found.settimeout(0)
    return found


def _sockets(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(SUFFIX):
                yield entry.path


def _send(sender: socket.socket, path: str) -> None:
    """One ring. A socket that nobody holds is removed; one that is full has been rung often enough."""
    try:
        sender.sendto(b"!", path)
    except OSError as error:
        if error.errno in GONE:
            with contextlib.suppress(OSError):
                os.unlink(path)  # noqa: PTH108 - it came as text


def _bound(path: Path) -> socket.socket | None:
    """A socket under this name; None where the folder takes none, and then only this process rings."""
    found = _datagrams()
    try:
        found.bind(os.fspath(path))
    except OSError:
        found.close()
        return None
    return found
