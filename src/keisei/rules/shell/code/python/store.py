"""Assignments in Python code: to names, attributes, parts of lists and of dictionaries."""

import ast
from collections.abc import Callable, Sequence

from keisei.rules.shell.code.python.module import Func, canonical
from keisei.rules.shell.code.python.scope import Names
from keisei.rules.shell.code.python.state import State
from keisei.rules.shell.code.python.value import Blank, Choice, Many, Ref, join, sequence, singles
from keisei.rules.shell.code.result import Found


class Store:
    """Puts values where the code puts them."""

    def __init__(
        self,
        found: Found,
        names: Names,
        state: State,
        value: Callable[[ast.AST], object],
        starts: Callable[[object], bool],
    ) -> None:
        self._found = found
        self._names = names
        self._state = state
        self._value = value
        self._starts = starts

    def set(self, name: str, value: object) -> None:
        """A name gets a value."""
        scope = self._names.scope
        if name in scope.outer:
            top = self._names.top.names
            top[name] = join([top.get(name, value), value])
            return
        if scope.is_class and name.startswith("__") and self._starts(value):
            self._found.opaque("It hides a starter of programs in a class.")
        scope.put(name, value)

    def store(self, target: ast.AST, value: object) -> None:
        """A target of an assignment or a loop gets a value."""
        if isinstance(target, ast.Name):
            self.set(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Starred):
            self.store(target.value, value)
        elif isinstance(target, ast.Attribute):
            self._patch(self._value(target.value), target.attr, value)
        elif isinstance(target, ast.Subscript):
            self._put(self._value(target.value), self._value(target.slice), value)

    def _unpack(self, targets: list[ast.expr], value: object) -> None:
        parts = sequence(value.element if isinstance(value, Many) else value)
        exact = parts is not None and len(parts) == len(targets)
        for place, target in enumerate(targets):
            self.store(target, parts[place] if parts is not None and exact else _unpacked(target, parts))

    def _patch(self, owner: object, name: str, value: object) -> None:
        """An attribute is set: a starter may be called by that name from now on."""
        if isinstance(value, Ref | Func | Choice) or value is Blank.HIDDEN:
            if isinstance(owner, Ref):
                full = canonical(f"{owner.name}.{name}")
                self._names.patched[full] = join([Ref(full), value])
            else:
                self._names.patched[name] = join([self._names.patched.get(name, value), value])

    def _put(self, owner: object, index: object, value: object) -> None:
        for one in singles(owner):
            if isinstance(one, dict) and isinstance(index, str | int):
                one[index] = join([one.get(index, value), value]) if self._state.loose else value
            elif isinstance(one, list):
                self._put_at(one, index, value)
            elif isinstance(one, Ref) and isinstance(index, str):
                self._put_name(one, index, value)

    def _put_at(self, owner: list[object], index: object, value: object) -> None:
        if isinstance(index, int) and -len(owner) <= index < len(owner):
            owner[index] = join([owner[index], value]) if self._state.loose else value
        else:
            owner.append(Blank.ANY)

    def _put_name(self, owner: Ref, index: str, value: object) -> None:
        if owner.name == "globals()":
            self._names.top.names[index] = value
        else:
            self._patch(Ref(owner.name.removesuffix(".__dict__")), index, value)


def _unpacked(target: ast.AST, parts: Sequence[object] | None) -> object:
    """What a name gets when a tuple is taken apart unevenly."""
    if parts is None:
        return Blank.ANY
    return [*parts] if isinstance(target, ast.Starred) else join(parts)
