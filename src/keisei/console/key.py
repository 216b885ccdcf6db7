"""Keys: the two tokens and the key that sessions are signed with, in `console/` of the state folder.

Everything a running console is asked is judged by the files as they are now: whoever changes them is heard at once.
"""

import hashlib
import os
import shutil
import stat
from pathlib import Path
from typing import Final

from msgspec import Struct

from keisei.records.error import OperatorError
from keisei.wiring.file_stamp import present_stamp
from keisei.wiring.token import OTHERS, made_token, read_own_token, renew_token

FOLDER: Final = "console"
OPERATOR, VIEWER, KEY = "operator-token", "viewer-token", "key"
FILES: Final = (OPERATOR, VIEWER, KEY)
"""The key is the last: while one after the other is made anew, the old tokens go with the old key."""
LINKS, LEFT = "links", "left"
"""Folders: one-time links, and sessions that were ended before their time."""


class Keys(Struct, frozen=True, kw_only=True):
    """What visitors are known by."""

    operator: str
    """Said by programs that order."""
    viewer: str
    """Said by programs that look."""
    key: bytes
    """Signs sessions and form tokens."""

    @property
    def mark(self) -> str:
        """Names the key without telling it."""
        return hashlib.sha256(b"mark:" + self.key).hexdigest()[:32]

    def __repr__(self) -> str:
        """Nothing: it may stand in a log."""
        return "Keys()"


def console_folder(home_folder: Path) -> Path:
    """The console's folder below a state folder, made where it is not there. Raises OperatorError."""
    return own_folder(home_folder / FOLDER)


def own_folder(path: Path) -> Path:
    """A folder of this user's alone, and no link to one. Raises OperatorError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        hint = "it must be a folder of yours, and no link to one"
        raise OperatorError(f"the folder `{path}` cannot be used: {(error.strerror or '').lower()}", hint) from error
    try:
        _close_to_others(path, handle)
    finally:
        os.close(handle)
    return path


def _close_to_others(path: Path, handle: int) -> None:
    found = os.fstat(handle)
    if found.st_uid != os.geteuid():
        raise OperatorError(f"the folder `{path}` belongs to another user", "remove it, or set KEISEI_HOME")
    if stat.S_IMODE(found.st_mode) & OTHERS:
        os.fchmod(handle, 0o700)


def open_keys(home_folder: Path) -> Keys:
    """The keys of a state folder; made where they are not there. Raises OperatorError."""
    folder = console_folder(home_folder)
    for name in FILES:
        made_token(folder, name)
    return _read(folder)


def _read(folder: Path) -> Keys:
    operator, viewer, key = (read_own_token(folder / name) for name in FILES)
    if len({operator, viewer, key}) < len(FILES):
        raise OperatorError(f"two of the tokens in `{folder}` are the same", "`keisei console rotate` makes new ones")
    return Keys(operator=operator, viewer=viewer, key=key.encode())


def rotate(home_folder: Path) -> None:
    """Make everything anew: no token, session, form or link of before is taken any more. Raises OperatorError."""
    folder = console_folder(home_folder)
    for name in FILES:
        renew_token(folder, name)
    for name in (LINKS, LEFT):  # they mean nothing without the old key: only for tidiness
        shutil.rmtree(folder / name, ignore_errors=True)  # follows no link


class Ring:
    """The keys as they are now, read again where a file has changed."""

    def __init__(self, home_folder: Path) -> None:
        """Raises OperatorError where they can neither be read nor made."""
        self.folder = console_folder(home_folder)
        self._paths = [str(self.folder / name) for name in FILES]
        self._keys: Keys | None = None
        self._stamp: tuple[str, ...] = ()
        open_keys(home_folder)

    def keys(self) -> Keys | None:
        """The keys; None while they cannot be read. Falls closed."""
        stamp = self._now()
        if stamp != self._stamp:
            try:
                self._keys = _read(self.folder)
            except OperatorError:
                self._keys = None
            self._stamp = stamp
        return self._keys

    def _now(self) -> tuple[str, ...]:
        return tuple(present_stamp(path) for path in self._paths)
