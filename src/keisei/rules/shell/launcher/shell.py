"""Shells: whether the program is text, a file or standard input; nothing where it is only checked."""

from collections.abc import Mapping

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.launcher.form import names
from keisei.rules.shell.launcher.found import STDIN, Found
from keisei.rules.shell.launcher.launch import Hand, Launch, Words

SHELLS = names(
    "sh bash dash zsh ksh mksh pdksh oksh loksh lksh ash hush fish rbash rzsh rksh yash csh tcsh posh nu"
    " xonsh elvish"
    " osh ysh ion git-shell pbash bosh jsh psh msh rc es sash"
)
SHELL_VALUES = names("rcfile init-file command init-command commands execute config env-config debug-level")
"""Long options of shells that take a value."""
SHELL_FLAGS = names(
    "norc noprofile login posix restricted verbose noediting debugger dump-strings dump-po-strings pretty-print wordexp"
    " protected interactive no-execute private no-config"
)
"""Long options of shells that take none; bash knows them with one dash too."""


class _ShellScan:
    """The options of a shell. `-c` takes the first operand, whatever options stand between."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self.at = 1
        self.letters: set[str] = set()
        self.found = Found()
        self.over = False

    def read(self) -> None:
        """As far as the first operand."""
        while self.at < len(self.words) and not self.over:
            word = self.words[self.at]
            if word[:1] not in {"-", "+"} or word == "+":
                return
            self.at += 1
            if word in {"--", "-"}:
                return
            if not self._long(word):
                self._letters(word)

    def _long(self, word: str) -> bool:
        name, sign, value = word.lstrip("-").partition("=")
        if name in {"help", "version"} and word.startswith("--"):
            self.over = True
        elif name in SHELL_VALUES and word.startswith("-"):
            if not sign:
                value = self._next()
            if "command" in name or name == "execute":
                self.found.script(value)
                self.letters.add("C" if name == "init-command" else "done")
            elif name != "debug-level":
                self.found.file(value, self.words[0])
        elif UNKNOWN in word:
            self.found.hide(f"{self.words[0]} has an option that is not known before it runs")
        elif not word.startswith("--") and not (name in SHELL_FLAGS and word.startswith("-")):
            return False
        return True

    def _letters(self, word: str) -> None:
        fish = self.words[0] in {"fish", "nu"}
        for letter in word[1:]:
            if word[0] == "+":
                self.letters.discard(letter)
            else:
                self.letters.add(letter)
            if letter in "oO" and not fish:
                if self._next() == "noexec" and letter == "o" and word[0] == "-":
                    self.letters.add("n")
            elif letter == "C" and fish:
                self.found.script(self._next())

    def _next(self) -> str:
        self.at += 1
        return self.words[self.at - 1] if self.at <= len(self.words) else ""


def _shell(words: Words) -> Launch | None:
    """`sh` in all its forms: text, a file, standard input."""
    scan = _ShellScan(words)
    scan.read()
    found = scan.found
    if scan.over or ("n" in scan.letters and "i" not in scan.letters and words[0] not in {"nu", "xonsh"}):
        return None
    rest = words[scan.at :]
    if "c" in scan.letters:
        found.script("".join(rest[:1]))
    elif "done" in scan.letters:
        pass
    elif "s" in scan.letters or not rest:
        found.reads_script = True
    else:
        found.transparent = rest[0] in STDIN
        found.file(rest[0], words[0])
    return found.launch()


HANDS: Mapping[str, Hand] = {
    **dict.fromkeys(SHELLS, _shell),
}
