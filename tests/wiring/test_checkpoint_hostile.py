"""What somebody else does to a ledger, its repository or its name: it is not signed, or passed over and told."""

import shutil
from contextlib import closing

import apsw
import pytest

from keisei.records.error import OperatorError, WorldFault
from keisei.records.move import EntryQuery
from keisei.rules.ledger import chain_hash, leaf_hash
from keisei.rules.note import parse_vkey
from keisei.rules.tree import node_hash
from keisei.store import open_store
from keisei.wiring import checkpoint as checkpoints
from keisei.wiring import checkpoint_check
from keisei.wiring.checkpoint import checkpoint, ledger_signer, sign_home
from keisei.wiring.ledger_export import export_lines
from keisei.wiring.ledger_import import import_ledger
from keisei.wiring.ledger_proof import consistency, inclusion
from keisei.wiring.ledger_tree import subtree
from keisei.wiring.ledger_verify import Asked, verify
from keisei.wiring.signing import origin, signer
from keisei.workspace import checkpoint as chain
from keisei.workspace.lock import KeyLocks
from tests.wiring.ledgers import ORIGIN, Book, new, unlock
from tests.wiring.test_ledger_verify import git

REF = "refs/keisei/checkpoints"
ZEROS = "\u2014 keisei/shop " + "A" * 91 + "=\n"


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "a repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "-c", "user.name=a", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "x")
    return folder


@pytest.fixture
def book(tmp_path, repository):
    made = Book(tmp_path / "book", repository=repository)
    made.fill(4)
    made.sign()
    yield made
    made.store.close()


def troubles(book):
    book.fill(1)
    return checkpoint(book.store, book.signer, ORIGIN, book.repository, book.state).troubles


def said(repository, *words, given=None):
    done = chain.asked(words, {"GIT_DIR": str(repository / ".git")}, str(repository), given=given or [])
    return done.out.decode().strip()


def commit(repository, text, parent=REF):
    """A commit of somebody else's on the reference."""
    git_dir = str(repository / ".git")
    blob = chain.shared(git_dir, "hash-object", "-w", "--stdin", given=[text.encode()]).decode().strip()
    tree = chain.shared(git_dir, "mktree", given=[f"100644 blob {blob}\tcheckpoint\n".encode()]).decode().strip()
    words = ("commit-tree", "-m", "x", tree, *(("-p", said(repository, "rev-parse", parent)) if parent else ()))
    made = chain.asked(words, {**chain.WHO, "GIT_DIR": git_dir}, git_dir).out.decode().strip()
    chain.shared(git_dir, "update-ref", REF, made)
    return made


# --- rows


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ("UPDATE seals SET leaf_hash = zeroblob(32) WHERE seq = 9", 9),
        ("UPDATE ledger SET leaf_hash = zeroblob(32) WHERE entry_id = 9", 9),
        ("UPDATE seals SET chain_hash = zeroblob(32) WHERE seq = 8", 8),
        ("UPDATE seals SET chain_hash = zeroblob(32) WHERE seq = 5", 5),
        ("UPDATE ledger SET content = CAST('{}' AS BLOB) WHERE entry_id = 10", 10),
        ("UPDATE ledger SET kind = 'other' WHERE entry_id = 7", 7),
        ("DELETE FROM seals WHERE seq = 7", 7),
    ],
)
def test_a_new_row_that_does_not_hold_is_named_and_nothing_is_signed(book, change, row):
    book.fill(5)
    book.change(change)

    with pytest.raises(OperatorError, match=f"broken at row {row}: "):
        book.sign()

    assert book.verify().broken.row == row
    assert book.store.newest_checkpoint().size == 5
    assert len(book.store.find_entries(EntryQuery(kind="key_introduced"))) == 1


def test_the_first_checkpoint_of_a_long_ledger_looks_at_all_of_it(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_check, "SINGLY", 20)
    book = Book(tmp_path / "book")
    book.fill(60)
    book.change("UPDATE ledger SET subject = 'x' WHERE entry_id = 33")

    with pytest.raises(OperatorError, match="broken at row 33: "):
        book.sign()
    assert book.store.size() == 60  # no key is introduced either


def rewritten(book, row, *more):
    """Another content in a row, carried through both tables and the chain, as somebody does who knows how."""
    with closing(apsw.Connection(str(book.path))) as connection, connection:
        unlock(connection)
        content = connection.execute("SELECT content FROM ledger WHERE entry_id = ?", (row,)).get
        content = content.replace(b'"x"', b'"y"')
        connection.execute(
            "UPDATE ledger SET content = ?, leaf_hash = ? WHERE entry_id = ?", (content, leaf_hash(content), row)
        )
        connection.execute("UPDATE seals SET leaf_hash = ? WHERE seq = ?", (leaf_hash(content), row))
        head = connection.execute("SELECT chain_hash FROM seals WHERE seq = ?", (row - 1,)).get or bytes(32)
        for seq, leaf in connection.execute(
            "SELECT seq, leaf_hash FROM seals WHERE seq >= ? ORDER BY 1", (row,)
        ).fetchall():
            head = chain_hash(head, seq, leaf)
            connection.execute("UPDATE seals SET chain_hash = ? WHERE seq = ?", (head, seq))
        for statement in more:
            connection.execute(statement)


def test_a_history_that_was_rewritten_behind_kept_nodes_is_found_by_a_look_at_some_blocks(tmp_path):
    book = Book(tmp_path / "book")
    book.fill(600)
    book.sign()
    rewritten(book, 5)
    book.fill(1)

    with pytest.raises(OperatorError, match="rows 1 to 256 are not those that were signed"):
        book.sign()  # of two complete blocks two are looked at
    found = book.verify()

    assert (found.ok, found.broken.row) == (False, None)
    assert "one from 1 to 256 is another" in found.broken.why


def test_the_place_is_not_narrowed_by_nodes_that_were_rewritten_as_well(tmp_path):
    book = Book(tmp_path / "book")
    book.fill(600)
    book.sign()
    rewritten(book, 5)
    made = subtree(book.store)
    for index in (0, 1):
        node = node_hash(made(7, 2 * index), made(7, 2 * index + 1))
        book.change(f"UPDATE tree_nodes SET hash = x'{node.hex()}' WHERE place = {index}")  # noqa: S608 - ours

    assert "one from 1 to 601 is another" in book.verify().broken.why


# --- the reference


def test_a_note_that_nobody_signed_is_not_this_ledgers_word(book, repository):
    note = book.sign()
    for text in (f"{ORIGIN}\n99999\n{'A' * 43}=\n\n{ZEROS}", note.replace("\n5\n", "\n99999\n")):
        commit(repository, text)

    found = book.verify()

    assert (found.ok, found.checkpoints.others, found.checkpoints.repository) == (True, 2, 1)
    assert "2 checkpoints of other keys under the name `keisei/shop`" in found.told[0]
    assert any("another database uses this repository" in each for each in troubles(book))
    assert book.verify().checkpoints.repository == 2
    assert troubles(book) == ()  # once


def test_two_databases_on_one_repository_and_name_leave_each_other_alone(book, tmp_path, repository):
    other = Book(tmp_path / "other", repository=repository)
    for _ in range(2):
        for each in (other, book):
            troubles(each)

    for each in (other, book):
        found = each.verify()
        assert found.ok
        assert found.checkpoints.others == 5 - found.checkpoints.table
        assert found.checkpoints.repository == found.checkpoints.table
    other.store.close()


@pytest.mark.parametrize("number", [1, 70])
def test_commits_of_others_are_walked_past_and_the_chain_goes_on(book, repository, number):
    ours = said(repository, "rev-parse", REF)
    for _ in range(number):
        commit(repository, "hello")

    (told,) = troubles(book)

    assert f"it goes on behind {ours}" in told
    assert said(repository, "rev-parse", f"{REF}^") == ours
    found = book.verify()
    assert (found.ok, found.checkpoints.repository, found.told) == (True, 2, ())


def test_a_file_that_is_too_large_is_passed_over(book, repository, monkeypatch):
    commit(repository, "x" * (chain.LARGEST_NOTE + 1))
    asked, read = [], chain.shared

    def shared(git_dir, *words, **more):
        told = read(git_dir, *words, **more)
        asked.append(len(told))
        return told

    monkeypatch.setattr(chain, "shared", shared)

    assert book.verify().ok
    assert max(asked) < chain.LARGEST_NOTE


def test_an_object_that_is_gone_is_told_and_what_is_left_goes_on(book, repository):
    tip = said(repository, "rev-parse", REF)
    troubles(book)
    newest = said(repository, "rev-parse", REF)
    (repository / ".git" / "objects" / tip[:2] / tip[2:]).unlink()

    found = book.verify()
    assert (found.ok, found.checkpoints.repository) == (True, 1)
    assert "breaks off" in found.told[0]
    assert troubles(book) == ()
    assert said(repository, "rev-parse", f"{REF}^") == newest

    newest = said(repository, "rev-parse", REF)
    (repository / ".git" / "objects" / newest[:2] / newest[2:]).unlink()
    assert "the repository tells 0 of 3 checkpoints" in book.verify().told[1]
    assert "it begins anew" in troubles(book)[0]
    assert troubles(book) == ()


# --- witnesses that went


def test_what_is_missing_is_told_and_breaks_nothing(book, repository):
    assert book.verify().told == ()
    (book.state / "checkpoint").unlink()
    assert "the state folder has no checkpoint" in book.verify().told[0]
    git(repository, "update-ref", "-d", REF)
    assert "the repository tells 0 of 1 checkpoints" in book.verify().told[1]
    book.change("DELETE FROM checkpoints")

    found = book.verify()

    assert found.ok
    assert "row 5 introduces a key, and there is no checkpoint" in found.told[0]


@pytest.mark.parametrize("damage", ["head", "symbolic", "back"])
def test_a_repository_that_tells_less_is_told(book, repository, damage):
    troubles(book)
    if damage == "head":
        (repository / ".git" / "HEAD").write_text("garbage")
    elif damage == "symbolic":
        git(repository, "update-ref", "-d", REF)
        git(repository, "symbolic-ref", REF, "refs/heads/main")
    else:
        git(repository, "update-ref", REF, f"{REF}^")

    found = book.verify()

    assert found.ok
    assert any("the repository" in each for each in found.told)
    assert found.checkpoints.repository == (1 if damage == "back" else 0)
    if damage == "head":
        assert any("the repository cannot be read" in each for each in troubles(book))


def test_without_a_repository_nothing_is_missing(tmp_path):
    book = Book(tmp_path / "book", repository=tmp_path)
    book.fill(1)

    assert troubles(book) == ()
    found = book.verify()
    assert (found.checkpoints.repository, found.told) == (None, ())


# --- keys and names


def test_with_a_key_every_checkpoint_must_be_its(book):
    first = book.signer
    (book.state / "keys" / "signing.pem").unlink()
    book.signer = signer(book.state, "shop")
    book.fill(3)
    book.sign()
    book.fill(2)

    found = book.verify(keys=(parse_vkey(first.vkey),))
    assert (found.ok, found.broken.why) == (
        *(False, "checkpoint of 9 rows: it is not signed with a key that was given"),
    )
    both = book.verify(keys=(parse_vkey(first.vkey), parse_vkey(book.signer.vkey)))
    assert (both.ok, both.unsigned) == (True, 2)
    assert [(each.row, each.checkpoints, each.newest) for each in both.keys] == [(5, 1, 5), (9, 1, 9)]
    assert [each.vkey for each in book.verify().keys] == [first.vkey, book.signer.vkey]


def test_a_project_that_was_renamed_goes_on_under_the_name_of_its_ledger(book, tmp_path):
    moved, name = tmp_path / "moved", origin("mart")
    book.store.close()
    book.state.rename(moved)
    with closing(open_store(f"sqlite://{moved / 'state.db'}")) as store:
        own = signer(moved, "mart")
        made = checkpoint(store, own, name, book.repository, moved)
        assert (made.origin, made.troubles) == (ORIGIN, ())
        store.append(new())
        made = checkpoint(store, own, name, book.repository, moved)
        assert (made.origin, made.size, made.troubles) == (ORIGIN, 6, ())
        assert ledger_signer(store, moved, "mart").vkey == book.signer.vkey
        found = verify(store, Asked(origin=name, state=moved, repository=book.repository))
        assert (found.ok, found.origin, found.told, len(found.keys)) == (True, ORIGIN, (), 1)
        assert inclusion(store, name, 1)["origin"] == consistency(store, name, 1)["origin"] == ORIGIN
        (tmp_path / "export").write_bytes(b"".join(export_lines(store, name)))
        assert import_ledger(store, name, tmp_path / "export").known == 6


def test_another_projects_database_is_not_signed(book, tmp_path):
    stranger = signer(tmp_path / "stranger", "pg2")
    book.fill(1)

    with pytest.raises(
        OperatorError, match="the ledger of `keisei/shop`, and this project's is `keisei/pg2`"
    ) as caught:
        checkpoint(book.store, stranger, origin("pg2"), book.repository, tmp_path / "stranger")

    assert "state folder" in caught.value.hint
    assert book.store.size() == 6
    assert book.verify().ok


# --- exports and proofs


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE checkpoints SET note = replace(note, 'shop', 'shed')",
        "UPDATE checkpoints SET note = substr(note, 1, length(note) - 12) || 'AAAAAAAAAA=' || char(10)",
    ],
)
def test_a_note_that_does_not_hold_is_neither_exported_nor_handed_out(book, change):
    book.change(change)

    with pytest.raises(OperatorError, match="checkpoint of 5 rows"):
        next(export_lines(book.store, ORIGIN))
    for prove in (inclusion, consistency):
        with pytest.raises(OperatorError, match="checkpoint of 5 rows"):
            prove(book.store, ORIGIN, 2)


def test_nothing_of_a_broken_ledger_is_written(book):
    book.change("UPDATE ledger SET subject = 'x' WHERE entry_id = 4")

    with pytest.raises(OperatorError, match="broken at row 4"):
        next(export_lines(book.store, ORIGIN))


# --- a restored copy


def test_an_older_copy_is_refused_with_the_way_on(book, tmp_path):
    book.store.close()
    shutil.copy(book.path, tmp_path / "older")
    book.fill(3)
    book.sign()
    (tmp_path / "export").write_bytes(b"".join(export_lines(book.store, ORIGIN)))
    book.store.close()
    for each in book.state.glob("state.db*"):
        each.unlink()
    shutil.copy(tmp_path / "older", book.path)

    with pytest.raises(OperatorError, match="rows were cut off") as caught:
        book.sign()
    assert f"git update-ref -d {REF}" in caught.value.hint
    assert "keisei ledger import" in caught.value.hint
    assert import_ledger(book.store, ORIGIN, tmp_path / "export").rows == 3
    assert troubles(book) == ()
    assert book.verify().ok


# --- the lock


def test_a_lock_that_is_held_is_told_soon(book, monkeypatch):
    monkeypatch.setattr(checkpoints, "RUNNER_PATIENCE_S", 0.1)
    book.fill(1)
    home = type("Home", (), {"folder": book.state, "name": "shop", "root": book.repository})
    with KeyLocks(book.state).own("checkpoint"), pytest.raises(WorldFault, match=r"nothing was signed: .* is held"):
        sign_home(home, book.store)
    assert sign_home(home, book.store).size == 6
    assert checkpoints.RUNNER_PATIENCE_S < checkpoints.PATIENCE_S
