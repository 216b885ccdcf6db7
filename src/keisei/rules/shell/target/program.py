"""Programs: which grammar a name stands for, and which verb in which folder the words call."""

import re

from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.getopt import parsed
from keisei.rules.shell.target.grammar import Grammar
from keisei.rules.shell.target.path import joined
from keisei.rules.shell.target.table import GRAMMARS

_LONGEST_NAME = 64

_VERSIONED = re.compile(r"(?:[\w.]+-linux-\w+-)?([a-z+][a-z+-]*?\d?[a-z+]*?)[-.]?\d+(?:\.\d+)*", re.ASCII)

_WORKERS = frozenset(
    (
        "checkout",
        "restore",
        "reset",
        "apply",
        "read-tree",
        "merge",
        "stash",
        "pull",
        "switch",
        "checkout-index",
        "am",
        "rm",
        "clean",
    )
)
"""Verbs of git that write where `--work-tree` says."""


def known_as(program: str) -> tuple[str, Grammar | None]:
    """The name a program is known by, and its grammar: `python3.11`, `gcc-12`, `mkfs.ext4` and `gsed` are known too."""
    versioned = _VERSIONED.fullmatch(program[:_LONGEST_NAME])
    for name in (
        program,
        versioned[1] if versioned else "",
        program.rpartition("-linux-gnu-")[2],
        program[1:] if program.startswith("g") else "",
        "mkfs" if program.startswith("mkfs.") else "",
    ):
        if name in GRAMMARS:
            return name, GRAMMARS[name]
    return program, None


def called(program: str, grammar: Grammar | None, words: tuple[str, ...]) -> tuple[Call | None, str, str]:
    """The call itself, the folder it runs in, and its verb: `git -C x worktree add y` calls `git worktree add` in x."""
    key, folder = program, ""
    while grammar is not None and grammar.shape == "verb":
        call = parsed(key, grammar._replace(posix=True), words)
        for value in (*call.values("C"), *call.values("chdir")):
            folder = joined(folder, value)
        if not call.operands:
            return None, folder, ""
        key, words = f"{key} {call.operands[0]}", call.operands[1:]
        for setting in call.values("c"):
            key_, _, value = setting.partition("=")
            call.found.setdefault("work-tree", []).extend([value] if key_.lower() == "core.worktree" else [])
        if call.value("work-tree") and call.operands[0] in _WORKERS:
            words = (f"--work-tree={call.value('work-tree')}", *words)
        grammar = GRAMMARS.get(key)
    verb = key.removeprefix(program).split() or [each for each in words if not each.startswith("-")]
    return None if grammar is None else parsed(key, grammar, words), folder, verb[0] if verb else ""
