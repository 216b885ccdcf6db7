"""Groups: the kernel's control groups, which count what a whole tree uses up. Version 2, and version 1 beside it.

A group is made below the one this process is in, so that limits around us still hold. Its name tells who made it: one
whose maker is gone is removed by whoever makes the next.
"""

import errno
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from keisei.records.confinement import Limits
from keisei.sandbox.tree import look

ROOT = Path("/sys/fs/cgroup")
_NAME = "keisei"
_PATIENCE_S, _PAUSE_S = 1.0, 0.002
_LIMITS = ("pids.max", "memory.max", "memory.high", "cpu.max", "memory.swap.max")
_V2, _V1_PIDS = "cgroup.controllers", "pids"


def parents(listing: str, root: Path = ROOT) -> Iterator[Path]:
    """The folders below which a group could be made, from what /proc/self/cgroup says; the best first."""
    lines = [line.split(":", 2) for line in listing.splitlines() if line.count(":") >= 2]  # noqa: PLR2004 - its form
    for _, controllers, path in lines:
        if controllers == "" and (root / _V2).exists():
            yield from _upwards(root / path.lstrip("/"), root)
    for _, controllers, path in lines:
        if _V1_PIDS in controllers.split(","):
            yield root / controllers / path.lstrip("/")


def _upwards(folder: Path, root: Path) -> Iterator[Path]:
    """This one and those above it, but never beyond one that has a limit, which the tree would be rid of.

    Version 2 lets no group that holds processes have children with limits, so mostly it is one above.
    """
    yield folder
    while folder != root and not any(_is_limited(folder / each) for each in _LIMITS):
        folder = folder.parent
        yield folder


def _is_limited(file: Path) -> bool:
    with suppress(OSError):
        return not file.read_text(encoding="ascii").startswith("max")
    return False


def make(parent: Path, limits: Limits) -> tuple[str, ...]:
    """New groups with these limits, each as its folder. Raises OSError where none can be made; then none is left."""
    folders = []
    try:
        for folder, settings in _wanted(parent, limits):
            clear(folder)
            ours = folder / _name()
            ours.mkdir(mode=0o755)
            folders.append(str(ours))
            for name, value in settings.items():
                (ours / name).write_text(str(value), encoding="ascii")
    except OSError:
        remove(folders)
        raise
    return tuple(folders)


def remove(folders: "tuple[str, ...] | list[str]") -> None:
    """Give groups back. One that still holds a process after a while stays, for the next to remove.

    The kernel buries what was in a namespace a moment after it has killed it.
    """
    until = time.monotonic() + _PATIENCE_S
    for each in folders:
        while not _removed(Path(each)) and time.monotonic() < until:
            time.sleep(_PAUSE_S)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError as error:
        return error.errno != errno.EBUSY
    return True


def clear(parent: Path) -> None:
    """Remove what makers that are gone have left. What is busy stays."""
    for each in _deserted(parent):
        _removed(each)


def clear_groups() -> None:
    """Remove what makers that are gone have left, wherever this process could make a group. Never raises.

    What was killed right before is waited for.
    """
    with suppress(OSError):
        listing = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace")
        found = set(parents(listing))
        with suppress(OSError):
            found.add(_memory_parent())
        remove([str(each) for parent in found for each in _deserted(parent)])


def _deserted(parent: Path) -> Iterator[Path]:
    for each in parent.glob(f"{_NAME}-*-*-*"):
        pid, start = each.name.split("-")[1:3]
        seen = look(int(pid)) if pid.isdecimal() else None
        if seen is None or seen.dead or str(seen.start) != start:
            yield each


def tasks_of(user: int) -> int:
    """How many processes and threads a user has now."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            count += len(os.listdir(folder / "task")) if folder.stat().st_uid == user else 0  # noqa: PTH208 - as in tree
    return count


def _wanted(parent: Path, limits: Limits) -> Iterator[tuple[Path, dict[str, int]]]:
    second = (parent / _V2).exists()
    pids = {} if limits.processes is None else {"pids.max": limits.processes}
    memory = {} if limits.memory_bytes is None else {_memory_file(second=second): limits.memory_bytes}
    if second or pids:
        yield parent, pids | (memory if second else {})
    if memory and not second:
        yield _memory_parent(), memory


def _memory_file(*, second: bool) -> str:
    return "memory.max" if second else "memory.limit_in_bytes"


def _memory_parent() -> Path:
    for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return ROOT / controllers / path.lstrip("/")
    raise OSError("there is no group for memory")


def _name() -> str:
    seen = look(os.getpid())
    return f"{_NAME}-{os.getpid()}-{seen.start if seen else 0}-{secrets.token_hex(4)}"
