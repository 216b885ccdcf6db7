"""Paths as the file system has them: links followed, parents too, names counted, folders listed. Only looks."""

import errno
import glob
import os
import posixpath
import re
import stat
import time
from typing import Final

from keisei.records.effect import UNKNOWN, Target
from keisei.rules.gate import Place

LARGEST: Final = 262_144
MOST: Final = 2000
MANY: Final = 20_000
LONGEST: Final = 4096
TIME_LIMIT_S: Final = 0.6
"""For everything that is asked about one call. The parser has a limit of its own."""
PROCESS: Final = re.compile(r"/proc/(?:self|thread-self|[0-9]+|\0)/(cwd|root|fd|exe|task|environ|mem)(?:/|$)")
DEEPEST: Final = 24
STARS: Final = 4
GENERATED: Final = frozenset(
    {"node_modules", "target", ".venv", "venv", "__pycache__", "dist", "build", ".tox", ".mypy_cache", ".pytest_cache"}
)
"""Folders that tools fill; deleting one deletes no source, so what is inside is not asked."""


class Paths:
    """What rules ask about paths. Every answer is of this moment."""

    def __init__(self, home: str, variables: dict[str, str] | None = None) -> None:
        """`home` is what `~` means. One of these serves one call, and is late when the call's time is over."""
        self._until = time.monotonic() + TIME_LIMIT_S
        self._left = MANY
        self.home = home
        self.variables = {"HOME": home, "IFS": " \t\n", **(variables or {})}

    def is_late(self) -> bool:
        """Whether the time for this call is over."""
        return time.monotonic() > self._until

    def places(self, target: Target) -> list[Place]:
        """Where a target leads. An unknown part stays unknown, and so does what there is no time to look at."""
        path = self._expanded(target.path)
        lexical = UNKNOWN if len(path) > LONGEST or self.is_late() else self._absolute(path, target.cwd)
        if UNKNOWN in lexical:
            return [Place(lexical, lexical)]
        if target.names and (path.endswith("/") or self.is_folder(lexical)):
            named = [posixpath.normpath(f"{lexical}/{name}") for name in target.names]
            return [self._place(each, target) if UNKNOWN not in each else Place(each, each) for each in named]
        return [self._place(lexical, target)]

    def _expanded(self, path: str) -> str:
        return self.home + path[1:] if path == "~" or path.startswith("~/") else path

    def _absolute(self, path: str, cwd: str) -> str:
        """Absolute, `.` and `//` tidied; `..` stays where it must follow a link first."""
        process = PROCESS.match(path)
        if process is not None:  # the shell's own view of itself
            seen = {"cwd": cwd, "root": "/"}.get(process[1], UNKNOWN)
            return UNKNOWN if UNKNOWN in seen else _tidy(f"{seen}/{path[process.end() :]}")
        if path.startswith("/"):
            return _tidy(path)
        return UNKNOWN if UNKNOWN in cwd else _tidy(f"{cwd}/{path}")

    def _place(self, path: str, target: Target) -> Place:
        real = self._real(path, entry=target.entry)
        names = 1
        try:
            found = os.lstat(real)
        except (OSError, ValueError):
            found = None
        if found is not None and stat.S_ISREG(found.st_mode):
            names = found.st_nlink
        below = self._below(real) if target.tree and found is not None and stat.S_ISDIR(found.st_mode) else ()
        return Place(posixpath.normpath(path), real, self._real(path, entry=True), names, below)

    def _real(self, path: str, *, entry: bool) -> str:
        """Links followed; of an entry that is removed or replaced itself only its folder's."""
        try:
            if entry and posixpath.basename(path.rstrip("/")) not in ("", ".", ".."):
                folder, name = posixpath.split(path.rstrip("/"))
                return posixpath.join(os.path.realpath(folder), name)
            return UNKNOWN if _is_loop(path) else os.path.realpath(path)
        except (OSError, ValueError):
            return UNKNOWN

    def _below(self, folder: str) -> tuple[str, ...]:
        if posixpath.basename(folder) in GENERATED:
            return ()
        found: list[str] = []
        for here, folders, files in os.walk(folder):
            found.extend(f"{here}/{name}" for name in (*folders, *files))
            depth = here[len(folder) :].count("/")
            folders[:] = [name for name in folders if name not in GENERATED]
            if len(found) > self._left or depth > DEEPEST or self.is_late():
                self._left = 0
                return (*found[:MANY], UNKNOWN)  # more than can be looked through
        self._left -= len(found)
        return tuple(found)

    # --- questions of the walk over shell text -----------------------------------------------------------------------

    def content(self, path: str) -> str | None:
        """The text of a file that would be run; None where there is none, or it is no text."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            found = os.fstat(descriptor)
            is_text = stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST
            data = os.read(descriptor, LARGEST) if is_text else b"\0"
            return None if b"\0" in data else data.decode("utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        finally:
            os.close(descriptor)

    def real(self, path: str) -> str | None:
        """Where a path leads; None where nothing is there."""
        try:
            return os.path.realpath(path, strict=True)
        except (OSError, ValueError):
            return None

    def is_folder(self, path: str) -> bool:
        """Whether a folder is there."""
        try:
            return os.path.isdir(path)
        except ValueError:
            return False

    def matches(self, pattern: str) -> tuple[str, ...]:
        """Paths a glob stands for at this moment, at most a few hundred."""
        if UNKNOWN in pattern or pattern.count("*") > STARS or len(pattern) > LONGEST:
            return ()
        found: list[str] = []
        for each in glob.iglob(pattern, include_hidden=False, recursive=True):
            if self.is_late():
                break
            found.append(each)
            if len(found) > MOST // 4:
                break
        return tuple(found)


def _is_loop(path: str) -> bool:
    """Whether links on the way lead round in a circle, so that nobody can say where the path ends."""
    try:
        os.stat(path)
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _tidy(path: str) -> str:
    """Without `.` and doubled slashes; `..` is kept, because after a link it leads elsewhere."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return "/" + "/".join(parts) + ("/" if path.endswith("/") and parts else "")
