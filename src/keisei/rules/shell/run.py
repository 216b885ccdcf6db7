"""One command line: what it runs, touches and passes on."""

import re
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from keisei.records.effect import BELOW, UNKNOWN
from keisei.rules.patch import unified
from keisei.rules.shell.atom import MOST, Fields
from keisei.rules.shell.builtin import builtin
from keisei.rules.shell.coder import COMPILERS, Coder
from keisei.rules.shell.ground import GLOB, SYSTEM, Trace, joined, shown
from keisei.rules.shell.launcher import Launch, launched
from keisei.rules.shell.target import Spot, Touch, touched
from keisei.rules.shell.touch import Toucher

if TYPE_CHECKING:
    from keisei.rules.shell.walk import Walk

SYNTAX: Final = frozenset(
    {
        *(":", "true", "false", "set", "unset", "shift", "return", "exit", "break", "continue", "wait", "[", "test"),
        *("shopt", "readonly", "export", "declare", "local", "typeset", "let", "cd", "pushd", "popd", "dirs", "read"),
        *("mapfile", "readarray", "getopts", "type", "hash", "ulimit", "umask", "times"),
    }
)
"""Builtins that neither run nor write anything; an allow-list need not name them."""
SHELLS: Final = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "yash", "fish"})
SHEBANG: Final = re.compile(r"#!\s*(\S+)([^\n]*)")
DEEPEST: Final = 24
CURRENT: Final = frozenset({"eval", ".", "source", "builtin", "command", "trap", "mapfile", "readarray", "alias"})
"""Builtins that run what they are given in the current shell, so that a `cd` in it lasts."""
EXTGLOB: Final = re.compile(r"[?*+@!]\(")


class Runner:
    """Runs command lines on paper."""

    def __init__(self, walk: "Walk") -> None:
        """The walk it works for."""
        self.walk = walk
        self.touch = Toucher(walk)
        self._expanding: list[str] = []
        self.coder = Coder(self)

    def run(self, argv: Fields, trace: Trace, *, program: bool = False) -> None:
        """One command line; `program` where a launcher starts it, which knows neither functions nor aliases."""
        self.walk.step()
        if trace.depth > DEEPEST:
            self.walk.found.cannot_tell("commands are nested too deeply to be read", trace)
        elif EXTGLOB.search(argv[0]):
            sentence = f"which program `{shown(argv[0])}` stands for is not known beforehand"
            self.walk.found.cannot_tell(sentence, trace)
        elif GLOB.search(argv[0]) and argv[0] != "[":
            self._globbed(argv, trace)
        elif program or not self._of_the_text(argv, trace):
            self._start(argv, trace)

    def _of_the_text(self, argv: Fields, trace: Trace) -> bool:
        """Whether the text itself says what a name means: a function, or an alias, which is tried both ways."""
        walk, name = self.walk, argv[0]
        for value in walk.state.aliases.get(name, ()) if name not in self._expanding else ():
            self._expanding.append(name)
            walk.payload(" ".join((value, *map(_quoted, argv[1:]))), trace.inside(f"alias {name}"), here=True)
            self._expanding.pop()
        if name in walk.state.functions:
            walk.found.command(argv, trace, listed=False)
            walk.invoke(name, argv[1:], trace)
            return True
        return name in walk.state.aliases

    def _start(self, argv: Fields, trace: Trace) -> None:
        walk, program = self.walk, argv[0]
        if program == "--" and len(argv) > 1:  # `time -p -- command`
            self.run(argv[1:], trace)
            return
        base = program.rsplit("/", 1)[-1].removesuffix(".exe")
        if UNKNOWN in base or BELOW in base or not base:
            if program:
                walk.found.cannot_tell(f"which program `{shown(' '.join(argv))}` starts is not known beforehand", trace)
            return
        builtin(walk, base, argv[1:], trace)
        words = (base, *argv[1:])
        launch = launched(words)
        walk.found.command(argv, trace, listed=base not in SYNTAX and not self._looked_through(base, launch))
        path = program if "/" in program else walk.state.found_as(program)
        if path is not None:
            base, launch = self._called_by_path((path, *argv[1:]), launch, trace)
        touch = touched((base, *argv[1:]))
        self.touch.touched(base, self._by_patch(argv, touch) if base == "patch" else touch, trace)
        if base in ("apply_patch", "applypatch"):
            self.touch.patched(argv, trace)
        if launch is not None:
            self._launched(argv, base, launch, trace)
        self.coder.module(base, argv, trace)
        if base in COMPILERS:
            self.coder.compiled(argv, trace)

    def _by_patch(self, argv: Fields, touch: Touch) -> Touch:
        """A patch on standard input that can be read says itself what it writes."""
        text = self.walk.input_text()
        if not text or Spot(UNKNOWN) not in touch.writes:
            return touch
        strip = next((int(word[2:]) for word in argv[1:] if re.fullmatch(r"-p[0-9]", word)), 0)
        paths = unified(text, strip)
        kept = tuple(spot for spot in touch.writes if spot != Spot(UNKNOWN))
        return touch._replace(writes=(*kept, *map(Spot, paths))) if paths else touch

    def _looked_through(self, base: str, launch: Launch | None) -> bool:
        if launch is None or not launch.transparent or launch.files or launch.code or launch.code_files:
            return False
        if launch.reads_script:
            return self.walk.input_text() is not None
        return bool(launch.argvs or launch.scripts) or base == "command"

    def _globbed(self, argv: Fields, trace: Trace) -> None:
        found = [path for cwd in self.walk.state.cwds for path in self.walk.world.matches(joined(cwd, argv[0]))]
        for path in found[:MOST]:
            self._start((path, *argv[1:]), trace)
        if not found:
            sentence = f"which program `{shown(argv[0])}` stands for is not known beforehand"
            self.walk.found.cannot_tell(sentence, trace)

    # --- programs called by their path -------------------------------------------------------------------------------

    def _called_by_path(self, argv: Fields, launch: Launch | None, trace: Trace) -> tuple[str, Launch | None]:
        """The program behind a path, and what it starts: it may be a link, a copy, or a script of its own."""
        state = self.walk.state
        path = joined(state.cwds[0], argv[0])
        origin = state.origin(path)
        real = None if UNKNOWN in origin else self.walk.world.real(origin)
        base = found = argv[0].rsplit("/", 1)[-1]
        for other in dict.fromkeys((origin, real)):
            name = (other or base).rsplit("/", 1)[-1]
            if name != base and UNKNOWN not in name:
                self.walk.found.command((other or name, *argv[1:]), trace.inside(base), listed=False)
                launch, found = launch or launched((name, *argv[1:])), name
        if UNKNOWN not in path and not path.startswith(SYSTEM):
            self.script(argv[0], trace.inside(base, listed=False), argv[1:], program=True)
        return found, launch

    def script(
        self, path: str, trace: Trace, arguments: Fields = (), *, program: bool = False, here: bool = False
    ) -> None:
        """A file that a shell runs, or that is called as a program."""
        absolute = joined(self.walk.state.cwds[0], path)
        if UNKNOWN in absolute or BELOW in absolute:
            self.walk.found.cannot_tell(
                f"`{shown(path)}` is run, and which file that is is not known beforehand", trace
            )
            return
        text, fresh = self.walk.state.text_of(absolute)
        if (text is None and fresh) or absolute in self.walk.state.edited:
            self.walk.found.cannot_tell(f"`{shown(path)}` is written and run by the same call", trace)
        if text is None:
            return
        inward = trace.inside(path, listed=False, certain=fresh)
        shebang = SHEBANG.match(text) if program else None
        if shebang is not None and shebang[1].rsplit("/", 1)[-1] not in SHELLS and trace.depth < len(SYSTEM) * 2:
            rest = shebang[2].strip()
            self.run((shebang[1], *((rest,) if rest else ()), absolute, *arguments), inward)
            return
        known = self.walk.state.variables.known
        before, known["0"] = known.get("0", UNKNOWN), known.get("0", UNKNOWN) if here else absolute
        self.walk.payload(text, inward, arguments, here=here)
        known["0"] = before

    # --- what it passes on -------------------------------------------------------------------------------------------

    def _launched(self, argv: Fields, base: str, launch: Launch, trace: Trace) -> None:
        walk = self.walk
        inward = trace.inside(base, remote=launch.remote)
        if launch.opaque:
            walk.found.cannot_tell(launch.opaque, trace)
        for name, value in launch.assigns:
            walk.state.variables.assign(name, value)
            walk.set_variable(name, value, trace)
        here = base in CURRENT
        with nullcontext() if here else walk.state.apart():
            if launch.chdir is not None:
                walk.state.change_folder((launch.chdir,))
                walk.state.strays = ()
            for words in launch.argvs:
                found = _below(words) if base == "find" else words
                for each in self._filled(base, found) if found else ():
                    self.run((*each, *self._appended(launch)), inward, program=True)
            for text in (*launch.scripts, *_late(base, argv)):
                walk.payload(text, inward, _given(base, argv, text), here=here)
            for path in (*launch.files, *self._startup(base, argv)):
                self._shell_file(path, inward, argv[argv.index(path) + 1 :] if path in argv else (), here=here)
            if launch.reads_script:
                self._from_input(base, inward, here=here)
            self.coder.languages(base, launch, inward)

    def _filled(self, base: str, words: Fields) -> list[Fields]:
        """The command lines of `xargs -I{}`: one for each line of an input that is known."""
        text = self.walk.input_text() if base == "xargs" and any(UNKNOWN in word for word in words) else None
        lines = text.splitlines()[:MOST] if text else []
        return [tuple(word.replace(UNKNOWN, line) for word in words) for line in lines] or [words]

    def _appended(self, launch: Launch) -> Fields:
        if not launch.appends_stdin:
            return ()
        text = self.walk.input_text()
        return (UNKNOWN,) if text is None else tuple(text.split())[:MOST]

    def _startup(self, base: str, argv: Fields) -> list[str]:
        """Files an interactive or a login shell reads first; only those that this call writes."""
        flags = [word for word in argv[1:] if re.fullmatch(r"-[a-zA-Z]*[il][a-zA-Z]*|--login", word)]
        if base not in SHELLS or not flags:
            return []
        home = self.walk.state.variables.scalar("HOME")[0]
        names = (".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile")
        return [path for name in names if (path := f"{home}/{name}") in self.walk.state.contents]

    def _shell_file(self, path: str, trace: Trace, arguments: Fields, *, here: bool) -> None:
        if path in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"):
            self._from_input(path, trace, here=here)
        else:
            self.script(path, trace, arguments, here=here)

    def _from_input(self, what: str, trace: Trace, *, here: bool) -> None:
        text = self.walk.input_text()
        if text is None:
            self.walk.found.cannot_tell(f"`{what}` runs a program that comes from its input", trace)
        elif text:
            with self.walk.state.fed(None):
                self.walk.payload(text, trace, here=here)


def _quoted(word: str) -> str:
    return word if UNKNOWN in word else "'" + word.replace("'", "'\\''") + "'"


def _given(base: str, argv: Fields, text: str) -> Fields:
    """The positional parameters of a shell's `-c` text: what stands behind it, but for `$0`."""
    return argv[argv.index(text) + 2 :] if base in SHELLS and text in argv else ()


def _late(base: str, argv: Fields) -> Fields:
    """`script FILE -c TEXT`: its options may come behind its operand."""
    return (argv[argv.index("-c") + 1],) if base == "script" and "-c" in argv[2:-1] else ()


def _below(words: Fields) -> Fields:
    """The words `find` makes: what it finds lies below where it starts."""
    return tuple(f"{word[:-1]}{BELOW}" if word.endswith(f"/{UNKNOWN}") else word for word in words)
