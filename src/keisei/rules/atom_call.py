"""Calls of atoms as an agent makes them, for the gate: which atom is meant, and what the call would do."""

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from keisei.contracts.secret_place import MARK, secret_values
from keisei.records.effect import UNKNOWN, Effects, Target, ToolCall
from keisei.rules.atom_tool import DESCRIBE, PIPE, PLAN, PREFIX, READ, RUN, SEARCH, AtomReach, tool_name
from keisei.rules.server_tool import is_text, local, texts

CALLS: Final = frozenset({PREFIX + READ, PREFIX + RUN})
"""Tools that call the atom their input names."""
HARMLESS: Final = frozenset(PREFIX + each for each in (SEARCH, DESCRIBE, PLAN, PIPE))
"""Tools that touch nothing themselves. The steps of a pipe are judged one by one, when they are called."""
PROCESSES: Final = re.compile("/+proc/")
HERE: Final = "."
"""The folder an atom works in."""
SPEC: Final = "spec_sha"
"""The key under which whoever runs atoms says which page it would run a call by."""
ALL: Final[dict[str, Any]] = {MARK: True}
"""The schema of what is secret as a whole."""


class Objection(NamedTuple):
    """Why a call of an atom is not even judged."""

    sentence: str
    instead: str


def meant(call: ToolCall, atoms: Collection[str]) -> ToolCall:
    """The call of the atom itself, where it comes by way of `atoms_run` or `atoms_read`; any other as it is.

    One that names no atom stays as it is, and its effects are not known. A tool is meant by the name that `atoms` has
    for it: Codex tells its hook `kei_fs__read` of `kei-fs__read`.
    """
    if call.tool not in CALLS:
        plain = call.tool if call.tool in atoms else next((x for x in atoms if x.replace("-", "_") == call.tool), None)
        return call if plain in (None, call.tool) else replace(call, tool=plain)
    atom, given = call.input.get("atom"), call.input.get("input", {})
    if not isinstance(atom, str) or not isinstance(given, dict):
        return call
    return replace(call, tool=PREFIX + tool_name(atom), input=given)


def atom_effects(call: ToolCall, atoms: Mapping[str, AtomReach], cwd: str) -> Effects | None:
    """What a call of one of these atoms would do; None for a tool that is not keisei's. Falls closed."""
    if not call.tool.startswith(PREFIX):
        return None
    if call.tool in HARMLESS:
        return Effects()
    against = objection(call, atoms)
    return _told(call, atoms[call.tool], cwd) if against is None else Effects(unknown=against.sentence)


def objection(call: ToolCall, atoms: Mapping[str, AtomReach]) -> Objection | None:
    """Why nobody can tell what a call of an atom does, and what to do instead; None where it can be told."""
    if not call.tool.startswith(PREFIX) or call.tool in HARMLESS:
        return None
    name, reach = call.tool.removeprefix(PREFIX), atoms.get(call.tool)
    if call.tool in CALLS:
        return Objection(f"`{name}` names no atom", "give `atom` as text and `input` as an object")
    if reach is None:
        return Objection(f"`{name}` is no atom of this role", "call another atom")
    if call.told.get(SPEC, reach.spec_sha) != reach.spec_sha:
        return Objection(f"`{name}` is not called: its page has changed since the attempt began", "call another atom")
    if reach.unresolved is not None:
        return Objection(reach.unresolved, "call another atom")
    for field in (*reach.reads, *reach.writes, *reach.network):
        if not is_text(call.input.get(field)):
            return Objection(f"the field `{field}` of `{name}` is neither text nor a list of texts", "give it as text")
    return None


def call_secrets(call: ToolCall, atoms: Mapping[str, AtomReach]) -> tuple[str, ...]:
    """The texts and numbers of a call that are never written down, as its atom's input schema marks them.

    Of a call by way of a lean tool too; of a pipe what its steps are given, and all of its input where a step has such
    a place. Falls closed: what cannot be read is secret as a whole. Never raises.
    """
    if not any(reach.secret for reach in atoms.values()):
        return ()
    if call.tool in HARMLESS:
        return _pipe_secrets(call.input, atoms)
    found = meant(call, atoms)
    if found.tool in CALLS:
        return secret_values(ALL, call.input)
    reach = atoms.get(found.tool)
    return () if reach is None else _marked(reach, found.input)


def _marked(reach: AtomReach, given: Any) -> tuple[str, ...]:  # noqa: ANN401 - any JSON
    return () if reach.secret is None else secret_values(_schema(reach.secret), given)


@lru_cache(maxsize=64)
def _schema(text: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(text)
    return schema


def _pipe_secrets(given: Mapping[str, Any], atoms: Mapping[str, AtomReach]) -> tuple[str, ...]:
    if "pipe" not in given:
        return ()
    try:
        pipe = tomllib.loads(given["pipe"]) if isinstance(given["pipe"], str) else given["pipe"]
        steps = [(atoms.get(PREFIX + tool_name(step["atom"])), step.get("input")) for step in pipe["steps"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return secret_values(ALL, dict(given))
    marked = [(reach, value) for reach, value in steps if reach is not None and reach.secret is not None]
    own = [text for reach, value in marked for text in _marked(reach, value)]
    return (*own, *(secret_values(ALL, given.get("input")) if marked else ()))


def _told(call: ToolCall, reach: AtomReach, cwd: str) -> Effects:
    name, data = call.tool.removeprefix(PREFIX), call.input

    def targets(fields: tuple[str, ...], trees: tuple[str, ...], *, unless_said: str = "") -> tuple[Target, ...]:
        return tuple(
            Target(path=path, cwd=cwd, how=name, tree=field in trees)
            for field in fields
            for text in tuple(texts(data.get(field))) or ("",)
            for path in _readings(text or unless_said)
        )

    addresses = tuple(text for field in reach.network for text in texts(data.get(field)))
    return Effects(
        reads=targets(reach.reads, reach.read_trees),
        writes=targets(reach.writes, reach.write_trees, unless_said=HERE),
        deletes=targets(reach.deletes, reach.write_trees, unless_said=HERE),
        network=addresses or ((name,) if reach.talks or reach.network else ()),
        agents=(name,) if reach.agents else (),
    )


def _readings(text: str) -> Iterator[str]:
    """Every path that an atom may take the text for: each of them must be allowed.

    To most atoms `~` and `file:` are names like any other, in the folder they work in; some know more of them. Where a
    process's own links lead, only the atom will see.
    """
    if text:
        yield f"./{text}" if text.startswith("~") else text
    if text.startswith("~") or local(text) != text:
        yield local(text)
    if PROCESSES.match(text):
        yield UNKNOWN
