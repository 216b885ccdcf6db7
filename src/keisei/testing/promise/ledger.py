"""The ledger's tree: leaf hashes in their order, and checkpoints and nodes that are kept once and for good."""

import hashlib

from keisei.records.move import LedgerCheckpoint, NewEntry, TreeNode, UnsealedRows
from keisei.rules.ledger import leaf_hash
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.queue import Desk

FAR = 2**63 - 1


def told(desk: Desk, number: int) -> None:
    """So many rows."""
    for each in range(number):
        desk.store.append(NewEntry(kind="told", actor="ann", subject=f"s{each}", body={"n": each}))


def signed(size: int, note: str = "note é\n") -> LedgerCheckpoint:
    """What a store takes for a checkpoint: it does not read it."""
    return LedgerCheckpoint(size=size, note=note)


def node(level: int, index: int) -> TreeNode:
    """A node with a hash of its own."""
    return TreeNode(level=level, index=index, hash=hashlib.sha256(f"{level} {index}".encode()).digest())


@promise
def a_ledger_row_is_read_as_it_is_stored(desk: Desk) -> None:
    """The same bytes, whether it is asked for alone or with all others."""
    told(desk, 3)
    rows = list(desk.store.rows())

    assert [desk.store.row(seq) for seq in (1, 2, 3)] == rows
    assert [desk.store.row(seq) for seq in (0, 4, -1, FAR, 10**40, -(10**40))] == [None] * 6


@promise
def no_row_of_a_quiet_ledger_waits_for_its_seal(desk: Desk) -> None:
    """Before the first and behind the last, and nothing hinders the sealing."""
    quiet = UnsealedRows(rows=0, since=None)
    assert desk.store.unsealed_rows() == quiet

    told(desk, 2)

    assert desk.store.unsealed_rows() == quiet


@promise
def leaf_hashes_are_told_in_the_order_of_their_places(desk: Desk) -> None:
    """From any place on, at most so many."""
    assert (desk.store.size(), desk.store.leaves(1, 10)) == (0, [])

    told(desk, 5)
    leaves = [leaf_hash(row.content) for row in desk.store.rows()]

    assert desk.store.size() == len(leaves)
    assert desk.store.leaves(1, 10) == leaves
    assert (desk.store.leaves(2, 2), desk.store.leaves(5, 9)) == (leaves[1:3], leaves[4:])
    assert desk.store.leaves(6, 1) == desk.store.leaves(1, 0) == desk.store.leaves(FAR, 1) == []
    assert desk.store.leaves(0, 3) == desk.store.leaves(-(10**40), 3) == []  # there is no such place


@promise
def a_checkpoint_is_kept_once_with_its_nodes(desk: Desk) -> None:
    """In one commit, and only behind all others: what comes late writes nothing of either."""
    store = desk.store
    assert (store.newest_checkpoint(), store.checkpoints(), store.kept()) == (None, [], ([], []))

    assert store.keep_checkpoint(signed(300), [node(8, 0)])
    assert not store.keep_checkpoint(signed(300, "another\n"), [node(8, 1)])
    assert not store.keep_checkpoint(signed(299), [node(8, 1)])
    assert store.keep_checkpoint(signed(70_000), [node(8, 0), node(16, 0), node(8, 272)])

    assert store.kept() == ([signed(300), signed(70_000)], [node(8, 0), node(8, 272), node(16, 0)])
    assert store.newest_checkpoint() == signed(70_000)


@promise
def checkpoints_and_nodes_are_listed_page_by_page(desk: Desk) -> None:
    """In their order, from any place on."""
    store = desk.store
    for size in (10, 20, 30):
        assert store.keep_checkpoint(signed(size), [node(8, size), node(16, size)])

    assert [each.size for each in store.checkpoints()] == [10, 20, 30]
    assert [each.size for each in store.checkpoints(after=10, limit=1)] == [20]
    assert store.checkpoints(after=30) == store.checkpoints(limit=0) == store.checkpoints(after=10**40) == []
    assert store.tree_nodes(8, 0, 10) == [node(8, 10), node(8, 20), node(8, 30)]
    assert store.tree_nodes(8, 11, 1) == [node(8, 20)]
    assert store.tree_nodes(16, 31, 10) == store.tree_nodes(24, 0, 10) == store.tree_nodes(10**40, -(10**40), 1) == []


@promise
def of_checkpoints_that_are_kept_at_once_one_of_each_size_stays(desk: Desk) -> None:
    """And the last is the largest, whoever came first."""
    stores = [desk.another() for _ in range(PARTIES)]
    sizes = [10 + each % 2 for each in range(PARTIES)]
    notes = [f"note {each}\n" for each in range(PARTIES)]

    kept = at_once(lambda store, size, note: store.keep_checkpoint(signed(size, note), []), stores, sizes, notes)

    stay = [signed(size, note) for size, note, done in zip(sizes, notes, kept, strict=True) if done]
    assert desk.store.checkpoints() == sorted(stay, key=lambda each: each.size)
    assert len({each.size for each in stay}) == len(stay)
    assert desk.store.newest_checkpoint() in stay
