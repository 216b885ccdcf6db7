"""The ledger's tree from a store: the same hashes whether nodes are kept or not, and little is read where they are."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.error import OperatorError
from keisei.records.move import LedgerCheckpoint, TreeNode
from keisei.rules.tree import Frontier, consistency_path, inclusion_path, root_of, verify_consistency, verify_inclusion
from keisei.wiring.ledger_tree import LEVELS, fill, fits, subtree

MANY = 70_000
"""More than a node of level 16 covers."""


class Leaves:
    """A ledger of hashes, and how many of them were read."""

    def __init__(self, leaves):
        self.all, self.nodes, self.read = leaves, {}, 0

    def leaves(self, first, limit):
        found = self.all[first - 1 : first - 1 + limit]
        self.read += len(found)
        return found

    def tree_nodes(self, level, first, limit):
        found = sorted(key for key in self.nodes if key[0] == level and key[1] >= first)[:limit]
        self.read += len(found)
        return [TreeNode(level=level, index=index, hash=self.nodes[level, index]) for _, index in found]

    def keep(self, size):
        for node in fill(self, size, subtree(self)):
            assert (node.level, node.index) not in self.nodes
            self.nodes[node.level, node.index] = node.hash


@pytest.fixture(scope="module")
def leaves():
    return [hashlib.sha256(b"%d" % number).digest() for number in range(MANY)]


@pytest.fixture(scope="module")
def roots(leaves):
    """The root at every size, by a tree that grows leaf by leaf."""
    tree, found = Frontier(), [Frontier().root()]
    for leaf in leaves:
        tree.push(leaf)
        found.append(tree.root())
    return found


@pytest.fixture(scope="module")
def grown(leaves):
    """A ledger whose nodes were kept at many sizes on the way."""
    ledger = Leaves(leaves)
    for size in (1, 255, 256, 257, 3000, 65_535, 65_536, 69_999):
        ledger.keep(size)
    return ledger


def test_nodes_are_kept_for_every_perfect_subtree_of_their_levels(grown):
    sizes = {level: sum(1 for each, _ in grown.nodes if each == level) for level in LEVELS}

    assert sizes == {8: 69_999 >> 8, 16: 1, 24: 0, 32: 0}


def test_a_block_fits_what_is_kept_over_it_up_to_the_top(grown, leaves):
    block, other = leaves[512:768], [leaves[0], *leaves[513:768]]
    ledger = Leaves([*leaves[:512], *other, *leaves[768:]])
    ledger.nodes = dict(grown.nodes)

    assert fits(grown, 2, block)
    assert fits(grown, (MANY >> 8) - 1, leaves[(MANY >> 8) * 256 - 256 : (MANY >> 8) * 256])
    assert not fits(ledger, 2, other)
    del ledger.nodes[8, 2]
    ledger.nodes[8, 2] = subtree(ledger)(8, 2)  # rewritten with its rows: the one of level 16 tells otherwise
    assert not fits(ledger, 2, other)
    ledger.nodes[16, 0] = bytes(32)
    assert not fits(ledger, 3, leaves[768:1024])


@settings(max_examples=60)
@given(st.integers(0, MANY))
def test_the_root_is_that_of_the_rows_with_and_without_nodes(grown, leaves, roots, size):
    assert root_of(size, subtree(grown)) == roots[size]
    if size < 2000:
        assert root_of(size, subtree(Leaves(leaves))) == roots[size]


@settings(max_examples=60)
@given(st.integers(1, MANY), st.integers(0, MANY))
def test_proofs_hold_and_read_little(grown, leaves, roots, size, other):
    index, old = other % size, other % (size + 1)
    grown.read = 0

    path = inclusion_path(index, size, subtree(grown))
    assert grown.read < 256 * 6
    assert verify_inclusion(leaves[index], index, size, path, roots[size])
    between = consistency_path(old, size, subtree(grown))
    assert verify_consistency(old, roots[old], size, roots[size], between)


def test_a_row_that_is_missing_is_named(leaves):
    with pytest.raises(OperatorError, match="row 301 is missing"):
        root_of(310, subtree(Leaves(leaves[:300])))
    with pytest.raises(OperatorError, match="row 3 is missing"):
        root_of(2**63 - 1, subtree(Leaves(leaves[:2])))


def test_nodes_that_are_gone_are_made_from_rows(grown, leaves, roots):
    ledger = Leaves(leaves)
    ledger.nodes = {key: value for key, value in grown.nodes.items() if key not in {(8, 3), (16, 0)}}

    assert root_of(69_000, subtree(ledger)) == roots[69_000]


def test_a_changed_node_is_another_root(grown, leaves, roots):
    ledger = Leaves(leaves)
    ledger.nodes = {**grown.nodes, (8, 3): bytes(32)}

    assert root_of(3000, subtree(ledger)) != roots[3000]


def test_a_real_store_keeps_what_is_missing_and_nothing_twice(house):
    ledger = house.store
    rows = [hashlib.sha256(b"%d" % number).digest() for number in range(600)]
    with ledger._reader.write() as cursor:
        # only seals: the tree is of leaf hashes, and content would take its time
        cursor.execute("PRAGMA defer_foreign_keys = ON")
        kept = "INSERT INTO ledger (entry_id, kind, subject, content, leaf_hash) VALUES (?, 'k', 's', x'00', ?)"
        cursor.executemany(kept, list(enumerate(rows, start=1)))
        sealed = "INSERT INTO seals (seq, entry_id, leaf_hash, chain_hash) VALUES (?, ?, ?, x'00')"
        cursor.executemany(sealed, [(seq, seq, leaf) for seq, leaf in enumerate(rows, start=1)])
    tree = Frontier()
    for leaf in rows:
        tree.push(leaf)

    nodes = fill(ledger, 600, subtree(ledger))
    assert [(node.level, node.index) for node in nodes] == [(8, 0), (8, 1)]
    assert ledger.keep_checkpoint(LedgerCheckpoint(size=600, note="x"), nodes)

    assert fill(ledger, 600, subtree(ledger)) == []
    assert root_of(600, subtree(ledger)) == tree.root()
