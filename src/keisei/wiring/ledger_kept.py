"""What is kept of a ledger beside its rows: its keys and its name, and checkpoints in folder and repository."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from keisei.engine.ports import Ledger
from keisei.records.error import KeiseiError, OperatorError
from keisei.records.move import EntryQuery
from keisei.rules.checkpoint import size_of
from keisei.rules.ledger_walk import INTRODUCED, Introduced
from keisei.rules.note import parse_vkey
from keisei.workspace.checkpoint import FILE, LARGEST, MOST, REF, common_dir_of, damage_of, history, tip_of

OWN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
TABLE: Final = "the table"
FOLDER: Final = "the state folder"
REPOSITORY: Final = "the repository"
"""The one place where others may have theirs."""
GIVEN: Final = "the one that was given"
PAGE: Final = 1000


class Kept(NamedTuple):
    """One checkpoint, where it is kept."""

    where: str
    """In words."""
    size: int | None
    """How many rows it is said to be of, beside the note; None where only the note says so."""
    note: str
    """As it is kept, whatever was done to it."""

    @property
    def rows(self) -> int | None:
        """The same, or else what the note says; None where that says nothing."""
        return self.size if self.size is not None else size_of(self.note)

    @property
    def name(self) -> str:
        """What it is called when it does not fit."""
        told = f"checkpoint of {self.rows} rows" if self.rows is not None else "checkpoint"
        return told if self.where == TABLE else f"{told} in {self.where}"


class Outside(NamedTuple):
    """Checkpoints outside of the database."""

    kept: list[Kept]
    """Each, whoever made it."""
    is_repository: bool
    """There is a repository that should have them."""
    told: tuple[str, ...] = ()
    """What could not be read of it, a sentence each."""


def introduced(ledger: Ledger) -> list[Introduced]:
    """The keys that the engine's rows tell of, in order. Raises OperatorError where such a row cannot be read."""
    found, before = list[Introduced](), None
    while True:
        page = ledger.find_entries(EntryQuery(before=before, kind=INTRODUCED, source="engine", limit=PAGE))
        for entry in page:
            try:
                found.append(Introduced(entry.seq, parse_vkey(entry.body["vkey"])))
            except (ValueError, KeyError, AttributeError):  # a row that tells of something else
                continue
        if len(page) < PAGE:
            return found[::-1]
        before = page[-1].seq


def origin_of(keys: Sequence[Introduced], project: str) -> str:
    """What a ledger is called: what it was when it was first signed, else as its project is called now."""
    return keys[0].key.name if keys else project


def kept_outside(state: Path | None, repository: Path | None) -> Outside:
    """Every checkpoint outside of the database. Raises OperatorError for a state folder that cannot be read."""
    found = []
    if state is not None and (note := kept_file(state / FILE)) is not None:
        found.append(Kept(FOLDER, None, note))
    if repository is None:
        return Outside(found, is_repository=False)
    try:
        common_dir = common_dir_of(repository)
        if common_dir is None:
            why = damage_of(repository)
            damage = () if why is None else (f"the repository cannot be read: {why}",)
            return Outside(found, why is not None, damage)
        notes, told = _published(common_dir)
    except KeiseiError as error:
        return Outside(found, is_repository=True, told=(f"the repository cannot be read: {error.message}",))
    return Outside(found + [Kept(REPOSITORY, None, each) for each in notes], is_repository=True, told=told)


def kept_file(path: Path) -> str | None:
    """The note in a file; None where there is no file. Raises OperatorError for what cannot be read."""
    hint = "a checkpoint is a small text file"
    try:
        with open(os.open(path, OWN), "rb") as file:  # noqa: PTH123 - a descriptor
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OperatorError(f"the checkpoint `{path}` is not a regular file", hint)
            raw = file.read(LARGEST + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        why = (error.strerror or str(error)).lower() if isinstance(error, OSError) else "its name has a zero byte"
        raise OperatorError(f"the checkpoint `{path}` cannot be read: {why}", hint) from error
    if len(raw) > LARGEST:
        raise OperatorError(f"the checkpoint `{path}` has more than {LARGEST} bytes", hint)
    return raw.decode("utf-8", "surrogateescape")


def _published(common_dir: str) -> tuple[list[str], tuple[str, ...]]:
    """The notes in the history of the reference, oldest first, and what is wrong with it. Raises KeiseiError."""
    tip = tip_of(common_dir)
    if tip is None:
        return [], ()
    found = history(common_dir, tip)
    told = []
    if found.breaks_off:
        told.append(f"the history of `{REF}` breaks off: it is no commit, or objects of it are missing; `git fsck`")
    if len(found.commits) >= MOST:
        told.append(f"only the newest {MOST} commits of `{REF}` were read")
    return [each.note for each in reversed(found.commits) if each.note is not None], tuple(told)
