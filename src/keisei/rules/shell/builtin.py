"""Builtins that change the shell itself: where it is, what its variables hold."""

import re
from typing import TYPE_CHECKING, Final

from keisei.records.effect import UNKNOWN, Target
from keisei.rules.shell.atom import Fields
from keisei.rules.shell.ground import GLOB, Trace, joined
from keisei.rules.shell.state import State

if TYPE_CHECKING:
    from keisei.rules.shell.walk import Walk

READERS: Final = frozenset({"read", "mapfile", "readarray", "getopts"})
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def builtin(walk: "Walk", base: str, rest: Fields, trace: Trace) -> None:
    """What a builtin does to the shell; other programs do nothing to it."""
    state = walk.state
    if base in ("cd", "chdir", "pushd"):
        _change_folder(state, base, rest)
    elif base == "popd":
        state.change_folder((UNKNOWN,))
    elif base == "set":
        _set(state, rest)
    elif base == "shift":
        state.variables.shifted = True
    elif base in READERS:
        _read(state, rest)
    elif base in ("fc", "history"):
        _history(walk, base, rest, trace)
    elif base == "printf" and rest[:1] == ("-v",) and len(rest) > 1:
        state.variables.assign(rest[1], UNKNOWN)
    elif base in ("export", "declare", "typeset", "readonly", "local"):
        _declare(walk, rest, trace)


def _history(walk: "Walk", base: str, rest: Fields, trace: Trace) -> None:
    """The list of earlier commands: `fc` runs one of them again, `history -w` writes them to a file."""
    if base == "fc":
        walk.found.cannot_tell("`fc` runs an earlier command again", trace)
    elif any(re.fullmatch(r"-[a-z]*[wa][a-z]*", word) for word in rest):
        named = [word for word in rest if not word.startswith("-")]
        for path in named or walk.state.variables.scalar("HISTFILE"):
            for cwd in walk.state.cwds:
                walk.found.write(Target(path=path, cwd=cwd, how=base))


def _read(state: State, rest: Fields) -> None:
    """Whatever is read is not known."""
    for name in (*rest, "REPLY", "MAPFILE"):
        if NAME.fullmatch(name):
            state.variables.assign(name, UNKNOWN)
            state.variables.assign_array(name, (UNKNOWN,))


def _declare(walk: "Walk", rest: Fields, trace: Trace) -> None:
    for word in rest:
        name, equals, value = word.partition("=")
        if equals:
            walk.state.variables.assign(name, value)
            walk.set_variable(name, value, trace)


def _change_folder(state: State, base: str, rest: Fields) -> None:
    operands = [word for word in rest if not re.fullmatch(r"-[LPe@n]+|--", word)]
    if not operands:
        state.change_folder(state.variables.scalar("HOME") if base != "pushd" else (UNKNOWN,))
    elif operands[0] == "-":
        state.change_folder(state.before)
    elif "CDPATH" in state.variables.values and not operands[0].startswith(("/", "./", "../")):
        state.change_folder((UNKNOWN,))
    else:
        target = operands[0]
        patterns = [joined(cwd, target) for cwd in state.cwds] if GLOB.search(target) else []
        found = [each for pattern in patterns for each in state.world.matches(pattern)]
        state.change_folder(tuple(found[:8]) or (target,))


def _set(state: State, rest: Fields) -> None:
    if "--" in rest:
        state.variables.call(rest[rest.index("--") + 1 :])
    elif rest and not rest[0].startswith(("-", "+")):
        state.variables.call(rest)
