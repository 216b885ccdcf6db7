"""What code of another language would do, and the basket it is gathered in."""

import posixpath
import re
from collections.abc import Sequence, Sized
from typing import NamedTuple

from keisei.records.effect import BELOW, UNKNOWN

QUOTED = "\uffff"
"""Stands for unknown text that cannot end a word or start a command: a number, something quoted."""
HOME = "\ufffe"
"""Stands for the home folder, where a program asked for it by a function and not by a tilde."""
SCRATCH = "/tmp/tmp.keisei"  # noqa: S108 - the path is told, not used
"""Stands for a file or a folder that a program asks the system for, to be thrown away."""
MOST = 64 * 1024
"""Longer code is not read."""
_MANY = 256
_DEVICES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/stdin"})
_NO_FILES = ("/dev/fd/", "/proc/self/fd/", "php://")


def names(text: str) -> tuple[str, ...]:
    """The words of a table that is written as text."""
    return tuple(text.split())


_RUNNERS = frozenset(names("sh bash dash zsh ksh ash fish busybox env python perl ruby node php lua xargs at parallel"))
_IDLE = re.compile(r"-[seixul]*")
_FEEDING = "It feeds a program to a shell or an interpreter that it starts."


class Code(NamedTuple):
    """What some code starts and touches, as far as it can be read."""

    argvs: tuple[tuple[str, ...], ...] = ()
    """Command lines it starts; UNKNOWN inside a word that is computed."""
    scripts: tuple[str, ...] = ()
    """Shell text it hands to a shell."""
    writes: tuple[str, ...] = ()
    """Paths it writes or creates: UNKNOWN where computed, BELOW at the end for something below a folder."""
    deletes: tuple[str, ...] = ()
    """Paths it removes or moves away, told the same way."""
    opaque: str | None = None
    """One sentence where it starts or evaluates something that cannot be told; None where all is told."""


class Found:
    """Gathers findings in the order they are met, each once."""

    def __init__(self) -> None:
        self._argvs: dict[tuple[str, ...], None] = {}
        self._scripts: dict[str, None] = {}
        self._writes: dict[str, None] = {}
        self._deletes: dict[str, None] = {}
        self._opaque: str | None = None

    def code(self) -> Code:
        """Everything gathered so far."""
        return Code(tuple(self._argvs), tuple(self._scripts), tuple(self._writes), tuple(self._deletes), self._opaque)

    def opaque(self, sentence: str) -> None:
        """Something cannot be told; the first sentence stays."""
        self._opaque = self._opaque or sentence

    def argv(self, words: Sequence[str]) -> None:
        """A command line is started. One whose program is computed is opaque, one whose arguments are is not."""
        plain = tuple(_plain(word) for word in words)
        if not plain:
            return
        if not plain[0] or _computed(plain[0].rsplit("/", 1)[-1]):
            self.opaque("It starts a program whose name is computed.")
        elif self._room(self._argvs):
            self._argvs[plain] = None

    def script(self, text: str) -> None:
        """Shell text is handed to a shell. Text with computed parts is opaque too: such a part may hold anything."""
        if _computed(text):
            self.opaque("It hands a shell text that is computed.")
        self.recipe(text)

    def fed(self, command: str) -> None:
        """A command is started that reads what the code prints: opaque where it would run that as a program."""
        if _runner(command.split()):
            self.opaque(_FEEDING)
        self.script(command)

    def piped(self, words: Sequence[str], *, given: bool) -> None:
        """A command is started that may read from the code: opaque where it is a shell that has no program yet."""
        if _runner(words) and (given or (words[0] != "env" and all(_IDLE.fullmatch(word) for word in words[1:]))):
            self.opaque(_FEEDING)

    def recipe(self, text: str) -> None:
        """Shell text is run whose unknown parts are settings, as in a makefile; they are no reason to refuse it."""
        plain = _plain(text).replace(BELOW, UNKNOWN)
        if plain.replace(UNKNOWN, "").strip() and self._room(self._scripts):
            self._scripts[plain] = None

    def write(self, path: str) -> None:
        """A path is written; UNKNOWN where it is computed. Devices and streams are no files."""
        self._touch(self._writes, path)

    def delete(self, path: str) -> None:
        """A path is removed or moved away; UNKNOWN where it is computed."""
        self._touch(self._deletes, path)

    def link(self, target: str, name: str, *, symbolic: bool) -> None:
        """A link is made. What it leads to counts as written, for it can be written through the link from now on."""
        self.write(name)
        if symbolic and not target.startswith(("/", HOME, UNKNOWN)):
            target = UNKNOWN if name.startswith(UNKNOWN) else posixpath.join(posixpath.dirname(name), target)
        self.write(target)

    def add(self, other: Code) -> None:
        """What code inside the code would do counts as well."""
        self._argvs.update(dict.fromkeys(other.argvs))
        self._scripts.update(dict.fromkeys(other.scripts))
        self._writes.update(dict.fromkeys(other.writes))
        self._deletes.update(dict.fromkeys(other.deletes))
        if other.opaque:
            self.opaque(other.opaque)

    def _touch(self, gathered: dict[str, None], path: str) -> None:
        if path and path not in _DEVICES and not path.startswith(_NO_FILES) and self._room(gathered):
            gathered[_below(_plain(path))] = None

    def _room(self, gathered: Sized) -> bool:
        if len(gathered) < _MANY:
            return True
        self.opaque("It starts or writes more than can be read.")
        return False


def _runner(words: Sequence[str]) -> bool:
    return bool(words) and words[0].rsplit("/", 1)[-1].rstrip("0123456789.") in _RUNNERS


def _computed(text: str) -> bool:
    return UNKNOWN in text or BELOW in text


def _plain(text: str) -> str:
    return text.replace(QUOTED, UNKNOWN).replace(HOME, "~")


def _below(path: str) -> str:
    """A path with BELOW somewhere inside, as the folder it is in and BELOW; UNKNOWN where it may climb out again."""
    if BELOW not in path:
        return path
    head, _, rest = path.partition(BELOW)
    if ".." in rest.split("/"):
        return UNKNOWN
    folder = head[: head.rfind("/") + 1] or "./"
    return UNKNOWN if folder.startswith(UNKNOWN) else folder + BELOW
