"""Rows that an attestation is made of: whatever is changed of one, of its place or of the tree over it, is found."""

import pytest

from keisei.rules.attestation_row import row_of
from keisei.rules.ledger import GENESIS, chain_hash, leaf_hash
from keisei.wiring.attestation_row import unproved
from tests.wiring.ledgers import Book, flips

SIGNED, ROWS = 270, 280
"""A whole block of 256 whose node is kept, rows that a checkpoint covers besides, and rows that none does."""
OWN = (1, 100, 258, 275, ROWS)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    book = Book(tmp_path_factory.mktemp("a book"))
    book.fill(SIGNED - 1)
    book.sign()
    book.fill(ROWS - SIGNED)
    book.store.close()
    return book.copy()


def told(ledger, places=OWN):
    """What is found of the rows as they read now; a row that cannot be read was found out before."""
    rows = []
    for seq in places:
        row = ledger.row(seq)
        try:
            rows.append(row_of(seq, row.content if row is not None else b""))
        except ValueError:
            return ["unreadable"]
    return list(unproved(ledger, rows))


def test_rows_that_nobody_has_changed_are_proved(copy):
    assert copy.read("SELECT count(*) FROM seals") == [(ROWS,)]
    assert copy.read("SELECT count(*) FROM tree_nodes") == [(1,)]
    assert told(copy.ledger) == []


@pytest.mark.parametrize("seq", OWN)
@pytest.mark.parametrize(
    ("table", "column"),
    [("ledger", "content"), ("ledger", "leaf_hash"), ("seals", "leaf_hash"), ("seals", "chain_hash")],
)
def test_every_bit_of_such_a_row_is_looked_at(copy, seq, table, column):
    name = "seq" if table == "seals" else "entry_id"
    ((value,),) = copy.read(f"SELECT {column} FROM {table} WHERE {name} = ?", (seq,))  # noqa: S608 - ours
    for changed in list(flips(value, is_text=False))[::7]:
        sql = f"UPDATE {table} SET {column} = ? WHERE {name} = ?"  # noqa: S608 - likewise
        assert copy.after((sql, changed, seq), look=lambda: told(copy.ledger, (seq,)))


def rewritten(ledger, seq, last):
    """Statements that put another row in a place, and carry its hashes on as far as `last`."""
    content = ledger.row(seq).content.replace(b'"actor":"a"', b'"actor":"b"')
    leaf, head = leaf_hash(content), GENESIS if seq == 1 else bytes.fromhex(ledger.row(seq - 1).chain_hash)
    yield "UPDATE ledger SET content = ?, leaf_hash = ? WHERE entry_id = ?", content, leaf, seq
    yield "UPDATE seals SET leaf_hash = ? WHERE seq = ?", leaf, seq
    for place in range(seq, last + 1):
        head = chain_hash(head, place, leaf if place == seq else bytes.fromhex(ledger.row(place).leaf_hash))
        yield "UPDATE seals SET chain_hash = ? WHERE seq = ?", head, place


@pytest.mark.parametrize("seq", [1, 100, 258])
def test_a_row_that_was_rewritten_with_the_whole_chain_behind_it_is_found_by_what_was_signed(copy, seq):
    changes = list(rewritten(copy.ledger, seq, ROWS))

    assert copy.after(*changes, look=lambda: told(copy.ledger, (seq,)))


def test_a_row_that_no_checkpoint_covers_is_found_where_the_chain_goes_on_as_it_was(copy):
    changes = list(rewritten(copy.ledger, 275, 275))

    (fault,) = copy.after(*changes, look=lambda: told(copy.ledger, (275,)))

    assert fault.startswith("ledger/275: the row behind it does not follow it")


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE tree_nodes SET hash = zeroblob(32)",
        "UPDATE checkpoints SET note = replace(note, '270', '269')",
        "UPDATE checkpoints SET note = ''",
        "DELETE FROM seals WHERE seq > 260",
        "DELETE FROM seals WHERE seq = 99",
        "UPDATE ledger SET kind = 'x' WHERE entry_id = 100",
    ],
)
def test_what_stands_around_it_is_looked_at_too(copy, sql):
    assert copy.after((sql,), look=lambda: told(copy.ledger, (1, 100)))


def test_a_few_reads_do_whatever_the_ledger_holds(copy):
    """A landing waits for this: no row is read but those that are asked for and their neighbours."""
    read, met = copy.ledger.row, []

    class Counting:
        def __getattr__(self, name):
            assert name != "rows"
            return getattr(copy.ledger, name)

        def row(self, seq):
            met.append(seq)
            return read(seq)

    assert told(Counting(), (100,)) == []
    assert set(met) == {99, 100, 101}
