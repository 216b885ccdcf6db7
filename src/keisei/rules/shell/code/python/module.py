"""Names of Python modules: what they are at home, and which of them start programs."""

import ast
from dataclasses import dataclass

from keisei.rules.shell.code.python.value import Blank, Ref
from keisei.rules.shell.code.result import HOME, names

Named = dict[str, object]
"""Arguments that are given by name."""
_MODULES = frozenset(
    names("os sys subprocess builtins importlib pty ctypes shutil runpy posix nt _posixsubprocess cffi commands")
)
"""Modules whose names are seen through other modules (`shutil.os`), and that hide starters behind computed names."""
_RENAMED = {"_os": "os", "posix": "os", "nt": "os", "_sys": "sys", "posixpath": "path", "__builtins__": "builtins"}


@dataclass(eq=False, slots=True)
class Func:
    """A function the code defines."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: object
    called: bool = False
    escaped: bool = False


def canonical(name: str) -> str:
    """A dotted name as its home module has it: `shutil.os.system` is `os.system`."""
    parts = [_RENAMED.get(part, part) for part in name.split(".")]
    for place in range(len(parts) - 1, 0, -1):
        if parts[place] in _MODULES and (parts[place - 1], parts[place]) != ("asyncio", "subprocess"):
            return ".".join(parts[place:])
    return ".".join(parts)


def dangerous(value: object) -> bool:
    """Whether a value is a module that starts programs, or its table of names."""
    return isinstance(value, Ref) and value.name.removesuffix(".__dict__") in _MODULES | {"sys.modules"}


def member(owner: Ref, name: object) -> object:
    """Something of a module by its name; hidden where the name is computed and the module is a dangerous one."""
    if isinstance(name, str) and name.isidentifier():
        return Ref(canonical(f"{owner.name.removesuffix('.__dict__')}.{name}"))
    return Blank.HIDDEN if dangerous(owner) else Blank.ANY


def is_module_of_git(name: str) -> bool:
    """Whether importing a module means that git is at work."""
    return name.split(".", 1)[0] in {"git", "dulwich", "pygit2", "gitpython", "sh_git"}


def homely(value: object) -> object:
    """An environment variable that names the home folder."""
    return HOME if value == "HOME" else Blank.ANY
