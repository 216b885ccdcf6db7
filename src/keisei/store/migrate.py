"""Migrations: numbered, recorded with their checksum, forward only."""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from keisei.records.error import OperatorError

Driver = Literal["sqlite", "postgres"]
TABLE = "schema_migrations"
APPLIED = "SELECT version, name, checksum FROM schema_migrations ORDER BY version"
NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")


class Migration(NamedTuple):
    """One step."""

    version: int
    """Its number; they run in this order."""
    name: str
    """What it is about."""
    sql: str
    """Its statements."""
    checksum: str
    """sha256 of the file: a step that ran is never edited."""


@cache
def known(driver: Driver) -> tuple[Migration, ...]:
    """The steps this keisei brings, in order."""
    folder = Path(__file__).parent / "migrations" / driver
    found = [(NAME.fullmatch(entry.name), entry) for entry in folder.iterdir()]
    steps = [_migration(name, entry.read_text(encoding="utf-8")) for name, entry in found if name]
    return tuple(sorted(steps))


def missing(driver: Driver, applied: Sequence[tuple[Any, ...]]) -> tuple[Migration, ...]:
    """The steps that are still to run. Raises OperatorError for a database of a newer keisei, or of a changed one."""
    steps = {step.version: step for step in known(driver)}
    for version, name, checksum in applied:
        step = steps.pop(version, None)
        if step is None:
            message = f"the database is newer than this keisei: it has the migration {version:04}_{name}"
            raise OperatorError(message, "install that keisei, or name another database")
        if step.checksum != checksum:
            message = f"the database was made by another keisei: its migration {version:04}_{name} is not ours"
            raise OperatorError(message, "install that keisei, or name another database")
    return tuple(steps.values())


def _migration(name: re.Match[str], text: str) -> Migration:
    return Migration(int(name[1]), name[2], text, hashlib.sha256(text.encode()).hexdigest())
