"""Proofs from a real ledger, verified by others: pymerkle, and RFC 6962's definitions as they are written."""

import hashlib
import json

import pymerkle
import pytest
from pymerkle.core import _consistency_path_layout, _inclusion_path_layout
from pymerkle.proof import ConsistencyProof, InclusionProof

from keisei.records.error import OperatorError
from keisei.rules.note import parse_checkpoint, parse_vkey, signers_of, split_note
from keisei.wiring.ledger_proof import consistency, inclusion
from tests.wiring.ledgers import ORIGIN, Book

ROWS = 300


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    made = Book(tmp_path_factory.mktemp("a book"))
    made.fill(270)
    made.sign()
    made.fill(ROWS - 271)
    yield made
    made.store.close()


@pytest.fixture(scope="module")
def contents(book):
    return [row.content for row in book.store.rows()]


@pytest.fixture(scope="module")
def other(contents):
    """The same entries in somebody else's tree."""
    tree = pymerkle.InmemoryTree(algorithm="sha256")
    for content in contents:
        tree.append_entry(content)
    return tree


def mth(leaves):
    """RFC 6962, 2.1: the hash of a list."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    k = split(len(leaves))
    return hashlib.sha256(b"\1" + mth(leaves[:k]) + mth(leaves[k:])).digest()


def split(n):
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def path(m, leaves):
    """RFC 6962, 2.1.1: PATH(m, D[n])."""
    if len(leaves) == 1:
        return []
    k = split(len(leaves))
    if m < k:
        return [*path(m, leaves[:k]), mth(leaves[k:])]
    return [*path(m - k, leaves[k:]), mth(leaves[:k])]


def proof(m, leaves):
    """RFC 6962, 2.1.2: PROOF(m, D[n])."""
    return subproof(m, leaves, complete=True)


def subproof(m, leaves, *, complete):
    if m == len(leaves):
        return [] if complete else [mth(leaves)]
    k = split(len(leaves))
    if m <= k:
        return [*subproof(m, leaves[:k], complete=complete), mth(leaves[k:])]
    return [*subproof(m - k, leaves[k:], complete=False), mth(leaves[:k])]


def raw(hashes):
    return [bytes.fromhex(each) for each in hashes]


PAIRS = [(1, 1), (1, 2), (2, 2), (3, 3), (1, 3), (4, 7), (7, 7), (8, 8), (5, 8), (200, 255), (256, 256), (256, 257)]
PAIRS += [(1, 271), (257, 271), (271, 271), (1, 300), (299, 300), (300, 300)]


@pytest.mark.parametrize(("seq", "size"), PAIRS)
def test_that_a_row_is_there_is_verified_by_others(book, contents, other, seq, size):
    told = json.loads(json.dumps(inclusion(book.store, ORIGIN, seq, size)))
    leaf, root, hashes = bytes.fromhex(told["leaf_hash"]), bytes.fromhex(told["root"]), raw(told["path"])

    assert hashes == path(seq - 1, contents[:size])
    assert root == mth(contents[:size]) == other.get_root(size)
    assert leaf == hashlib.sha256(b"\0" + told["content"].encode()).digest() == other.get_leaf(seq)
    assert (told["format"], told["origin"], told["seq"], told["index"]) == ("keisei-proof/v1", ORIGIN, seq, seq - 1)
    rule = _inclusion_path_layout(seq, size)[0]
    theirs = InclusionProof("sha256", security=True, size=size, index=seq, rule=rule, path=[leaf, *hashes])
    pymerkle.verify_inclusion(leaf, root, theirs, index=seq, size=size)
    assert other.prove_inclusion(seq, size).path == theirs.path
    with pytest.raises(pymerkle.InvalidProof):
        pymerkle.verify_inclusion(leaf[::-1], root, theirs)


@pytest.mark.parametrize(("old", "new"), [*PAIRS, (128, 256), (256, 300), (271, 300), (100, 271)])
def test_that_it_only_grew_is_verified_by_others(book, contents, other, old, new):
    told = json.loads(json.dumps(consistency(book.store, ORIGIN, old, new)))
    before, after, hashes = bytes.fromhex(told["old_root"]), bytes.fromhex(told["new_root"]), raw(told["path"])

    assert hashes == proof(old, contents[:new])
    assert (before, after) == (mth(contents[:old]), mth(contents[:new]))
    assert (told["format"], told["old_size"], told["new_size"]) == ("keisei-consistency/v1", old, new)
    rule, subset, ranges = _consistency_path_layout(old, new)
    # theirs is laid out another way: the same hashes where ours has them all, else their own between our roots
    known = dict(zip(covered(old, 0, new), hashes, strict=True)) | {(0, old): before}
    theirs = other.prove_consistency(old, new)
    if known.keys() >= set(ranges):
        given = [known[each] for each in ranges]
        theirs = ConsistencyProof(
            "sha256", security=True, size=new, prior_size=old, rule=rule, subset=subset, path=given
        )
    pymerkle.verify_consistency(before, after, theirs, prior_size=old, later_size=new)
    with pytest.raises(pymerkle.InvalidProof):
        pymerkle.verify_consistency(before, after[::-1], theirs)


def covered(m, first, last, *, complete=True):
    """The leaves under each hash of PROOF(m, D[first:last])."""
    if m == last - first:
        return [] if complete else [(first, last)]
    k = split(last - first)
    if m <= k:
        return [*covered(m, first, first + k, complete=complete), (first + k, last)]
    return [*covered(m - k, first + k, last, complete=False), (first, first + k)]


def test_without_a_size_it_is_that_of_the_newest_checkpoint_with_its_note(book):
    told = inclusion(book.store, ORIGIN, 5)

    body = parse_checkpoint(split_note(told["checkpoint"])[0])
    assert (told["size"], body.size, body.root.hex(), body.origin) == (271, 271, told["root"], ORIGIN)
    assert signers_of(told["checkpoint"], [parse_vkey(book.signer.vkey)])
    assert consistency(book.store, ORIGIN, 10)["checkpoint"] == told["checkpoint"]
    assert inclusion(book.store, ORIGIN, 290)["checkpoint"] is None
    assert inclusion(book.store, ORIGIN, 290)["size"] == ROWS
    assert inclusion(book.store, ORIGIN, 5, 100)["checkpoint"] is None
    assert consistency(book.store, ORIGIN, 0)["path"] == []


@pytest.mark.parametrize("ask", [(0, None), (301, None), (-1, None), (2**70, None), (10, 9), (10, 301), (10, 2**70)])
def test_what_is_not_there_is_one_clear_error(book, ask):
    with pytest.raises(OperatorError):
        inclusion(book.store, ORIGIN, *ask)
    if ask[0] != 0:
        with pytest.raises(OperatorError):
            consistency(book.store, ORIGIN, *ask)


def test_a_changed_ledger_proves_nothing(tmp_path):
    book = Book(tmp_path / "book")
    book.fill(300)
    book.sign()
    for statement in (
        "UPDATE ledger SET content = CAST('{}' AS BLOB) WHERE entry_id = 7",
        "UPDATE tree_nodes SET hash = zeroblob(32)",
        "UPDATE seals SET leaf_hash = zeroblob(32) WHERE seq = 290",
        "DELETE FROM seals WHERE seq = 280",
        "UPDATE checkpoints SET note = 'x'",
    ):
        copy = book.copy()
        copy.read(statement)
        with pytest.raises(OperatorError, match="ledger"):
            inclusion(copy.ledger, ORIGIN, 7)
