"""The gate's client in Python: `python -I -S client.py SOCKET TOKEN HARNESS`, the same program as client.c.

Exits 0 only after an explicit `A`. Everything else, whatever it is, is a refusal: JSON on standard output, a reason on
standard error, exit 2. It imports next to nothing, because a harness starts it for every tool call.
"""

import os
import select
import sys
import time

try:
    import _socket as socket  # a third of the time it takes to start is the other one
except ImportError:  # pragma: no cover - another Python
    import socket  # type: ignore[no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

DEADLINE_S, WRITE_S = 2.0, 1.0
INPUT = 4 * 1024 * 1024
PART = 65536
CHUNK = 512  # POSIX's PIPE_BUF: a pipe that polls as writable takes this much without blocking
NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
REFUSED = 2


class Refusal(Exception):
    """Why the call is refused."""


def await_ready(fd: int, event: int, until: float) -> bool:
    """Wait until the descriptor is ready; False when the time is over."""
    poll = select.poll()
    poll.register(fd, event)
    left = until - time.monotonic()
    ready = poll.poll(left * 1000) if left > 0 else []
    if any(events & select.POLLNVAL for _, events in ready):
        raise Refusal("waiting failed")
    return bool(ready)


def wait_for(fd: int, event: int, until: float, late: str) -> None:
    """Wait until the descriptor is ready. Raises Refusal when the time is over."""
    if not await_ready(fd, event, until):
        raise Refusal(late)


def put(fd: int, data: bytes) -> bool:
    """Write all of it; False when nobody takes it."""
    until = time.monotonic() + WRITE_S
    try:
        while data:
            if not await_ready(fd, select.POLLOUT, until):
                return False
            try:
                data = data[os.write(fd, data[:CHUNK]) :]
            except BlockingIOError:
                continue
    except (OSError, Refusal):
        return False
    return True


def refuse(why: str) -> "NoReturn":
    """The refusal, in the form that stops the call in every harness we know."""
    why = "".join(char if " " <= char <= "~" else "?" for char in why)[:300]
    reason = f"keisei gate: {why}; the call is refused because nobody judged it, which is no violation"
    quoted = reason.replace("\\", "\\\\").replace('"', '\\"')
    put(1, f'{{"decision":"block","reason":"{quoted}"}}\n'.encode())
    put(2, f"{reason}\n".encode())
    os._exit(REFUSED)


def hold_standard_descriptors() -> None:
    """A missing descriptor would be taken by the socket, and the answer written into it."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            if os.open("/dev/null", os.O_RDWR) != fd:
                os._exit(REFUSED)


def is_name(text: str, shortest: int, longest: int) -> bool:
    """Whether it may be a token or a harness."""
    return shortest <= len(text) <= longest and NAME.issuperset(text)


def read_input(until: float) -> bytes:
    """What the hook was told."""
    parts: list[bytes] = []
    size = 0
    while True:
        wait_for(0, select.POLLIN, until, "the hook's input did not end in time")
        try:
            part = os.read(0, INPUT + 1 - size)
        except BlockingIOError:
            continue
        except OSError as error:
            raise Refusal(f"the hook's input cannot be read: {error.strerror}") from None
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > INPUT:
            raise Refusal("the hook's input is larger than 4 MB")


def dial(path: str, until: float) -> "socket.socket":
    """A connection to the service."""
    if not path or len(os.fsencode(path)) > 107:  # noqa: PLR2004 - what a socket's address holds
        raise Refusal("the socket's path is too long")
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    line.settimeout(0)
    while True:
        try:
            line.connect(path)
        except BlockingIOError:  # its queue is full for the moment
            if time.monotonic() >= until:
                raise Refusal("the gate service cannot be reached in time") from None
            time.sleep(0.005)
        except OSError as error:
            raise Refusal(f"the gate service cannot be reached: {error.strerror}") from None
        else:
            return line


def ask(line: "socket.socket", data: bytes, until: float) -> None:
    """Send the request."""
    rest = memoryview(data)
    while rest:
        wait_for(line.fileno(), select.POLLOUT, until, "the gate service does not listen")
        try:
            rest = rest[line.send(rest) :]
        except BlockingIOError:
            continue
        except OSError as error:
            raise Refusal(f"the gate service hung up: {error.strerror}") from None


def expected(answer: bytes) -> int:
    """The size of the whole answer, as far as it can be told from what has come."""
    if answer[:1] not in (b"", b"A", b"D"):
        raise Refusal("the gate service gave an answer that is none")
    size = 1
    for _ in range(2):
        if len(answer) < size + 4:
            return size + 4
        part = int.from_bytes(answer[size : size + 4], "big")
        if part > PART:
            raise Refusal("the gate service gave an answer that is too long")
        size += 4 + part
    return size


def listen_to(line: "socket.socket", until: float) -> bytes:
    """The answer, whole and nothing behind it."""
    answer = b""
    while len(answer) < (size := expected(answer)):
        wait_for(line.fileno(), select.POLLIN, until, "the gate service did not answer in time")
        try:
            part = line.recv(2 * PART + 10)
        except BlockingIOError:
            continue
        except OSError as error:
            raise Refusal(f"the gate service broke off its answer: {error.strerror}") from None
        if not part:
            raise Refusal("the gate service broke off its answer")
        answer += part
    if len(answer) > size:
        raise Refusal("the gate service said more than an answer")
    return answer


def call(arguments: list[str], until: float) -> "NoReturn":
    """Ask, say what was answered, exit. Raises Refusal."""
    if len(arguments) != 3 or not is_name(arguments[1], 16, 64) or not is_name(arguments[2], 1, 32):  # noqa: PLR2004
        raise Refusal("the hook is set up wrongly (usage: client SOCKET TOKEN HARNESS)")
    path, token, harness = arguments
    body = f"{token}\n{harness}\n".encode() + read_input(until)
    line = dial(path, until)
    ask(line, len(body).to_bytes(4, "big") + body, until)
    answer = listen_to(line, until)
    middle = 5 + int.from_bytes(answer[1:5], "big")
    out, err, allowed = answer[5:middle], answer[middle + 4 :], answer[:1] == b"A"
    if not allowed and not (out and err):
        raise Refusal("the gate service refused without a reason")
    if not put(1, out) and allowed:
        raise Refusal("the answer cannot be written")
    put(2, err)
    os._exit(0 if allowed else REFUSED)


def main() -> None:
    """Run, and refuse on anything that is not foreseen."""
    try:
        hold_standard_descriptors()
        call(sys.argv[1:], time.monotonic() + DEADLINE_S)
    except Refusal as error:
        refuse(str(error))
    except BaseException as error:  # noqa: BLE001 - there is no other way out than a refusal
        refuse(f"the client broke: {type(error).__name__}")


if __name__ == "__main__":
    main()
