"""The ledger's tree as a store has it: perfect subtrees from what is kept, and from leaf hashes where nothing is.

Of every 256 neighbours the hash over them is kept, and so on up, so that a root or a proof reads some hundred hashes
beside any number of rows. What is kept is trusted here: a checkpoint holds a block or two against the rows, and
`keisei ledger verify` every bit.
"""

from collections.abc import Sequence
from typing import Final, NoReturn

from keisei.engine.ports import Ledger
from keisei.records.error import OperatorError
from keisei.records.move import TreeNode
from keisei.rules.ledger_walk import BLOCK, LEVELS
from keisei.rules.tree import Subtree, node_hash

STEP: Final = LEVELS[0]
"""Levels between those that are kept."""
TOP: Final = LEVELS[-1]
WIDTH: Final = BLOCK


def subtree(store: Ledger) -> Subtree:
    """Hashes of perfect subtrees, by level and index; what was read once is not read again.

    Asked for what is not there it raises OperatorError: a row is missing, or more was asked for than there is.
    """
    return _Tree(store).hash_of


def fill(store: Ledger, size: int, hashes: Subtree) -> list[TreeNode]:
    """The nodes of a tree of that many rows that should be kept and are not. Raises as `subtree` does."""
    nodes = []
    for level in LEVELS:
        places = range(_kept(store, level, size >> level), size >> level)
        nodes += [TreeNode(level=level, index=index, hash=hashes(level, index)) for index in places]
    return nodes


def fits(store: Ledger, index: int, leaves: Sequence[bytes]) -> bool:
    """Whether what is kept over a block of 256 rows, up to the top, is what these leaf hashes make of it.

    Raises as `subtree` does.
    """
    hashes, found = subtree(store), _over(leaves)
    for level in LEVELS:
        if hashes(level, index) != found:
            return False
        first = index - index % WIDTH
        above = store.tree_nodes(level + STEP, index // WIDTH, 1) if level < TOP else []
        if not above or above[0].index != index // WIDTH:
            return True  # nothing is kept over it
        found = _over([found if each == index else hashes(level, each) for each in range(first, first + WIDTH)])
        index //= WIDTH
    return True


def _kept(store: Ledger, level: int, count: int) -> int:
    """How many of the first so many nodes are kept; they were kept in their order."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if any(node.index == middle for node in store.tree_nodes(level, middle, 1)):
            low = middle + 1
        else:
            high = middle
    return low


class _Tree:
    """Blocks of 256 neighbours, as they are asked for."""

    def __init__(self, store: Ledger) -> None:
        self._store = store
        self._blocks: dict[tuple[int, int], dict[int, bytes]] = {}
        """What a store has of a block, by level and place of the block: leaf hashes or kept nodes, by their index."""
        self._made: dict[tuple[int, int], bytes] = {}
        """What was put together, by level and index."""

    def hash_of(self, level: int, index: int) -> bytes:
        """The hash over leaves from `index << level` on, two to the power of the level."""
        known = self._made.get((level, index))
        if known is None:
            base = min(level - level % STEP, TOP)
            above = level - base
            known = _over([self._node(base, place) for place in range(index << above, (index + 1) << above)])
            self._made[level, index] = known
        return known

    def _node(self, level: int, index: int) -> bytes:
        """One of a level that is kept, or a leaf."""
        known = self._made.get((level, index)) or self._block(level, index // WIDTH).get(index)
        if known is None:
            if level == 0:
                _missing(index + 1)
            known = _over([self._node(level - STEP, place) for place in range(index * WIDTH, (index + 1) * WIDTH)])
            self._made[level, index] = known
        return known

    def _block(self, level: int, place: int) -> dict[int, bytes]:
        block = self._blocks.get((level, place))
        if block is None:
            first = place * WIDTH
            if level == 0:
                block = dict(enumerate(self._store.leaves(first + 1, WIDTH), start=first))
            else:
                found = self._store.tree_nodes(level, first, WIDTH)
                block = {node.index: node.hash for node in found if node.index < first + WIDTH}
            self._blocks[level, place] = block
        return block


def _over(hashes: Sequence[bytes]) -> bytes:
    """The hash over neighbours, a power of two of them."""
    while len(hashes) > 1:
        hashes = [node_hash(left, right) for left, right in zip(hashes[::2], hashes[1::2], strict=True)]
    return hashes[0]


def _missing(seq: int) -> NoReturn:
    raise OperatorError(f"the ledger's row {seq} is missing", "`keisei ledger verify` tells what was changed")
