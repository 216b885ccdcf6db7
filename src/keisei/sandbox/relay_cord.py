"""Cords: everything a relay waits on, so that one word ends every wait."""

import socket
from contextlib import suppress
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

Address = tuple[Any, ...]


class Waits(NamedTuple):
    """How long a relay waits, in seconds."""

    idle: float = 600.0
    """For the next request on a connection."""
    head: float = 30.0
    """For the whole head of a request, from its first byte on."""
    body: float = 300.0
    """For the whole body of a request."""
    connect: float = 20.0
    """For a connection to the server, the search for its address included."""
    answer: float = 900.0
    """For the next piece of an answer, and for a harness to take one."""
    linger: float = 1.0
    """For what a refused harness is still sending, so that it reads why before the connection ends."""


class Severed(Exception):
    """The relay is being closed."""


class Gone(Exception):
    """The harness hung up."""


class Cords:
    """The open sockets of one relay. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._held: set[socket.socket] = set()
        self._lookups: set[_Lookup] = set()
        self.are_cut = False

    def hold(self, line: socket.socket) -> None:
        """Know a socket. Raises Severed, and closes it, once the cords are cut."""
        with self._lock:
            if self.are_cut:
                line.close()
                raise Severed
            self._held.add(line)

    def drop(self, line: socket.socket) -> None:
        """Close a socket: here, so that no other one has its number when the cords are cut."""
        with self._lock:
            self._held.discard(line)
            line.close()

    def swap(self, old: socket.socket, new: socket.socket) -> None:
        """Know another object in place of one that has given its descriptor away. Raises Severed as `hold` does."""
        with self._lock:
            self._held.discard(old)
        self.hold(new)

    def cut(self) -> None:
        """End every wait; whoever waited sees an end of file or an error, and closes."""
        with self._lock:
            self.are_cut = True
            for line in self._held:
                with suppress(OSError):
                    socket.socket.shutdown(line, socket.SHUT_RDWR)  # TLS would first forget its keys, under a reader
            for lookup in self._lookups:
                lookup.tell(Severed())

    def addresses(self, host: str, port: int, wait_s: float) -> list[Address]:
        """Where a host is. Raises OSError, Severed, or TimeoutError.

        A name is asked for in a thread of its own, since nothing can interrupt the question.
        """
        with suppress(OSError):
            return _asked(host, port, socket.AI_NUMERICHOST)
        lookup = _Lookup()
        with self._lock:
            if self.are_cut:
                raise Severed
            self._lookups.add(lookup)
        Thread(target=lookup.run, args=(host, port), daemon=True).start()
        try:
            return lookup.wait(wait_s)
        finally:
            with self._lock:
                self._lookups.discard(lookup)


class _Lookup:
    """One question for an address; the first answer counts."""

    def __init__(self) -> None:
        self._found: list[Address] | Exception = TimeoutError()
        self._done = Event()

    def run(self, host: str, port: int) -> None:
        """Ask the system."""
        try:
            self.tell(_asked(host, port, 0))
        except (OSError, ValueError) as error:
            self.tell(error if isinstance(error, OSError) else OSError(str(error)))

    def tell(self, found: list[Address] | Exception) -> None:
        """End the wait."""
        if not self._done.is_set():
            self._found = found
            self._done.set()

    def wait(self, wait_s: float) -> list[Address]:
        """The answer. Raises what went wrong, and TimeoutError."""
        self._done.wait(wait_s)
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


def _asked(host: str, port: int, flags: int) -> list[Address]:
    return list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags))
