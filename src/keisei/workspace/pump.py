"""Pumping: a program's input, output and complaints, moved with a deadline and a bound, and nothing left behind."""

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, Final, NamedTuple

from keisei.records.error import WorldFault

PIECE: Final = 1_048_576
MOST_COMPLAINTS: Final = 65_536
"""Bytes kept of what a program complains; the rest is read and thrown away."""


class Pumped(NamedTuple):
    """How a program ended."""

    code: int
    """Its exit status."""
    out: bytes
    """What it said."""
    complaints: bytes
    """What it said on stderr, the beginning of it."""
    cut: bool
    """It said more than was wanted and was ended."""


def pumped(  # noqa: PLR0913 - each is one thing about a program
    words: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    *,
    given: Iterable[bytes] = (),
    patience_s: float,
    most: int,
    umask: int = -1,
) -> Pumped:
    """Run a program to its end, or to the deadline (WorldFault), or until it has said more than `most` bytes.

    Raises WorldFault where it cannot be started. What `given` raises is raised here, after the program was ended.
    """
    try:
        program = subprocess.Popen(  # noqa: S603 - words of ours
            words,
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            umask=umask,
        )
    except (OSError, ValueError) as error:
        raise WorldFault(f"`{words[0]}` cannot be started: {error}", retryable=True) from error
    with program:
        try:
            return _Pump(program, given, most).run(time.monotonic() + patience_s)
        finally:
            _end(program)


def _end(program: "subprocess.Popen[bytes]") -> None:
    """End the program and what it started, where it still runs."""
    if program.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(program.pid, signal.SIGKILL)
    if program.stdin is not None:
        with suppress(OSError):
            program.stdin.close()


class _Pump:
    """The three pipes of one program."""

    def __init__(self, program: "subprocess.Popen[bytes]", given: Iterable[bytes], most: int) -> None:
        self._program = program
        self._given: Iterator[bytes] = iter(given)
        self._left = memoryview(b"")
        self._most = most
        self._out = bytearray()
        self._complaints = bytearray()

    def run(self, deadline: float) -> Pumped:
        with selectors.DefaultSelector() as waiting:
            for pipe, does in ((self._program.stdout, self._hear), (self._program.stderr, self._overhear)):
                _watch(waiting, pipe, selectors.EVENT_READ, does)
            _watch(waiting, self._program.stdin, selectors.EVENT_WRITE, self._tell)
            while waiting.get_map() and len(self._out) <= self._most:
                for key, _ in waiting.select(self._rest(deadline)):
                    does, pipe = key.data
                    if not does(key.fd):
                        waiting.unregister(pipe)
                        pipe.close()
        if len(self._out) > self._most:
            return Pumped(0, bytes(self._out[: self._most]), bytes(self._complaints), cut=True)
        try:
            code = self._program.wait(self._rest(deadline))
        except subprocess.TimeoutExpired:
            raise self._late() from None
        return Pumped(code, bytes(self._out), bytes(self._complaints), cut=False)

    def _rest(self, deadline: float) -> float:
        rest = deadline - time.monotonic()
        if rest <= 0:
            raise self._late()
        return rest

    def _late(self) -> WorldFault:
        return WorldFault("git did not end in time", "the disk may be slow or the tree very large", retryable=True)

    def _hear(self, fd: int) -> bool:
        piece = os.read(fd, PIECE)
        self._out += piece
        return bool(piece)

    def _overhear(self, fd: int) -> bool:
        piece = os.read(fd, PIECE)
        self._complaints += piece[: MOST_COMPLAINTS - len(self._complaints)]
        return bool(piece)

    def _tell(self, fd: int) -> bool:
        while not self._left:
            piece = next(self._given, None)
            if piece is None:
                return False
            self._left = memoryview(piece)
        try:
            self._left = self._left[os.write(fd, self._left) :]
        except BrokenPipeError:  # it has heard enough; its exit status says whether that is well
            return False
        return True


def _watch(waiting: selectors.BaseSelector, pipe: IO[bytes] | None, event: int, does: object) -> None:
    if pipe is None:
        return
    os.set_blocking(pipe.fileno(), False)
    waiting.register(pipe, event, (does, pipe))
