"""Whether the ledger bears out the rows that an attestation is made of: each row's bytes, its chain, and the tree.

As `keisei ledger verify` sees it, but only of these rows: a landing has its note made, however long the ledger is.
"""

from collections.abc import Iterable, Iterator

from keisei.engine.ports import Ledger
from keisei.records.error import OperatorError
from keisei.records.move import LedgerCheckpoint, LedgerRow
from keisei.rules.attestation_row import Row
from keisei.rules.ledger import GENESIS, Chain, chain_hash, leaf_hash
from keisei.rules.note import parse_checkpoint, split_note
from keisei.rules.tree import Subtree, inclusion_path, root_of, verify_inclusion
from keisei.wiring.ledger_tree import subtree


def unproved(ledger: Ledger, rows: Iterable[Row]) -> Iterator[str]:
    """Rows that do not stand in the ledger as they read, a line each; one more where it is not what was signed of it.

    A row follows the one before and the next follows it, and its leaf is in the tree whose beginning the newest
    checkpoint has signed: nodes that are kept of the tree lie between the two, and are held against both.
    """
    newest = ledger.newest_checkpoint()  # first: others may add rows and sign them meanwhile
    size, tree = ledger.size(), subtree(ledger)
    try:
        root = root_of(size, tree)
        if newest is not None and not _fits(newest, size, tree):
            yield "the ledger does not begin with what its newest checkpoint has signed"
        for row in rows:
            fault = _fault(ledger, row)
            if fault is None:
                path = inclusion_path(row.seq - 1, size, tree)
                if not verify_inclusion(leaf_hash(row.content), row.seq - 1, size, path, root):
                    fault = "the row is not in the ledger's tree"
            if fault is not None:
                yield f"ledger/{row.seq}: {fault}"
    except OperatorError as error:
        yield error.message


def _fault(ledger: Ledger, row: Row) -> str | None:
    """Why a row does not fit where it stands, between its neighbours; None where it does."""
    before, here, after = (ledger.row(row.seq + step) for step in (-1, 0, 1))
    if here is None or here.content != row.content or (before is None and row.seq > 1):
        return "the row or the one before it is missing, or was changed a moment ago"
    chain = Chain()
    try:
        chain.place, chain.head = row.seq - 1, GENESIS if before is None else bytes.fromhex(before.chain_hash)
        broken = chain.fault(here)
        if broken is not None:
            return broken[1]
        if after is not None and not _follows(after, chain):
            return "the row behind it does not follow it: a chain hash was changed, or rows were exchanged"
    except ValueError:
        return "a row beside it has no hash"
    return None


def _follows(row: LedgerRow, chain: Chain) -> bool:
    return chain_hash(chain.head, row.seq, bytes.fromhex(row.leaf_hash)).hex() == row.chain_hash


def _fits(newest: LedgerCheckpoint, size: int, tree: Subtree) -> bool:
    try:
        body = parse_checkpoint(split_note(newest.note)[0])
    except ValueError:
        return False
    return body.size <= size and body.root == root_of(body.size, tree)
