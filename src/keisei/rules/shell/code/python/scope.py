"""Names of Python code: what they stand for, from the inside out."""

import builtins
from dataclasses import dataclass, field

from keisei.rules.shell.code.python.path import constant
from keisei.rules.shell.code.python.source import HOLE
from keisei.rules.shell.code.python.value import Blank, Ref
from keisei.rules.shell.code.result import names

_BUILTINS = frozenset(dir(builtins))
_MODULES = frozenset(names("os sys subprocess builtins importlib pty shutil ctypes runpy"))
_ABSENT = object()


@dataclass(slots=True)
class Scope:
    """The names of one function, class or module."""

    parent: "Scope | None" = None
    names: dict[str, object] = field(default_factory=dict)
    outer: set[str] = field(default_factory=set)
    """Names it takes from outside, by `global` and `nonlocal`."""
    returns: list[object] = field(default_factory=list)
    yields: list[object] = field(default_factory=list)
    is_class: bool = False
    journal: dict[str, object] | None = None
    """What names were before the branch that is being walked."""

    def put(self, name: str, value: object) -> None:
        """Set a name, remembering what it was."""
        if self.journal is not None:
            self.journal.setdefault(name, self.names.get(name, _ABSENT))
        self.names[name] = value

    def revert(self, changed: dict[str, object]) -> None:
        """Make names what they were."""
        for name, value in changed.items():
            if value is _ABSENT:
                del self.names[name]
            else:
                self.names[name] = value


class Names:
    """All scopes, and names of modules that the code has replaced."""

    def __init__(self) -> None:
        self.top = self.scope = Scope()
        self.patched: dict[str, object] = {}

    def lookup(self, name: str) -> object:
        """What a name stands for."""
        if name == HOLE:
            return Blank.ANY
        scope: Scope | None = self.scope
        while scope is not None:
            if name in scope.names and not (scope.is_class and scope is not self.scope):
                return scope.names[name]
            scope = scope.parent
        return self._outside(name)

    def before(self, name: str, value: object) -> object:
        """What a name was before a branch; what it is outside where the branch made it."""
        if value is not _ABSENT:
            return value
        kept, self.scope.names = self.scope.names, {}
        outside = self.lookup(name)
        self.scope.names = kept
        return outside

    def settled(self, value: object) -> object:
        """A name of a module as its constant, or as what the code put there."""
        if not isinstance(value, Ref):
            return value
        plain = constant(value.name)
        return self.patched.get(value.name, value) if plain is None else plain

    def _outside(self, name: str) -> object:
        if name in {"__loader__", "__spec__"}:
            return Blank.HIDDEN
        if name == "__builtins__":
            return Ref("builtins")
        if name == "__name__":
            return "__main__"
        if name in _MODULES:
            return Ref(name)
        return (
            self.patched.get(f"builtins.{name}", Ref(f"builtins.{name}"))
            if name in _BUILTINS or name == "execfile"
            else Blank.ANY
        )
