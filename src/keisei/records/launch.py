"""Launches: how a program is run, and what came of it. Internal: nothing here is a published schema."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from msgspec import Struct

TreeLevel = Literal["none", "mark", "keeper", "namespace"]
"""How surely the whole tree is ended: by the mark in its environment, by a keeper that adopts every orphan, or by the
kernel, which ends everything in a pid namespace with its first process.

A call over HTTP has no tree: `none`.
"""


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
    silence_s: float | None = None
    """How long it may write nothing, neither on standard output nor on standard error. Then the whole tree is ended."""
    output_cap: int = 1_048_576
    """How many bytes of each stream are kept. What comes after them is read and dropped, so nothing blocks."""
    grace_s: float = 2.0
    """How long the tree has between being asked to end (TERM) and being killed."""
    namespaced: bool = False
    """It runs in a pid namespace of its own, and the program that makes that dies with who starts it."""


class Call(Struct, frozen=True, kw_only=True):
    """One HTTP request, ready to be made."""

    method: str
    """GET, POST, ..."""
    url: str
    """Where it goes: http or https, with no user and no password in it."""
    headers: Mapping[str, str] = {}
    """Sent as they are; Host, Content-Length, Accept-Encoding and Connection are added where they are missing."""
    body: bytes = b""
    """What is sent."""
    timeout_s: float
    """How long all of it may take, from the search for the host to the last byte of the answer."""
    output_cap: int = 1_048_576
    """How many bytes of the answer's body are kept. What comes after them is read and dropped."""


class Exit(Struct, frozen=True, kw_only=True):
    """How a program ended, or a call. Its tree is gone, unless `survivors_left` says otherwise."""

    code: int | None
    """Its exit code; None where a signal ended it, or where nobody can tell. In a namespace a signal shows here, as 128
    and its number.

    Of a call: 0 for a complete answer with a status of 200 to 299, 1 for any other complete answer, None for none.
    """
    signal: int | None
    """The signal that ended it; None where it ended itself, or where nobody can tell."""
    stdout: bytes
    """The first bytes of its standard output, or of the body of the answer, up to the cap."""
    stderr: bytes
    """The first bytes of its standard error, up to the cap."""
    stdout_truncated: bool
    """There was more on standard output."""
    stderr_truncated: bool
    """There was more on standard error."""
    timed_out: bool
    """It was ended because its time was up. Its exit code is then no answer."""
    silent: bool = False
    """It was ended because it wrote nothing for too long; `timed_out` is then true as well."""
    lease_lost: bool = False
    """It was ended because nobody renewed its lease in time. Its exit code is then no answer."""
    canceled: bool
    """It was ended because somebody asked. Its exit code is then no answer."""
    survivors_killed: int
    """Processes of its tree, itself aside, that were seen and had to be killed; some die unseen with their group.

    In a namespace its first process may be among them, however it ended.
    """
    survivors_left: int
    """Processes of its tree that would not die in time, or may not be signalled. Anything but 0 is an alarm."""
    level: TreeLevel
    """How surely the tree was ended."""
    started_at: datetime
    """When it was started, UTC."""
    duration_s: float
    """How long it took until its tree was gone."""
    http_status: int | None = None
    """The status of the answer to a call; None of a program, and where there was no answer."""
    http_headers: Mapping[str, str] = {}
    """The headers of the answer, names in lower case; values that came under one name are joined with commas."""
    fault: str | None = None
    """Why a call has no complete answer, in one sentence; None where it has one, ran out of time or was canceled."""


class Spooled(Struct, frozen=True, kw_only=True):
    """What became of one stream that was written to a file while it came."""

    bytes_seen: int
    """How many bytes the program wrote."""
    bytes_kept: int
    """How many bytes the file holds, each secret being a mark."""
    truncated: bool
    """The file does not hold all of it: it ends at the cap, or where the disk would take no more."""
    sha256: str
    """The digest of what the file holds, in hex."""
    disk_full: bool = False
    """The disk, a quota or a limit on the size of files ended the writing."""
    fault: str | None = None
    """Why the writing ended early; None where it did not."""


class SpoolSummary(Struct, frozen=True, kw_only=True):
    """What a spool holds."""

    stdout: Spooled
    """Standard output, in `stdout.log`."""
    stderr: Spooled
    """Standard error, in `stderr.log`."""
