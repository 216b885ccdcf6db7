"""A ledger as a file that needs no keisei to be read: JSON Lines, rows with their stored bytes, and what was signed."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from keisei.engine.ports import Ledger
from keisei.records.error import OperatorError
from keisei.rules.ledger import GENESIS
from keisei.rules.ledger_walk import INTRODUCED, Misfit, Walk
from keisei.rules.tree import root_of
from keisei.wiring.ledger_proof import content_data
from keisei.wiring.ledger_tree import subtree

FORMAT: Final = "keisei-ledger/v1"
HINT: Final = "`kei-ledger verify` tells where it does not hold; nothing is exported that does not"
_encode = msgspec.json.Encoder().encode


def export_lines(ledger: Ledger, origin: str) -> Iterator[bytes]:
    """The lines, each with its end, as of now. Raises OperatorError in the middle where the ledger does not hold."""
    checkpoints, size = ledger.kept()[0], ledger.size()
    last = ledger.row(size) if size else None
    head = GENESIS.hex() if last is None else last.chain_hash
    root = root_of(size, subtree(ledger)).hex()
    keys = _introduced(ledger, size)
    yield _encode({"format": FORMAT, "origin": origin, "size": size, "root": root, "head": head, "keys": keys}) + b"\n"
    walk = Walk()
    try:
        for row in walk.over(islice(ledger.rows(), size)):
            told = {**content_data(row.content), "leaf_hash": row.leaf_hash, "chain_hash": row.chain_hash}
            yield _encode({"seq": row.seq, **told}) + b"\n"
    except Misfit as error:
        raise OperatorError(f"the ledger is broken at row {error.broken[0]}: {error.broken[1]}", HINT) from error
    if (walk.rows, walk.head, walk.tree.root().hex()) != (size, head, root):
        raise OperatorError("the ledger does not hold: its tree is not that of its rows", HINT)
    for each in checkpoints:
        if each.size <= size:
            yield _encode({"checkpoint": each.note}) + b"\n"


def _introduced(ledger: Ledger, size: int) -> list[str]:
    """The keys that the first rows tell of, in order, each once."""
    found: dict[str, None] = {}
    after = 0
    while rows := ledger.entries(after, 1000, INTRODUCED):
        for row in rows:
            key = row.body.get("vkey")
            if row.seq <= size and row.source == "engine" and isinstance(key, str):
                found[key] = None
        after = rows[-1].seq
    return list(found)
