"""A ledger as a file that needs no keisei to be read: JSON Lines, rows with their stored bytes, and what was signed."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

import msgspec

from keisei.engine.ports import Ledger
from keisei.records.error import OperatorError
from keisei.records.move import LedgerCheckpoint, LedgerRow
from keisei.rules.checkpoint import Unfit, read_checkpoint
from keisei.rules.ledger_walk import Misfit, Walk
from keisei.rules.note import vkey
from keisei.wiring.ledger_kept import origin_of
from keisei.wiring.ledger_proof import content_data

FORMAT: Final = "keisei-ledger/v1"
HINT: Final = "`kei-ledger verify` tells where it does not hold; nothing is exported that does not"
_encode = msgspec.json.Encoder().encode


def export_lines(ledger: Ledger, origin: str) -> Iterator[bytes]:
    """The lines, each with its end, as of now. Raises OperatorError before the first where the ledger does not hold.

    It is walked twice: once to see that rows and checkpoints hold, and once to be written. The origin is the project's;
    a ledger that was signed has kept the one it had then.
    """
    checkpoints, size = ledger.kept()[0], ledger.size()
    checkpoints = [each for each in checkpoints if each.size <= size]
    first = Walk(each.size for each in checkpoints)
    for _ in _rows(ledger, first, size):
        pass
    origin = origin_of(first.keys, origin)
    for each in checkpoints:
        _check(each, first, origin)
    keys = list(dict.fromkeys(vkey(each.key.name, each.key.public) for each in first.keys))
    said = {"origin": origin, "size": size, "root": first.tree.root().hex(), "head": first.head, "keys": keys}
    head = {"format": FORMAT, **said}
    yield _encode(head) + b"\n"
    again = Walk()
    for row in _rows(ledger, again, size):
        told = {**content_data(row.content), "leaf_hash": row.leaf_hash, "chain_hash": row.chain_hash}
        yield _encode({"seq": row.seq, **told}) + b"\n"
    if again.head != first.head:
        raise OperatorError("the ledger was changed while it was written", HINT)
    for each in checkpoints:
        yield _encode({"checkpoint": each.note}) + b"\n"


def _rows(ledger: Ledger, walk: Walk, size: int) -> Iterator[LedgerRow]:
    """The first rows, each after it was found to fit. Raises OperatorError where one does not, or is missing."""
    try:
        yield from walk.over(islice(ledger.rows(), size))
    except Misfit as error:
        raise OperatorError(f"the ledger is broken at row {error.broken[0]}: {error.broken[1]}", HINT) from error
    if walk.rows != size:
        raise OperatorError(f"the ledger is broken at row {walk.rows + 1}: the row is missing", HINT)


def _check(kept: LedgerCheckpoint, walk: Walk, origin: str) -> None:
    """Raise OperatorError for a checkpoint that is not the root of its rows, or that no key of the ledger signed."""
    try:
        body = read_checkpoint(kept.note, origin, walk.keys).body
    except Unfit as error:
        raise OperatorError(f"the ledger's checkpoint of {kept.size} rows: {error}", HINT) from error
    if body.size != kept.size or walk.roots.get(body.size) != body.root:
        raise OperatorError(f"the ledger does not fit its checkpoint of {kept.size} rows", HINT)
