"""Namespaces: the command line of bubblewrap for a tree that sees nothing but what it is given.

The root is empty and read-only; what the tree may read is bound into it read-only, what it may write on top of that,
and what must stay closed comes last. A folder that holds a mount can be renamed together with it, and another put in
its place; so every folder between a writable one and a closed path is a mount of its own, which nobody can rename.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from keisei.records.confinement import Confinement
from keisei.records.error import OperatorError

EMPTY = Path(__file__).resolve().with_name("empty")
"""What a hidden file shows."""
MOST = 2000
"""Binds; bwrap takes no more than 9000 arguments."""

_SHARES = (
    "--die-with-parent",
    "--new-session",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--cap-drop",
    "ALL",
)
# Root may write there without any capability: /proc/sys/kernel/core_pattern names a program the kernel runs outside.
_FIXED = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/mtrr", "/proc/driver")
_UNSEEN = ("/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats")
_TMP = "/tmp/"  # noqa: S108 - the tree's own
_UNSEEN_FOLDERS = ("/proc/acpi", "/proc/scsi", "/proc/asound")


def arguments(confinement: Confinement, system: Iterable[tuple[str, str]], reads: Sequence[str]) -> list[str]:
    """What comes between `bwrap` and the program. `system` is pairs of a path inside and what stands there outside.

    A relative outside is the target of a link. `reads` are bound read-only beside those of the confinement. Raises
    OperatorError where there are more paths than bwrap takes.
    """
    network = () if confinement.network == "open" else ("--unshare-net",)
    ways = _ways(confinement, reads)
    binds = [*_binds(confinement, reads), *_closed(confinement)]
    if len(binds) > MOST:
        message = f"the program would need {len(binds)} paths of its own, more than the {MOST} that can be bound"
        raise OperatorError(message, "name folders instead of the files in them")
    return [
        *_SHARES,
        *network,
        *_flat(_system(system)),
        *_machine(confinement.limits.tmp_bytes),
        *_flat(("--size", "65536", "--tmpfs", each) for each in ways),
        *_flat(binds),
        *_flat(("--remount-ro", each) for each in ("/", *ways)),
    ]


def _system(pairs: Iterable[tuple[str, str]]) -> Iterator[Sequence[str]]:
    for inside, outside in sorted(pairs):
        yield ("--ro-bind" if outside.startswith("/") else "--symlink", outside, inside)


def _machine(tmp_bytes: int) -> list[str]:
    """The kernel's folders, and /tmp, which is memory."""
    size = ("--size", str(tmp_bytes))
    fixed = ((each, each) for each in _FIXED if os.path.lexists(each))
    unseen = ((str(EMPTY), each) for each in _UNSEEN if os.path.lexists(each))
    folders = [each for each in _UNSEEN_FOLDERS if os.path.lexists(each)]
    return [
        *("--proc", "/proc"),
        *_flat(("--ro-bind", *pair) for pair in (*fixed, *unseen)),
        *_flat(("--tmpfs", each, "--remount-ro", each) for each in folders),
        *("--dev", "/dev", *size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),  # noqa: S108 - the tree's own
        *("--perms", "1777", *size, "--tmpfs", "/tmp", "--dir", "/run"),  # noqa: S108 - as above
    ]


def _ways(confinement: Confinement, reads: Sequence[str]) -> list[str]:
    """Folders of the private /tmp through which paths are bound: no more than a way, that the tree cannot rename."""
    bound = {*reads, *confinement.read, *confinement.write, *confinement.sockets}
    firsts = {each.split("/")[2] for each in bound if each.startswith(_TMP)}
    return sorted(way for first in firsts if (way := _TMP + first) not in bound and _TMP.rstrip("/") not in bound)


def _binds(confinement: Confinement, reads: Sequence[str]) -> Iterator[Sequence[str]]:
    """Parents before children; what may be written is bound over what may be read."""
    modes = {path: "--ro-bind" for path in (*reads, *confinement.read) if os.path.lexists(path)}
    modes |= dict.fromkeys(_pinned(confinement), "--bind")
    modes |= dict.fromkeys(confinement.write, "--bind")
    for path in sorted(modes, key=_parts):
        yield (modes[path], path, path)
    for path in sorted(confinement.sockets):
        yield ("--ro-bind", path, path)


def _pinned(confinement: Confinement) -> set[str]:
    """Folders between a writable one and a path that must stay closed."""
    closed = (*confinement.protect, *confinement.hide, *confinement.replace)
    parents = {str(parent) for path in closed if os.path.lexists(path) for parent in Path(path).parents}
    return {each for each in parents if any(each.startswith(f"{root}/") for root in confinement.write)}


def _closed(confinement: Confinement) -> Iterator[Sequence[str]]:
    """Last of all, so that nothing is bound over them; the hidden after the protected ones they may lie in."""
    for path in sorted(confinement.protect, key=_parts):
        if os.path.lexists(path):
            yield ("--ro-bind", path, path)
    for path, content in sorted(confinement.replace.items()):
        yield ("--ro-bind", content, path)
    for path in sorted(confinement.hide, key=_parts):
        if Path(path).is_dir():
            yield ("--size", "4096", "--tmpfs", path, "--remount-ro", path)
        elif os.path.lexists(path):
            yield ("--ro-bind", str(EMPTY), path)


def _parts(path: str) -> tuple[str, ...]:
    return Path(path).parts


def _flat(groups: Iterable[Sequence[str]]) -> list[str]:
    return [word for group in groups for word in group]
