"""Confinement: what a process tree may touch, and the layers of this machine that hold it. Internal: no schema."""

from typing import Literal

from msgspec import Struct

Level = Literal["none", "landlock", "full"]
"""How surely a tree is confined: not at all; by Landlock and seccomp; inside namespaces of its own as well."""
LEVELS: tuple[Level, ...] = ("none", "landlock", "full")
"""From the weakest to the strongest."""


class Limits(Struct, frozen=True, kw_only=True):
    """What one tree may use up. None leaves the machine's own limit."""

    processes: int | None = 1024
    """Processes and threads of the tree; kept by a cgroup, else by the kernel's limit for an ordinary user."""
    memory_bytes: int | None = None
    """Memory of the whole tree; kept by a cgroup where one can be made."""
    file_bytes: int | None = 4 * 1024**3
    """Bytes of one file."""
    open_files: int | None = 8192
    """Descriptors of one process."""
    tmp_bytes: int = 1024**3
    """Bytes of the private /tmp, which is memory."""


class Forward(Struct, frozen=True, kw_only=True):
    """A port inside the tree's own network that leads to a Unix socket outside of it."""

    port: int
    """Where the tree connects to: 127.0.0.1, this port."""
    socket: str
    """The Unix socket behind it, absolute; bound in."""


class Confinement(Struct, frozen=True, kw_only=True):
    """What one tree may touch. Every path is absolute and real (no links in it); the same inside and outside."""

    write: tuple[str, ...] = ()
    """Folders, or single files that exist, it may write below; everything else is not writable."""
    protect: tuple[str, ...] = ()
    """Paths below `write` or `read` that stay read-only all the same, as far as they exist."""
    read: tuple[str, ...] = ()
    """Folders and files it may read beside the system's."""
    out: tuple[str, ...] = ()
    """Folders and files that are none of the system's although they may lie in one of its folders, such as /opt."""
    hide: tuple[str, ...] = ()
    """Folders and files below `read` that must not be readable; they show empty."""
    replace: dict[str, str] = {}
    """Files below `read` that show the content of another file: path to path of the content."""
    sockets: tuple[str, ...] = ()
    """Unix sockets it may connect to; it can neither replace nor list them."""
    execute: tuple[str, ...] | None = None
    """Programs, and folders of programs, it may start beside the confined program itself; None for whatever it may
    read. Held by Landlock alone, and against being started: code that runs can still map what it may read."""
    network: Literal["none", "open"] = "none"
    """`none` leaves `forward` and `connect` only."""
    forward: Forward | None = None
    """The model relay, where the tree has a network of its own."""
    connect: int | None = None
    """The model relay's port on the machine's loopback, where the network is shared: the only one it may reach."""
    limits: Limits = Limits()
    """What it may use up."""


class Machine(Struct, frozen=True, kw_only=True):
    """What this machine can hold, found by doing it; tests hand in a weaker one."""

    bwrap: str | None
    """The bubblewrap program whose namespaces were seen to work; None where none does."""
    landlock: int
    """The Landlock ABI that was seen to refuse a write; 0 where there is none."""
    seccomp: bool
    """A filter was seen to refuse a call."""
    cgroup: str | None = None
    """A folder below which cgroups with limits were made, v2 or v1's pids; None where none can be."""
    faults: tuple[str, ...] = ()
    """Why a layer is not there, one sentence each."""
