"""Migrations of a package: `NNNN_name.sql`, numbered from 0001 without a gap, read as the hostile files they may be."""

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keisei.records.error import OperatorError
from keisei.records.problem import printable
from keisei.rules.migration_name import MIGRATION
from keisei.store.migrate import Migration

LARGEST = 4 * 1024 * 1024
"""Bytes of one migration."""


def read_steps(folder: Path) -> tuple[Migration, ...]:
    """The migrations of a folder, in order. Raises OperatorError for a name, a number or a file that is none."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".sql"))  # noqa: PTH208 - names, not paths
    except (OSError, ValueError) as error:
        raise OperatorError(f"the migrations {folder} cannot be read: {_reason(error)}") from error
    steps = [_step(folder, name) for name in names]
    for number, step in enumerate(steps, start=1):
        if step.version != number:
            told = f"{step.version:04}_{step.name}.sql stands where number {number:04} is expected"
            raise OperatorError(f"the migrations {folder} are not numbered in a row: {told}", "number them from 0001")
    return tuple(steps)


def missing_steps(
    owner: str, steps: Sequence[Migration], applied: Sequence[tuple[Any, ...]], path: Path
) -> tuple[Migration, ...]:
    """What is still to run, in order. Raises OperatorError for a newer database, or a step that was edited since."""
    known = {step.version: step for step in steps}
    for version, name, checksum in applied:
        step = known.pop(version, None)
        if step is None:
            message = f"the database {path} is newer than `{owner}`: it has the migration {_shown(version, name)}"
            raise OperatorError(message, f"install the newer `{owner}`, or name another database")
        if step.checksum != checksum:
            message = f"the migration {_shown(version, step.name)} of `{owner}` was edited after it ran on {path}"
            raise OperatorError(message, "bring the file back as it was, and write what is new as the next number")
    if known and applied and min(known) <= len(applied):
        message = f"the database {path} lacks the migration {min(known):04} of `{owner}`, and has later ones"
        raise OperatorError(message, "bring back a copy, or name another database")
    return tuple(known.values())


def _shown(version: object, name: object) -> str:
    number = f"{version:04}" if isinstance(version, int) else printable(str(version))
    return f"{number}_{printable(str(name)[:100])}"


def _step(folder: Path, name: str) -> Migration:
    match = MIGRATION.fullmatch(name)
    if match is None:
        shown = printable(name[:100])
        raise OperatorError(f"`{shown}` in {folder} is no name of a migration", "call it like 0001_tasks.sql")
    raw = _bytes(folder / name)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OperatorError(f"the migration {folder / name} is not UTF-8") from error
    if "\0" in text:
        raise OperatorError(f"the migration {folder / name} holds a NUL")
    return Migration(int(match[1]), match[2], text, hashlib.sha256(raw).hexdigest())


def _bytes(path: Path) -> bytes:
    """The file's own bytes. Raises OperatorError for a link, a pipe, a flood."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise OperatorError(f"the migration {path} is not a regular file")
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise OperatorError(f"the migration {path} cannot be read: {_reason(error)}") from error
    if len(raw) > LARGEST:
        raise OperatorError(f"the migration {path} is larger than {LARGEST} bytes")
    return raw


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
