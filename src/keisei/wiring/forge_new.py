"""New atoms from the command line: written as they were planned, with a receipt by which the forge takes them back."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from keisei.library.atom_new import Place, write_atom
from keisei.library.atom_request import AtomRequest
from keisei.library.placement import NewFile
from keisei.library.placing import Check
from keisei.records.error import AuthorError, OperatorError
from keisei.settings import Settings
from keisei.wiring.forge_journal import Journal
from keisei.wiring.forge_plan import Plan
from keisei.wiring.forge_receipt import NoReceipt
from keisei.wiring.store import make_folder, project_home

FORGE: Final = "forge"
"""The folder of receipts in the state folder."""


def write_new(settings: Settings, start: Path, request: AtomRequest, files: Sequence[NewFile]) -> list[Path]:
    """Write what was planned, all or nothing; without a receipt where none can be kept. Raises as `write_atom` does."""
    journal = _journal(settings, start)
    if journal is not None:
        with suppress(NoReceipt):  # whoever may write the project, but not the state folder, writes the project
            return write_atom(request, files, _placing(journal, request.atom))
    return write_atom(request, files)


def _placing(journal: Journal, atom: str) -> Place:
    """Placing files with a receipt."""

    def place(folder: Path, planned: Sequence[NewFile], check: Check, _beside: Sequence[str]) -> None:
        is_new = not os.path.lexists(folder / planned[0].path.partition("/")[0])
        with journal.turn():
            journal.place(Plan(atom, folder, tuple(planned), (), is_new), check)

    return place


def _journal(settings: Settings, start: Path) -> Journal | None:
    try:
        folder = project_home(settings, start).folder / FORGE
        make_folder(folder)
    except (OperatorError, AuthorError):
        return None
    return Journal(folder)
