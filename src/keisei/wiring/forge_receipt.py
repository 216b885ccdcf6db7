"""Receipts of the forge: what was written, with what was there before, kept until it is taken back or given up.

A receipt is there before the first file is, so that whoever is killed in between leaves word of what was begun.
"""

import fcntl
import hashlib
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from keisei.library.source import LIMIT
from keisei.records.error import OperatorError, WorldFault
from keisei.wiring.forge_plan import Plan
from keisei.wiring.fresh import new_id
from keisei.wiring.store import make_folder

ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LARGEST: Final = 8 * LIMIT
MOST: Final = 500
"""Receipts that are kept; the oldest go first."""
PATIENCE_S: Final = 30.0
NEW: Final = ".new-"
"""How the name of a receipt begins that is not whole yet."""


class NoReceipt(WorldFault):
    """No receipt can be kept; nothing was written."""


class WrittenFile(Struct, frozen=True, kw_only=True):
    """One file, before and after."""

    path: str
    """Relative to the folder of packages."""
    sha: str
    """Of what was written, sha256."""
    was: str | None
    """What stood there before."""
    mode: int | None
    """The mode it had before."""


class Slip(Struct, frozen=True, kw_only=True):
    """A receipt as it is kept."""

    receipt_id: str
    """What `undo` takes."""
    atom: str
    """The atom's id."""
    at: str
    """When, ISO 8601 in UTC."""
    folder: str
    """The folder of packages, absolute."""
    package: str
    """The package."""
    is_new_package: bool
    """The package was made."""
    files: tuple[WrittenFile, ...]
    """In the order they were written."""
    folders: tuple[str, ...]
    """Folders that were made for them, absolute, the deepest first."""
    state: Literal["pending", "written", "undoing"] = "pending"
    """How far it went."""


def slip_for(plan: Plan, at: str) -> Slip:
    """The receipt of what is about to be written."""
    files = tuple(
        WrittenFile(
            path=each.path,
            sha=hashlib.sha256(each.content.encode()).hexdigest(),
            was=each.was,
            mode=None if each.was is None else (plan.folder / each.path).lstat().st_mode & 0o7777,
        )
        for each in plan.files
    )
    parents = {parent for each in plan.files for parent in (plan.folder / each.path).parents}
    made = sorted((str(each) for each in parents if not os.path.lexists(each)), key=len, reverse=True)
    return Slip(
        receipt_id=new_id(),
        atom=plan.atom,
        at=at,
        folder=str(plan.folder),
        package=plan.package,
        is_new_package=plan.is_new_package,
        files=files,
        folders=tuple(made),
    )


class Receipts:
    """The receipts of a project: a folder of its state, a file each."""

    def __init__(self, folder: Path) -> None:
        """The folder is made when the first receipt is."""
        self._folder = folder

    @contextmanager
    def turn(self, patience_s: float = PATIENCE_S) -> Iterator[None]:
        """One writer at a time. Raises WorldFault where another one takes too long."""
        make_folder(self._folder)
        try:
            handle = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            message = f"the folder `{self._folder}` cannot be read: {(error.strerror or str(error)).lower()}"
            raise NoReceipt(message, "check its permissions") from error
        try:
            _lock(handle, patience_s)
            yield
        finally:
            os.close(handle)

    def save(self, slip: Slip) -> None:
        """Keep it, whole or not at all. Raises WorldFault."""
        try:
            handle, name = tempfile.mkstemp(prefix=NEW, dir=self._folder)  # which only its owner reads
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(msgspec.json.encode(slip))
                    file.flush()
                    os.fsync(file.fileno())
                Path(name).replace(self._path(slip.receipt_id))
            except BaseException:
                with suppress(OSError):
                    Path(name).unlink()
                raise
        except OSError as error:
            message = f"no receipt can be kept in `{self._folder}`: {(error.strerror or str(error)).lower()}"
            raise NoReceipt(message, "check the folder and its free space") from error

    def find(self, receipt_id: str) -> Slip:
        """One by its id. Raises OperatorError where there is none."""
        path = self._path(receipt_id) if ID.fullmatch(receipt_id) else None
        slip = None if path is None else _read(path)
        if slip is None or slip.receipt_id != receipt_id:
            raise OperatorError("there is no such receipt", "the page of the forge lists what can be taken back")
        return slip

    def all(self) -> list[Slip]:
        """Every one that can be read, the newest first."""
        try:
            names = sorted((path for path in self._folder.iterdir() if ID.fullmatch(path.stem)), reverse=True)
        except OSError:
            return []
        return [slip for path in names if (slip := _read(path)) is not None and slip.receipt_id == path.stem]

    def remove(self, receipt_id: str) -> None:
        """Forget it. Raises WorldFault."""
        try:
            self._path(receipt_id).unlink(missing_ok=True)
        except OSError as error:
            message = f"the receipt `{receipt_id}` cannot be removed: {(error.strerror or str(error)).lower()}"
            raise WorldFault(message, "check the state folder") from error

    def prune(self) -> None:
        """Forget the oldest of too many that are done with."""
        for slip in [each for each in self.all() if each.state == "written"][MOST:]:
            self.remove(slip.receipt_id)

    def sweep(self) -> None:
        """Clear away what somebody who was killed while saving has left. Only in one's turn."""
        for path in self._folder.glob(f"{NEW}*"):
            with suppress(OSError):
                path.unlink()

    def _path(self, receipt_id: str) -> Path:
        return self._folder / f"{receipt_id}.json"


def _read(path: Path) -> Slip | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        raw = file.read(LARGEST + 1)
    try:
        return msgspec.json.decode(raw, type=Slip)
    except (msgspec.DecodeError, ValueError):
        return None


def _lock(handle: int, patience_s: float) -> None:
    until = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until:
                message = "somebody else is writing an atom just now"
                raise WorldFault(message, "try again in a moment", retryable=True) from error
            time.sleep(0.02)
        else:
            return
