"""The ledger's rows: written once, in the transaction they tell of, and read in the order of their seals.

SQLite seals a row in that transaction. PostgreSQL's writers only insert, so that none waits for another; see `seal`.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

import apsw
import msgspec
from msgspec.structs import replace

from keisei.records.error import ContractViolation
from keisei.records.form import JsonObject
from keisei.records.ledger import LedgerEntry
from keisei.records.move import (
    EntryQuery,
    LedgerCheckpoint,
    LedgerRestoration,
    LedgerRow,
    NewEntry,
    TreeNode,
    UnsealedRows,
)
from keisei.rules.chain import doubles
from keisei.rules.ledger import GENESIS, LARGEST_NAME, chain_hash, content_and_body, content_of, entry_of, leaf_hash
from keisei.store.ask import whole
from keisei.store.checkpoint import (
    keep_sqlite,
    read_checkpoints,
    read_kept,
    read_leaves,
    read_newest,
    read_nodes,
    read_size,
)
from keisei.store.clock import moment
from keisei.store.ledger_read import SINCE, SQLITE, find_entries, read_entries, read_entry, read_row, read_rows
from keisei.store.ledger_restore import restore_sqlite
from keisei.store.ledger_row import HEAD, Written, enter
from keisei.store.row import json, text
from keisei.store.sqlite import Sqlite, fetched

# Here places follow ids, so that what has no seal stands behind the last that has one.
UNSEALED = "SELECT count(*) FROM ledger WHERE entry_id > (SELECT COALESCE(max(entry_id), 0) FROM seals)"


def written(entry: NewEntry, now_us: int) -> Written:
    """A row as it is stored. Raises ContractViolation for what cannot be one.

    What the engine tells is never refused for text or numbers that an agent chose, or a task could not be settled: they
    are mended as they are in the other tables. What a person tells is.
    """
    return _written(entry, moment(now_us))[0]


def insert(cursor: apsw.Cursor, entries: Sequence[NewEntry], now_us: int) -> int:
    """SQLite: write and seal rows inside the caller's transaction. The place of the last one, 0 where there are none.

    Raises ContractViolation for what cannot be a row.
    """
    return insert_rows(cursor, [written(entry, now_us) for entry in entries]) if entries else 0


def insert_rows(cursor: apsw.Cursor, rows: Sequence[Written]) -> int:
    """The same, for rows that are made already: the turn to write is not the time for that."""
    found = fetched(cursor, HEAD)
    seq, previous = found[0] if found else (0, GENESIS)
    for row in rows:
        seq, previous = seq + 1, chain_hash(previous, seq + 1, row.leaf_hash)
        enter(cursor, row, seq, previous)
    return int(seq)


def ledger_values(entries: Sequence[NewEntry], now_us: int) -> tuple[list[str], list[str], list[bytes], list[bytes]]:
    """PostgreSQL: the columns of rows, each a list: kind, subject, content, leaf_hash. Raises ContractViolation."""
    rows = [written(entry, now_us) for entry in entries]
    return (
        [row.kind for row in rows],
        [row.subject for row in rows],
        [row.content for row in rows],
        [row.leaf_hash for row in rows],
    )


def _written(entry: NewEntry, recorded_at: datetime) -> tuple[Written, JsonObject | None]:
    """A row as it is stored, and its body as it will be read, where that is known already."""
    try:
        content, body = content_and_body(entry, recorded_at)
    except ValueError as error:
        if entry.source == "manual":
            raise ContractViolation("ledger.entry", [str(error)]) from error
        entry, content = _mended(entry, recorded_at)
        body = None
    return Written(entry.kind, entry.subject, content, leaf_hash(content)), body


def _mended(entry: NewEntry, recorded_at: datetime) -> tuple[NewEntry, bytes]:
    try:
        mended = replace(
            entry,
            kind=text(entry.kind)[:LARGEST_NAME],
            actor=text(entry.actor)[:LARGEST_NAME],
            subject=text(entry.subject)[:LARGEST_NAME],
            body=msgspec.json.decode(json(doubles(entry.body))),
        )
        return mended, content_of(mended, recorded_at)
    except (ValueError, TypeError, RecursionError) as error:
        raise ContractViolation("ledger.entry", [str(error)]) from error


class SqliteLedger:
    """The Ledger port on SQLite."""

    def __init__(self, driver: Sqlite) -> None:
        self._driver = driver

    def append(self, entry: NewEntry) -> LedgerEntry:
        """Write one row and seal it."""
        recorded_at = moment(self._driver.now_us())
        row, body = _written(entry, recorded_at)
        with self._driver.write() as cursor:
            seq = insert_rows(cursor, (row,))
        if body is None:
            return entry_of(seq, row.content, row.leaf_hash.hex())
        return LedgerEntry(
            seq=seq,
            kind=row.kind,
            source=entry.source,
            actor=entry.actor,
            subject=row.subject,
            body=body,
            recorded_at=recorded_at,
            leaf_hash=row.leaf_hash.hex(),
        )

    def append_if(self, entry: NewEntry, seen: int) -> LedgerEntry | None:
        """Write one row and seal it, where no row about its subject stands behind the place. Who writes is alone."""
        now_us = self._driver.now_us()
        row = written(entry, now_us)
        with self._driver.write() as cursor:
            if fetched(cursor, SINCE.format(**SQLITE), {"subject": row.subject, "seen": whole(seen)}):
                return None
            seq = insert_rows(cursor, (row,))
        return entry_of(seq, row.content, row.leaf_hash.hex())

    def entries(self, after: int = 0, limit: int = 100, kind: str | None = None) -> list[LedgerEntry]:
        """Sealed rows after a place, in order."""
        return read_entries(self._driver, after, limit, kind)

    def find_entries(self, query: EntryQuery) -> list[LedgerEntry]:
        """Sealed rows, newest first."""
        return find_entries(self._driver, query, SQLITE)

    def entry(self, seq: int) -> LedgerEntry | None:
        """One row."""
        return read_entry(self._driver, seq)

    def rows(self) -> Iterator[LedgerRow]:
        """Every sealed row as it is stored, in order."""
        return read_rows(self._driver, SQLITE)

    def restore_rows(self, order: LedgerRestoration) -> bool:
        """Take in rows that were sealed elsewhere, in one transaction."""
        with self._driver.write() as cursor:
            return restore_sqlite(cursor, order)

    def unsealed(self) -> int:
        """None, unless somebody else wrote into the table."""
        return int(self._driver.read(UNSEALED)[0][0])

    def unsealed_rows(self) -> UnsealedRows:
        """Likewise; `rows` tells the first of them as one that has no seal."""
        return UnsealedRows(rows=self.unsealed(), since=None)

    def row(self, seq: int) -> LedgerRow | None:
        """One sealed row as it is stored."""
        return read_row(self._driver, SQLITE, seq)

    def size(self) -> int:
        """How many rows are sealed."""
        return read_size(self._driver)

    def leaves(self, first: int, limit: int) -> list[bytes]:
        """Leaf hashes from a place on, in order."""
        return read_leaves(self._driver, first, limit)

    def checkpoints(self, after: int = 0, limit: int = 100) -> list[LedgerCheckpoint]:
        """Kept checkpoints of more rows than that, in order."""
        return read_checkpoints(self._driver, SQLITE, after, limit)

    def newest_checkpoint(self) -> LedgerCheckpoint | None:
        """The one of most rows."""
        return read_newest(self._driver, SQLITE)

    def keep_checkpoint(self, checkpoint: LedgerCheckpoint, nodes: Sequence[TreeNode]) -> bool:
        """Keep one with its nodes. False where one of as many rows or more is kept."""
        with self._driver.write() as cursor:
            return keep_sqlite(cursor, checkpoint, nodes)

    def tree_nodes(self, level: int, first: int, limit: int) -> list[TreeNode]:
        """Kept nodes of a level from an index on, in order."""
        return read_nodes(self._driver, level, first, limit)

    def kept(self) -> tuple[list[LedgerCheckpoint], list[TreeNode]]:
        """Every checkpoint and every node, as of one moment."""
        return read_kept(self._driver, SQLITE)
