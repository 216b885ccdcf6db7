"""The project as its keisei.toml says now: read again when the file changes, kept as it was while it cannot be read."""

import threading
import time
from pathlib import Path

from keisei.library.project import load_project
from keisei.records.error import AuthorError, KeiseiError
from keisei.wiring.file_stamp import HOT_NS, is_hot, stamp_of
from keisei.wiring.store import Home

SETTLED_S = HOT_NS / 1_000_000_000
"""A file that has changed a moment ago is read once more after this time: it may change again under the same stamp."""


class CurrentHome:
    """A project whose file may be edited while a console runs. Any thread may ask; a look costs one `stat`.

    Its name, its root and its folder stay as they were: the store is open already.
    """

    def __init__(self, home: Home, path: Path | None) -> None:
        """The project as it was opened, and the file that tells of it; None where there is none."""
        self._turn = threading.Lock()
        self._home, self._path = home, path
        self._stamp, self._again_at = "", 0.0
        self._stale: str | None = None

    @property
    def home(self) -> Home:
        """The project, with what its file says now, or said when it could be read."""
        return self._looked()[0]

    @property
    def stale(self) -> str | None:
        """Why what holds is not what the file says; None where it is."""
        return self._looked()[1]

    def _looked(self) -> tuple[Home, str | None]:
        with self._turn:
            if self._path is not None:
                self._look(self._path)
            return self._home, self._stale

    def _look(self, path: Path) -> None:
        stamp, hot = _stamp(path)  # before it is read: what changes in between has another one
        is_new = stamp != self._stamp
        if not is_new and (self._again_at == 0.0 or time.monotonic() < self._again_at):
            return
        self._stamp, self._again_at = stamp, time.monotonic() + SETTLED_S if is_new and hot else 0.0
        try:
            file = load_project(path).record
        except KeiseiError as error:
            self._stale = f"keisei.toml cannot be read, so what it said before holds: {_first(error)}"
            return
        name = file.project.name if file.project is not None else self._home.name
        renamed = f"keisei.toml calls the project `{name}` now: that holds from the next start of the console on"
        self._stale = None if name == self._home.name else renamed
        if file != self._home.file:
            self._home = self._home._replace(file=file)


def _stamp(path: Path) -> tuple[str, bool]:
    """What changes when a file does, and whether it has changed a moment ago."""
    try:
        found = path.stat()
    except OSError:
        return "-", False
    return stamp_of(found), is_hot(found)


def _first(error: KeiseiError) -> str:
    problems = error.problems if isinstance(error, AuthorError) else ()
    return problems[0].render().partition("\n")[0] if problems else error.message
