"""Paths in Python code: what makes them, what is taken from them, and folders that are walked through."""

import os
import posixpath
import re
from collections.abc import Callable

from keisei.records.effect import BELOW, UNKNOWN
from keisei.rules.shell.code.python.module import Named
from keisei.rules.shell.code.python.value import Blank, FileText, Many, PathValue, Scratch, Stream, text
from keisei.rules.shell.code.result import HOME, SCRATCH, names

_PATHS = frozenset(names("pathlib.Path pathlib.PosixPath pathlib.PurePath pathlib.PurePosixPath py.path.local"))
_SAME = frozenset(names("resolve absolute expanduser as_posix __str__ __fspath__"))
_WALKERS = frozenset(names("glob rglob iterdir walk"))
_MAGIC = re.compile(r"[*?\[\0\x01]")


def made(name: str, arguments: list[object], named: Named) -> object | None:
    """The path, or the paths, that a function gives; None where it is not such a function."""
    if name in _PATHS:
        return PathValue(posixpath.join(*(text(part) for part in arguments)) if arguments else ".")
    maker = _MAKERS.get(name)
    if maker is not None:
        return maker([text(part) for part in arguments])
    if name.startswith("tempfile."):
        return _temporary(name, arguments, named)
    return _walked(name, arguments, named)


def constant(name: str) -> object:
    """The value of a name of a module that is a plain constant; None where it is not one."""
    if name.startswith("os.O_"):
        return getattr(os, name[3:], Blank.NUMBER)
    return _CONSTANTS.get(name)


_CONSTANTS: dict[str, object] = {
    "sys.executable": "python3",
    "os.sep": "/",
    "os.linesep": "\n",
    "os.devnull": "/dev/null",
    "os.curdir": ".",
    "os.pardir": "..",
    "subprocess.PIPE": -1,
    "subprocess.STDOUT": -2,
    "subprocess.DEVNULL": -3,
    "string.ascii_lowercase": "abcdefghijklmnopqrstuvwxyz",
    "string.ascii_uppercase": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "string.ascii_letters": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "string.digits": "0123456789",
    "os.P_WAIT": 0,
    "os.P_NOWAIT": 1,
}


def _joined(parts: list[str]) -> object:
    return posixpath.join(*parts) if parts else Blank.ANY


def _same(parts: list[str]) -> object:
    return parts[0] if parts and parts[0] != UNKNOWN else Blank.ANY


def _tilde(parts: list[str]) -> object:
    path = parts[0] if parts else UNKNOWN
    return HOME + path[1:] if path.startswith("~") else path


_MAKERS: dict[str, Callable[[list[str]], object]] = {
    "os.path.join": _joined,
    "os.path.abspath": _same,
    "os.path.realpath": _same,
    "os.fspath": _same,
    "os.fsencode": _same,
    "os.fsdecode": _same,
    "shutil.which": _same,
    "os.path.expanduser": _tilde,
    "os.getcwd": lambda _parts: ".",
    "pathlib.Path.cwd": lambda _parts: PathValue("."),
    "pathlib.Path.home": lambda _parts: PathValue(HOME),
}


def _temporary(name: str, arguments: list[object], named: Named) -> object | None:
    """What tempfile gives: scratch, or something below the folder it is told to use."""
    kind = name.removeprefix("tempfile.")
    if kind in {"gettempdir", "gettempdirb", "gettempprefix"}:
        return SCRATCH
    if kind in {"TemporaryFile", "SpooledTemporaryFile"}:
        return Stream("")
    path = _scratch(kind, arguments, named)
    if kind == "NamedTemporaryFile":
        return Stream(FileText(path))
    if kind == "TemporaryDirectory":
        return Scratch(path)
    if kind in {"mkdtemp", "mktemp"}:
        return path
    return [0, path] if kind == "mkstemp" else None


_MADE = frozenset(names("mkstemp mkdtemp NamedTemporaryFile TemporaryFile SpooledTemporaryFile TemporaryDirectory"))


def within(name: str, arguments: list[object], named: Named) -> tuple[str, ...]:
    """What tempfile writes outside of the folder for such things: something below the folder it is told to use."""
    kind = name.removeprefix("tempfile.")
    path = _scratch(kind, arguments, named) if name.startswith("tempfile.") and kind in _MADE else SCRATCH
    return () if path.startswith(SCRATCH) else (path,)


def _scratch(kind: str, arguments: list[object], named: Named) -> str:
    place = {"NamedTemporaryFile": 6, "TemporaryFile": 6, "SpooledTemporaryFile": 7}.get(kind, 2)
    folder = arguments[place] if len(arguments) > place else named.get("dir")
    parts = (named.get("prefix"), named.get("suffix"), *arguments[:2])
    if any(isinstance(part, str) and "/" in part for part in parts):
        return UNKNOWN
    if folder is None:
        return SCRATCH
    where = text(folder)
    return where if where.startswith((UNKNOWN, SCRATCH)) else posixpath.join(where, BELOW)


def _walked(name: str, arguments: list[object], named: Named) -> object | None:
    """What functions give that look through a folder."""
    first = text(arguments[0]) if arguments else text(named.get("pathname", named.get("top", named.get("path", "."))))
    if name in {"glob.glob", "glob.iglob"}:
        return Many(UNKNOWN if named.get("root_dir") is not None else _matching(first))
    if name in {"os.walk", "os.fwalk"}:
        return Many([posixpath.join(first, BELOW), Many(BELOW), Many(BELOW)])
    if name == "os.listdir":
        return Many(BELOW)
    return Many(PathValue(posixpath.join(first, BELOW))) if name == "os.scandir" else None


def _matching(pattern: str) -> str:
    """What a pattern stands for: the folder before its first special character, and something below."""
    magic = _MAGIC.search(pattern)
    if not magic:
        return pattern
    folder = pattern[: pattern.rfind("/", 0, magic.start()) + 1]
    if ".." in pattern[magic.start() :].split("/") or (not folder and pattern.startswith(UNKNOWN)):
        return UNKNOWN
    return folder + BELOW


def path_method(path: str, name: str, arguments: list[object]) -> object:
    """What a method of a pathlib path gives."""
    if name in _WALKERS:
        pattern = text(arguments[0]) if arguments and "glob" in name else "*"
        inside = posixpath.join(path, _matching(pattern if _MAGIC.search(pattern) else f"{pattern}*"))
        return Many([PathValue(inside), Many(BELOW), Many(BELOW)] if name == "walk" else PathValue(inside))
    if name == "expanduser":
        return PathValue(text(_tilde([path])))
    if name in _SAME:
        return PathValue(path)
    if name == "joinpath":
        return PathValue(posixpath.join(path, *(text(part) for part in arguments)))
    if name in {"with_suffix", "with_name", "with_stem"} and arguments:
        folder, base = posixpath.split(path)
        stem, suffix = posixpath.splitext(base)
        new = text(arguments[0])
        base = {"with_suffix": stem + new, "with_name": new, "with_stem": new + suffix}[name]
        return PathValue(posixpath.join(folder, base))
    if name == "relative_to" and BELOW in path:
        return PathValue(BELOW)
    return Blank.ANY


def path_attribute(path: str, name: str) -> object:
    """What an attribute of a pathlib path is."""
    if name == "path":
        return path
    if name == "parent":
        return PathValue(path if BELOW in path else posixpath.dirname(path) or ".")
    base = posixpath.basename(path)
    parts = {"name": base, "stem": posixpath.splitext(base)[0], "suffix": posixpath.splitext(base)[1]}
    if BELOW in base and name == "suffix":
        return Blank.ANY
    return parts.get(name, Blank.ANY)
