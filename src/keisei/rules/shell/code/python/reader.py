"""Python code, read by walking its syntax tree with constants: what it starts and touches."""

import ast

from keisei.rules.shell.code.python.expression import Expressions
from keisei.rules.shell.code.python.module import Func, Named
from keisei.rules.shell.code.python.scope import Names, Scope
from keisei.rules.shell.code.python.source import parsed
from keisei.rules.shell.code.python.state import DEEP, State
from keisei.rules.shell.code.python.statement import Statements
from keisei.rules.shell.code.python.value import Blank, join
from keisei.rules.shell.code.result import Code, Found


def python(text: str) -> Code:
    """What Python code starts and touches. Falls closed: code that does not parse is opaque."""
    found = Found()
    try:
        _Reader(found).module(parsed(text))
    except SyntaxError:
        found.opaque("It is Python code that cannot be read.")
    except (RecursionError, MemoryError, ValueError, OverflowError):
        found.opaque("It is Python code that is nested too deeply to be read.")
    return found.code()


class _Reader:
    """Walks code once, following its own functions and loops over constants."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._state = State()
        self._names = Names()
        self._expressions = Expressions(found, self._names, self._state, self)
        self._statements = Statements(found, self._names, self._state, self._expressions)

    def patched(self, name: str) -> object | None:
        """What the code has put where an attribute of this name is; None where nothing."""
        return self._names.patched.get(name)

    def module(self, tree: ast.Module) -> None:
        """Everything a module does, and every function in it that nobody calls by a name we follow."""
        self._statements.run(tree.body)
        seen: set[ast.AST] = set()
        while waiting := [
            one for one in self._expressions.functions.values() if one.node not in seen and not _followed(one)
        ]:
            for function in waiting:
                seen.add(function.node)
                self._enter(function, [], {}, blank=True)

    def evaluate(self, source: str) -> object:
        """What code given as text does and gives."""
        self._state.steps += len(source) >> 2
        followed = self._state.depth < DEEP and not self._state.is_exhausted
        try:
            body = parsed(source.strip()).body if followed else None
        except (SyntaxError, ValueError):
            self._found.opaque("It evaluates code that cannot be read.")
            return Blank.ANY
        if body is None:
            self._found.opaque("It evaluates more code inside code than can be read.")
            return Blank.ANY
        self._state.depth += 1
        value: object = None
        for statement in body:
            if isinstance(statement, ast.Expr):
                value = self._expressions.value(statement.value)
            else:
                self._statements.do(statement)
        self._state.depth -= 1
        return value

    def inline(self, function: Func, arguments: list[object], named: Named) -> object:
        """What a call of the code's own function gives; not followed where that would take long."""
        if self._state.depth >= DEEP or self._state.is_spent:
            function.escaped = True
            return Blank.ANY
        function.called = True
        return self._enter(function, arguments, named)

    def _enter(self, function: Func, arguments: list[object], named: Named, *, blank: bool = False) -> object:
        caller, self._state.depth = self._names.scope, self._state.depth + 1
        parent = function.scope if isinstance(function.scope, Scope) else self._names.top
        self._names.scope = inner = Scope(parent)
        try:
            self._bind(function.node.args, arguments, named, blank=blank)
            if isinstance(function.node, ast.Lambda):
                return self._expressions.value(function.node.body)
            self._statements.run(function.node.body)
        finally:
            self._names.scope, self._state.depth = caller, self._state.depth - 1
        if inner.yields:
            return list(inner.yields)
        return join(inner.returns) if inner.returns else None

    def _bind(self, wanted: ast.arguments, arguments: list[object], named: Named, *, blank: bool) -> None:
        names = self._names.scope.names
        plain = [*wanted.posonlyargs, *wanted.args]
        defaults = dict(zip([one.arg for one in plain][::-1], wanted.defaults[::-1], strict=False))
        defaults |= {one.arg: value for one, value in zip(wanted.kwonlyargs, wanted.kw_defaults, strict=True) if value}
        for place, one in enumerate([*plain, *wanted.kwonlyargs]):
            if place < min(len(plain), len(arguments)):
                names[one.arg] = arguments[place]
            elif one.arg in named:
                names[one.arg] = named[one.arg]
            elif one.arg in defaults and not blank:
                names[one.arg] = self._expressions.value(defaults[one.arg])
            else:
                names[one.arg] = Blank.ANY
        if wanted.vararg:
            names[wanted.vararg.arg] = Blank.ANY if blank else arguments[len(plain) :]
        if wanted.kwarg:
            names[wanted.kwarg.arg] = Blank.ANY if blank else dict(named)


def _followed(function: Func) -> bool:
    return function.called and not function.escaped
