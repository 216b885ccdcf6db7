"""The place of a demo: one temporary folder with everything in it, known again by a mark."""

import fcntl
import os
import shlex
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from keisei.records.error import WorldFault
from keisei.sandbox.reach import interpreter
from keisei.settings import Settings, read_settings
from keisei.workspace.removal import remove

PREFIX: Final = "keisei-demo-"
MARK: Final = ".keisei-demo"
MARK_TEXT: Final = "This folder was made by `keisei demo`, and `keisei demo --clean` removes it.\n"
RUN: Final = "run"
"""The folder of sockets, or a link to it."""
SHORT: Final = 60
"""Bytes of a folder that doorbells fit into."""
PASSED_ON: Final = ("LANG", "LC_ALL", "LC_CTYPE", "TERM")
"""What a demo takes from the user's own environment, beside the PATH."""
HARNESS: Final = "claude"
"""What the stand-in is called: the program it stands in for."""
STANDIN: Final = Path(__file__).with_name("standin.py")


class Place(Struct, frozen=True, kw_only=True):
    """Where a demo plays. Every path is below `folder`, but the one for sockets where that is too long for them."""

    folder: Path
    """The folder itself, real."""
    sockets: Path
    """Where sockets are made."""

    @property
    def main(self) -> Path:
        """The project: the checkout of main."""
        return self.folder / "main"

    @property
    def bin(self) -> Path:
        """Programs that agents are started with."""
        return self.folder / "bin"

    @property
    def keys(self) -> Path:
        """The file with the model's key, which no agent may read."""
        return self.folder / "keys.env"

    def environment(self) -> dict[str, str]:
        """The whole environment of a demo: nothing of the user's but the PATH, the language and the terminal."""
        home = self.folder / "home"
        passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        path = os.environ.get("PATH", os.defpath).split(os.pathsep)
        return passed | {
            "PATH": os.pathsep.join([str(self.bin), *(each for each in path if Path(each).is_absolute())]),
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "XDG_DATA_HOME": str(home / ".local/share"),
            "XDG_RUNTIME_DIR": str(self.sockets),
            "KEISEI_HOME": str(self.folder / "state"),
        }

    def settings(self) -> Settings:
        """The settings of keisei here."""
        return read_settings(self.environment())


@contextmanager
def made() -> Iterator[Place]:
    """A new place, held while the block lasts. It stays afterwards, unless the block breaks off.

    Raises WorldFault where no temporary folder can be made.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
    except OSError as error:
        raise WorldFault(f"no temporary folder can be made: {error.strerror or error}", "set TMPDIR") from error
    sockets = folder / RUN
    if len(os.fsencode(sockets / "keisei")) > SHORT:
        sockets = Path(tempfile.mkdtemp(prefix=PREFIX, dir="/tmp"))
    try:
        with _marked(folder), _marked(sockets) if sockets.parent != folder else nullcontext():
            yield _furnished(Place(folder=folder, sockets=sockets))
    except BaseException:
        with suppress(WorldFault, OSError):  # `clean` finds it again
            _remove(folder)
        raise
    finally:
        if sockets.parent != folder:
            remove(sockets)


@contextmanager
def _marked(folder: Path) -> Iterator[None]:
    """Mark a folder as ours. While the mark is locked, nobody cleans it up."""
    with (folder / MARK).open("w", encoding="utf-8") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        mark.write(MARK_TEXT)
        mark.flush()
        yield


def _furnished(place: Place) -> Place:
    """Make its folders, the programs of its agents, and the command that looks at what they left."""
    for name in ("home", "tmp", "state", "bin"):
        (place.folder / name).mkdir(mode=0o700)
    if place.sockets.parent == place.folder:
        place.sockets.mkdir(mode=0o700)
    else:
        (place.folder / RUN).symlink_to(place.sockets)  # so that `clean` finds it, should this process be killed
    python = shlex.quote(interpreter()[0])
    shutil.copy(STANDIN, place.bin / STANDIN.name)
    own = shlex.quote(str(place.bin / STANDIN.name))
    _program(place.bin / HARNESS, f'exec {python} -I -S {own} "$@"')
    _program(place.bin / "python3", f'exec {python} "$@"')
    told = {name: value for name, value in place.environment().items() if name not in PASSED_ON}
    if place.sockets.parent != place.folder:
        del told["XDG_RUNTIME_DIR"]
    words = " ".join(f"{name}={shlex.quote(value)}" for name, value in told.items())
    here = f"cd {shlex.quote(str(place.main))}"
    _program(
        place.folder / "keisei", f'{here} && exec env {words} {shlex.quote(sys.executable)} -I -X utf8 -m keisei "$@"'
    )
    return place


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8", errors="surrogateescape")
    path.chmod(0o755)


@contextmanager
def alone(place: Place) -> Iterator[None]:
    """Have this process see the place's environment and nothing of the user's, while the block lasts."""
    before, temporary = dict(os.environ), tempfile.tempdir
    own = str(place.folder / "tmp")
    _become(place.environment() | {"TMPDIR": own})
    tempfile.tempdir = own
    try:
        yield
    finally:
        tempfile.tempdir = temporary
        _become(before)


def _become(environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)


def clean() -> list[Path]:
    """Remove the folders of earlier demos of this user, and nothing else. Those that were removed. Raises WorldFault.

    A folder that another user owns, that is a link, that has no mark or plays just now is left alone.
    """
    top = Path(tempfile.gettempdir())
    found = [each for each in sorted(top.glob(f"{PREFIX}*")) if _is_ours(each)]
    for folder in found:
        sockets = Path(os.path.realpath(folder / RUN))
        if sockets.parent != folder.resolve() and sockets.name.startswith(PREFIX) and _is_ours(sockets):
            _remove(sockets)
        _remove(folder)
    return found


def _remove(folder: Path) -> None:
    """Remove a place, its mark last: whoever is interrupted here leaves something that is known again."""
    for name in os.listdir(folder):  # noqa: PTH208 - names only
        if name != MARK:
            remove(folder / name)
    remove(folder)


def _is_ours(folder: Path) -> bool:
    with suppress(OSError):
        about = folder.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
            return False
        handle = os.open(folder / MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as mark:
            whole = mark.read(len(MARK_TEXT) + 1) == MARK_TEXT.encode()
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return whole and stat.S_ISREG(os.fstat(mark.fileno()).st_mode)
    return False
