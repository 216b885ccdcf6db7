"""The sealer of PostgreSQL: rows that are committed get their places and hashes, one sealer at a time.

A row's place cannot be known when it is inserted, because transactions commit in another order than they begin. So a
writer inserts the row and a mark that it has no seal, and whoever comes next seals what is committed: read the head and
the marked rows, hash, and write seals and take away marks in one statement that holds only where the head is still the
same. Whoever dies in between leaves everything as it was; two at once cannot both write the next place.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from keisei.records.error import IllegalMove, KeiseiError, WorldFault
from keisei.records.ledger import LedgerEntry
from keisei.records.move import EntryQuery, LedgerCheckpoint, LedgerRestoration, LedgerRow, NewEntry, TreeNode
from keisei.rules.ledger import GENESIS, chain_hash, entry_of
from keisei.store.ask import whole
from keisei.store.checkpoint import (
    CHECKPOINTS_POSTGRES,
    KEEP_POSTGRES,
    KEPT_POSTGRES,
    NEWEST_POSTGRES,
    keep_params,
    read_checkpoints,
    read_kept,
    read_leaves,
    read_newest,
    read_nodes,
    read_size,
)
from keisei.store.ledger import POSTGRES, SINCE, find_entries, read_entries, read_entry, read_row, read_rows
from keisei.store.ledger_restore import restore_postgres
from keisei.store.reader import Reader, Row
from keisei.store.step import ALWAYS, LEDGER, Executor, chain, ledger_params

if TYPE_CHECKING:
    from keisei.store.line import Line

BATCH = 1000
PATIENCE_S, PAUSE_S = 10.0, 0.005
"""How long a row that was appended is waited for, while others seal."""

WAITING = """
SELECT u.entry_id, l.leaf_hash, COALESCE(h.seq, 0), h.chain_hash
FROM (SELECT entry_id FROM unsealed ORDER BY entry_id LIMIT :batch) u
JOIN ledger l ON l.entry_id = u.entry_id
LEFT JOIN LATERAL (SELECT seq, chain_hash FROM seals ORDER BY seq DESC LIMIT 1) h ON TRUE
ORDER BY u.entry_id
"""
# The lock ends with the statement, so that a sealer which is stopped keeps nobody waiting. It only saves work: without
# it, the second of two sealers would fail on the place that the first has taken.
SEAL = """
WITH turn AS MATERIALIZED (
    SELECT 1 WHERE pg_try_advisory_xact_lock(7305790097514097012)
    AND COALESCE((SELECT max(seq) FROM seals), 0) = :head
),
sealed AS (
    INSERT INTO seals (seq, entry_id, leaf_hash, chain_hash)
    SELECT n.seq, n.entry_id, n.leaf_hash, n.chain_hash
    FROM unnest(:seqs::bigint[], :entry_ids::bigint[], :leaves::bytea[], :chains::bytea[])
        AS n (seq, entry_id, leaf_hash, chain_hash), turn
    RETURNING entry_id
),
marks AS (DELETE FROM unsealed u USING sealed s WHERE u.entry_id = s.entry_id)
SELECT count(*) FROM sealed
"""
WRITE = chain(ALWAYS, LEDGER, result="SELECT entry_id FROM entered")
PLACE = "SELECT seq FROM seals WHERE entry_id = :entry_id"
TURN = "SELECT pg_advisory_xact_lock(hashtextextended(:subject::text, 7305790097514097019))"
UNSEALED = "SELECT count(*) FROM unsealed"


class Driver(Reader, Executor, Protocol):
    """The PostgreSQL driver, as the ledger sees it."""

    def transaction(self, action: "Callable[[Line], list[Row]]", /) -> list[Row]:
        """Several statements: committed where the action returns."""


class PostgresLedger:
    """The Ledger port on PostgreSQL, and its sealer."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def seal(self) -> int:
        """Seal what is committed, a thousand rows at once. How many; fewer than there are where another one seals."""
        total = 0
        while True:
            found = self._seal_some()
            total += found
            if found < BATCH:
                return total

    def append(self, entry: NewEntry) -> LedgerEntry:
        """Write one row and seal it. Raises WorldFault where it is written and not sealed in time: it will be."""
        values = ledger_params([entry], self._driver.now_us())
        ((entry_id,),) = self._driver.execute(WRITE, values)
        return entry_of(self._sealed_place(entry_id), values["contents"][0], values["leaves"][0].hex())

    def append_if(self, entry: NewEntry, seen: int) -> LedgerEntry | None:
        """Write one row and seal it, where no row about its subject stands behind the place. Raises as `append` does.

        The lock is waited for in a statement of its own: the next one sees what whoever had it has written.
        """
        values = ledger_params([entry], self._driver.now_us())
        about = {"subject": values["subjects"][0]}

        def written(line: "Line") -> list[Row]:
            line.execute_inside(TURN, about)
            taken = line.execute_inside(SINCE.format(**POSTGRES), {**about, "seen": whole(seen)})
            return [] if taken else line.execute_inside(WRITE, values)

        for (entry_id,) in self._driver.transaction(written):
            return entry_of(self._sealed_place(entry_id), values["contents"][0], values["leaves"][0].hex())
        return None

    def entries(self, after: int = 0, limit: int = 100, kind: str | None = None) -> list[LedgerEntry]:
        """Sealed rows after a place, in order; what is committed is sealed first."""
        self._seal_if_possible()
        return read_entries(self._driver, after, limit, kind)

    def find_entries(self, query: EntryQuery) -> list[LedgerEntry]:
        """Sealed rows, newest first; what is committed is sealed first."""
        self._seal_if_possible()
        return find_entries(self._driver, query, POSTGRES)

    def entry(self, seq: int) -> LedgerEntry | None:
        """One row."""
        self._seal_if_possible()
        return read_entry(self._driver, seq)

    def rows(self) -> Iterator[LedgerRow]:
        """Every sealed row as it is stored, in order; what is committed is sealed first."""
        self._seal_if_possible()
        return read_rows(self._driver, POSTGRES)

    def restore_rows(self, order: LedgerRestoration) -> bool:
        """Take in rows that were sealed elsewhere, in one transaction; what is committed is sealed first."""
        self._seal_if_possible()
        return bool(self._driver.transaction(lambda line: [(1,)] if restore_postgres(line, order) else []))

    def unsealed(self) -> int:
        """How many rows are committed and not sealed, after sealing."""
        self._seal_if_possible()
        return int(self._driver.read(UNSEALED, {})[0][0])

    def row(self, seq: int) -> LedgerRow | None:
        """One sealed row as it is stored."""
        self._seal_if_possible()
        return read_row(self._driver, POSTGRES, seq)

    def size(self) -> int:
        """How many rows are sealed, after sealing."""
        self._seal_if_possible()
        return read_size(self._driver)

    def leaves(self, first: int, limit: int) -> list[bytes]:
        """Leaf hashes from a place on, in order."""
        return read_leaves(self._driver, first, limit)

    def checkpoints(self, after: int = 0, limit: int = 100) -> list[LedgerCheckpoint]:
        """Kept checkpoints of more rows than that, in order."""
        return read_checkpoints(self._driver, CHECKPOINTS_POSTGRES, after, limit)

    def newest_checkpoint(self) -> LedgerCheckpoint | None:
        """The one of most rows."""
        return read_newest(self._driver, NEWEST_POSTGRES)

    def keep_checkpoint(self, checkpoint: LedgerCheckpoint, nodes: Sequence[TreeNode]) -> bool:
        """Keep one with its nodes. False where one of as many rows or more is kept."""
        return bool(self._driver.execute(KEEP_POSTGRES, keep_params(checkpoint, nodes))[0][0])

    def tree_nodes(self, level: int, first: int, limit: int) -> list[TreeNode]:
        """Kept nodes of a level from an index on, in order."""
        return read_nodes(self._driver, level, first, limit)

    def kept(self) -> tuple[list[LedgerCheckpoint], list[TreeNode]]:
        """Every checkpoint and every node, as of one moment."""
        return read_kept(self._driver, KEPT_POSTGRES)

    def _seal_some(self) -> int:
        rows = self._driver.read(WAITING, {"batch": BATCH})
        if not rows:
            return 0
        head, previous = rows[0][2], rows[0][3] or GENESIS
        chains = []
        for seq, row in enumerate(rows, start=head + 1):
            previous = chain_hash(previous, seq, row[1])
            chains.append(previous)
        values = {
            "head": head,
            "seqs": list(range(head + 1, head + 1 + len(rows))),
            "entry_ids": [row[0] for row in rows],
            "leaves": [row[1] for row in rows],
            "chains": chains,
        }
        try:
            return int(self._driver.execute(SEAL, values)[0][0])
        except IllegalMove:  # another sealer was quicker by less than a statement
            return 0

    def _seal_if_possible(self) -> None:
        """Readers may have no right to write, and what is sealed can be read all the same."""
        with suppress(KeiseiError):
            self.seal()

    def _sealed_place(self, entry_id: int) -> int:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.seal()
            found = self._driver.read(PLACE, {"entry_id": entry_id})
            if found:
                return int(found[0][0])
            if time.monotonic() > deadline:
                raise WorldFault("the row is written, but others have not let it be sealed yet", retryable=False)
            time.sleep(PAUSE_S)
