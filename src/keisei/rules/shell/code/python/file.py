"""Python functions that write or remove files."""

import os
import posixpath
from collections.abc import Callable

from keisei.records.effect import BELOW, UNKNOWN
from keisei.rules.shell.code.python.module import Named
from keisei.rules.shell.code.python.path import made, path_method, within
from keisei.rules.shell.code.python.value import (
    Blank,
    FileText,
    Many,
    PathValue,
    Scratch,
    Stream,
    singles,
    spread,
    text,
)
from keisei.rules.shell.code.result import HOME, Found, names

_TOUCHES = {
    "w0": (
        "os.mkdir os.makedirs os.truncate os.chmod os.chown os.lchown os.utime os.mkfifo os.mknod os.setxattr "
        "os.lchmod os.removexattr"
    ),
    "w1": (
        "shutil.copy shutil.copy2 shutil.copyfile shutil.copytree shutil.copymode shutil.copystat "
        "shutil.unpack_archive urllib.request.urlretrieve urllib.urlretrieve"
    ),
    "d0": "os.remove os.unlink os.rmdir os.removedirs shutil.rmtree",
    "d0 w1": "os.rename os.replace os.renames shutil.move",
}
_FUNCTIONS = {name: kind.split() for kind, names in _TOUCHES.items() for name in names.split()}
_KEYWORDS = (("path", "src", "source", "name", "filename"), ("dst", "dest", "destination", "extract_dir", "filename"))
_OPENERS = frozenset(
    names(
        "builtins.open io.open _io.open codecs.open gzip.open bz2.open lzma.open tarfile.open zipfile.ZipFile "
        "io.FileIO gzip.GzipFile tarfile.TarFile tarfile.TarFile.open io.open_code bz2.BZ2File lzma.LZMAFile"
    )
)
_STORES = {
    "shelve.open": "c",
    "dbm.open": "r",
    "dbm.gnu.open": "r",
    "dbm.ndbm.open": "r",
    "dbm.dumb.open": "c",
    "dbm.sqlite3.open": "r",
    "shelve.DbfilenameShelf": "c",
}
"""Files of keys and values, and how each is opened where nothing is said."""
_LOGS = frozenset(
    names(
        "logging.FileHandler logging.handlers.RotatingFileHandler logging.handlers.TimedRotatingFileHandler "
        "logging.handlers.WatchedFileHandler"
    )
)
_LINKS = {"os.symlink": True, "os.link": False}
_LINKING = {"symlink_to": True, "hardlink_to": False, "link_to": False}
_WRITING = frozenset(names("write_text write_bytes touch mkdir symlink_to hardlink_to chmod link_to"))
_REMOVING = frozenset(names("unlink rmdir"))
_SAVING = frozenset(names("to_csv to_parquet to_excel to_pickle to_feather savefig"))
_HANDLES = frozenset(names("sys.stdout.fileno sys.stderr.fileno sys.stdin.fileno os.dup os.memfd_create"))
_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MODES = frozenset("rwaxbt+")


class Files:
    """Turns calls of known file functions into findings. `cwd` is where the code has gone by itself, if anywhere."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self.cwd: str | None = None

    def function(self, name: str, arguments: list[object], named: Named) -> object | None:
        """What a file function gives, its writing noted; None where it is not one."""
        if name in _FUNCTIONS:
            self._touch(_FUNCTIONS[name], arguments, named)
            return Blank.ANY
        if name in _OPENERS:
            return self._open(arguments, named)
        if name in _LINKS:
            target, place = _given(arguments, named, 0, "src"), _given(arguments, named, 1, "dst")
            spread(lambda one, other: self._link(text(one), text(other), symbolic=_LINKS[name]), target, place)
            return Blank.ANY
        if name in _HANDLES:
            return 1
        given = made(name, arguments, named)
        for path in within(name, arguments, named):
            self._write(path)
        return self._special(name, arguments, named) if given is None else given

    def method(self, path: str, name: str, arguments: list[object], named: Named) -> object:
        """What a method of a pathlib path gives, its writing noted."""
        if name in _LINKING:
            target = text(_given(arguments, named, 0, "target"))
            self._link(target, path, symbolic=_LINKING[name])
        elif name in _WRITING:
            self._write(path)
        elif name in _REMOVING:
            self._delete(path)
        elif name in {"rename", "replace", "move"}:
            self._delete(path)
            self._each(self._write, arguments[0] if arguments else named.get("target", Blank.ANY))
            return PathValue(text(arguments[0])) if arguments else Blank.ANY
        elif name in {"copy", "copy_into"}:
            self._each(self._write, arguments[0] if arguments else Blank.ANY)
        elif name in {"read_text", "read_bytes"}:
            return FileText(path)
        elif name == "open":
            return self._open([PathValue(path), *arguments], named)
        return path_method(path, name, arguments)

    def loose(self, owner: object, name: str, arguments: list[object], named: Named) -> bool:
        """Whether a method of something unknown writes or removes, which is noted: only paths have such methods."""
        mode = arguments[0] if arguments else named.get("mode")
        if name in _WRITING or (name == "open" and isinstance(mode, str) and set(mode) <= _MODES and _writes(mode)):
            self._write(UNKNOWN)
        elif name in _REMOVING:
            self._delete(UNKNOWN)
        elif name in {"extract", "extractall"} and isinstance(owner, Stream):
            place = arguments[-1] if len(arguments) > (name == "extract") else named.get("path", ".")
            self._each(lambda path: self._write(posixpath.join(path, BELOW)), "." if place is None else place)
        elif name in _SAVING and arguments and isinstance(arguments[0], str | PathValue):
            self._each(self._write, arguments[0])
        else:
            return False
        return True

    def _touch(self, kinds: list[str], arguments: list[object], named: Named) -> None:
        for kind in kinds:
            place = int(kind[1])
            value: object = Blank.ANY
            if len(arguments) > place:
                value = arguments[place]
            else:
                value = next((named[word] for word in _KEYWORDS[place] if word in named), Blank.ANY)
            self._each(self._write if kind[0] == "w" else self._delete, value)

    def _open(self, arguments: list[object], named: Named) -> object:
        handle = named.get("fileobj")
        path = _given(arguments, named, 0, "file", "name", "filename", otherwise=handle or Blank.ANY)
        mode = arguments[1] if len(arguments) > 1 else named.get("mode", "r")
        if any(not isinstance(one, str) or _writes(one) for one in singles(mode)):
            self._each(self._write, path)
        return path if isinstance(path, Stream) else Stream(FileText(text(path)))

    def _special(self, name: str, arguments: list[object], named: Named) -> object | None:
        if name == "os.open":
            flags = arguments[1] if len(arguments) > 1 else named.get("flags", 0)
            if not isinstance(flags, int) or flags & _FLAGS:
                self._each(self._write, arguments[0] if arguments else Blank.ANY)
            return 1
        if name == "fileinput.input" and named.get("inplace"):
            names = arguments[0] if arguments else named.get("files", Blank.ANY)
            for one in names if isinstance(names, list | tuple) else [names]:
                self._each(self._write, one)
            return Blank.ANY
        if name == "shutil.make_archive" and arguments:
            self._each(self._write, arguments[0])
            return Blank.ANY
        return self._kept(name, arguments, named)

    def _kept(self, name: str, arguments: list[object], named: Named) -> object | None:
        """Databases and logs."""
        if name in _STORES:
            flag = _given(arguments, named, 1, "flag", otherwise=_STORES[name])
            if any(not isinstance(one, str) or not one.startswith("r") for one in singles(flag)):
                self._each(self._write, _given(arguments, named, 0, "filename", "file"))
        elif name in {"sqlite3.connect", "sqlite3.dbapi2.connect", "sqlite3.Connection"}:
            self._each(self._database, _given(arguments, named, 0, "database"))
        elif name in _LOGS or (name == "logging.basicConfig" and named.get("filename") is not None):
            self._each(self._write, named.get("filename", arguments[0] if arguments else Blank.ANY))
        else:
            return None
        return Blank.ANY

    def _database(self, path: str) -> None:
        """A database of SQLite, by its path or its address."""
        plain, _, options = path.partition("?")
        if path.startswith("file:") and {"mode=ro", "mode=memory", "immutable=1"} & set(options.split("&")):
            return
        path = plain.removeprefix("file:").removeprefix("//") if path.startswith("file:") else path
        if path != ":memory:":
            self._write(path)

    def _each(self, note: Callable[[str], None], value: object) -> None:
        """Every path a value may be; UNKNOWN where it is computed. Numbers and streams are handles, None is nothing."""
        for single in singles(value):
            if isinstance(single, Many):
                self._each(note, single.element)
            elif isinstance(single, str | bytes | PathValue | Scratch):
                note(text(single))
            elif not isinstance(single, int | Stream | None):
                note(UNKNOWN)

    def _link(self, target: str, name: str, *, symbolic: bool) -> None:
        """A relative target of a symbolic link starts where the link is, that of another link where the code is."""
        self._found.link(target if symbolic else self._placed(target), self._placed(name), symbolic=symbolic)

    def _write(self, path: str) -> None:
        self._found.write(self._placed(path))

    def _delete(self, path: str) -> None:
        self._found.delete(self._placed(path))

    def _placed(self, path: str) -> str:
        if self.cwd and not path.startswith((HOME, UNKNOWN)):
            return posixpath.join(self.cwd, path)
        return f"./{path}" if path.startswith("~") else path


def _given(arguments: list[object], named: Named, place: int, *words: str, otherwise: object = Blank.ANY) -> object:
    """An argument by its place or one of its names."""
    if len(arguments) > place:
        return arguments[place]
    return next((named[word] for word in words if word in named), otherwise)


def _writes(mode: str) -> bool:
    return UNKNOWN in mode or bool(set(mode) & set("wax+"))
