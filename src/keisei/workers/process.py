"""Processes, as this room needs them: whoever wires it hands in the starter, and the trees are that one's care."""

from collections.abc import Callable
from types import TracebackType
from typing import Literal, Protocol

from keisei.records.launch import Exit, Launch

OnOutput = Callable[[Literal["stdout", "stderr"], bytes], None]
"""Called with every piece of output, in the thread that pumps."""


class Process(Protocol):
    """A started program with its pipes and its tree. One thread drives it; any thread may cancel it."""

    @property
    def pid(self) -> int:
        """Its number, nobody else's before `wait` returned."""

    def write(self, data: bytes) -> None:
        """Queue bytes for standard input."""

    def close_stdin(self) -> None:
        """End standard input once everything queued is sent."""

    def pump(self, timeout_s: float) -> bool:
        """Move bytes for at most that long; nothing is read otherwise. False once it is over: then `wait`."""

    def wait(self) -> Exit:
        """Wait for its end, end its whole tree and say how it ended. A second call says the same again."""

    def cancel(self) -> None:
        """Have `pump` say False, and `wait` ask the tree to end: TERM, the grace time, KILL."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the whole tree: with grace, or at once where there is an exception."""


class Starter(Protocol):
    """Whoever starts a program. Raises WorldFault with one sentence where it cannot be started."""

    def __call__(self, launch: Launch, *, on_output: OnOutput | None = None, keep_stdin: bool = False) -> Process:
        """Start it and hand it over."""


class Slain(Exception):
    """Why a process is ended without grace."""


def kill(process: Process) -> Exit:
    """End a tree at once."""
    process.__exit__(Slain, None, None)
    return process.wait()


def stop(process: Process) -> Exit:
    """End a tree in order: TERM, the grace time, KILL."""
    process.cancel()
    return process.wait()
