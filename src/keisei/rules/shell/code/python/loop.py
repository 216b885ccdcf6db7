"""Loops and comprehensions of Python code, walked for every constant."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from keisei.rules.shell.code.python.scope import Names, Scope
from keisei.rules.shell.code.python.state import State
from keisei.rules.shell.code.python.store import Store
from keisei.rules.shell.code.python.value import Blank, Choice, FileText, Many, Stream, join, sequence

_UNROLLED = 512


@dataclass(slots=True)
class _Made:
    """What a comprehension has made so far."""

    values: list[object] = field(default_factory=list)
    pairs: dict[object, object] = field(default_factory=dict)
    is_exact: bool = True
    is_many: bool = False


class Loops:
    """Walks loops."""

    def __init__(self, names: Names, state: State, store: Store, value: Callable[[ast.AST], object]) -> None:
        self._names = names
        self._state = state
        self._store = store
        self._value = value

    def each(self, target: ast.AST, values: object, body: Callable[[], object]) -> bool:
        """Walk a loop for every constant; once with unknown values where there are none. Tells whether it was exact."""
        parts = None if isinstance(values, Choice) else sequence(values)
        if parts is not None and len(parts) <= _UNROLLED:
            for part in list(parts):
                if self._state.is_spent:
                    break
                self._store.store(target, part)
                body()
            else:
                return True
        self._state.loose += 1
        self._store.store(target, _element(values))
        body()
        self._state.loose -= 1
        return False

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> object:
        """What a comprehension gives."""
        outer = self._names.scope
        self._names.scope = Scope(outer)
        made = _Made()
        self._generate(node, node.generators, made)
        self._names.scope = outer
        if made.is_many and made.values:
            return Many(join(made.values[:16]))
        if not made.is_exact:
            return [*made.values, Blank.ANY] if made.values else Blank.ANY
        return made.pairs if isinstance(node, ast.DictComp) else made.values

    def _generate(self, node: ast.AST, generators: list[ast.comprehension], made: _Made) -> None:
        if not generators:
            self._element(node, made)
            return
        first, rest = generators[0], generators[1:]

        def body() -> None:
            for test in first.ifs:
                self._value(test)
            self._generate(node, rest, made)

        walked = self._value(first.iter)
        made.is_many = made.is_many or isinstance(walked, Many)
        made.is_exact = self.each(first.target, walked, body) and made.is_exact and not first.ifs

    def _element(self, node: ast.AST, made: _Made) -> None:
        if isinstance(node, ast.DictComp):
            key, value = self._value(node.key), self._value(node.value)
            if isinstance(key, str | int | bytes):
                made.pairs[key] = value
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            made.values.append(self._value(node.elt))


def _element(values: object) -> object:
    """One element of what a loop walks through, when it is not walked through exactly."""
    if values is Blank.HIDDEN:
        return values
    if isinstance(values, Choice):
        return join([_element(one) for one in values.values])
    if isinstance(values, Many):
        return values.element
    if isinstance(values, Stream | FileText):
        return Blank.ANY
    parts = sequence(values)
    return join([*parts[:16], Blank.ANY]) if parts else Blank.ANY
