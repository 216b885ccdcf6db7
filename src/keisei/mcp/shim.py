"""The shim: what a harness inside an attempt starts as keisei's MCP server. `python -I -S shim.py SOCKET`.

It says who it is and then carries bytes between the harness and the runtime, which is outside of the sandbox. It
decides nothing, and whoever runs something else in its place gets no more: the token says which attempt asks. That is
in a variable, since a command line can be read by other attempts where processes are not hidden from each other.
"""

import os
import select
import sys

try:
    import _socket as socket  # a third of the time it takes to start is the other one
except ImportError:  # pragma: no cover - another Python
    import socket  # type: ignore[no-redef]

PIECE = 65536
VARIABLE = "KEISEI_ATOMS_TOKEN"


def carry(line: "socket.socket") -> None:
    """Carry bytes both ways until the runtime hangs up. The harness's end of input is passed on."""
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(line.fileno(), select.POLLIN)
    while True:
        for fd, _ in poll.poll():
            data = os.read(fd, PIECE)
            if fd == 0 and not data:
                poll.unregister(0)
                line.shutdown(socket.SHUT_WR)
            elif fd == 0:
                send(line, data)
            elif not data:
                return
            else:
                put(data)


def send(line: "socket.socket", data: bytes) -> None:
    """Send all of it."""
    while data:
        data = data[line.send(data) :]


def put(data: bytes) -> None:
    """Write all of it."""
    while data:
        data = data[os.write(1, data) :]


def main() -> int:
    """Connect, say who asks, carry."""
    token = os.environ.get(VARIABLE)
    if len(sys.argv) != 2 or not token:  # noqa: PLR2004 - itself, and the one
        os.write(2, f"usage: {VARIABLE}=... shim.py SOCKET\n".encode())
        return 1
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.connect(sys.argv[1])
        send(line, f"{token}\n".encode())
        carry(line)
    except OSError as error:
        os.write(2, f"keisei: the runtime cannot be reached: {error.strerror}\n".encode())
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
