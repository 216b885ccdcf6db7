"""Restore: rows of a ledger that were sealed elsewhere enter behind those that are here, all of them or none."""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import apsw
from msgspec import Struct
from msgspec.json import Decoder

from keisei.records.move import LedgerRestoration, LedgerRow
from keisei.rules.ledger import GENESIS
from keisei.store.ledger_row import HEAD, Written, enter
from keisei.store.sqlite import fetched

if TYPE_CHECKING:
    from keisei.store.line import Line

BATCH: Final = 500
CHECKPOINT: Final = "INSERT INTO checkpoints (size, note) VALUES (:size, :note) ON CONFLICT DO NOTHING"
NODE: Final = "INSERT INTO tree_nodes (level, place, hash) VALUES (:level, :place, :hash) ON CONFLICT DO NOTHING"
# The sealer's own lock, waited for in a statement of its own: the next one sees what whoever had it has sealed.
TURN: Final = "SELECT pg_advisory_xact_lock(7305790097514097012)"
ROWS: Final = """
WITH given AS MATERIALIZED (
    SELECT e.* FROM unnest(
        :kinds::text[], :subjects::text[], :contents::bytea[], :leaves::bytea[], :chains::bytea[]
    ) WITH ORDINALITY AS e (kind, subject, content, leaf_hash, chain_hash, n)
),
entered AS (
    INSERT INTO ledger (kind, subject, content, leaf_hash)
    SELECT g.kind, g.subject, g.content, g.leaf_hash FROM given g ORDER BY g.n RETURNING entry_id
),
numbered AS MATERIALIZED (SELECT entry_id, row_number() OVER (ORDER BY entry_id) AS n FROM entered)
INSERT INTO seals (seq, entry_id, leaf_hash, chain_hash)
SELECT :after::bigint + g.n, m.entry_id, g.leaf_hash, g.chain_hash
FROM numbered m JOIN given g ON g.n = m.n ORDER BY g.n
"""


class _Named(Struct):
    """What the table keeps of a content beside it."""

    kind: str
    subject: str


_named = Decoder(_Named).decode


def restore_sqlite(cursor: apsw.Cursor, order: LedgerRestoration) -> bool:
    """Inside the caller's transaction. False where rows were added since: nothing was written."""
    if not _is_there(fetched(cursor, HEAD), order):
        return False
    for row in order.rows():
        named = _named(row.content)
        written = Written(named.kind, named.subject, row.content, bytes.fromhex(row.leaf_hash))
        enter(cursor, written, row.seq, bytes.fromhex(row.chain_hash))
    for sql, params in _proofs(order):
        cursor.execute(sql, params)
    return True


def restore_postgres(line: "Line", order: LedgerRestoration) -> bool:
    """Inside the caller's transaction. Rows that others write meanwhile are sealed behind these."""
    line.execute_inside(TURN, {})
    if not _is_there(line.execute_inside(HEAD, {}), order):
        return False
    after, rows = order.after, order.rows()
    while batch := list(islice(rows, BATCH)):
        line.execute_inside(ROWS, {"after": after, **_columns(batch)})
        after += len(batch)
    for sql, params in _proofs(order):
        line.execute_inside(sql, params)
    return True


def _is_there(head: list[tuple[Any, ...]], order: LedgerRestoration) -> bool:
    """Whether the chain still ends where the rows go on."""
    seq, chain = head[0] if head else (0, GENESIS)
    return (seq, bytes(chain).hex()) == (order.after, order.head)


def _columns(rows: list[LedgerRow]) -> dict[str, list[Any]]:
    named = [_named(row.content) for row in rows]
    return {
        "kinds": [each.kind for each in named],
        "subjects": [each.subject for each in named],
        "contents": [row.content for row in rows],
        "leaves": [bytes.fromhex(row.leaf_hash) for row in rows],
        "chains": [bytes.fromhex(row.chain_hash) for row in rows],
    }


def _proofs(order: LedgerRestoration) -> Iterator[tuple[str, dict[str, Any]]]:
    """What is kept of the tree; what is kept already stays as it is."""
    for each in order.checkpoints:
        yield CHECKPOINT, {"size": each.size, "note": each.note}
    for node in order.nodes:
        yield NODE, {"level": node.level, "place": node.index, "hash": node.hash}
