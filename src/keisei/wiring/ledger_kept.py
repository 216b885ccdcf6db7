"""Checkpoints of a ledger, wherever they are kept: the table, the state folder, the repository."""

import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

from keisei.records.error import OperatorError
from keisei.rules.note import parse_checkpoint, split_note
from keisei.workspace.checkpoint import FILE, LARGEST, common_dir_of, tip_of
from keisei.workspace.git import asked, shared

OWN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
TABLE: Final = "the table"
FOLDER: Final = "the state folder"
REPOSITORY: Final = "the repository"
"""The one place where ledgers of other projects may have theirs."""
GIVEN: Final = "the one that was given"


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


def size_of(note: str) -> int | None:
    """How many rows a note is of; None where it is no checkpoint."""
    try:
        return parse_checkpoint(split_note(note)[0]).size
    except ValueError:
        return None


def kept_outside(state: Path | None, repository: Path | None) -> list[Kept]:
    """Every checkpoint outside of the database. Raises OperatorError, WorldFault where a place cannot be read."""
    found = []
    if state is not None and (note := kept_file(state / FILE)) is not None:
        found.append(Kept(FOLDER, None, note))
    if repository is not None:
        found += [Kept(REPOSITORY, None, note) for note in published(repository)]
    return found


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


def published(repository: Path) -> list[str]:
    """The notes in the history of the reference, oldest first; none outside of a repository. Raises WorldFault."""
    common_dir = common_dir_of(repository)
    tip = None if common_dir is None else tip_of(common_dir)
    if common_dir is None or tip is None:
        return []
    listed = asked(("rev-list", "--first-parent", "--reverse", tip), {"GIT_DIR": common_dir}, common_dir)
    commits = listed.out.split() if listed.code == 0 else []  # what is no commit is none of ours
    asks = b"".join(b"%s:%s\n" % (commit, FILE.encode()) for commit in commits)
    return _notes(shared(common_dir, "cat-file", "--batch", "--buffer", given=[asks]), len(commits))


def _notes(told: bytes, count: int) -> list[str]:
    """What git said of so many objects: a line each, and the bytes of those that are files."""
    notes, place = list[str](), 0
    for _ in range(count):
        end = told.index(b"\n", place)
        words = told[place:end].split()
        place = end + 1
        if len(words) != 3 or words[1] != b"blob":  # noqa: PLR2004 - name, type, size; a commit of somebody else's
            place += int(words[2]) + 1 if len(words) == 3 else 0  # noqa: PLR2004 - likewise
            notes.append("")
            continue
        size = int(words[2])
        notes.append(told[place : place + min(size, LARGEST)].decode("utf-8", "surrogateescape"))
        place += size + 1
    return notes
