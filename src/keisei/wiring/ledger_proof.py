"""Proofs of a ledger: that a row is in it, and that it only grew, each with the checkpoint that somebody signed."""

import base64
from collections.abc import Sequence
from typing import Any, Final

from keisei.engine.ports import Ledger
from keisei.records.error import OperatorError
from keisei.records.move import LedgerCheckpoint
from keisei.rules.checkpoint import Unfit, read_checkpoint
from keisei.rules.ledger import leaf_hash
from keisei.rules.ledger_walk import Introduced
from keisei.rules.tree import (
    Subtree,
    consistency_path,
    inclusion_path,
    root_of,
    verify_consistency,
    verify_inclusion,
)
from keisei.wiring.ledger_kept import introduced, origin_of
from keisei.wiring.ledger_tree import subtree

PROOF: Final = "keisei-proof/v1"
CONSISTENCY: Final = "keisei-consistency/v1"
CHANGED: Final = "`kei-ledger verify` tells where it does not hold"


def inclusion(ledger: Ledger, origin: str, seq: int, size: int | None = None) -> dict[str, Any]:
    """That a row stands in its place of a ledger of that size; of the newest checkpoint where none is named.

    The origin is the project's; a ledger that was signed has kept the one it had then. No note is handed out that a key
    of the ledger has not signed. Raises OperatorError for a row or a size that is not there, and where the ledger was
    changed.
    """
    length = ledger.size()
    if not 1 <= seq <= length:
        raise OperatorError(f"the ledger has no row {seq}", f"it has {length}; `keisei ledger list` shows them")
    if size is not None and not seq <= size <= length:
        raise OperatorError(f"row {seq} is in no ledger of {size} rows", f"name a size from {seq} to {length}")
    checkpoint = _of_size(ledger, size) if size is not None else _newest(ledger, seq, length)
    size = size if size is not None else checkpoint.size if checkpoint is not None else length
    row, tree, keys = ledger.row(seq), subtree(ledger), introduced(ledger)
    origin = origin_of(keys, origin)
    root = _root(size, tree, checkpoint, origin, keys)
    leaf = leaf_hash(row.content) if row is not None else b""
    path = inclusion_path(seq - 1, size, tree)
    if row is None or not verify_inclusion(leaf, seq - 1, size, path, root):
        raise OperatorError(f"the ledger's row {seq} was changed: it cannot be proved", CHANGED)
    return {
        "format": PROOF,
        "origin": origin,
        "seq": seq,
        **content_data(row.content),
        "leaf_hash": leaf.hex(),
        "index": seq - 1,
        "size": size,
        "root": root.hex(),
        "path": [each.hex() for each in path],
        "checkpoint": None if checkpoint is None else checkpoint.note,
    }


def consistency(ledger: Ledger, origin: str, old: int, new: int | None = None) -> dict[str, Any]:
    """That a ledger of one size is the beginning of one of another; of the newest checkpoint where none is named.

    Raises OperatorError as `inclusion` does.
    """
    length = ledger.size()
    if not 0 <= old <= length:
        raise OperatorError(f"the ledger never had {old} rows", f"it has {length}")
    if new is not None and not old <= new <= length:
        raise OperatorError(f"the ledger did not grow from {old} to {new} rows", f"name a size from {old} to {length}")
    checkpoint = _of_size(ledger, new) if new is not None else _newest(ledger, old, length)
    new = new if new is not None else checkpoint.size if checkpoint is not None else length
    tree, keys = subtree(ledger), introduced(ledger)
    origin = origin_of(keys, origin)
    old_root = _root(old, tree, _of_size(ledger, old), origin, keys)
    new_root = _root(new, tree, checkpoint, origin, keys)
    path = consistency_path(old, new, tree)
    if not verify_consistency(old, old_root, new, new_root, path):
        raise OperatorError("the ledger was changed: it cannot be proved that it only grew", CHANGED)
    return {
        "format": CONSISTENCY,
        "origin": origin,
        "old_size": old,
        "old_root": old_root.hex(),
        "new_size": new,
        "new_root": new_root.hex(),
        "path": [each.hex() for each in path],
        "checkpoint": None if checkpoint is None else checkpoint.note,
    }


def content_data(content: bytes) -> dict[str, str]:
    """The stored bytes as JSON can carry them: as text, or in base64 where they are none."""
    try:
        return {"content": content.decode("utf-8")}
    except UnicodeDecodeError:
        return {"content_base64": base64.b64encode(content).decode("ascii")}


def _newest(ledger: Ledger, least: int, length: int) -> LedgerCheckpoint | None:
    """The newest checkpoint, where it is of that many rows at least and not of more than there are."""
    found = ledger.newest_checkpoint()
    return found if found is not None and least <= found.size <= length else None


def _of_size(ledger: Ledger, size: int) -> LedgerCheckpoint | None:
    return next((each for each in ledger.checkpoints(size - 1, 1) if each.size == size), None)


def _root(
    size: int, tree: Subtree, checkpoint: LedgerCheckpoint | None, origin: str, keys: Sequence[Introduced]
) -> bytes:
    """The root, which is what a checkpoint of that size says, and a key of the ledger has signed."""
    root = root_of(size, tree)
    if checkpoint is None:
        return root
    try:
        body = read_checkpoint(checkpoint.note, origin, keys).body
    except Unfit as error:
        raise OperatorError(f"the ledger's checkpoint of {checkpoint.size} rows: {error}", CHANGED) from error
    if (body.size, body.root) != (size, root):
        raise OperatorError(f"the ledger does not fit its checkpoint of {checkpoint.size} rows", CHANGED)
    return root
