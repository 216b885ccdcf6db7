"""Builtins that change the shell itself: where it is, what its variables hold."""

import re
from typing import TYPE_CHECKING, Final

from keisei.records.effect import UNKNOWN, Target
from keisei.rules.shell.atom import MOST, Fields
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
        _read(walk, base, rest)
    elif base in ("fc", "history"):
        _history(walk, base, rest, trace)
    else:
        _name(walk, base, rest, trace)


def _name(walk: "Walk", base: str, rest: Fields, trace: Trace) -> None:
    """Builtins that give a name a meaning."""
    if base == "printf" and rest[:1] == ("-v",) and len(rest) > 1:
        walk.state.variables.assign(rest[1], UNKNOWN)
        walk.set_variable(rest[1], UNKNOWN, trace)
    elif base == "alias":
        for name, value in (word.split("=", 1) for word in rest if "=" in word):
            walk.state.aliases.setdefault(name, {})[value] = None
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


def _read(walk: "Walk", base: str, rest: Fields) -> None:
    """What is read: the lines of an input that is known, otherwise nobody knows."""
    variables, text = walk.state.variables, walk.input_text()
    names = [name for name in rest if NAME.fullmatch(name)]
    lines = text.splitlines()[:MOST] if text else []
    if (
        base == "getopts"
        or not lines
        or len(lines) == MOST
        or any(option.startswith(("-d", "-n", "-N")) for option in rest)
    ):
        for name in (*names, "REPLY", "MAPFILE"):
            variables.assign(name, UNKNOWN)
            variables.assign_array(name, (UNKNOWN,))
        return
    if base != "read":
        variables.assign_array(names[-1] if names else "MAPFILE", tuple(lines))
        return
    separators = "".join(set(variables.values.get("IFS", {" \t": None}))) or "\n"
    for line in lines:
        fields = re.split(f"[{re.escape(separators)}]+", line.strip(), maxsplit=max(len(names) - 1, 0))
        for number, name in enumerate(names or ["REPLY"]):
            variables.assign(name, fields[number] if number < len(fields) else "")


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
