"""A walk along a ledger: the chain and the tree in one pass, and the roots that somebody said they were."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from keisei.records.move import LedgerRow, TreeNode
from keisei.rules.ledger import Broken, Chain
from keisei.rules.note import VerifierKey, parse_vkey
from keisei.rules.tree import Frontier, node_hash

LEVELS: Final = (8, 16, 24, 32)
"""Of the perfect subtrees that are kept."""
BLOCK: Final = 1 << LEVELS[0]
INTRODUCED: Final = "key_introduced"
_MARK: Final = b'"key_introduced"'
OFTEN: Final = 1000
"""Rows between two looks at whether to go on."""

Tell = Callable[[int, str], None]
"""Told now and then how many rows were walked, and the head there. It may raise to end the walk."""


class Introduced(NamedTuple):
    """A key that the ledger tells of."""

    seq: int
    """In which row."""
    key: VerifierKey
    """The key."""


class Walk:
    """What is learnt on the way."""

    def __init__(self, sizes: Iterable[int] = (), kept_head: str | None = None) -> None:
        """Remember the root at each of these sizes, and whether a chain hash that was kept elsewhere is met."""
        self.chain, self.tree = Chain(), Frontier()
        self.roots: dict[int, bytes] = {0: self.tree.root()}
        self.nodes: dict[tuple[int, int], bytes] = {}
        """Perfect subtrees of the kept levels, by level and index."""
        self.keys: list[Introduced] = []
        self._sizes, self._kept = frozenset(sizes), kept_head
        self.met = None if kept_head is None else kept_head == self.head

    @property
    def rows(self) -> int:
        """How many fit so far."""
        return self.chain.place

    @property
    def head(self) -> str:
        """The chain up to the last of them."""
        return self.chain.head.hex()

    def over(self, rows: Iterable[LedgerRow]) -> Iterator[LedgerRow]:
        """The same rows, each after it was found to fit. Raises Misfit at the first that does not."""
        for row in rows:
            broken = self.chain.fault(row)
            if broken is not None:
                raise Misfit(broken)
            self._take(row)
            yield row

    def along(self, rows: Iterable[LedgerRow], tell: Tell | None = None) -> Broken | None:
        """To the end, or to the first row that does not fit."""
        try:
            for row in self.over(rows):
                if tell is not None and row.seq % OFTEN == 0:
                    tell(row.seq, row.chain_hash)
        except Misfit as error:
            return error.broken
        return None

    def _take(self, row: LedgerRow) -> None:
        leaf, size = self.chain.leaf, self.chain.place
        if size % BLOCK == 0:
            self.nodes.update(completed(self.tree, leaf))
        self.tree.push(leaf)
        if size in self._sizes:
            self.roots[size] = self.tree.root()
        if row.chain_hash == self._kept:
            self.met = True
        if _MARK in row.content and (key := introduced_by(row.content)) is not None:
            self.keys.append(Introduced(size, key))


class Misfit(Exception):
    """A row that does not fit."""

    def __init__(self, broken: Broken) -> None:
        super().__init__(*broken)
        self.broken = broken


def resumed(row: LedgerRow | None) -> Chain:
    """A chain that goes on behind a row, as far as that is believed; from the beginning where there is none."""
    chain = Chain()
    if row is not None:
        chain.place, chain.head = row.seq, bytes.fromhex(row.chain_hash)
    return chain


def completed(tree: Frontier, leaf: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
    """The perfect subtrees of kept levels that a leaf completes, before it is pushed: level and index, and hash."""
    size, found = tree.size + 1, leaf
    for level, peak in enumerate(reversed(tree.peaks), start=1):
        if size % (1 << level):
            return
        found = node_hash(peak, found)
        if level in LEVELS:
            yield (level, (size >> level) - 1), found


def due(size: int) -> Iterator[tuple[int, int]]:
    """The subtrees that are kept with a ledger of that many rows, by level and index."""
    return ((level, index) for level in LEVELS for index in range(size >> level))


def first_unfit(kept: Iterable[TreeNode], walk: Walk, size: int) -> tuple[TreeNode, str] | None:
    """The first kept subtree that is not what the rows say, or is not due at this size, or misses; None where all fit.

    One that misses is told with an empty hash.
    """
    missing = dict.fromkeys(due(min(size, walk.rows)))
    for node in kept:
        place = (node.level, node.index)
        if place not in missing:
            return node, "it is there twice, or was added"
        if walk.nodes[place] != node.hash:
            return node, "its hash was changed"
        del missing[place]
    for level, index in missing:
        return TreeNode(level=level, index=index, hash=b""), "it is missing"
    return None


def changed_block(kept: Iterable[TreeNode], walk: Walk) -> tuple[int, int] | None:
    """The first rows that a kept subtree of the lowest level tells otherwise: from the one to the other."""
    for node in kept:
        if node.level == LEVELS[0] and walk.nodes.get((node.level, node.index), node.hash) != node.hash:
            return node.index * BLOCK + 1, (node.index + 1) * BLOCK
    return None


def introduced_by(content: bytes) -> VerifierKey | None:
    """The key that a row of the engine introduces; None for every other row."""
    try:
        told: dict[str, Any] = msgspec.json.decode(content)
        if (told["kind"], told["source"]) != (INTRODUCED, "engine"):
            return None
        return parse_vkey(told["body"]["vkey"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
