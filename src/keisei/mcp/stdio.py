"""Serving on standard input and output, for a client that started us. Nothing but the protocol is written there."""

import asyncio
import fcntl
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from keisei.mcp.desk import Desk
from keisei.mcp.server import AtomServer
from keisei.records.error import OperatorError
from keisei.records.problem import printable

LAST_S: Final = 1.8
"""When the client has hung up, or we were asked to end: what is not over after this time is left to the kernel."""

LINE: Final = 500
"""Characters of a line of trouble."""


def serve(desk: Desk) -> None:
    """Serve the client on standard input until it hangs up, or until somebody asks us to end. Raises OperatorError."""
    say_in_lines()
    with _own_descriptors() as (read_fd, write_fd):
        server = AtomServer(desk)
        try:
            asyncio.run(_served(server, read_fd, write_fd))
        finally:
            end_soon()
            server.close()


async def _served(server: AtomServer, read_fd: int, write_fd: int) -> None:
    serving = asyncio.ensure_future(server.serve(read_fd, write_fd, on_end=end_soon))
    hear(serving.cancel)
    with suppress(asyncio.CancelledError):
        await serving


def hear(end: Callable[[], object]) -> None:
    """Have Ctrl-C, an order to end and a closed terminal say `end`, in the loop that runs; then time is short."""
    loop = asyncio.get_running_loop()

    def heard() -> None:
        end_soon()
        end()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # `nohup` says: go on
            loop.add_signal_handler(number, heard)


def end_soon() -> None:
    """End this process in a moment, whatever still hangs. Its workers end with it."""
    timer = threading.Timer(LAST_S, os._exit, (0,))
    timer.daemon = True
    timer.start()


class _Line(logging.Handler):
    """A line a trouble, on stderr: what a client has sent may stand in it, and in a traceback even more."""

    def emit(self, record: logging.LogRecord) -> None:
        what = f": {record.exc_info[1]!r}" if record.exc_info else ""
        sys.stderr.write(f"keisei: {printable(f'{record.getMessage()}{what}'[:LINE])}\n")


def say_in_lines() -> None:
    """Have the libraries say what went wrong in one line each, and nothing else."""
    log = logging.getLogger()
    if not any(isinstance(each, _Line) for each in log.handlers):
        log.addHandler(_Line(logging.ERROR))


@contextmanager
def _own_descriptors() -> Iterator[tuple[int, int]]:
    """Standard input and output for ourselves: whoever else reads finds nothing, whoever else prints does so on stderr.

    Both are closed in every program that is started. Raises OperatorError.
    """
    read_fd, write_fd = _above(0), _above(1)
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(nothing, 1)
    os.close(nothing)
    try:
        yield read_fd, write_fd
    finally:
        os.dup2(read_fd, 0)
        os.dup2(write_fd, 1)
        os.close(read_fd)
        os.close(write_fd)


def _above(fd: int) -> int:
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    except OSError as error:
        message = "standard input and output are not both open, and a client speaks to us there"
        raise OperatorError(message, "`keisei mcp serve --http` serves on a port") from error
