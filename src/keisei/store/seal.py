"""The sealer of PostgreSQL: rows that are committed get their places and hashes, one sealer at a time.

A row's place cannot be known when it is inserted, because transactions commit in another order than they begin. So a
writer inserts the row and a mark that it has no seal, and whoever comes next seals what is committed: read the head and
the marked rows, hash, and write seals and take away marks in one statement that holds only where the head is still the
same. Whoever dies in between leaves everything as it was; two at once cannot both write the next place.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from keisei.records.error import IllegalMove, KeiseiError, WorldFault
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
from keisei.rules.ledger import GENESIS, chain_hash, entry_of
from keisei.store.ask import whole
from keisei.store.checkpoint import (
    KEEP_POSTGRES,
    keep_params,
    read_checkpoints,
    read_kept,
    read_leaves,
    read_newest,
    read_nodes,
    read_size,
)
from keisei.store.ledger_read import POSTGRES, SINCE, find_entries, read_entries, read_entry, read_row, read_rows
from keisei.store.ledger_restore import restore_postgres
from keisei.store.reader import Reader, Row
from keisei.store.step import ALWAYS, LEDGER, Executor, chain, ledger_params

if TYPE_CHECKING:
    from keisei.store.line import Line

BATCH = 1000
PATIENCE_S, PAUSE_S = 10.0, 0.005
"""How long a row that was appended is waited for, while others seal."""

# Marks are no proof: one of a row that has a seal, or is gone, is passed over, or it would stop every sealer for good.
# Asked row by row through the indexes, where a join might read whole tables.
WAITS = """
(SELECT s.seq FROM seals s WHERE s.entry_id = m.entry_id) IS NULL
AND (SELECT k.entry_id FROM ledger k WHERE k.entry_id = m.entry_id) IS NOT NULL
"""
WAITING = f"""
SELECT u.entry_id, l.leaf_hash, COALESCE(h.seq, 0), h.chain_hash
FROM (SELECT m.entry_id FROM unsealed m WHERE {WAITS} ORDER BY m.entry_id LIMIT :batch) u
JOIN ledger l ON l.entry_id = u.entry_id
LEFT JOIN LATERAL (SELECT seq, chain_hash FROM seals ORDER BY seq DESC LIMIT 1) h ON TRUE
ORDER BY u.entry_id
"""  # noqa: S608 - our own words
# The lock ends with the statement, so that a sealer which is stopped keeps nobody waiting. It only saves work: without
# it, the second of two sealers would fail on the place that the first has taken. A mark beside a seal is taken away; a
# mark whose row is gone stays, because nothing else tells that there was one.
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
marks AS (DELETE FROM unsealed u USING sealed s WHERE u.entry_id = s.entry_id),
needless AS (
    DELETE FROM unsealed u USING turn WHERE u.entry_id <= :last
    AND (SELECT s.seq FROM seals s WHERE s.entry_id = u.entry_id) IS NOT NULL
)
SELECT count(*) FROM sealed
"""
WRITE = chain(ALWAYS, LEDGER, result="SELECT entry_id FROM entered")
PLACE = "SELECT seq FROM seals WHERE entry_id = :entry_id"
TURN = "SELECT pg_advisory_xact_lock(hashtextextended(:subject::text, 7305790097514097019))"
UNSEALED = f"SELECT count(*) FROM unsealed m WHERE {WAITS}"  # noqa: S608 - our own words
OLDEST = f"""
SELECT l.content FROM (SELECT m.entry_id FROM unsealed m WHERE {WAITS} ORDER BY m.entry_id LIMIT 1) u
JOIN ledger l ON l.entry_id = u.entry_id
"""  # noqa: S608 - our own words
STRAYS = f"SELECT count(*) FROM unsealed m WHERE NOT ({WAITS})"  # noqa: S608 - our own words


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

    def unsealed_rows(self) -> UnsealedRows:
        """What waits for its seal although it was just sealed, since when, and marks that stand beside no such row."""
        ((strays,),) = self._driver.read(STRAYS, {})  # before the sealer takes them away
        hindered = self._hindrance()
        oldest = self._driver.read(OLDEST, {})
        return UnsealedRows(
            rows=int(self._driver.read(UNSEALED, {})[0][0]),
            since=_recorded_at(oldest[0][0]) if oldest else None,
            strays=int(strays),
            hindered=hindered,
        )

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
        return read_checkpoints(self._driver, POSTGRES, after, limit)

    def newest_checkpoint(self) -> LedgerCheckpoint | None:
        """The one of most rows."""
        return read_newest(self._driver, POSTGRES)

    def keep_checkpoint(self, checkpoint: LedgerCheckpoint, nodes: Sequence[TreeNode]) -> bool:
        """Keep one with its nodes. False where one of as many rows or more is kept."""
        return bool(self._driver.execute(KEEP_POSTGRES, keep_params(checkpoint, nodes))[0][0])

    def tree_nodes(self, level: int, first: int, limit: int) -> list[TreeNode]:
        """Kept nodes of a level from an index on, in order."""
        return read_nodes(self._driver, level, first, limit)

    def kept(self) -> tuple[list[LedgerCheckpoint], list[TreeNode]]:
        """Every checkpoint and every node, as of one moment."""
        return read_kept(self._driver, POSTGRES)

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
            "last": rows[-1][0],
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
        self._hindrance()

    def _hindrance(self) -> str | None:
        """Seal; why this process cannot."""
        try:
            self.seal()
        except KeiseiError as error:
            return error.message
        return None

    def _sealed_place(self, entry_id: int) -> int:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.seal()
            found = self._driver.read(PLACE, {"entry_id": entry_id})
            if found:
                return int(found[0][0])
            if time.monotonic() > deadline:
                message = f"the row is written, but others have not let it be sealed for {PATIENCE_S:.0f} seconds"
                hint = "do not write it again: `keisei ledger verify` tells rows that wait for their seal"
                raise WorldFault(message, hint, retryable=False)
            time.sleep(PAUSE_S)


def _recorded_at(content: bytes) -> datetime:
    """When a row was told. What cannot be read was changed, and counts as old as can be."""
    try:
        return entry_of(1, bytes(content), "0" * 64).recorded_at
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
