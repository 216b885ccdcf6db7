"""A tool call of any harness to its effects. Shell text is walked; fields that can carry a path count. Falls closed."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from keisei.records.effect import UNKNOWN, Effects, Target, ToolCall
from keisei.records.project import ToolFields
from keisei.rules import tool as tools
from keisei.rules.atom_call import atom_effects
from keisei.rules.atom_tool import AtomReach
from keisei.rules.patch import patched
from keisei.rules.server_tool import declared_effects, inferred_effects, local
from keisei.rules.shell.ground import TooMuch, Trace, Unreadable, World, shown
from keisei.rules.shell.walk import Walk

LONGEST: Final = 65536
SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh"})
PATHS: Final = ("file_path", "notebook_path", "path", "target_file", "filename", "file", "new_path", "old_path")


def effects(
    call: ToolCall,
    world: World,
    cwd: str,
    declared: Mapping[str, ToolFields],
    atoms: Mapping[str, AtomReach] = MappingProxyType({}),
) -> Effects:
    """Everything the call would do. Never raises for what a call can hold; what cannot be read is told."""
    try:
        known = atom_effects(call, atoms, cwd) if atoms else None
        return known if known is not None else _effects(call, world, cwd, declared)
    except Unreadable as error:
        return Effects(unknown=f"this cannot be analysed: {error}")
    except (TooMuch, RecursionError):
        return Effects(unknown="this is too large to be analysed")


def _effects(call: ToolCall, world: World, cwd: str, declared: Mapping[str, ToolFields]) -> Effects:
    name, data = tools.plain(call.tool), call.input
    if name in declared:
        return declared_effects(name, data, declared[name], cwd, lambda text: shell_effects(text, world, cwd))
    if name in tools.SHELL:
        return _shell(name, data, world, cwd)
    if name in tools.PATCHERS:
        return _patch(name, data, cwd)
    if name in tools.WRITERS:
        return _write(name, data, cwd)
    if name in tools.READERS:
        return Effects(reads=tuple(Target(path=path, cwd=cwd, how=name) for path in _paths(data, PATHS)))
    return _other(name, data, world, cwd)


def _other(name: str, data: dict[str, Any], world: World, cwd: str) -> Effects:
    if name in tools.QUIET:
        return Effects()
    if name in tools.FETCHERS:
        return Effects(network=tuple(str(data[key]) for key in ("url", "query") if data.get(key)) or (name,))
    if name in tools.AGENTS:
        kind = data.get("subagent_type") or data.get("agent_type") or data.get("name") or name
        return Effects(agents=(str(kind),))
    if name in tools.TYPISTS:
        typed = any(data.get(key) for key in ("chars", "data", "input", "text"))
        return Effects(unresolved=(f"`{name}` types into a program that is already running",) if typed else ())
    if name in tools.CODERS:
        return Effects(unresolved=(f"`{name}` runs code",))
    if name.startswith("mcp__"):
        return inferred_effects(name, data, cwd, lambda text: shell_effects(text, world, cwd))
    return Effects(unknown=f"the tool `{shown(name)}` is not known")


# --- shells ----------------------------------------------------------------------------------------------------------


def _shell(name: str, data: dict[str, Any], world: World, cwd: str) -> Effects:
    named = data.get("shell")
    if isinstance(named, str) and named.rsplit("/", 1)[-1] not in SHELLS:
        return Effects(unknown=f"`{name}` is called with `{shown(named)}` as its shell")
    value = data.get(tools.SHELL[name], data.get("command", data.get("cmd")))
    folder = data.get("workdir") or data.get("cwd") or data.get("directory")
    start = str(folder) if isinstance(folder, str) and folder.startswith("/") else cwd
    if isinstance(folder, str) and folder and not folder.startswith("/"):
        start = f"{cwd}/{folder}"
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        walk = Walk(world, start)
        walk.runner.run(tuple(value), Trace())
        return walk.found.effects()
    if not isinstance(value, str):
        return Effects(unknown=f"`{name}` is called without a command that can be read")
    return shell_effects(value, world, start)


def shell_effects(text: str, world: World, cwd: str) -> Effects:
    """The effects of shell text. Raises Unreadable, TooMuch."""
    if len(text) > LONGEST:
        raise TooMuch
    if UNKNOWN in text:
        message = "it holds a NUL character"
        raise Unreadable(message)
    walk = Walk(world, cwd)
    walk.shell(text, Trace())
    return walk.found.effects()


# --- files -----------------------------------------------------------------------------------------------------------


def _write(name: str, data: dict[str, Any], cwd: str) -> Effects:
    found = list(_paths(data, PATHS))
    edits = data.get("edits")
    for edit in edits if isinstance(edits, list) else ():
        if isinstance(edit, dict):
            found.extend(_paths(edit, PATHS))
    if not found:
        return Effects(unknown=f"`{name}` is called without a path that can be read")
    return Effects(writes=tuple(Target(path=path, cwd=cwd, how=name) for path in dict.fromkeys(found)))


def _paths(data: Mapping[str, Any], keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        value = data.get(key)
        if isinstance(value, str) and value:
            yield local(value)


def _patch(name: str, data: dict[str, Any], cwd: str) -> Effects:
    text = next((data[key] for key in ("command", "input", "patch") if data.get(key)), None)
    if isinstance(text, list):
        text = next((each for each in reversed(text) if isinstance(each, str)), None)
    if not isinstance(text, str):
        return Effects(unknown=f"`{name}` is called without a patch that can be read")
    writes, deletes = patched(text)
    return Effects(
        writes=tuple(Target(path=path, cwd=cwd, how=name) for path in writes),
        deletes=tuple(Target(path=path, cwd=cwd, how=name, entry=True) for path in deletes),
    )
