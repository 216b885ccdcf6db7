"""Lines: a connection whose every wait ends at one deadline, or when somebody says so."""

import errno
import io
import os
import queue
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")

_SLICE_S = 0.1
_PIECE = 65_536
_BUSY = frozenset({errno.EINPROGRESS, errno.EAGAIN})


class TimeUp(Exception):
    """The deadline is over."""


class Canceled(Exception):
    """Somebody does not want to wait any longer."""


class Patience:
    """How long to wait, for everything together."""

    def __init__(self, deadline: float, cancel: threading.Event | None) -> None:
        """Until the deadline on the monotonic clock, and not once the event is set."""
        self._deadline, self._cancel = deadline, cancel

    def turn_s(self) -> float:
        """Seconds to wait at a time; then ask again. Raises TimeUp or Canceled where there is no more."""
        if self._cancel is not None and self._cancel.is_set():
            raise Canceled
        left = self.left_s()
        if left <= 0:
            raise TimeUp
        return min(left, _SLICE_S)

    def left_s(self) -> float:
        """Seconds until the deadline."""
        return self._deadline - time.monotonic()

    def until(self, handle: socket.socket, events: int, limit_s: float | None = None) -> bool:
        """Wait until the socket is ready. False where that takes longer than the limit."""
        poll = select.poll()
        poll.register(handle, events)
        began = time.monotonic()
        while not poll.poll(self.turn_s() * 1000):
            if limit_s is not None and time.monotonic() - began > limit_s:
                return False
        return True


class Line:
    """A connection to a host: what `http.client` asks of a socket, and no more."""

    def __init__(self, host: str, port: int, patience: Patience, *, secure: bool) -> None:
        """Open it. Raises OSError, TimeUp or Canceled."""
        self._patience = patience
        self.ended = False
        """Everything that came was read, and no more will come."""
        self._socket = _connected(_addresses(host, port, patience), patience)
        try:
            if secure:
                self._socket = self._secured(host)
        except BaseException:
            self._socket.close()
            raise

    def sendall(self, data: bytes) -> None:
        """Send all of it."""
        view = memoryview(data)
        while view:
            view = view[self._tried(partial(self._socket.send, view[:_PIECE]), select.POLLOUT) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        """A reader of what comes."""
        return io.BufferedReader(_Reader(self))

    def receive_into(self, buffer: memoryview) -> int:
        """What has come, as soon as there is something; 0 at the end."""
        received = self._tried(partial(self._socket.recv_into, buffer), select.POLLIN)
        self.ended = received == 0
        return received

    def close(self) -> None:
        """Nothing: `http.client` closes a socket whose answer it has still to read. `hang_up` does."""

    def hang_up(self) -> None:
        """End the connection."""
        self._socket.close()

    def _secured(self, host: str) -> ssl.SSLSocket:
        context = ssl.create_default_context()
        context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF  # anybody on the way could have cut it there
        secured = context.wrap_socket(
            self._socket, server_hostname=host, do_handshake_on_connect=False, suppress_ragged_eofs=False
        )
        self._socket = secured
        self._tried(secured.do_handshake, select.POLLIN)
        return secured

    def _tried(self, step: Callable[[], T], events: int) -> T:
        """Do what may have to wait for these events, again and again until it is done. TLS may wait for others."""
        while True:
            self._patience.turn_s()
            try:
                return step()
            except ssl.SSLWantReadError:
                self._patience.until(self._socket, select.POLLIN)
            except ssl.SSLWantWriteError:
                self._patience.until(self._socket, select.POLLOUT)
            except BlockingIOError:
                self._patience.until(self._socket, events)


class _Reader(io.RawIOBase):
    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - as the class above declares it
        return self._line.receive_into(memoryview(buffer))


_Address = tuple[Any, ...]


def _addresses(host: str, port: int, patience: Patience) -> list[_Address]:
    """Where the host is. Asked in a thread of its own, since nothing can interrupt the question."""
    answers: queue.SimpleQueue[list[_Address] | OSError | ValueError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(list(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
        except (OSError, ValueError) as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    while True:
        try:
            answer = answers.get(timeout=patience.turn_s())
        except queue.Empty:
            continue
        if isinstance(answer, list):
            return answer
        raise answer


def _connected(addresses: list[_Address], patience: Patience) -> socket.socket:
    """A connection to the first address that takes one; none uses up the time of those behind it."""
    failure = OSError(errno.EHOSTUNREACH, os.strerror(errno.EHOSTUNREACH))
    for ahead, address in enumerate(addresses):
        behind = len(addresses) - 1 - ahead
        try:
            return _dialled(address, patience, patience.left_s() / (behind + 1) if behind else None)
        except OSError as error:
            failure = error
    raise failure


def _dialled(address: _Address, patience: Patience, limit_s: float | None) -> socket.socket:
    family, kind, protocol, _, place = address
    found = socket.socket(family, kind, protocol)
    try:
        found.setblocking(False)  # noqa: FBT003 - it takes no keyword
        code = found.connect_ex(place)
        if code in _BUSY:
            ready = patience.until(found, select.POLLOUT, limit_s)
            code = found.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) if ready else errno.ETIMEDOUT
        if code:
            raise OSError(code, os.strerror(code))  # noqa: TRY301 - the socket is closed below, as for any other
    except BaseException:
        found.close()
        raise
    return found
