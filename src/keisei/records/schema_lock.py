"""Locks: schemas that do not break before a day, as they were when they were locked."""

from datetime import date
from typing import Annotated

from msgspec import Meta

from keisei.records.form import Record, RelativePath, Sha256, Text, Timestamp


class LockedFile(Record, frozen=True, kw_only=True):
    """One file, as it was."""

    path: RelativePath
    """Where it stands, from the project's root."""
    sha256: Sha256
    """Of the text: a lock that was edited is no lock."""
    text: str
    """What it said."""


class Revocation(Record, frozen=True, kw_only=True):
    """Why a lock does not hold any longer."""

    reason: Text
    """In the words of whoever revoked it."""
    actor: Text
    """Who."""
    revoked_at: Timestamp
    """When; the ledger has a row of it."""
    sha256: Sha256
    """Over all of this and the lock's own: one that was written by hand ends nothing."""


class SchemaLock(Record, frozen=True, kw_only=True):
    """`.keisei/locks/<name>.toml`: written by `keisei schema lock`, and read by lint."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    """An atom, a package of atoms, or the path of a schema."""
    until: date
    """The last day on which it holds."""
    actor: Text
    """Who locked it."""
    locked_at: Timestamp
    """When."""
    sha256: Sha256
    """Over name, until, actor, locked_at and files: a lock that was edited is no lock."""
    revoked: Revocation | None = None
    """There once it was revoked."""
    files: Annotated[tuple[LockedFile, ...], Meta(min_length=1)]
    """Pages and schemas."""
