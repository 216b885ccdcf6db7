"""Builtin functions of Python, and those of functools, operator and io, that make values of values."""

from collections.abc import Callable

from keisei.rules.shell.code.python.module import Named, canonical, homely, is_module_of_git, member
from keisei.rules.shell.code.python.value import (
    Blank,
    FileText,
    Many,
    Method,
    Native,
    Ref,
    Stream,
    join,
    known,
    sequence,
    shown,
    spread,
)
from keisei.rules.shell.code.result import MOST, Found

Call = Callable[[object, list[object], Named], object]


class Builtins:
    """What these functions give. They call others by the `call` they are made with."""

    def __init__(self, found: Found, call: Call) -> None:
        self._found = found
        self._call = call
        self.table: dict[str, Callable[[list[object], Named], object]] = {
            "builtins.getattr": self._getattr,
            "builtins.__import__": self._import,
            "importlib.import_module": self._import,
            "importlib.__import__": self._import,
            "importlib.reload": lambda arguments, _named: arguments[0] if arguments else Blank.ANY,
            "builtins.vars": self._vars,
            "builtins.globals": lambda _arguments, _named: Ref("globals()"),
            "builtins.locals": lambda _arguments, _named: Ref("globals()"),
            "builtins.compile": lambda arguments, _named: arguments[0] if arguments else Blank.ANY,
            "builtins.str": self._str,
            "builtins.list": self._list,
            "builtins.tuple": self._list,
            "builtins.iter": self._list,
            "builtins.set": self._list,
            "builtins.sorted": self._list,
            "builtins.reversed": self._reversed,
            "builtins.map": self._map,
            "builtins.filter": self._filter,
            "builtins.zip": self._zip,
            "builtins.enumerate": self._enumerate,
            "builtins.range": self._range,
            "builtins.dict": lambda arguments, named: dict(named) if not arguments else Blank.ANY,
            "builtins.next": self._next,
            "functools.partial": self._partial,
            "functools.reduce": self._reduce,
            "operator.methodcaller": self._methodcaller,
            "operator.attrgetter": self._attrgetter,
            "io.StringIO": self._stream,
            "io.BytesIO": self._stream,
            "os.getenv": self._getenv,
            "os.environ.get": self._getenv,
            "sys.modules.get": self._import,
        }

    def _getattr(self, arguments: list[object], _named: Named) -> object:
        if not arguments:
            return Blank.ANY
        name = arguments[1] if len(arguments) > 1 else Blank.ANY
        return spread(self._attribute, arguments[0], name)

    def _attribute(self, owner: object, name: object) -> object:
        if isinstance(owner, Ref):
            return member(owner, name)
        if owner is Blank.HIDDEN:
            return owner
        return Method(owner, name) if isinstance(name, str) else Blank.ANY

    def _import(self, arguments: list[object], named: Named) -> object:
        name = arguments[0] if arguments else named.get("name", Blank.ANY)
        return spread(self._imported, name)

    def _imported(self, name: object) -> object:
        if not isinstance(name, str) or not known(name):
            return Blank.HIDDEN
        if is_module_of_git(name):
            self._found.argv(("git",))
        return Ref(canonical(name))

    def _vars(self, arguments: list[object], _named: Named) -> object:
        if not arguments:
            return Ref("globals()")
        return Ref(f"{arguments[0].name}.__dict__") if isinstance(arguments[0], Ref) else Blank.ANY

    def _str(self, arguments: list[object], _named: Named) -> object:
        if not arguments:
            return ""
        return spread(lambda value: Blank.NUMBER if value is Blank.NUMBER else _as_text(value), arguments[0])

    def _list(self, arguments: list[object], _named: Named) -> object:
        if not arguments:
            return []
        return spread(lambda value: value if isinstance(value, Many) else _listed(sequence(value)), arguments[0])

    def _reversed(self, arguments: list[object], _named: Named) -> object:
        if arguments and isinstance(arguments[0], Many):
            return arguments[0]
        parts = sequence(arguments[0]) if arguments else None
        return Blank.ANY if parts is None else list(reversed(parts))

    def _map(self, arguments: list[object], _named: Named) -> object:
        parts = sequence(arguments[1]) if len(arguments) > 1 else None
        if not arguments:
            return Blank.ANY
        if len(arguments) > 1 and isinstance(arguments[1], Many):
            return Many(self._call(arguments[0], [arguments[1].element], {}))
        if parts is None:
            self._call(arguments[0], [Blank.ANY], {})
            return Blank.ANY
        return [self._call(arguments[0], [part], {}) for part in parts[:512]]

    def _filter(self, arguments: list[object], named: Named) -> object:
        """As map, but of many things some of them stay."""
        given = self._map(arguments, named)
        return arguments[1] if isinstance(given, Many) else given

    def _zip(self, arguments: list[object], _named: Named) -> object:
        parts = [sequence(one) for one in arguments]
        return (
            [list(row) for row in zip(*(one or [] for one in parts), strict=False)]
            if all(one is not None for one in parts)
            else Blank.ANY
        )

    def _enumerate(self, arguments: list[object], _named: Named) -> object:
        if arguments and isinstance(arguments[0], Many):
            return Many([Blank.NUMBER, arguments[0].element])
        parts = sequence(arguments[0]) if arguments else None
        return Blank.ANY if parts is None else [[place, part] for place, part in enumerate(parts)]

    def _range(self, arguments: list[object], _named: Named) -> object:
        numbers = [one for one in arguments if isinstance(one, int) and abs(one) < MOST]
        if not numbers or len(numbers) != len(arguments) or len(numbers) > len("abc") or 0 in numbers[2:]:
            return Blank.ANY
        walk = range(*numbers)
        return list(walk) if len(walk) <= 1 << 10 else Blank.ANY

    def _next(self, arguments: list[object], _named: Named) -> object:
        if arguments and isinstance(arguments[0], Many):
            return arguments[0].element
        parts = sequence(arguments[0]) if arguments else None
        return parts[0] if parts else Blank.ANY

    def _partial(self, arguments: list[object], named: Named) -> object:
        if not arguments:
            return Blank.ANY
        function, given = arguments[0], arguments[1:]
        return Native(lambda more: self._call(function, [*given, *more], named))

    def _reduce(self, arguments: list[object], _named: Named) -> object:
        parts = list(sequence(arguments[1]) or ()) if len(arguments) > 1 else []
        total: object = parts[0] if parts else Blank.ANY
        for part in parts[1:512]:
            total = self._call(arguments[0], [total, part], {})
        return total

    def _methodcaller(self, arguments: list[object], named: Named) -> object:
        return Native(lambda more: self._call(self._getattr([*more[:1], *arguments[:1]], {}), arguments[1:], named))

    def _attrgetter(self, arguments: list[object], _named: Named) -> object:
        return Native(lambda more: self._getattr([*more[:1], *arguments[:1]], {}))

    def _stream(self, arguments: list[object], _named: Named) -> object:
        return Stream(arguments[0] if arguments else "")

    def _getenv(self, arguments: list[object], _named: Named) -> object:
        first = homely(arguments[0]) if arguments else Blank.ANY
        return join([first, *arguments[1:2]]) if len(arguments) > 1 else first


def _as_text(value: object) -> object:
    return value if isinstance(value, FileText) else shown(value)


def _listed(parts: object) -> object:
    return list(parts) if isinstance(parts, list | tuple) else Blank.ANY
