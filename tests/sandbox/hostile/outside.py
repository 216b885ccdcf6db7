"""Servers outside of the sandbox that do what they are asked, as tmux, D-Bus, Docker and ssh-agent would.

Each speaks enough of its protocol that a client has to speak it too, and leaves `acted/<kind>` behind when it acts.
"""

import ctypes
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_REMOVE, _CREATE = 0, 0o1000
_USER_KEYRING, _SEARCH, _UNLINK = -4, 10, 9
_KEYCTL = {"x86_64": 250, "aarch64": 219}
_AT_FDCWD = -100


class Server:
    """A thread that accepts connections on a Unix socket and answers one after the other."""

    kind = ""

    def __init__(self, address: str, rig: Any) -> None:
        self.rig = rig
        if not address.startswith("\0"):
            os.makedirs(os.path.dirname(address), exist_ok=True)  # noqa: PTH103, PTH120 - it arrives as text
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen(8)
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def act(self) -> None:
        """What was asked for is done here, outside."""
        self.rig.path(f"acted/{self.kind}").write_text("done\n")

    def answer(self, client: socket.socket) -> None:
        """One conversation."""
        raise NotImplementedError

    def stop(self) -> None:
        """End the thread; who is still connected is cut off."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client, suppress(OSError):
                client.settimeout(5)
                self.answer(client)


class Gate(Server):
    """Refuses everything."""

    kind = "gate"

    def answer(self, client: socket.socket) -> None:
        client.recv(4096)
        client.sendall(b"no\n")


class Multiplexer(Server):
    """`new-window COMMAND` runs it."""

    kind = "tmux"

    def answer(self, client: socket.socket) -> None:
        if client.recv(4096).startswith(b"new-window "):
            self.act()
        client.sendall(b"ok\n")


class Bus(Server):
    """The handshake of D-Bus, then one method call that starts a unit."""

    kind = "bus"

    def answer(self, client: socket.socket) -> None:
        if not client.recv(4096).startswith(b"\0AUTH EXTERNAL "):
            return
        client.sendall(b"OK 0123456789abcdef0123456789abcdef\r\n")
        if b"BEGIN\r\n" in (said := client.recv(4096)) and b"StartTransientUnit" in said:
            self.act()
        client.sendall(b"l\2\1\1")


class Engine(Server):
    """A container that has the machine's root bound in is made and started."""

    kind = "docker"

    def answer(self, client: socket.socket) -> None:
        said = client.recv(4096)
        if said.startswith(b"POST /containers/create ") and b'"/:/host"' in said:
            self.act()
        client.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")


class KeyAgent(Server):
    """Message 13 asks for a signature, 14 brings it."""

    kind = "agent"

    def answer(self, client: socket.socket) -> None:
        said = client.recv(4096)
        if said[4:5] == b"\x0d":
            self.act()
        client.sendall(b"\0\0\0\5\x0e\0\0\0\0")


class Broker(Server):
    """Hands out a descriptor on a file of main, open for writing."""

    kind = "broker"

    def answer(self, client: socket.socket) -> None:
        client.recv(4096)
        with self.rig.path("main/README.md").open("a") as handle:
            socket.send_fds(client, [b"here"], [handle.fileno()])
        client.recv(1)


def shared_segment(content: bytes) -> tuple[int, Callable[[], object]]:
    """A System V segment that everybody of this user may attach, and what removes it."""
    library = ctypes.CDLL(None, use_errno=True)
    number = library.shmget(0, 4096, _CREATE | 0o666)
    library.shmat.restype = ctypes.c_void_p
    address = library.shmat(number, None, 0)
    ctypes.memmove(address, content, len(content))
    library.shmdt(ctypes.c_void_p(address))
    return number, lambda: library.shmctl(number, _REMOVE, None)


def file_handle(path: str) -> tuple[str, int]:
    """The kernel's handle of a file, in hex, and its type."""
    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(8 + 128)
    ctypes.c_uint.from_buffer(buffer).value = 128
    mount = ctypes.c_int()
    if library.name_to_handle_at(_AT_FDCWD, path.encode(), buffer, ctypes.byref(mount), 0) != 0:
        raise OSError(ctypes.get_errno(), "this file system has no handles")
    size, kind = ctypes.c_uint.from_buffer(buffer).value, ctypes.c_int.from_buffer(buffer, 4).value
    return buffer.raw[8 : 8 + size].hex(), kind


def find_key(name: str) -> int | None:
    """The number of a key in the user's keyring."""
    number = _keyctl(_SEARCH, _USER_KEYRING, b"user", name.encode(), 0)
    return number if number > 0 else None


def drop_key(name: str) -> None:
    """Take a key out of the user's keyring, if it is there."""
    number = find_key(name)
    if number is not None:
        _keyctl(_UNLINK, number, _USER_KEYRING)


def _keyctl(*arguments: int | bytes) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    return int(library.syscall(_KEYCTL[os.uname().machine], *arguments))
