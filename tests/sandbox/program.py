"""Programs for the tests of this room, and how to find what is left of them."""

import os
import time
from pathlib import Path

import pytest

from keisei.records.launch import Launch
from keisei.sandbox import tree as trees
from keisei.sandbox.tree import Seen

LEVELS = pytest.mark.parametrize("keeper", [pytest.param(False, id="mark"), pytest.param(True, id="keeper")])
NEVER_S = 120.0
"""A deadline no test reaches unless something hangs."""


def launch(*argv: str, tag: str = "", **changes) -> Launch:
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", **({"TAG": tag} if tag else {})}
    return Launch(**{"argv": argv, "cwd": "/", "env": env, "timeout_s": NEVER_S, **changes})


def tagged(word: str) -> list[int]:
    """Living processes that carry the word; looks several times, for some do not stay long."""
    return [pid for _ in range(5) for pid in carriers(word)]


def carriers(word: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            texts = [
                path.read_bytes() for path in (folder / "cmdline", *folder.glob("task/*/environ")) if path.exists()
            ]
        except OSError:
            continue
        if any(word.encode() in text for text in texts) and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found


def everyone() -> list[Seen]:
    return [seen for batch in trees.everyone() for seen in batch]


def eventually(condition) -> bool:
    """Whether it becomes true; waits for it as long as a slow machine may need."""
    until = time.monotonic() + 30
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    return condition()
