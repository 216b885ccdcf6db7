"""Markers of the originals, `docs/*SCHEMA-LOCKED.md`: pages for people, of which two lines count."""

import re
from datetime import date
from pathlib import Path
from typing import Final, NamedTuple

from keisei.library.shelf import entries
from keisei.library.source import LIMIT, inside, is_file, read_source, shown_path
from keisei.records.error import AuthorError, OperatorError
from keisei.records.problem import printable

FOLDER: Final = "docs"
ENDING: Final = "SCHEMA-LOCKED.md"
UNTIL: Final = re.compile(r"(?i)\buntil\b[^\n0-9]{0,40}(\d{4}-\d{2}-\d{2})")
REVOKED: Final = re.compile(
    r"(?im)^[ \t>*_#-]*revoked[*_:]*[ \t]+(\d{4}-\d{2}-\d{2})[*_]*[ \t]*(?:[:.,;(\u2013\u2014-].*)?\r?$"
)
"""How one says that it is over: a line that begins with the word and the day on which it was revoked."""
DENIED: Final = re.compile(r"(?i)\bnot (?:yet )?revoked\b")


class SeedLock(NamedTuple):
    """A marker of the original."""

    path: Path
    name: str
    """Its path from the project's root."""
    until: str | None
    """The day it names, as it says it."""
    state: str
    """`holds`, `has ended` or `revoked`."""
    fault: str | None = None
    """Why it holds longer than its author may think."""


def seed_locks(root: Path, today: date) -> list[SeedLock]:
    """Every one of a project. It holds until the day it names, or until it says that it is revoked."""
    found = [path for path in entries(root / FOLDER) if path.name.endswith(ENDING) and is_file(path)]
    return [_seed_lock(path, today) for path in found]


def revoked_page(root: Path, lock: SeedLock, reason: str, today: date) -> bytes:
    """The page with a line more, which ends the lock. Raises OperatorError, AuthorError."""
    if inside(root, FOLDER) is None or lock.path.is_symlink():
        raise OperatorError(f"`{lock.name}` is behind a link", "revoke it where it is authored")
    source = read_source(lock.path)
    end = "\r\n" if "\r\n" in source.text else "\n"
    line = f"REVOKED {today}: {printable(' '.join(reason.split()))}"
    text = f"{source.text.rstrip()}{end}{end}{line}{end}"
    if not _is_revoked(text):
        raise OperatorError("this reason denies that the lock is revoked", "say why in other words")
    if len(text.encode()) > LIMIT:
        raise OperatorError(f"`{shown_path(lock.path)}` has no room for a line more", "make it shorter")
    return text.encode()


def _seed_lock(path: Path, today: date) -> SeedLock:
    name, fault, text = f"{FOLDER}/{path.name}", None, ""
    try:
        text = read_source(path).text
    except AuthorError as error:
        fault = error.problems[0].message
    found = UNTIL.search(text)
    day = _day(found[1]) if found is not None else None
    if found is not None and day is None:
        fault = f"`until {found[1]}` names no day: the lock holds until it is revoked"
    state = "revoked" if _is_revoked(text) else "has ended" if day is not None and day < today else "holds"
    return SeedLock(path, name, found[1] if found is not None else None, state, fault)


def _is_revoked(text: str) -> bool:
    lines = REVOKED.finditer(text)
    return any(_day(line[1]) is not None and DENIED.search(line[0]) is None for line in lines)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
