"""Runs: what a command said of a tree, remembered. A tree never changes, so main is asked once."""

import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from keisei.records.error import KeiseiError
from keisei.records.verification import CommandRun
from keisei.wiring.store import make_folder

MOST: Final = 200
"""Answers that are kept; the oldest go first."""
LARGEST: Final = 4 * 1024 * 1024


class Runs:
    """The answers of one project. Any number of processes may use the folder; a lost answer is asked again."""

    def __init__(self, folder: Path) -> None:
        """The folder is made by the first answer."""
        self._folder = folder

    def find(self, *about: str) -> CommandRun | None:
        """What was said; None where nobody asked, or it cannot be read."""
        with suppress(OSError, msgspec.DecodeError):
            path = self._path(about)
            if path.stat().st_size <= LARGEST:
                return msgspec.json.decode(path.read_bytes(), type=CommandRun)
        return None

    def keep(self, run: CommandRun, *about: str) -> None:
        """Remember it, unless the time or a change of the tree makes it no answer. Never raises."""
        if run.timed_out or run.changed or run.code is None:
            return
        with suppress(OSError, KeiseiError):
            make_folder(self._folder)
            path = self._path(about)
            draft = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(msgspec.json.encode(run))
            draft.rename(path)
            self._prune()

    def _path(self, about: tuple[str, ...]) -> Path:
        return self._folder / hashlib.sha256("\0".join(about).encode("utf-8", "surrogateescape")).hexdigest()

    def _prune(self) -> None:
        with os.scandir(self._folder) as listed:
            found = sorted((each.stat().st_mtime, each.path) for each in listed)
        for _, path in found[: max(0, len(found) - MOST)]:
            Path(path).unlink(missing_ok=True)
