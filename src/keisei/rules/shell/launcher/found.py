"""What one command starts, collected while it is read: nothing twice, nothing blank, and the first doubt is kept."""

from collections.abc import Iterable

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.launch import Launch, Words

STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
"""Names of standard input."""
SPREAD = 32
"""How many arguments of `parallel`, starting points of `find`, or settings of git are told one by one."""


class Found:
    """What one command starts, while it is being read."""

    def __init__(self, *, transparent: bool = True, remote: bool = False) -> None:
        self.argvs: list[Words] = []
        self._seen: set[Words] = set()
        self.scripts: list[str] = []
        self.files: list[str] = []
        self.code: list[tuple[str, str]] = []
        self.code_files: list[tuple[str, str]] = []
        self.assigns: list[tuple[str, str]] = []
        self.reads_script = False
        self.appends_stdin = False
        self.reads_code: str | None = None
        self.chdir: str | None = None
        self.transparent = transparent
        self.remote = remote
        self.opaque: str | None = None
        self.targets: Words = ()

    def argv(self, words: Iterable[str]) -> None:
        """A command line; an empty one is none."""
        line = tuple(words)
        if line and line not in self._seen:
            self._seen.add(line)
            self.argvs.append(line)

    def script(self, text: str) -> None:
        """Shell text; blank text is none."""
        if text.strip() and text not in self.scripts:
            self.scripts.append(text)

    def file(self, path: str, what: str) -> None:
        """A shell script in a file, or from standard input."""
        if path in STDIN:
            self.reads_script = True
        elif UNKNOWN in path or path.startswith("/dev/fd/"):
            self.hide(f"the script that {what} runs is not known before it runs")
        elif path:
            self.files.append(path)

    def code_file(self, language: str, path: str) -> None:
        """A program of another language in a file, or from standard input."""
        if path in STDIN:
            self.reads_code = language
        elif UNKNOWN in path or path.startswith("/dev/fd/"):
            self.hide(f"the {language} program is not known before it runs")
        elif path:
            self.code_files.append((language, path))

    def go(self, path: str) -> None:
        """The directory it goes to, after those before."""
        self.chdir = path if self.chdir is None or path.startswith("/") else f"{self.chdir}/{path}"

    def hide(self, sentence: str | None) -> None:
        """Something starts that cannot be told; the first reason is kept."""
        self.opaque = self.opaque or sentence

    def launch(self, *, keep: bool = False) -> Launch | None:
        """All of it; None where nothing is started."""
        started = (self.argvs, self.scripts, self.files, self.code, self.code_files, self.opaque, self.reads_code)
        if not any(started) and not self.reads_script and not (keep and self.chdir is not None):
            return None
        return Launch(
            argvs=tuple(self.argvs),
            scripts=tuple(self.scripts),
            files=tuple(self.files),
            reads_script=self.reads_script,
            appends_stdin=self.appends_stdin,
            code=tuple(self.code),
            code_files=tuple(self.code_files),
            reads_code=self.reads_code,
            chdir=self.chdir,
            assigns=tuple(self.assigns),
            transparent=self.transparent,
            remote=self.remote,
            opaque=self.opaque,
            targets=self.targets,
        )
