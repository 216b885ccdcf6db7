"""Launches: how a program is run, and what came of it. Internal: nothing here is a published schema."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct

TreeLevel = Literal["mark", "keeper"]
"""How surely the whole tree is ended: by the mark in its environment, or by a keeper that adopts every orphan."""


class Launch(Struct, frozen=True, kw_only=True):
    """One program, ready to run."""

    argv: tuple[str, ...]
    """The command line. A first word without a slash is looked up in the PATH of `env`."""
    cwd: str
    """The folder it starts in, absolute."""
    env: Mapping[str, str]
    """Its whole environment. Nothing is inherited; the runner adds the tree's mark and nothing else."""
    stdin: bytes | None = None
    """What it reads on standard input, then end of file; None for an empty one."""
    timeout_s: float
    """How long it may run. Then the whole tree is ended."""
    output_cap: int = 1_048_576
    """How many bytes of each stream are kept. What comes after them is read and dropped, so nothing blocks."""
    grace_s: float = 2.0
    """How long the tree has between being asked to end (TERM) and being killed."""


class Exit(Struct, frozen=True, kw_only=True):
    """How a program ended. Its tree is gone, unless `survivors_left` says otherwise."""

    code: int | None
    """Its exit code; None where a signal ended it, or where nobody can tell."""
    signal: int | None
    """The signal that ended it; None where it ended itself, or where nobody can tell."""
    stdout: bytes
    """The first bytes of its standard output, up to the cap."""
    stderr: bytes
    """The first bytes of its standard error, up to the cap."""
    stdout_truncated: bool
    """There was more on standard output."""
    stderr_truncated: bool
    """There was more on standard error."""
    timed_out: bool
    """It was ended because its time was up. Its exit code is then no answer."""
    canceled: bool
    """It was ended because somebody asked. Its exit code is then no answer."""
    survivors_killed: int
    """Processes of its tree, itself aside, that were seen and had to be killed; some die unseen with their group."""
    survivors_left: int
    """Processes of its tree that would not die in time, or may not be signalled. Anything but 0 is an alarm."""
    level: TreeLevel
    """How surely the tree was ended."""
    started_at: datetime
    """When it was started, UTC."""
    duration_s: float
    """How long it took until its tree was gone."""
