"""Python functions that start programs, and how their arguments become command lines."""

import shlex
from collections.abc import Callable

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.python.value import Blank, FileText, PathValue, Stream, argvs, singles, text
from keisei.rules.shell.code.result import QUOTED, Found, names

Named = dict[str, object]
_FEEDABLE = frozenset(names("sh bash dash zsh ksh ash fish busybox python python3 perl ruby node php lua xargs at"))
_SHELL = names(
    "os.system os.popen os.popen2 os.popen3 os.popen4 os.startfile subprocess.getoutput subprocess.getstatusoutput "
    "commands.getoutput commands.getstatusoutput asyncio.create_subprocess_shell subprocess.create_subprocess_shell "
    "popen2.popen2 popen2.popen3 popen2.popen4 popen2.Popen3 invoke.run fabric.local invoke.Context.run platform.popen "
    "plumbum.local.session.run"
)
_PROCESS = names("run call check_call check_output Popen")
_LINES = names("pexpect.spawn pexpect.run pexpect.runu pty.spawn distutils.spawn.spawn setuptools.distutils.spawn")
_SPREAD = names("asyncio.create_subprocess_exec subprocess.create_subprocess_exec")
_PATHS_FIRST = names("execl execle execlp execlpe execv execve execvp execvpe posix_spawn posix_spawnp")
_MODE_FIRST = names("spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe")


class Starters:
    """Turns calls of known starters into findings. `cwd` is where the code has gone by itself, if anywhere."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.cwd: str | None = None
        self.table: dict[str, Callable[[list[object], Named], None]] = {
            **dict.fromkeys(_SHELL, self._shell),
            **{f"subprocess.{name}": self._process for name in _PROCESS},
            **dict.fromkeys(_LINES, self._line),
            **dict.fromkeys(_SPREAD, self._spread),
            **{f"os.{name}": self._path_first for name in _PATHS_FIRST},
            **{f"os.{name}": self._mode_first for name in _MODE_FIRST},
            "_posixsubprocess.fork_exec": self._raw,
            "subprocess._fork_exec": self._raw,
            "runpy.run_module": self._module,
            "runpy._run_module_as_main": self._module,
            "runpy.run_path": self._file,
            "importlib.util.spec_from_file_location": self._second_file,
            "importlib.machinery.SourceFileLoader": self._second_file,
            "builtins.execfile": self._file,
            "pip.main": self._pip,
            "pip._internal.main": self._pip,
            "pip._internal.cli.main.main": self._pip,
        }

    def script(self, value: object, cwd: object = None) -> None:
        """A value is handed to a shell as its text."""
        for single in singles(value):
            if isinstance(single, FileText):
                self.argv(("sh", single.path), cwd)
            elif text(single) == UNKNOWN:
                self.found.opaque("It hands a shell text that is computed.")
            else:
                where = self._where(cwd)
                self.found.script(f"cd {_word(where)}\n{text(single)}" if where else text(single))

    def argv(self, words: tuple[str, ...], cwd: object = None) -> None:
        """A command line is started, in a folder."""
        where = self._where(cwd)
        if where and words and UNKNOWN not in words[0]:
            words = ("env", "-C", where, *words)
        self.found.argv(words)

    def _where(self, cwd: object) -> str | None:
        where = self.cwd if cwd is None else text(cwd)
        return None if where in {None, "", "."} else where

    def _shell(self, arguments: list[object], named: Named) -> None:
        value = _first(arguments, named, "command", "cmd")
        mode = arguments[1] if len(arguments) > 1 else named.get("mode", "r")
        if isinstance(mode, str) and mode.startswith("w"):
            self.found.opaque("It writes to a program that it starts.")
        self.script(value, named.get("cwd"))

    def _process(self, arguments: list[object], named: Named) -> None:
        value = _first(arguments, named, "args")
        shell = named.get("shell", False)
        for single in singles(value):
            if shell is False or shell is None or shell == 0:
                self._direct(single, named)
            else:
                self._by_shell(single, named)

    def _by_shell(self, value: object, named: Named) -> None:
        lists = argvs(value)
        if lists is None:
            self.script(value, named.get("cwd"))
        for words in lists or ():
            self.script(words[0] if words else "", named.get("cwd"))
        if "executable" in named and not text(named["executable"]).endswith("sh"):
            self.argv((text(named["executable"]),), named.get("cwd"))

    def _direct(self, value: object, named: Named) -> None:
        for words in argvs(value) or _split(value):
            given = words
            if "executable" in named and named["executable"] is not None:
                given = (text(named["executable"]), *words[1:])
            self._fed(given, named)

    def _fed(self, words: tuple[str, ...], named: Named) -> None:
        """A shell that gets its program from the code is given it as a here-document."""
        program = words[0].rsplit("/", 1)[-1] if words else ""
        given = named.get("input")
        if program.rstrip("0123456789.") not in _FEEDABLE or (given is None and not _piped(named.get("stdin"))):
            self.argv(words, named.get("cwd"))
            return
        body = text(given)
        if UNKNOWN in body or QUOTED in body:
            self.found.opaque("It feeds a program to a shell or an interpreter that it starts.")
            self.argv(words, named.get("cwd"))
            return
        line = " ".join(_word(word) for word in words)
        self.script(f"{line} <<'KEISEI_INPUT'\n{body}\nKEISEI_INPUT\n", named.get("cwd"))

    def _line(self, arguments: list[object], named: Named) -> None:
        value = _first(arguments, named, "command", "argv", "cmd")
        more = arguments[1] if len(arguments) > 1 else named.get("args")
        for single in singles(value):
            for words in argvs(single) or _split(single):
                extra = argvs(more) or [()]
                self.argv((*words, *extra[0]), named.get("cwd"))

    def _spread(self, arguments: list[object], named: Named) -> None:
        self._direct(arguments, named)

    def _path_first(self, arguments: list[object], named: Named) -> None:
        program = _first(arguments, named, "path", "file")
        rest = arguments[1:]
        lists = argvs(rest[0]) if rest and isinstance(rest[0], list | tuple) else None
        if rest and lists is None and rest[0] is Blank.ANY and len(rest) == 1:
            lists = [("", UNKNOWN)]
        for words in lists or argvs([part for part in rest if not isinstance(part, dict)]) or []:
            for single in singles(program):
                self.argv((text(single), *words[1:]))

    def _mode_first(self, arguments: list[object], named: Named) -> None:
        self._path_first(arguments[1:], named)

    def _raw(self, _arguments: list[object], _named: Named) -> None:
        self.found.opaque("It starts a program below the level that can be read.")

    def _module(self, arguments: list[object], named: Named) -> None:
        self.argv(("python3", "-m", text(_first(arguments, named, "mod_name"))))

    def _file(self, arguments: list[object], named: Named) -> None:
        path = text(_first(arguments, named, "path_name"))
        if path == UNKNOWN:
            self.found.opaque("It runs a Python file whose name is computed.")
        else:
            self.argv(("python3", path))

    def _second_file(self, arguments: list[object], named: Named) -> None:
        path = text(_first(arguments[1:], named, "location", "path"))
        if UNKNOWN not in path:
            self.argv(("python3", path))

    def _pip(self, arguments: list[object], named: Named) -> None:
        for words in argvs(_first(arguments, named, "args")) or [(UNKNOWN,)]:
            self.argv(("pip", *words))


def _first(arguments: list[object], named: Named, *names: str) -> object:
    if arguments:
        return arguments[0]
    return next((named[name] for name in names if name in named), Blank.ANY)


def _split(value: object) -> list[tuple[str, ...]]:
    """A command line given as one text, taken apart: without a shell it is one word, but readers mean several."""
    if isinstance(value, PathValue):
        return [(value.text,)]
    if isinstance(value, Stream | FileText):
        return [(UNKNOWN,)]
    try:
        return [tuple(shlex.split(text(value)))]
    except ValueError:
        return [tuple(text(value).split())]


def _piped(stdin: object) -> bool:
    return stdin is not None and stdin != _DEVNULL


_DEVNULL = -3


def _word(word: str) -> str:
    return word if UNKNOWN in word or QUOTED in word else shlex.quote(word)
