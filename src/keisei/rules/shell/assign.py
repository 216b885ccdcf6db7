"""Assignments: what a variable gets, and what else happens because of its name."""

from typing import TYPE_CHECKING, Any

from keisei.records.effect import UNKNOWN
from keisei.rules.shell import steer
from keisei.rules.shell.ground import Node, Trace

if TYPE_CHECKING:
    from keisei.rules.shell.walk import Walk


class Assigner:
    """Assigns on paper."""

    def __init__(self, walk: "Walk") -> None:
        """The walk it works for."""
        self._walk = walk

    def assign(self, node: Node, trace: Trace) -> None:
        """One assignment: the value is remembered, and read where it decides what runs."""
        walk = self._walk
        name = (node.get("Name") or {}).get("Value", "")
        walk.nested(node, trace)
        if node.get("Array"):
            elements = [each.get("Value") or {} for each in node["Array"].get("Elems") or ()]
            for row in walk.argvs(elements) or [()]:
                walk.state.variables.assign_array(name, row, append=bool(node.get("Append")))
            return
        if walk.integers:
            walk.evaluated(node, trace)
        parts = (node.get("Value") or {}).get("Parts") or ()
        counts = bool(parts) and all(part.get("Type") == "ArithmExp" for part in parts)
        grows = walk.looping and not counts and (node.get("Append") or name in names_in(node.get("Value")))
        for value in [UNKNOWN] if grows else walk.expander.text(node.get("Value"), assignment=True):
            if node.get("Index"):
                walk.state.variables.assign_array(name, (value,), append=True)
                if name == "BASH_ALIASES":
                    walk.payload(value, trace.inside("an alias", listed=False))
            else:
                walk.state.variables.assign(name, value, append=bool(node.get("Append")))
            self.set_variable(name, value, trace)

    def set_variable(self, name: str, value: str, trace: Trace) -> None:
        """A variable that decides what other programs run is read as what it is."""
        walk = self._walk
        if not steer.is_steering(name):
            return
        inward = trace.inside(name, listed=False)
        if name.startswith("BASH_FUNC_"):
            walk.payload(f"f {value}", inward)
        elif steer.is_switch(name, value):
            walk.found.cannot_tell(f"`{name}` makes programs run more than their command line says", trace)
        elif name in steer.SCRIPTS or name in steer.PIPES:
            walk.payload(value.lstrip("|- ") if name in steer.PIPES else value, inward)
        elif name in steer.PROMPTS:
            walk.prompted(value, inward)
        elif name in steer.FILES and value:
            walk.prompted(value, inward)
            walk.runner.script(value, inward)
        elif name in steer.LOADERS and value and name != "LD_LIBRARY_PATH":
            walk.found.cannot_tell(f"`{name}` loads code into every program that runs", trace)
        if name == "PATH":
            walk.state.search(value)
        if name != "PATH" or not self._harmless_path(value):
            walk.found.command((f"{name}={value}",), trace)

    def _harmless_path(self, value: str) -> bool:
        """Whether a search path only adds folders outside the tree and outside shared scratch space."""
        home = (*self._walk.state.cwds, "/tmp")  # noqa: S108 - what anybody may write is no place for programs
        return all(
            part == UNKNOWN or (part.startswith("/") and UNKNOWN not in part and not part.startswith(home))
            for part in value.split(":")
        )


def names_in(node: Any) -> set[str]:  # noqa: ANN401 - any part of the tree
    """Names of variables that arithmetic could look at."""
    found: set[str] = set()
    todo = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, list):
            todo.extend(each)
        elif isinstance(each, dict):
            value = each.get("Value")
            if isinstance(value, str):
                found.add(value)
            todo.extend(inner for inner in each.values() if isinstance(inner, dict | list))
    return found
