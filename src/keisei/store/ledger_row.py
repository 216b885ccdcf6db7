"""One row of the ledger as SQLite writes it: its bytes, its seal, and the counter that numbers both."""

from typing import Final, NamedTuple

import apsw

from keisei.records.error import OperatorError
from keisei.store.ask import LARGEST
from keisei.store.sqlite import fetched

HEAD: Final = "SELECT seq, chain_hash FROM seals ORDER BY seq DESC LIMIT 1"
WRITE: Final = "INSERT INTO ledger (kind, subject, content, leaf_hash) VALUES (?, ?, ?, ?)"
SEAL: Final = "INSERT INTO seals (seq, entry_id, leaf_hash, chain_hash) VALUES (?, ?, ?, ?)"
COUNTED: Final = "SELECT 1 FROM sqlite_sequence WHERE name = 'ledger' AND seq >= ?"


class Written(NamedTuple):
    """A row as it is stored, before it has a place."""

    kind: str
    """As in the content, for those who ask for a kind."""
    subject: str
    """As in the content."""
    content: bytes
    """What is hashed."""
    leaf_hash: bytes
    """Its hash."""


def enter(cursor: apsw.Cursor, row: Written, seq: int, chain: bytes) -> None:
    """Write a row and its seal inside the caller's transaction. Raises OperatorError where no number is left."""
    try:
        cursor.execute(WRITE, row)
    except apsw.FullError as error:  # so the library says both that the disk is full and that the counter is
        if not fetched(cursor, COUNTED, (LARGEST,)):
            raise
        message = "the ledger takes no more rows: its counter stands at the largest number there is"
        hint = "somebody changed sqlite_sequence: `keisei ledger verify` tells what holds; bring back a copy"
        raise OperatorError(message, hint) from error
    cursor.execute(SEAL, (seq, cursor.connection.last_insert_rowid(), row.leaf_hash, chain))
