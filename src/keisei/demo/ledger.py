"""The ledger of a demo: the chain is whole, and one byte that is changed in a copy is found."""

import shutil
from pathlib import Path
from typing import NamedTuple

from keisei.demo.stage import Stage
from keisei.records.error import WorldFault
from keisei.records.move import LedgerRow
from keisei.rules.ledger import first_broken
from keisei.store import open_store

DATABASE = "state.db"


class Checked(NamedTuple):
    """What two verifications said."""

    rows: int
    broken: tuple[int, str] | None
    """Of the ledger itself: the first row that does not hold, and why."""
    changed: int
    """The row of the copy in which one byte was changed."""
    found: tuple[int, str] | None
    """What the verification of the copy says."""


def check(stage: Stage) -> Checked:
    """Verify the ledger, then a copy with one changed byte. Closes the store first, so that the copy is whole."""
    rows = list(stage.store.rows())
    broken = first_broken(iter(rows))
    stage.store.close()
    copy = stage.place.folder / "tampered"
    copy.mkdir(mode=0o700)
    for each in stage.home.folder.glob(f"{DATABASE}*"):
        if each.is_file():
            shutil.copy(each, copy / each.name)
    changed = _tamper(copy / DATABASE, rows)
    return Checked(len(rows), broken, changed, _verified(copy / DATABASE))


def _tamper(database: Path, rows: list[LedgerRow]) -> int:
    """Change one byte of a row in the middle, in the file itself. The row's number."""
    data = bytearray(database.read_bytes())
    middle = len(rows) // 2
    for row in [*rows[middle:], *rows[:middle]]:
        if data.count(row.content) == 1:
            data[data.find(row.content) + len(row.content) // 2] ^= 1
            database.write_bytes(data)
            return row.seq
    raise WorldFault("no row of the ledger can be found in the copy of its database")


def _verified(database: Path) -> tuple[int, str] | None:
    store = open_store(f"sqlite://{database}")
    try:
        return first_broken(store.rows())
    finally:
        store.close()
