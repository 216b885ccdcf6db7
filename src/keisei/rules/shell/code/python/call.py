"""Calls in Python code: what is called, and what that starts, writes or gives."""

from collections.abc import Sequence
from typing import Protocol

from keisei.records.effect import BELOW, UNKNOWN
from keisei.rules.shell.code.python import fold
from keisei.rules.shell.code.python.builtin import Builtins
from keisei.rules.shell.code.python.file import Files
from keisei.rules.shell.code.python.function import function
from keisei.rules.shell.code.python.module import Func, Named, dangerous, is_module_of_git
from keisei.rules.shell.code.python.start import Starters
from keisei.rules.shell.code.python.state import State
from keisei.rules.shell.code.python.value import (
    LONG,
    Blank,
    Choice,
    FileText,
    Method,
    Native,
    PathValue,
    Ref,
    Stream,
    join,
    sequence,
    singles,
    spread,
    text,
)
from keisei.rules.shell.code.result import MOST, Found, names

_LOOKING = frozenset(
    names("print help repr str type callable hasattr dir id isinstance issubclass vars bool len hash format")
)
"""Builtins that only look at what they are given."""
_EVALUATORS = frozenset(
    names(
        "builtins.exec builtins.eval timeit.timeit timeit.repeat timeit.Timer profile.run cProfile.run cProfile.runctx "
        "code.InteractiveInterpreter.runsource code.InteractiveInterpreter.runcode code.InteractiveConsole.runsource "
        "code.InteractiveConsole.runcode code.InteractiveConsole.push pdb.run pdb.runeval trace.Trace.run bdb.Bdb.run "
        "typing.get_type_hints.eval"
    )
)
_CONSOLES = frozenset(names("code.InteractiveInterpreter code.InteractiveConsole"))
_ASKING = frozenset(names("code.interact code.InteractiveConsole.interact"))
_HIDERS = frozenset(
    names(
        "types.FunctionType types.CodeType marshal.loads marshal.load importlib.machinery.ExtensionFileLoader "
        "operator.attrgetter"
    )
)
_NATIVE_CODE = (
    "ctypes.CDLL",
    "ctypes.cdll",
    "ctypes.PyDLL",
    "ctypes.pydll",
    "ctypes.windll",
    "ctypes.WinDLL",
    "ctypes.pythonapi",
    "ctypes.CFUNCTYPE",
    "cffi.",
    "_ctypes.",
    "ctypes.util._",
    "ctypes.LibraryLoader",
)
_PICKLES = frozenset(names("pickle.loads pickle.load _pickle.loads cPickle.loads dill.loads cloudpickle.loads"))
_DISTINCT = {"create_subprocess_shell": "os.system", "subprocess_shell": "", "subprocess_exec": ""}


class Reader(Protocol):
    """What calls need of the one who reads the code."""

    def patched(self, name: str) -> object | None:
        """What the code has put where an attribute of this name is; None where nothing."""

    def inline(self, function: Func, arguments: list[object], named: Named) -> object:
        """What a function of the code gives for these arguments, its doings noted."""

    def evaluate(self, source: str) -> object:
        """What more code gives, its doings noted."""


class Calls:
    """Judges calls. Falls closed: a starter with arguments it does not know is opaque."""

    def __init__(self, found: Found, state: State, reader: Reader) -> None:
        self._found = found
        self._state = state
        self._reader = reader
        self._starters = Starters(found)
        self._files = Files(found)
        self._builtins = Builtins(found, self.call)

    def call(self, called: object, arguments: list[object], named: Named) -> object:
        """What a call gives, its doings noted."""
        if isinstance(called, Choice):
            return join(self.call(one, arguments, named) for one in called.values)
        if isinstance(called, Func):
            return self._reader.inline(called, arguments, named)
        if isinstance(called, Native):
            return called.call(arguments)
        if isinstance(called, Method):
            return self._method(called, arguments, named)
        if called is Blank.HIDDEN:
            self._found.opaque("It calls something that it reaches by a computed name.")
            return Blank.HIDDEN
        if isinstance(called, Ref):
            return self._known(called.name, arguments, named)
        self._passed_on(arguments, named)
        return Blank.ANY

    def starts(self, value: object) -> bool:
        """Whether calling a value starts or evaluates something."""
        if isinstance(value, Ref):
            return value.name in self._starters.table or value.name in _EVALUATORS
        return value is Blank.HIDDEN or isinstance(value, Native)

    def _known(self, name: str, arguments: list[object], named: Named) -> object:
        if name in self._starters.table:
            self._starters.table[name](arguments, named)
            return Blank.ANY
        if name in _EVALUATORS:
            return self._evaluate(name, arguments, named)
        if name in self._builtins.table:
            return self._builtins.table[name](arguments, named)
        if name in {"os.chdir", "contextlib.chdir"}:
            return self._chdir(arguments)
        if name.startswith(_NATIVE_CODE):
            self._found.opaque("It calls native code that cannot be read.")
            return Blank.HIDDEN
        if name in _CONSOLES:
            return Ref(name)
        if name in _ASKING:
            self._found.opaque("It evaluates code that it reads.")
        if name in _PICKLES or name in _HIDERS:
            return self._unpickle(name, arguments)
        made = self._files.function(name, arguments, named)
        if made is not None:
            return made
        return self._modules(name, arguments, named)

    def _modules(self, name: str, arguments: list[object], named: Named) -> object:
        head, _, rest = name.partition(".")
        if head == "sh" and rest and not rest.startswith("_"):
            self._starters.argv((rest.rsplit(".", 1)[-1].replace("_", "-"), *(text(one) for one in arguments)))
            return Blank.ANY
        if name.startswith("plumbum.cmd."):
            self._starters.argv((name.removeprefix("plumbum.cmd."), *(text(one) for one in arguments)))
            return Blank.ANY
        if is_module_of_git(head):
            self._found.argv(("git",))
        folded: object = Blank.ANY
        if not self._state.is_exhausted:
            folded = spread(lambda *given: function(name, list(given), named), *arguments)
        if folded is not Blank.ANY:
            return folded
        if self._under_starter(name):
            self._found.opaque("It calls a starter of programs in a way that cannot be read.")
        if head == "builtins" and rest in _LOOKING:
            return Blank.ANY
        return self._passed_on(arguments, named) if head != "inspect" else Blank.ANY

    def _under_starter(self, name: str) -> bool:
        owner = name.rpartition(".")[0]
        return owner in self._starters.table or owner in {"builtins.exec", "builtins.eval"}

    def _passed_on(self, arguments: list[object], named: Named) -> object:
        """A starter given to somebody who may call it is taken as called with what follows it."""
        for place, value in enumerate(arguments):
            for one in singles(value):
                self._handed(one, arguments[place + 1 :], named)
        for word in ("target", "fn", "func", "function", "callback", "key", "initializer"):
            for one in singles(named.get(word)):
                given = sequence(named.get("args", named.get("initargs", ())))
                self._handed(one, list(given) if given is not None else [Blank.ANY], {})
        return Blank.HIDDEN if any(dangerous(value) for value in arguments) else Blank.ANY

    def _handed(self, function: object, rest: list[object], named: Named) -> None:
        if isinstance(function, Func):
            function.escaped = not rest
        if not (self.starts(function) or (isinstance(function, Func) and rest)):
            return
        if not rest:
            rest = list(sequence(named.get("args", ())) or [Blank.ANY])
        only = rest[0] if len(rest) == 1 else None
        many = only[:64] if isinstance(only, list | tuple) else []
        if not many or self._takes_words(function, many):
            self.call(function, rest, {})
        for one in many:
            self.call(function, [one], {})

    def _takes_words(self, function: object, parts: Sequence[object]) -> bool:
        """Whether a list may be the words of one command line, and not a list of such lists."""
        direct = isinstance(function, Ref) and function.name.startswith("subprocess.")
        return direct and all(isinstance(part, str) for part in parts)

    def _evaluate(self, name: str, arguments: list[object], named: Named) -> object:
        value = arguments[0] if arguments else named.get("stmt", named.get("source", "pass"))
        sources = [value, *arguments[1:2]] if name.startswith("timeit.") else [value]
        results: list[object] = []
        for source in sources:
            results.extend(self._source(one) for one in singles(source))
        return join(results[:1])

    def _source(self, value: object) -> object:
        if isinstance(value, FileText) and UNKNOWN not in value.path and BELOW not in value.path:
            self._starters.argv(("python3", value.path))
            return Blank.ANY
        if isinstance(value, Func):
            return self._reader.inline(value, [], {})
        source = text(value)
        if UNKNOWN in source or BELOW in source or len(source) > MOST:
            self._found.opaque("It evaluates code that is computed.")
            return Blank.ANY
        return self._reader.evaluate(source)

    def _unpickle(self, name: str, arguments: list[object]) -> object:
        value = arguments[0] if arguments else Blank.ANY
        inner = value.content if isinstance(value, Stream) else value
        if name in _PICKLES:
            if isinstance(inner, bytes | str):
                self._found.opaque("It unpickles data that can start anything.")
            return Blank.ANY
        if name.startswith("types."):
            self._found.opaque("It makes a function of code that cannot be read.")
        return Blank.HIDDEN

    def _method(self, method: Method, arguments: list[object], named: Named) -> object:
        owner, name = method.owner, method.name
        if isinstance(owner, PathValue):
            return spread(lambda *given: self._files.method(owner.text, name, list(given), named), *arguments)
        if isinstance(owner, Stream) and name in {"read", "getvalue", "readlines", "read1"}:
            return owner.content
        if isinstance(owner, FileText):
            return owner if name in {"strip", "decode", "encode", "rstrip"} else Blank.ANY
        if isinstance(owner, list):
            return self._list_method(owner, name, arguments)
        if isinstance(owner, str | bytes | dict):
            if self._state.is_exhausted:
                return Blank.ANY
            return spread(lambda *given: fold.method(owner, name, list(given), named), *arguments)
        if name in _DISTINCT:
            self._loop_method(name, arguments, named)
        patched = self._reader.patched(name)
        if patched is not None:
            return self.call(patched, arguments, named)
        if self._files.loose(owner, name, arguments, named):
            return Blank.ANY
        self._passed_on(arguments, named)
        return Blank.ANY

    def _loop_method(self, name: str, arguments: list[object], named: Named) -> None:
        if name == "subprocess_exec":
            self._starters.table["asyncio.create_subprocess_exec"](arguments[1:], named)
        else:
            self._starters.table["os.system"](arguments[1:2] if name == "subprocess_shell" else arguments, named)

    def _list_method(self, owner: list[object], name: str, arguments: list[object]) -> object:
        if len(owner) > LONG:
            return None
        if name in {"append", "add"}:
            owner.append(arguments[0] if arguments else Blank.ANY)
        elif name == "extend":
            owner.extend(list(sequence(arguments[0]) or [Blank.ANY])[:LONG] if arguments else [Blank.ANY])
        elif name == "insert":
            place = arguments[0] if arguments and isinstance(arguments[0], int) else 0
            owner.insert(place, arguments[-1] if arguments else Blank.ANY)
        elif name == "reverse":
            owner.reverse()
        elif name == "pop":
            return fold.subscript(owner, arguments[0] if arguments else -1)
        elif name == "copy":
            return list(owner)
        elif name in {"sort", "remove", "clear"}:
            owner[:] = [*owner, Blank.ANY]
        return None

    def _chdir(self, arguments: list[object]) -> object:
        where = text(arguments[0]) if arguments else UNKNOWN
        self._starters.cwd = self._files.cwd = where
        return None
