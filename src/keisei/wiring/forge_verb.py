"""The forge, from an atom: a draft looked at, written and taken back."""

from pathlib import Path
from typing import Any

import msgspec

from keisei.records.draft import AtomDraft
from keisei.records.error import OperatorError
from keisei.settings import Settings
from keisei.wiring.atom_runtime import working_directory
from keisei.wiring.forge import Forge
from keisei.wiring.verb_error import VerbError, as_code, outside_attempts

OWN = ("folder", "keep", "receipt")
"""Fields that are no part of a draft."""


def created(given: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    """Write a draft, whole or not at all. Raises VerbError, AuthorError, WorldFault."""
    forge = _forge(settings, given["folder"])
    draft = _draft(given)
    with as_code("BadDraft", OperatorError):
        written = forge.write(draft, keep=given.get("keep", False))
    told: dict[str, Any] = msgspec.to_builtins(written)
    return told


def looked(given: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    """What a draft would become; nothing is written. Raises VerbError, AuthorError, WorldFault."""
    look = _forge(settings, given["folder"]).look(_draft(given))
    told: dict[str, Any] = msgspec.to_builtins(look)
    return told


def taken_back(given: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    """Put back what was before. Raises VerbError, AuthorError, WorldFault."""
    forge = _forge(settings, None)
    if all(each.receipt_id != given["receipt"] for each in forge.receipts()):
        raise VerbError("UnknownReceipt", "there is no such receipt", "create-atom returns it; each is used up once")
    with as_code("ChangedSince", OperatorError):
        undone = forge.undo(given["receipt"])
    told: dict[str, Any] = msgspec.to_builtins(undone)
    return told


def _forge(settings: Settings | None, folder: str | None) -> Forge:
    """The forge of a folder. Raises VerbError inside an attempt, whose files are written by its own tools."""
    hint = "write the files with the tools that the role has"
    own = outside_attempts(settings, "no files are written by way of an atom", hint)
    with as_code("StoreAway", OperatorError):
        return Forge(own, start=working_directory(), folder=None if folder is None else Path(folder))


def _draft(given: dict[str, Any]) -> AtomDraft:
    """The draft. Raises VerbError for one that is none."""
    try:
        return msgspec.convert({key: value for key, value in given.items() if key not in OWN}, AtomDraft)
    except msgspec.ValidationError as error:
        raise VerbError("BadDraft", f"this is no draft: {error}") from error
