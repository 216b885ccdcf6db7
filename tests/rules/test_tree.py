"""The tree against RFC 6962's own definitions, and against an independent implementation of it."""

import hashlib
from functools import cache

import pytest
from pymerkle import InmemoryTree
from pymerkle.proof import InclusionProof

from keisei.rules.tree import (
    EMPTY,
    Frontier,
    consistency_path,
    inclusion_path,
    node_hash,
    root_of,
    verify_consistency,
    verify_inclusion,
)

MOST = 34
DATA = [str(number).encode() for number in range(MOST)]
LEAVES = [hashlib.sha256(b"\x00" + each).digest() for each in DATA]
SIZES = range(MOST + 1)


def subtree(level, index):
    """A perfect subtree, by its definition."""
    return mth(index << level, (index + 1) << level)


# --- RFC 6962, section 2.1, as it is written there ----------------------------------------------------------------


@cache
def mth(first, last):
    if last == first:
        return hashlib.sha256(b"").digest()
    if last - first == 1:
        return LEAVES[first]
    k = largest(last - first)
    return hashlib.sha256(b"\x01" + mth(first, first + k) + mth(first + k, last)).digest()


def path(m, first, last):
    if last - first == 1:
        return []
    k = largest(last - first)
    if m < k:
        return [*path(m, first, first + k), mth(first + k, last)]
    return [*path(m - k, first + k, last), mth(first, first + k)]


def subproof(m, first, last, *, whole):
    if m == last - first:
        return [] if whole else [mth(first, last)]
    k = largest(last - first)
    if m <= k:
        return [*subproof(m, first, first + k, whole=whole), mth(first + k, last)]
    return [*subproof(m - k, first + k, last, whole=False), mth(first, first + k)]


def largest(n):
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def test_the_roots_are_those_of_the_definition_however_they_are_made():
    frontier = Frontier()
    for size in SIZES:
        assert root_of(size, subtree) == frontier.root() == mth(0, size)
        assert Frontier(size, frontier.peaks).root() == mth(0, size)
        if size < MOST:
            frontier.push(LEAVES[size])
    assert root_of(0, subtree) == EMPTY


def test_an_independent_tree_has_the_same_roots_and_takes_our_paths():
    peer = InmemoryTree(algorithm="sha256")
    for size, data in enumerate(DATA, start=1):
        peer.append_entry(data)
        assert peer.get_root(size) == root_of(size, subtree)
        for index in range(size):
            theirs, ours = peer.prove_inclusion(index + 1, size), inclusion_path(index, size, subtree)
            told = {"type": "inclusion", "metadata": theirs.get_metadata(), "rule": theirs.rule}
            told["path"] = [each.hex() for each in (LEAVES[index], *ours)]
            InclusionProof.deserialize(told).verify(LEAVES[index], peer.get_root(size), index=index + 1, size=size)


def test_an_independent_tree_agrees_on_which_sizes_are_one_trees_beginning():
    peer = InmemoryTree(algorithm="sha256")
    peer.append_entries(DATA)
    for old in range(1, MOST):
        for new in range(old + 1, MOST + 1):
            peer.prove_consistency(old, new).verify(root_of(old, subtree), root_of(new, subtree))
            ours = consistency_path(old, new, subtree)
            assert verify_consistency(old, peer.get_root(old), new, peer.get_root(new), ours)


def test_every_inclusion_is_proved_and_nothing_else_is():
    for size in range(1, MOST + 1):
        root = mth(0, size)
        for index in range(size):
            found = inclusion_path(index, size, subtree)
            assert found == path(index, 0, size)
            assert verify_inclusion(LEAVES[index], index, size, found, root)
            wrong = [
                (LEAVES[index], (index + 1) % size, size, found, root),
                (bytes(32), index, size, found, root),
                (LEAVES[index], index, size, [*found, bytes(32)], root),
                (LEAVES[index], index, size, found[:-1], root),
                (LEAVES[index], index, size, found[::-1], root),
                (LEAVES[index], index, size, found, bytes(32)),
            ]
            for case in wrong:
                same = case[3] == found and case[:3] == (LEAVES[index], index, size) and case[4] == root
                assert same or not verify_inclusion(*case), case


def test_every_beginning_is_proved_and_nothing_else_is():
    for new in SIZES:
        for old in range(new + 1):
            found = consistency_path(old, new, subtree)
            assert found == ([] if old in {0, new} else subproof(old, 0, new, whole=True))
            assert verify_consistency(old, mth(0, old), new, mth(0, new), found)
            assert not verify_consistency(old, bytes(32), new, mth(0, new), found)
            assert not verify_consistency(old, mth(0, old), new, mth(0, new), [*found, bytes(32)])
            if old:
                assert not verify_consistency(old, mth(0, old), new, bytes(32), found)
            if found:
                assert not verify_consistency(old, mth(0, old), new, mth(0, new), found[:-1])
                assert not verify_consistency(old, mth(0, old - 1), new, mth(0, new), found)
                assert not verify_consistency(old, mth(0, old), new, mth(0, new - 1), found)


@pytest.mark.parametrize(("index", "size"), [(0, 0), (-1, 3), (3, 3), (2**70, 3)])
def test_what_is_not_in_the_tree_has_no_path(index, size):
    with pytest.raises(ValueError, match="has no leaf"):
        inclusion_path(index, size, subtree)
    assert not verify_inclusion(LEAVES[0], index, size, [], LEAVES[0])


def test_a_larger_tree_is_not_the_beginning_of_a_smaller():
    with pytest.raises(ValueError, match="not the beginning"):
        consistency_path(5, 4, subtree)
    assert not verify_consistency(5, mth(0, 5), 4, mth(0, 4), [])


def test_hashes_of_another_length_prove_nothing():
    assert not verify_inclusion(LEAVES[0][:31], 0, 1, [], LEAVES[0][:31])
    short = LEAVES[1][:31]
    assert not verify_inclusion(LEAVES[0], 0, 2, [short], node_hash(LEAVES[0], short))


def test_peaks_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="3 leaves does not have 1 peaks"):
        Frontier(3, [bytes(32)])
