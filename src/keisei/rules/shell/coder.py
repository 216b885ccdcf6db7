"""Code of other languages that a command line holds, names or reads: what it starts and touches."""

import re
from typing import TYPE_CHECKING, Final

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.atom import MOST, Fields
from keisei.rules.shell.ground import Trace, joined, shown
from keisei.rules.shell.imports import imports, module_writes
from keisei.rules.shell.launcher import Launch
from keisei.rules.shell.state import Input
from keisei.rules.shell.target import Spot, Touch

if TYPE_CHECKING:
    from keisei.rules.shell.code import Code
    from keisei.rules.shell.run import Runner

DEEPEST: Final = 12
COMPUTED: Final = re.compile(r"\$[({](?:call|eval|file|foreach)\b|^define\b", re.MULTILINE)
"""Makefiles that make new text of their text."""
FILTERS: Final = frozenset({"sed", "awk"})
"""Languages of programs that an allow-list takes for filters: what their code runs must be listed too."""
COMPILERS: Final = frozenset({"gcc", "cc", "clang", "g++", "c++", "clang++", "tcc", "rustc", "go", "java", "javac"})
SYSTEM_CALL: Final = re.compile(r'\b(?:system|popen)\s*\(\s*"((?:[^"\\]|\\.)*)"')
EXEC_CALL: Final = re.compile(
    r'(?:\bexec[lv]\w*|\bposix_spawnp?|Command::new|exec\.Command|ProcessBuilder|\.exec)\s*\(\s*"[^"]*"(?:\s*,\s*"[^"]*")*'
)
MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
INCLUDE: Final = re.compile(r"^[-s]?include[ \t]+(.+)$", re.MULTILINE)


class Coder:
    """Reads code on paper."""

    def __init__(self, runner: "Runner") -> None:
        """The runner it works for."""
        self._runner = runner
        self._walk = runner.walk
        self._read: set[str] = set()
        self._homes: list[str] = []
        """Folders of the files whose code is being read."""

    def languages(self, base: str, launch: Launch, trace: Trace) -> None:
        """Everything in another language that a launch holds, names or reads."""
        inward = trace._replace(listed=False)
        for language, text in launch.code:
            self._code(language, text, trace if language in FILTERS else inward)
        for language, path in launch.code_files:
            self._code_file(language, path, launch, inward)
        if launch.reads_code is not None:
            text_in = self._walk.input_text()
            if text_in is None:
                self._walk.found.cannot_tell(f"`{base}` runs a program that comes from its input", trace)
            elif text_in and launch.reads_code == "make":
                self._made(text_in, launch, inward)
            elif text_in:
                self._code(launch.reads_code, text_in, inward)

    def _code_file(self, language: str, path: str, launch: Launch, trace: Trace) -> None:
        text, fresh = self._content(language, path, trace)
        if text is None:
            return
        inward = trace.inside(path, listed=False, certain=fresh)
        from keisei.rules.shell.code import npm_script  # noqa: PLC0415 - most calls hold no code

        if language == "make":
            self._made(text, launch, inward)
        elif language == "npm":
            self._coded(npm_script(text, path), inward)
        else:
            self._homes.append(joined(self._walk.state.cwds[0], path).rpartition("/")[0])
            self._code(language, text, inward)
            self._homes.pop()

    def _content(self, language: str, path: str, trace: Trace) -> tuple[str | None, bool]:
        """The text of a program that stands in a file or on standard input, and whether this call wrote it."""
        if path in ("/dev/stdin", "-", "/dev/fd/0"):
            text = self._walk.input_text()
            if text is None:
                self._walk.found.cannot_tell(f"a {language} program comes from standard input", trace)
            return text, True
        name = self._name(language, path)
        text, fresh = self._text_of(name)
        edited = language == "make" and joined(self._walk.state.cwds[0], name) in self._walk.state.edited
        if edited or (text is None and fresh):
            self._walk.found.cannot_tell(f"`{shown(path)}` is written and run by the same call", trace)
        return text, fresh

    def _name(self, language: str, path: str) -> str:
        """The file behind a program's name."""
        if language == "npm":
            return "package.json"
        if language == "make" and path == "Makefile":
            return next((each for each in MAKEFILES if self._text_of(each)[0] is not None), path)
        package = f"{path}/__main__.py"
        return package if language == "python" and self._text_of(package) != (None, False) else path

    def _made(self, text: str, launch: Launch, trace: Trace) -> None:
        from keisei.rules.shell.code import recipes  # noqa: PLC0415 - as above

        if COMPUTED.search(text):
            self._walk.found.cannot_tell("make is given text that it computes", trace)
        for name, value in launch.assigns:
            if name == "SHELL":
                self._walk.payload(value, trace)
        self._coded(recipes(self._makefile(text, launch), launch.targets), trace)

    def _text_of(self, path: str) -> tuple[str | None, bool]:
        return self._walk.state.text_of(joined(self._walk.state.cwds[0], path))

    def _makefile(self, text: str, launch: Launch) -> str:
        """A makefile with what it includes, and with the variables of the call, which come first or win."""
        included = [
            self._text_of(name)[0] or "" for match in INCLUDE.finditer(text) for name in match[1].split()[:MOST]
        ]
        values = self._walk.state.variables.values
        given = [f"{name} = {value}" for name, held in values.items() for value in held if _is_plain(value)]
        won = [f"override {name} = {value}" for name, value in launch.assigns if _is_plain(value)]
        return "\n".join((*given, *won, text, *included))

    def _code(self, language: str, text: str, trace: Trace) -> None:
        from keisei.rules.shell.code import started  # noqa: PLC0415 - as above

        self._coded(started(language, text), trace.inside(language, listed=language in FILTERS))
        self._imported(language, text, trace)

    def _imported(self, language: str, text: str, trace: Trace) -> None:
        """Modules of the tree, or of this call, that code brings in."""
        if trace.depth > DEEPEST:
            return
        if language == "python" and "PYTHONPATH" in self._walk.state.variables.values:
            text += "\nimport sitecustomize, usercustomize"
        for path in imports(language, text, self._import_folders()):
            content, fresh = self._walk.state.text_of(path)
            if content is not None and path not in self._read:
                self._read.add(path)
                self._code(language, content, trace.inside(path, listed=False, certain=fresh))
                self._read.discard(path)

    def _import_folders(self) -> list[str]:
        state = self._walk.state
        given = [part for value in state.variables.values.get("PYTHONPATH", ()) for part in value.split(":") if part]
        return [state.cwds[0], *(joined(state.cwds[0], part) for part in given), *self._homes]

    def _coded(self, code: "Code", trace: Trace) -> None:
        walk = self._walk
        if trace.depth > DEEPEST:
            walk.found.cannot_tell("code is nested too deeply to be read", trace)
            return
        if code.opaque:
            walk.found.cannot_tell(code.opaque, trace)
        with walk.state.fed(Input()):  # what code writes to the programs it starts is not followed
            for argv in code.argvs:
                if argv:
                    self._runner.run(argv, trace)
            for text in code.scripts:
                walk.payload(text, trace)
        for path in code.deletes:
            walk.found.command(("rm", path), trace, listed=False)
        self._runner.touch.touched(
            "code", Touch(writes=tuple(map(Spot, code.writes)), deletes=tuple(map(Spot, code.deletes))), trace
        )

    def module(self, base: str, argv: Fields, trace: Trace) -> None:
        """`python -m NAME`, where the module lies in the tree."""
        if re.fullmatch(r"(python|pypy)[0-9.]*", base) and "-m" in argv[:-1]:
            at = argv.index("-m") + 2
            written = tuple(Spot(path, tree=True) for path in module_writes(argv[at - 1], argv[at:]))
            self._runner.touch.touched("python", Touch(writes=written), trace)
            name = argv[at - 1].replace(".", "/")
            ways = [f"{folder}/{name}" for folder in self._import_folders()]
            for path in [f"{way}{end}" for way in ways for end in (".py", "/__main__.py")]:
                text, fresh = self._walk.state.text_of(path)
                if text is not None:
                    self._code("python", text, trace.inside(path, listed=False, certain=fresh))

    def compiled(self, argv: Fields, trace: Trace) -> None:
        """Source that this call itself hands to a compiler: what it plainly starts."""
        for word in argv[1:]:
            if word == "-" or word.endswith((".c", ".cc", ".cpp", ".rs", ".go", ".java", ".m")):
                text, fresh = (self._walk.input_text(), True) if word == "-" else self._text_of(word)
                for match in SYSTEM_CALL.finditer(text or "") if fresh else ():
                    self._walk.payload(match[1], trace.inside(word, listed=False))
                for match in EXEC_CALL.finditer(text or "") if fresh else ():
                    words = tuple(re.findall(r'"([^"]*)"', match[0]))
                    self._runner.run(words, trace.inside(word, listed=False), program=True)


def _is_plain(value: str) -> bool:
    return UNKNOWN not in value and "\n" not in value
