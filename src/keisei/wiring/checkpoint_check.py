"""What is looked at before a ledger is signed: what was signed of it before, every new row, and some older ones.

To look at all of them is `keisei ledger verify`'s: that takes as long as the ledger is, and a checkpoint must not.
"""

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from keisei.engine.ports import Ledger
from keisei.records.error import OperatorError
from keisei.records.move import LedgerRow
from keisei.rules.ledger_walk import BLOCK, resumed
from keisei.rules.note import CheckpointBody
from keisei.rules.tree import root_of
from keisei.wiring.ledger_tree import fits, subtree
from keisei.workspace.checkpoint import FILE, REF

LOOK: Final = "`keisei ledger verify` tells what was changed"
BLOCKS: Final = 2
"""Blocks of 256 signed rows that are looked at again, chosen by chance each time."""
SINGLY: Final = 1000
"""Rows that are asked for one by one; of more, all are read."""


def check_signed(ledger: Ledger, signed: Sequence[tuple[CheckpointBody, str]], state: Path) -> None:
    """Raise OperatorError where the ledger does not begin with what was signed of it."""
    size, hashes = ledger.size(), subtree(ledger)
    for body, name in signed:
        if body.size > size:
            why = f"{name} is of {body.size} rows and the ledger has {size}: rows were cut off, or it is another ledger"
            raise OperatorError(why, _way_back(state))
        if root_of(body.size, hashes) != body.root:
            raise OperatorError(f"the ledger does not fit {name}, of {body.size} rows: it is not signed", LOOK)


def check_rows(ledger: Ledger, after: int, size: int) -> None:
    """Raise OperatorError where a row behind a place does not hold: content, hashes, chain, and copies of parts."""
    if size > after:
        _walked(ledger, max(after, 1), size)


def check_some(ledger: Ledger, signed: int) -> None:
    """Raise OperatorError where a block of rows, of those that are signed, is not what the tree tells of it."""
    count = signed // BLOCK
    for index in random.sample(range(count), min(BLOCKS, count)):
        first, last = index * BLOCK + 1, (index + 1) * BLOCK
        if not fits(ledger, index, _walked(ledger, first, last)):
            why = f"rows {first} to {last} are not those that were signed: the ledger is not signed"
            raise OperatorError(why, LOOK)


def _walked(ledger: Ledger, first: int, last: int) -> list[bytes]:
    """The leaf hashes of rows that hold. Raises OperatorError at the first that does not."""
    chain, leaves = resumed(ledger.row(first - 1) if first > 1 else None), list[bytes]()
    chain.place = first - 1
    for row in _rows(ledger, first, last):
        broken = chain.fault(row)
        if broken is not None:
            raise OperatorError(f"the ledger is not signed: it is broken at row {broken[0]}: {broken[1]}", LOOK)
        leaves.append(chain.leaf)
    if chain.place < last:
        raise OperatorError(f"the ledger is not signed: it is broken at row {chain.place + 1}: it is missing", LOOK)
    return leaves


def _rows(ledger: Ledger, first: int, last: int) -> Iterator[LedgerRow]:
    """Stored rows from one to another, as far as they are there."""
    if last - first >= SINGLY:
        yield from islice(ledger.rows(), first - 1, last)
        return
    for seq in range(first, last + 1):
        row = ledger.row(seq)
        if row is not None:
            yield row


def _way_back(state: Path) -> str:
    return (
        f"{LOOK}; an older copy goes on with `keisei ledger import EXPORT`; where it is another ledger on purpose: "
        f"`mv '{state / FILE}' '{state / FILE}.old'`, `git update-ref {REF}-old {REF}`, `git update-ref -d {REF}`"
    )
