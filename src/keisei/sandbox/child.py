"""Children: what a started program looks like to who drives it, whoever its parent is."""

import subprocess
from collections.abc import Mapping
from typing import IO, Protocol

from keisei.records.launch import TreeLevel

Ending = tuple[int | None, int | None]
"""The exit code and the signal; both None where nobody can tell."""


class Child(Protocol):
    """A started program."""

    level: TreeLevel
    pid: int
    """The program itself."""
    adopter: int | None
    """The keeper, where there is one."""
    ended: int
    """A descriptor that can be read once the program has ended."""
    popen: "subprocess.Popen[bytes]"
    """Holds the pipes."""

    def lease_left(self) -> float:
        """How many seconds its lease still lasts; infinite where it has none."""

    def renew(self, seconds: float) -> None:
        """Have the lease end that long from now. Does nothing where there is none, or where it has ended."""

    def ending(self) -> Ending:
        """How it ended."""

    def lost_lease(self) -> bool:
        """Whether the end of its lease ended it; known once `ending` was asked."""

    def close(self) -> int:
        """Bury it and give everything back. Says how many processes had to be killed meanwhile."""


def spawn(
    argv: tuple[str, ...], env: Mapping[str, str], cwd: str, pass_fds: tuple[int, ...] = (), *, stdin: bool
) -> "subprocess.Popen[bytes]":
    """Start a program in a session of its own, with pipes. Raises OSError and ValueError as the kernel tells it."""
    return subprocess.Popen(  # noqa: S603 - running what it is handed is this room's work
        argv,
        bufsize=0,
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=env,
        start_new_session=True,
        pass_fds=pass_fds,
    )


def close_pipes(popen: "subprocess.Popen[bytes]") -> None:
    """Give back the pipes of a program."""
    pipes: tuple[IO[bytes] | None, ...] = (popen.stdin, popen.stdout, popen.stderr)
    for pipe in pipes:
        if pipe is not None:
            pipe.close()
