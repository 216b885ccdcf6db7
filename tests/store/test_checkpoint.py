"""Checkpoints on both stores: written once, read as they are stored, and one sequence whoever signs at once."""

import subprocess
import sys
from contextlib import closing

import apsw
import psycopg
import pytest

from keisei.records.move import EntryQuery, LedgerCheckpoint, NewEntry, TreeNode
from keisei.rules.ledger import first_broken
from keisei.rules.note import parse_checkpoint, parse_vkey, signers_of, split_note
from keisei.rules.tree import root_of
from keisei.store import open_store
from keisei.wiring.ledger_tree import subtree
from tests.store.desk import postgres_desk, sqlite_desk


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request, tmp_path):
    opened = (
        sqlite_desk(tmp_path) if request.param == "sqlite" else postgres_desk(request.getfixturevalue("postgres_url"))
    )
    with opened as found:
        yield found


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    return f"sqlite://{tmp_path}/state.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.mark.parametrize("table", ["checkpoints", "tree_nodes"])
@pytest.mark.parametrize("deed", ["UPDATE {} SET {} = {}", "DELETE FROM {}"], ids=["update", "delete"])
def test_the_database_refuses_changes(desk, table, deed):
    column = {"checkpoints": "size", "tree_nodes": "level"}[table]
    desk.store.keep_checkpoint(LedgerCheckpoint(size=1, note="x"), [TreeNode(level=8, index=0, hash=b"y")])

    with pytest.raises((apsw.ConstraintError, psycopg.Error), match="is written once"):
        desk.sql(deed.format(table, column, column))


@pytest.mark.parametrize("table", ["checkpoints", "tree_nodes"])
def test_postgres_refuses_to_empty_them(postgres_url, table):
    with postgres_desk(postgres_url) as desk, pytest.raises(psycopg.Error, match="is written once"):
        desk.sql(f"TRUNCATE {table}")


def test_a_note_that_is_no_text_any_more_is_read_as_it_is(tmp_path):
    with sqlite_desk(tmp_path) as desk:
        desk.sql("INSERT INTO checkpoints (size, note) VALUES (3, CAST(x'ff41' AS TEXT))")

        found = LedgerCheckpoint(size=3, note="\udcffA")
        assert desk.store.newest_checkpoint() == found
        assert desk.store.checkpoints() == [found]
        assert desk.store.kept() == ([found], [])


def test_leaf_hashes_end_where_a_place_is_empty(desk):
    for number in range(4):
        desk.store.append(NewEntry(kind="told", actor="a", subject=str(number), body={}))
    leaves = desk.store.leaves(1, 10)
    sealed = "ALTER TABLE seals DISABLE TRIGGER USER" if desk.wall_leases else "DROP TRIGGER seals_no_delete"
    desk.sql(sealed)

    desk.sql("DELETE FROM seals WHERE seq = 3")

    assert desk.store.leaves(1, 10) == leaves[:2]
    assert desk.store.leaves(3, 10) == []
    assert desk.store.size() == 4


def test_a_subject_that_no_index_takes_is_written_and_found(desk):
    """An agent chooses it: 4 KiB that do not get shorter."""
    subject = "".join(chr(0x10000 + each * 7919 % 0xF000) for each in range(1024))
    entry = desk.store.append(NewEntry(kind="told", actor="a", subject=subject, body={}))
    desk.store.append(NewEntry(kind="told", actor="a", subject=subject[:-1], body={}))

    assert desk.store.find_entries(EntryQuery(subject=subject)) == [entry]


FORKS = """
import os, sys
from pathlib import Path
from keisei.records.move import NewEntry
from keisei.store import open_store
from keisei.wiring.checkpoint import checkpoint
from keisei.wiring.signing import origin, signer

url, folder, processes, rounds = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
store = open_store(url)
store.size()
children = []
for p in range(processes):
    child = os.fork()
    if child == 0:
        state = folder / f"machine {p % 2}"
        state.mkdir(exist_ok=True)
        for n in range(rounds):
            for _ in range(5):
                store.append(NewEntry(kind="told", actor=f"p{p}", subject=f"t{n}", body={}))
            made = checkpoint(store, signer(state, "crowd"), origin("crowd"), None, state)
            assert not made.troubles, made.troubles
        os._exit(0)
    children.append(child)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


def test_processes_that_append_and_sign_at_once_leave_one_sequence(url, tmp_path):
    """Two machines, each with a key and a folder of its own, and two processes on each."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS, url, str(tmp_path), "4", "6"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr

    with closing(open_store(url)) as store:
        rows = list(store.rows())
        introduced = store.find_entries(EntryQuery(kind="key_introduced"))
        hashes, (kept, _) = subtree(store), store.kept()
        keys = [parse_vkey(entry.body["vkey"]) for entry in introduced]
        assert first_broken(rows) is None
        assert len(rows) == 4 * 6 * 5 + len(keys)
        assert len(set(keys)) == len(keys) == 2
        assert [each.size for each in kept] == sorted({each.size for each in kept})
        for each in kept:
            body = parse_checkpoint(split_note(each.note)[0])
            assert (body.size, body.root) == (each.size, root_of(each.size, hashes))
            (signer,) = signers_of(each.note, keys)
            assert each.size >= next(e.seq for e in introduced if parse_vkey(e.body["vkey"]) == signer)
        assert kept[-1].size == len(rows)
