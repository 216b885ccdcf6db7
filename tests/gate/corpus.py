"""The corpus: calls that must be refused and calls that must be allowed, written from the grammar, not the judge.

A file of `corpus/` holds `kind = "evasion" | "harmless"` and groups. What a group says (capability, parameters, setup,
core, runs, ...) holds for each of its cases; `[group.shell]` is one shell text a line, `[group.call.NAME]` is any other
call or a case with something of its own. `{worktree}`, `{home}` and `{outside}` stand for the folders of the case.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from tests.gate.jail import Place

FOLDER = Path(__file__).parent / "corpus"

INHERITED = ("capability", "role", "parameters", "setup", "core", "executes", "why", "needs", "runs", "cwd", "harness")
"""What a group may say for all its cases."""


@dataclass(frozen=True)
class Case:
    """One call and what must become of it."""

    id: str
    kind: str
    """`evasion`: must be refused. `harmless`: must be allowed."""
    capability: str
    """The capability that must judge so, or `role` for a whole role with the task's scope in the parameters."""
    tool: str
    input: dict[str, Any]
    role: str | None = None
    """With capability `role`: which."""
    parameters: dict[str, Any] = field(default_factory=dict)
    setup: dict[str, dict[str, str]] = field(default_factory=dict)
    """`files`, `links`, `hard` to make in the worktree beforehand."""
    core: bool = True
    """Stoppable by reading the call, and the files on disk, beforehand."""
    executes: bool = True
    """Whether the jail can prove it; where not, `why` says why not."""
    why: str = ""
    needs: tuple[str, ...] = ()
    """Programs the proof needs on this machine."""
    runs: str | None = None
    """What the record must show (an evasion) or must not show (a harmless call), instead of the capability's usual."""
    cwd: str = "."
    """Where the call starts, relative to the worktree."""
    harness: str = "claude"

    @property
    def command(self) -> str | None:
        """The shell text, where the call is one the jail can run."""
        text = self.input.get("command")
        return text if self.tool == "Bash" and isinstance(text, str) else None

    def filled(self, where: Place) -> dict[str, Any]:
        """The input with this place's folders in it."""
        return _filled(self.input, where)


@cache
def cases(kind: str | None = None) -> tuple[Case, ...]:
    """All cases, or those of one kind, in the order of the files."""
    found = tuple(case for path in sorted(FOLDER.glob("*.toml")) for case in _read(path))
    return found if kind is None else tuple(case for case in found if case.kind == kind)


def _read(path: Path) -> Iterator[Case]:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    for group in data["group"]:
        unknown = group.keys() - {*INHERITED, "name", "shell", "call"}
        if unknown:
            raise ValueError(f"{path.name}: group {group['name']}: unknown {sorted(unknown)}")
        common = {key: group[key] for key in INHERITED if key in group}
        for name, text in group.get("shell", {}).items():
            yield _case(path, data["kind"], group["name"], name, {**common, "input": {"command": text}})
        for name, own in group.get("call", {}).items():
            said = {**common, **own}
            if "command" in said:
                said["input"] = {"command": said.pop("command")}
            yield _case(path, data["kind"], group["name"], name, said)


def _case(path: Path, kind: str, group: str, name: str, said: dict[str, Any]) -> Case:
    said = {"tool": "Bash", **said, "needs": tuple(said.get("needs", ()))}
    try:
        return Case(id=f"{group}.{name}", kind=kind, **said)
    except TypeError as error:
        raise ValueError(f"{path.name}: {group}.{name}: {error}") from error


def _filled(value: Any, where: Place) -> Any:
    if isinstance(value, str):
        return where.fill(value)
    if isinstance(value, list):
        return [_filled(each, where) for each in value]
    if isinstance(value, dict):
        return {key: _filled(each, where) for key, each in value.items()}
    return value
