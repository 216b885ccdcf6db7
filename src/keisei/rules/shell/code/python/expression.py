"""Expressions of Python code, folded to what is known of their values."""

import ast
from collections.abc import Callable

from keisei.rules.shell.code.python import fold
from keisei.rules.shell.code.python.call import Calls, Reader
from keisei.rules.shell.code.python.loop import Loops
from keisei.rules.shell.code.python.module import Func, Named, canonical, dangerous, homely, member
from keisei.rules.shell.code.python.path import path_attribute
from keisei.rules.shell.code.python.scope import Names
from keisei.rules.shell.code.python.source import HOLE, constant_of
from keisei.rules.shell.code.python.state import State
from keisei.rules.shell.code.python.store import Store
from keisei.rules.shell.code.python.value import (
    LONG,
    Blank,
    FileText,
    Many,
    Method,
    Native,
    PathValue,
    Ref,
    Scratch,
    Stream,
    join,
    known,
    sequence,
    shown,
    spread,
)
from keisei.rules.shell.code.result import MOST, Found, names

_REACHING = frozenset(
    names(
        "__globals__ __builtins__ __code__ __loader__ f_globals f_builtins f_locals __spec__ "
        "func_globals gi_frame __reduce_ex__ __getattribute__"
    )
)
_LOOKS = frozenset(names("__name__ __doc__ __version__ __file__ __all__ __module__ __qualname__ __path__"))


class Expressions:
    """Gives values of expressions, the doings of the calls in them noted."""

    def __init__(self, found: Found, names: Names, state: State, reader: Reader) -> None:
        self._names = names
        self._state = state
        self.functions: dict[ast.AST, Func] = {}
        self.calls = Calls(found, state, reader)
        self.store = Store(found, names, state, self.value, self.calls.starts)
        self.loops = Loops(names, state, self.store, self.value)
        self._values: dict[type[ast.AST], Callable[..., object]] = {
            ast.Constant: constant_of,
            ast.Name: lambda node: names.lookup(node.id),
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.BinOp: self._binary,
            ast.BoolOp: lambda node: join([self.value(one) for one in node.values]),
            ast.JoinedStr: self._fstring,
            ast.FormattedValue: self._formatted,
            ast.List: self._sequence,
            ast.Tuple: self._sequence,
            ast.Set: self._sequence,
            ast.Dict: self._dict,
            ast.Subscript: self._subscript,
            ast.IfExp: self._choose,
            ast.Lambda: self.function,
            ast.NamedExpr: self._walrus,
            ast.ListComp: self.loops.comprehension,
            ast.SetComp: self.loops.comprehension,
            ast.GeneratorExp: self.loops.comprehension,
            ast.DictComp: self.loops.comprehension,
            ast.UnaryOp: self._unary,
            ast.Compare: self._compare,
            ast.Starred: lambda node: self.value(node.value),
            ast.Await: lambda node: self.value(node.value),
            ast.Yield: self._yield,
            ast.YieldFrom: self._yield,
            ast.Slice: self._slice,
        }

    def value(self, node: ast.AST) -> object:
        """What is known of the value of an expression."""
        self._state.steps += 1
        reading = self._values.get(type(node))
        if reading is not None:
            return reading(node)
        for child in ast.iter_child_nodes(node):
            self.value(child)
        return Blank.ANY

    def _attribute(self, node: ast.Attribute) -> object:
        return spread(lambda owner: self._member(owner, node.attr), self.value(node.value))

    def _member(self, owner: object, name: str) -> object:
        if name == "__subclasses__":
            return Native(lambda _given: Blank.HIDDEN)
        if name in _REACHING:
            return Ref("builtins") if name == "__builtins__" else Blank.HIDDEN
        if owner is Blank.HIDDEN:
            return Blank.ANY if name in _LOOKS else owner
        if name == "__call__":
            return owner
        if isinstance(owner, Ref):
            return self._names.settled(member(owner, name if name != HOLE else Blank.ANY))
        if isinstance(owner, PathValue) and name in {"parent", "name", "stem", "suffix", "path"}:
            return path_attribute(owner.text, name)
        if name == "name" and isinstance(owner, Scratch):
            return owner.path
        if name == "name" and isinstance(owner, Stream) and isinstance(owner.content, FileText):
            return owner.content.path
        return Method(owner, name)

    def _call(self, node: ast.Call) -> object:
        function = self.value(node.func)
        arguments: list[object] = []
        for one in node.args:
            value = self.value(one)
            parts = sequence(value) if isinstance(one, ast.Starred) else None
            if isinstance(one, ast.Starred):
                arguments.extend(parts if parts is not None else [value])
            else:
                arguments.append(value)
        named: Named = {}
        for word in node.keywords:
            value = self.value(word.value)
            if word.arg:
                named[word.arg] = value
            elif isinstance(value, dict):
                named.update({key: one for key, one in value.items() if isinstance(key, str)})
        self._state.charge(
            function.owner if isinstance(function, Method) else None, arguments, *arguments, *named.values()
        )
        made = self.calls.call(function, arguments[:LONG], named)
        if self._state.loose and isinstance(function, Method) and isinstance(function.owner, list) and made is None:
            function.owner.append(Blank.ANY)
        return made

    def _binary(self, node: ast.BinOp) -> object:
        left, right = self.value(node.left), self.value(node.right)
        self._state.charge(left, right)
        if self._state.is_exhausted:
            return Blank.ANY
        return spread(lambda one, other: fold.binary(node.op, one, other), left, right)

    def _fstring(self, node: ast.JoinedStr) -> object:
        parts = [self.value(one) for one in node.values]
        self._state.charge(*parts)
        return Blank.ANY if self._state.is_exhausted else spread(_run_together, *parts)

    def _formatted(self, node: ast.FormattedValue) -> object:
        value = self.value(node.value)
        if node.format_spec is None:
            return value
        self.value(node.format_spec)
        return Blank.NUMBER if value is Blank.NUMBER or isinstance(value, int | float) else Blank.ANY

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set) -> object:
        parts: list[object] = []
        for one in node.elts:
            value = self.value(one)
            inner = sequence(value) if isinstance(one, ast.Starred) else None
            parts.extend(inner if inner is not None else [value])
        del parts[LONG:]
        return tuple(parts) if isinstance(node, ast.Tuple) else parts

    def _dict(self, node: ast.Dict) -> object:
        made: dict[object, object] = {}
        for key, one in zip(node.keys, node.values, strict=True):
            value = self.value(one)
            name = self.value(key) if key is not None else None
            if isinstance(name, str | int | bytes | float):
                made[name] = value
            elif key is None and isinstance(value, dict):
                made.update(value)
        return made

    def _subscript(self, node: ast.Subscript) -> object:
        owner, index = self.value(node.value), self.value(node.slice)
        return spread(self._at, owner, index)

    def _at(self, owner: object, index: object) -> object:
        if isinstance(owner, Ref):
            return self._named(owner, index)
        if owner is Blank.HIDDEN:
            return owner
        if isinstance(owner, Many):
            return owner if isinstance(index, slice) else owner.element
        if isinstance(owner, dict) and not known(index):
            return join([*owner.values(), Blank.ANY])
        return fold.subscript(owner, index)

    def _named(self, owner: Ref, index: object) -> object:
        if owner.name == "globals()":
            return self._names.lookup(index) if isinstance(index, str) and known(index) else Blank.HIDDEN
        if owner.name == "sys.modules":
            return Ref(canonical(index)) if isinstance(index, str) and known(index) else Blank.HIDDEN
        if owner.name == "os.environ":
            return homely(index)
        if owner.name == "plumbum.local" and isinstance(index, str):
            return Ref(f"plumbum.cmd.{index}")
        if owner.name.endswith(".__dict__") or dangerous(owner):
            return self._names.settled(member(owner, index))
        return Blank.ANY

    def _choose(self, node: ast.IfExp) -> object:
        self.value(node.test)
        return join([self.value(node.body), self.value(node.orelse)])

    def _walrus(self, node: ast.NamedExpr) -> object:
        value = self.value(node.value)
        self.store.store(node.target, value)
        return value

    def _unary(self, node: ast.UnaryOp) -> object:
        value = self.value(node.operand)
        if isinstance(value, int | float) and isinstance(node.op, ast.USub):
            return -value
        if isinstance(value, int) and isinstance(node.op, ast.Invert):
            return ~value
        return Blank.ANY

    def _compare(self, node: ast.Compare) -> object:
        for one in [node.left, *node.comparators]:
            self.value(one)
        return Blank.ANY

    def _yield(self, node: ast.Yield | ast.YieldFrom) -> object:
        value = self.value(node.value) if node.value else None
        parts = sequence(value) if isinstance(node, ast.YieldFrom) else [value]
        self._names.scope.yields.extend(parts if parts is not None else [Blank.ANY])
        return Blank.ANY

    def _slice(self, node: ast.Slice) -> object:
        ends = [self.value(one) if one else None for one in (node.lower, node.upper, node.step)]
        return slice(*ends) if all(end is None or isinstance(end, int) for end in ends) else Blank.ANY

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Func:
        """The function a definition makes."""
        function = self.functions.get(node)
        if function is None or function.scope is not self._names.scope:
            called, escaped = (function.called, function.escaped) if function else (False, False)
            function = Func(node, self._names.scope, called=called, escaped=escaped)
            self.functions[node] = function
        return function


def _run_together(*parts: object) -> object:
    whole = "".join(shown(part) for part in parts)
    return whole if len(whole) < MOST else Blank.ANY
