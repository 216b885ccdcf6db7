"""Processor time of a server: its first process, the others it has started, and those that have ended."""

import os
from contextlib import suppress
from pathlib import Path

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def tree_cpu_s(parent: int) -> float:
    """Seconds so far; 0 where there is no such process."""
    if not Path(f"/proc/{parent}").exists():
        return 0.0
    children = [each for each in _stats() if each[1] == parent]
    return TICK_S * (sum(_stat(parent)[11:15]) + sum(sum(each[11:13]) for each in children))


def _stat(pid: int) -> list[int]:
    """What /proc/PID/stat says after the name: [1] is the parent, [11] to [14] are ticks, own and of ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return [0, *map(int, fields[1:])]


def _stats() -> list[list[int]]:
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):  # one that has ended meanwhile
            if entry.name.isdigit():
                found.append(_stat(int(entry.name)))
    return found
