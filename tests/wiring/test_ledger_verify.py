"""Whatever is done to a stored ledger is found, and where: every bit, every row that goes, comes or moves."""

import os
import random
import subprocess
from datetime import UTC, datetime

import pytest

from keisei.records.error import OperatorError
from keisei.records.move import UnsealedRows
from keisei.rules.ledger_walk import Walk, first_unfit
from keisei.rules.note import checkpoint_text, parse_vkey, signed_note
from keisei.rules.tree import Frontier
from keisei.store.ledger import insert
from keisei.wiring.checkpoint import checkpoint
from keisei.wiring.ledger_verify import _unsealed
from keisei.wiring.signing import signer
from tests.wiring.ledgers import ORIGIN, Book, Copy, flips, new

TEXT = {"kind", "subject", "note"}
COLUMNS = {
    "ledger": ("entry_id", ["entry_id", "kind", "subject", "content", "leaf_hash"]),
    "seals": ("seq", ["seq", "entry_id", "leaf_hash", "chain_hash"]),
    "checkpoints": ("size", ["size", "note"]),
    "tree_nodes": ("rowid", ["level", "place", "hash"]),
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Four rows, one of which introduces the key, and checkpoints of two sizes."""
    book = Book(tmp_path_factory.mktemp("small book"))
    book.fill(1)
    book.sign()  # of two rows: the key's own is the second
    book.fill(2)
    book.sign()
    yield book
    book.store.close()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Three blocks of 256 rows and some, all under a checkpoint."""
    book = Book(tmp_path_factory.mktemp("large book"))
    book.fill(300)
    book.sign()
    book.fill(600)
    book.sign()
    yield book
    book.store.close()


def every_flip(copy: Copy, table: str):
    """Statements that flip one bit each, and the row they flip it in."""
    key, columns = COLUMNS[table]
    if table == "tree_nodes":
        key = "place"
    for column in columns:
        is_text = column in TEXT
        cells = copy.read(f"SELECT {key}, {column} FROM {table}")  # noqa: S608 - our own names
        for row, value in cells:
            for changed in flips(value, is_text):
                cast = "CAST(? AS TEXT)" if is_text else "?"
                yield row, column, changed, (f"UPDATE {table} SET {column} = {cast} WHERE {key} = ?", changed, row)  # noqa: S608


@pytest.mark.parametrize("table", ["ledger", "seals"])
def test_every_bit_of_every_row_is_found_in_its_row(small, table):
    copy, looked = small.copy(), 0
    assert copy.verify().ok

    for row, column, changed, statement in every_flip(copy, table):
        found = copy.after(statement)
        if found is None:
            assert column in {"entry_id", "seq"}  # a number that another row has
            continue
        looked += 1
        assert not found.ok, (column, row, changed)
        places = {row, changed} if column == "seq" else {row}
        assert found.broken.row in places, (column, row, changed, found.broken)

    assert looked > 2000
    assert copy.verify().ok


def test_every_bit_of_every_checkpoint_is_found_and_the_checkpoint_named(small):
    copy, looked = small.copy(), 0

    for size, column, changed, statement in every_flip(copy, "checkpoints"):
        found = copy.after(statement)
        if found is None:
            continue
        looked += 1
        assert not found.ok, (column, size, changed)
        shown = changed if column == "size" else size
        assert f"checkpoint of {shown} rows: " in found.broken.why, (column, changed, found.broken)

    assert looked > 2000


def test_every_bit_of_every_node_of_the_tree_is_found_and_the_node_named(large):
    copy, looked = large.copy(), 0
    whole = copy.verify()
    assert (whole.ok, whole.rows, whole.tree_nodes) == (True, 901, 3)

    walk = Walk()
    assert walk.along(copy.ledger.rows()) is None  # once: it is the same for all
    for place, column, changed, statement in every_flip(copy, "tree_nodes"):
        found = copy.after(statement, look=lambda: first_unfit(copy.ledger.kept()[1], walk, whole.rows) or "whole")
        if found is None:
            continue
        looked += 1
        assert found != "whole", (column, place, changed)
        assert found[0].index in {place, changed}

    assert looked > 800
    assert "node 1 of level 8 of the tree" in copy.after(statement_of_node()).broken.why


def statement_of_node():
    return ("UPDATE tree_nodes SET hash = zeroblob(32) WHERE place = 1",)


@pytest.mark.parametrize("table", ["ledger", "seals"])
@pytest.mark.parametrize("row", [1, 2, 3, 4])
def test_a_row_that_is_gone_from_a_table_is_found_in_its_place(small, table, row):
    found = small.copy().after((f"DELETE FROM {table} WHERE {COLUMNS[table][0]} = ?", row))  # noqa: S608 - ours

    assert found.broken.row == row


@pytest.mark.parametrize("row", [1, 2, 3, 4])
def test_a_row_that_is_gone_from_both_is_found_in_its_place(small, row):
    gone = [(f"DELETE FROM {table} WHERE {COLUMNS[table][0]} = ?", row) for table in ("ledger", "seals")]  # noqa: S608
    moved = [("UPDATE seals SET seq = seq - 1 WHERE seq > ?", row)]

    assert small.copy().after(*gone).broken.row == row
    assert small.copy().after(*gone, *moved).broken.row in {row, 4}


def test_a_row_that_was_added_is_found(small):
    copy = small.copy()
    content = copy.read("SELECT content, leaf_hash FROM ledger WHERE entry_id = 1")[0]
    write = ("INSERT INTO ledger (kind, subject, content, leaf_hash) VALUES ('k', 't0', ?, ?)", *content)
    chain = copy.read("SELECT chain_hash FROM seals WHERE seq = 4")[0][0]

    assert copy.after(write).broken.row == 5
    for seq in (-5, 0, 5, 6, 2**63 - 1):
        seal = ("INSERT INTO seals VALUES (?, 5, ?, ?)", seq, content[1], chain)
        assert copy.after(write, seal).broken.row in {seq, 5}


@pytest.mark.parametrize(("one", "other"), [(1, 2), (1, 4), (3, 4)])
def test_rows_that_were_exchanged_are_found(small, one, other):
    copy = small.copy()
    away = 99
    seals = [
        ("UPDATE seals SET {0} = 99 WHERE {0} = ?", one),
        ("UPDATE seals SET {0} = ? WHERE {0} = ?", one, other),
        ("UPDATE seals SET {0} = ? WHERE {0} = ?", other, away),
    ]

    for column in ("seq", "entry_id"):
        assert copy.after(*[(sql.format(column), *rest) for sql, *rest in seals]).broken.row == one
    ledger = [(sql.format("entry_id").replace("seals", "ledger"), *rest) for sql, *rest in seals]
    assert copy.after(*ledger).broken.row == one


def test_rows_that_say_the_same_cannot_be_exchanged_either(tmp_path):
    book = Book(tmp_path / "book")
    book.fill(60, kind="same")
    with book.store._reader.write() as cursor:
        insert(cursor, [new(), new()], 1)
    copy = book.copy()

    exchanged = [("UPDATE seals SET entry_id = 120 - entry_id WHERE seq = ?", 59)]
    assert copy.verify().ok
    swapped = [
        ("UPDATE seals SET entry_id = 99 WHERE seq = 61",),
        ("UPDATE seals SET entry_id = 61 WHERE seq = 62",),
        ("UPDATE seals SET entry_id = 62 WHERE seq = 61",),
    ]
    found = copy.after(*swapped)

    assert (found.ok, found.broken.row) == (False, 61)
    assert "another number" in found.broken.why
    assert copy.after(*exchanged) is None or not copy.after(*exchanged).ok


def test_numbers_that_were_changed_in_both_tables_are_found(small):
    found = small.copy().after(
        ("UPDATE ledger SET entry_id = 9 WHERE entry_id = 4",), ("UPDATE seals SET entry_id = 9 WHERE seq = 4",)
    )

    assert found.broken.row == 4


def test_checkpoints_that_went_came_or_are_in_another_order_are_found(small):
    copy = small.copy()
    (two, note), (four, other) = copy.read("SELECT size, note FROM checkpoints ORDER BY size")
    kept = {"state": small.state}

    gone = copy.after(("DELETE FROM checkpoints WHERE size = ?", four), **kept)
    assert "the table does not have it any more" in gone.broken.why
    assert not copy.after(("INSERT INTO checkpoints VALUES (3, ?)", note)).ok
    exchanged = [("UPDATE checkpoints SET note = ? WHERE size = ?", *each) for each in ((other, two), (note, four))]
    assert "checkpoint of 2 rows: its note is of 4 rows" in copy.after(*exchanged).broken.why


def test_nodes_that_went_came_or_are_in_another_order_are_found(large):
    copy = large.copy()

    assert "node 1 of level 8" in copy.after(("DELETE FROM tree_nodes WHERE place = 1",)).broken.why
    for level, place in ((8, 3), (9, 0), (16, 0), (-1, 0), (8, -1), (2**63 - 1, 2**63 - 1)):
        added = copy.after(("INSERT INTO tree_nodes VALUES (?, ?, zeroblob(32))", level, place))
        assert f"node {place} of level {level} of the tree" in added.broken.why
    exchanged = [("UPDATE tree_nodes SET place = ? WHERE place = ?", *each) for each in ((9, 0), (0, 1), (1, 9))]
    assert "rows 1 to 256" in copy.after(*exchanged).broken.why


def cut(book: Book, rows: int, *more: str) -> None:
    gone = f"> {rows}"
    book.change(f"DELETE FROM seals WHERE seq {gone}", f"DELETE FROM ledger WHERE entry_id {gone}", *more)  # noqa: S608


HIDE = "UPDATE sqlite_sequence SET seq = (SELECT max(entry_id) FROM ledger) WHERE name = 'ledger'"


def test_rows_cut_off_the_end_are_found_by_the_number_of_rows_there_were(tmp_path):
    book = Book(tmp_path / "book")
    book.fill(5)
    cut(book, 3)

    found = book.verify()

    assert (found.ok, found.rows, found.broken.row, found.broken.why) == (False, 3, 4, "the row is missing")


def test_rows_that_were_written_after_others_were_cut_off_are_found(tmp_path):
    book = Book(tmp_path / "book")
    book.fill(5)
    cut(book, 3)
    book.fill(3)

    assert book.verify().broken.row == 4


def git(folder, *words):
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True)


@pytest.fixture
def signed(tmp_path):
    """Ten rows under a checkpoint that is kept in all places."""
    repository = tmp_path / "a repository"
    repository.mkdir()
    git(repository, "init", "-q")
    book = Book(tmp_path / "book", repository=repository)
    book.fill(4)
    book.sign()
    book.fill(5)
    book.note = book.sign()
    book.cut = "DELETE FROM checkpoints WHERE size > 5; " + HIDE  # noqa: S608 - ours
    yield book
    book.store.close()


def test_a_whole_ledger_tells_what_was_checked(signed):
    found = signed.verify(keys=(parse_vkey(signed.signer.vkey),), checkpoints=(signed.note,))

    assert (found.ok, found.rows, found.broken, found.unsealed) == (True, 10, None, 0)
    count = found.checkpoints
    assert (count.checked, count.newest, count.table, count.folder, count.repository, count.others) == (
        *(2, 10, 2, True, 2, 0),
    )
    (key,) = found.keys
    assert (key.vkey, key.row, key.checkpoints, key.newest) == (signed.signer.vkey, 5, 2, 10)
    assert (found.origin, found.unsigned, found.told) == (ORIGIN, 0, ())
    tree = Frontier()
    for leaf in signed.store.leaves(1, 100):
        tree.push(leaf)
    assert found.root == tree.root().hex()


@pytest.mark.parametrize("place", ["table", "folder", "repository", "given"])
def test_an_end_that_was_cut_off_is_found_by_each_checkpoint_alone(signed, place):
    cut(signed, 5, HIDE if place == "table" else signed.cut)
    asked = {"state": None, "repository": None}
    asked |= {
        "table": {},
        "folder": {"state": signed.state},
        "repository": {"repository": signed.repository},
        "given": {"checkpoints": (signed.note,)},
    }[place]

    found = signed.verify(**asked)

    assert (found.ok, found.broken.row) == (False, 6)
    assert found.broken.why.startswith("checkpoint of 10 rows")
    assert "rows were cut off the end: the ledger has only 5" in found.broken.why
    if place != "table":
        assert signed.verify(state=None, repository=None).ok  # nothing else knows


def test_an_end_that_was_cut_off_is_found_by_a_head(signed):
    head = signed.verify().head
    cut(signed, 5, signed.cut)

    assert signed.verify(state=None, repository=None, head=head).ok is False


def test_a_ledger_that_was_written_anew_is_found_by_what_was_signed(signed, tmp_path):
    other = Book(tmp_path / "other")
    other.fill(4)
    other.sign()
    other.fill(5)
    other.sign()

    assert other.verify().ok
    key = parse_vkey(signed.signer.vkey)
    (other.state / "keys" / "signing.pem").write_bytes((signed.state / "keys" / "signing.pem").read_bytes())
    for asked in ({"checkpoints": (signed.note,)}, {"repository": signed.repository}):  # this machine's key is known
        found = other.verify(**asked)
        assert (found.ok, found.broken.row) == (False, None)
        assert "one from 1 to" in found.broken.why
    assert "is not signed with a key that was given" in other.verify(keys=(key,)).broken.why


def test_a_signature_of_a_key_that_nobody_introduced_is_none(signed, tmp_path):
    stranger = signer(tmp_path / "stranger", "shop")
    body = checkpoint_text(ORIGIN, 10, bytes.fromhex(signed.verify().root))
    note = signed_note(body, stranger.name, stranger.public, stranger.sign(body.encode()))

    found = signed.verify(checkpoints=(note,))

    assert "not signed by a key" in found.broken.why
    keys = tuple(parse_vkey(each.vkey) for each in (stranger, signed.signer))
    assert signed.verify(checkpoints=(note,), keys=keys).ok
    both = signed.note + note.rpartition("\n\n")[2]
    assert signed.verify(checkpoints=(both,)).ok  # somebody else has signed it too
    cell = signed.copy()
    assert not cell.after(("UPDATE checkpoints SET note = ? WHERE size = 10", both)).ok


def test_a_checkpoint_between_others_is_missed_by_the_repository(signed):
    signed.change("DELETE FROM checkpoints WHERE size = 5")

    found = signed.verify()

    assert found.broken.why == "checkpoint of 5 rows in the repository: the table does not have it any more"


def test_what_is_no_checkpoint_is_said_to_be_none(signed):
    for note in ("", "x", signed.note[:-1], signed.note.replace("shop", "shed"), "\udcff\n\n\u2014 a b\n"):
        assert not signed.verify(checkpoints=(note,)).ok
    (signed.state / "checkpoint").unlink()
    (signed.state / "checkpoint").symlink_to("/etc/passwd")
    with pytest.raises(OperatorError, match="cannot be read"):
        signed.verify()


def test_a_repository_may_have_checkpoints_of_other_ledgers_and_other_things(signed):
    other = Book(signed.state.parent / "other", repository=signed.repository)
    other.signer = signer(other.state, "shed")
    other.fill(1)
    checkpoint(other.store, other.signer, "keisei/shed", signed.repository, other.state)
    assert signed.verify().ok

    git(signed.repository, "-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "x")
    git(signed.repository, "update-ref", "refs/keisei/checkpoints", "HEAD")
    assert signed.verify().ok


def sampled(book, seed, number):
    copy, chosen = book.copy(), random.Random(seed)
    rows = copy.verify().rows
    for _ in range(number):
        row, table = chosen.randint(1, rows), chosen.choice(["ledger", "seals"])
        key, columns = COLUMNS[table]
        column = chosen.choice(columns)
        is_text = column in TEXT
        value = copy.read(f"SELECT {column} FROM {table} WHERE {key} = ?", (row,))[0][0]  # noqa: S608 - ours
        changed = chosen.choice(list(flips(value, is_text)))
        cast = "CAST(? AS TEXT)" if is_text else "?"
        found = copy.after((f"UPDATE {table} SET {column} = {cast} WHERE {key} = ?", changed, row))  # noqa: S608
        if found is not None:
            assert not found.ok, (table, column, row, changed)
            assert found.broken.row in ({row, changed} if column == "seq" else {row})


def test_a_sample_of_bits_of_a_larger_ledger(large):
    sampled(large, 12, 60)


@pytest.mark.soak
def test_a_sample_of_bits_of_a_hundred_thousand_rows(tmp_path):
    book = Book(tmp_path / "book")
    book.fill(100_000)
    book.sign()
    sampled(book, 13, 40)
    copy = book.copy()
    for row in (1, 256, 257, 65_536, 65_537, 100_000):
        for table in ("ledger", "seals"):
            found = copy.after((f"DELETE FROM {table} WHERE {COLUMNS[table][0]} = ?", row))  # noqa: S608 - ours
            assert found.broken.row == row
    cut(book, 99_999, HIDE)
    assert book.verify().broken.row == 100_000


@pytest.mark.parametrize(
    ("waiting", "told"),
    [
        (UnsealedRows(rows=0, since=None), None),
        (UnsealedRows(rows=3, since=datetime(2999, 1, 1, tzinfo=UTC)), None),
        (UnsealedRows(rows=3, since=datetime(2020, 1, 1, tzinfo=UTC), hindered="no right to write"), None),
        (UnsealedRows(rows=3, since=datetime(2020, 1, 1, tzinfo=UTC)), "rows of 2020-01-01 00:00 are not sealed"),
        (UnsealedRows(rows=0, since=None, strays=1), "marks of rows that are sealed or gone"),
    ],
    ids=["none", "a moment ago", "a reader", "long ago", "strays"],
)
def test_rows_that_should_have_been_sealed_by_now_do_not_hold(waiting, told):
    found = _unsealed(waiting)

    assert found is None if told is None else told in found.why
