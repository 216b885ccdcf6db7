"""Checkpoints and the tree: leaf hashes in their order, kept nodes over them, and what was signed of both.

Whatever stands in the tables is read as it is stored; who asks is who judges.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from keisei.records.move import LedgerCheckpoint, TreeNode
from keisei.store.ask import bounded, whole
from keisei.store.reader import Reader, Row
from keisei.store.sqlite import fetched

SIZE = "SELECT COALESCE(max(seq), 0) FROM seals"
LEAVES = "SELECT seq, leaf_hash FROM seals WHERE seq >= :first ORDER BY seq LIMIT :limit"

# Text as bytes: what was changed need not be text any more.
CHECKPOINTS = "SELECT size, {note} FROM checkpoints WHERE size > :after ORDER BY size LIMIT :limit"
NEWEST = "SELECT size, {note} FROM checkpoints ORDER BY size DESC LIMIT 1"

NODES = """
SELECT level, place, hash FROM tree_nodes WHERE level = :level AND place >= :first ORDER BY place LIMIT :limit
"""
KEPT = """
SELECT 0, size, 0, {note} FROM checkpoints
UNION ALL SELECT 1, level, place, hash FROM tree_nodes ORDER BY 1, 2, 3
"""

LATER = "SELECT 1 FROM checkpoints WHERE size >= ?"
KEEP = "INSERT INTO checkpoints (size, note) VALUES (?, ?)"
KEEP_NODE = "INSERT INTO tree_nodes (level, place, hash) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
KEEP_POSTGRES = """
WITH kept AS (
    INSERT INTO checkpoints (size, note) SELECT :size::bigint, :note::text
    WHERE NOT EXISTS (SELECT 1 FROM checkpoints c WHERE c.size >= :size)
    ON CONFLICT DO NOTHING RETURNING 1
),
nodes AS (
    INSERT INTO tree_nodes (level, place, hash)
    SELECT n.level, n.place, n.hash
    FROM kept, unnest(:levels::bigint[], :places::bigint[], :hashes::bytea[]) AS n (level, place, hash)
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM kept
"""


def read_size(reader: Reader) -> int:
    """The last place."""
    return max(0, int(reader.read(SIZE, {})[0][0]))


def read_leaves(reader: Reader, first: int, limit: int) -> list[bytes]:
    """Leaf hashes from a place on, up to the first place that has none."""
    rows = reader.read(LEAVES, {"first": whole(first), "limit": bounded(limit)})
    return [leaf for place, (seq, leaf) in enumerate(rows, start=first) if seq == place]


def read_checkpoints(reader: Reader, words: Mapping[str, str], after: int, limit: int) -> list[LedgerCheckpoint]:
    """Checkpoints of more rows than that, in order."""
    asked = {"after": whole(after), "limit": bounded(limit)}
    return [_checkpoint(row) for row in reader.read(CHECKPOINTS.format(**words), asked)]


def read_newest(reader: Reader, words: Mapping[str, str]) -> LedgerCheckpoint | None:
    """The one of most rows."""
    return next(map(_checkpoint, reader.read(NEWEST.format(**words), {})), None)


def read_nodes(reader: Reader, level: int, first: int, limit: int) -> list[TreeNode]:
    """Nodes of a level from an index on, in order."""
    asked = {"level": whole(level), "first": whole(first), "limit": bounded(limit)}
    return [_node(row) for row in reader.read(NODES, asked)]


def read_kept(reader: Reader, words: Mapping[str, str]) -> tuple[list[LedgerCheckpoint], list[TreeNode]]:
    """Everything that is kept, in order, by one statement: some ten thousand rows beside a million of the ledger."""
    rows = reader.read(KEPT.format(**words), {})
    checkpoints = [_checkpoint((size, note)) for sort, size, _, note in rows if sort == 0]
    return checkpoints, [_node((level, place, value)) for sort, level, place, value in rows if sort == 1]


def keep_sqlite(cursor: apsw.Cursor, checkpoint: LedgerCheckpoint, nodes: Sequence[TreeNode]) -> bool:
    """Write both inside the caller's transaction. False where one of as many rows or more is there."""
    if fetched(cursor, LATER, (checkpoint.size,)):
        return False
    cursor.execute(KEEP, (checkpoint.size, checkpoint.note))
    cursor.executemany(KEEP_NODE, [(node.level, node.index, node.hash) for node in nodes])
    return True


def keep_params(checkpoint: LedgerCheckpoint, nodes: Sequence[TreeNode]) -> dict[str, Any]:
    """What `KEEP_POSTGRES` writes."""
    return {
        "size": checkpoint.size,
        "note": checkpoint.note,
        "levels": [node.level for node in nodes],
        "places": [node.index for node in nodes],
        "hashes": [node.hash for node in nodes],
    }


def _checkpoint(row: Row) -> LedgerCheckpoint:
    size, note = row
    return LedgerCheckpoint(size=size, note=bytes(note).decode("utf-8", "surrogateescape"))


def _node(row: Row) -> TreeNode:
    level, index, value = row
    return TreeNode(level=level, index=index, hash=bytes(value))
