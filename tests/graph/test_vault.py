"""The vault: whatever happens to its file, it can be asked, and what it answers is what was applied to it."""

import fcntl
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading

import apsw
import pytest

from keisei.graph import vault as module
from keisei.graph.vault import Batch, Begun, Entry, Known, Vault
from keisei.graph.vault_table import OURS
from keisei.records.error import WorldFault
from keisei.records.problem import Problem
from tests.graph.leaf_world import batch, entry, leaf

ONE = ("atom", "kei-a::one")
ROW = batch(leaf("kei-a::one"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a folder" / "state" / "graph.db"


def names(vault):
    with vault.reading() as db:
        return sorted(name for (name,) in db.execute("SELECT name FROM nodes"))


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_applied_is_known_to_the_next_one(path):
    problem = Problem(code="syntax", path="/x.md", line=3, message="no")
    known = Known("/x.md", "user", "7", ("/x.md", "/y.json"), problem)

    Vault(path).apply(Batch({("role", "x"): Entry(known, None), **ROW.entries}, frozenset()))
    vault = Vault(path)

    assert vault.known() == {("role", "x"): known, ONE: ROW.entries[ONE].known}
    assert names(vault) == ["kei-a::one"]
    assert not vault.in_memory
    assert vault.why is None


def test_paths_of_any_bytes_come_back_as_they_were(path):
    odd = os.fsdecode(b"/a/\xff\n'\".md")
    known = Known(odd, "user", None, (odd, "/é.md"), None)

    Vault(path).apply(
        Batch({ONE: Entry(known, leaf("kei-a::one", title="\udcff")), **batch(leaf("b")).entries}, frozenset())
    )

    assert Vault(path).known()[ONE] == known


def test_facts_are_kept(path):
    vault = Vault(path)
    assert vault.fact("runs") is None
    vault.set_fact("runs", "1")
    vault.set_fact("runs", "2")

    assert Vault(path).fact("runs") == "2"


def test_nobody_else_can_read_it(path):
    Vault(path).apply(ROW)

    assert mode(path.parent) == 0o700
    assert {mode(each) for each in path.parent.iterdir()} == {0o600}


def test_asking_what_is_known_makes_no_file(path):
    vault = Vault(path)

    assert vault.known() == {}
    assert vault.fact("runs") is None
    assert not path.parent.exists()


def test_reading_is_one_state_and_does_not_keep_writers_waiting(path):
    vault, other = Vault(path), Vault(path)
    vault.apply(ROW)
    with vault.reading() as db:
        before = db.execute("SELECT count(*) FROM nodes").fetchall()
        other.apply(batch(leaf("kei-b::two")))
        assert db.execute("SELECT count(*) FROM nodes").fetchall() == before == [(1,)]

    assert names(vault) == ["kei-a::one", "kei-b::two"]


@pytest.mark.parametrize("kept", [True, False])
def test_a_batch_is_applied_as_a_whole_or_not_at_all(path, kept):
    vault = Vault(path if kept else None)
    vault.apply(ROW)

    with pytest.raises(TypeError):
        vault.apply(batch(leaf("kei-b::two"), pairs={("a", "b"): None}))

    assert names(vault) == ["kei-a::one"]
    assert set(vault.known()) == {ONE}


@pytest.mark.parametrize(
    "content",
    [b"notes of somebody", b"SQLite format 3\0" + b"x" * 200, b"SQLite format 3\0", b"\0" * 4096],
    ids=["notes", "number", "short", "zeros"],
)
def test_a_file_that_is_not_ours_stays_as_it_is(path, content):
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    vault = Vault(path)

    assert vault.known() == {}
    vault.apply(ROW)
    assert names(vault) == ["kei-a::one"]
    assert vault.in_memory
    assert vault.why == "graph.db is not ours; move it away"
    assert path.read_bytes() == content


def test_a_database_of_another_program_stays_as_it_is(path):
    path.parent.mkdir(parents=True)
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE nodes (name); INSERT INTO nodes VALUES ('mine')")
    connection.close()
    before = path.read_bytes()
    vault = Vault(path)

    vault.apply(ROW)

    assert vault.in_memory
    assert path.read_bytes() == before
    assert {each.name for each in path.parent.iterdir()} <= {"graph.db", "graph.db.lock"}


@pytest.mark.parametrize("number", [0x6B656931, OURS + 1])
def test_one_of_another_layout_is_begun_again(path, number):
    path.parent.mkdir(parents=True)
    connection = sqlite3.connect(path)
    connection.executescript(f"CREATE TABLE files (path); PRAGMA application_id = {number}")
    connection.close()
    (path.parent / "graph.db-journal").write_bytes(b"left over")

    vault = Vault(path)
    assert vault.known() == {}
    vault.apply(ROW)

    assert not vault.in_memory
    assert Vault(path).known() == vault.known() != {}


def test_an_empty_file_that_somebody_began_is_used(path):
    path.parent.mkdir(parents=True)
    path.touch()
    vault = Vault(path)

    assert vault.known() == {}
    vault.apply(ROW)
    assert Vault(path).known() != {}


def in_its_place(path, kind):
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(path.parent / "elsewhere.db")
    elif kind == "link of the lock":
        path.with_name("graph.db.lock").symlink_to(path.parent / "elsewhere.db")


@pytest.mark.parametrize("kind", ["folder", "pipe", "link", "link of the lock"])
def test_what_stands_in_its_place_is_left_and_the_vault_is_in_memory(path, kind):
    path.parent.mkdir(parents=True)
    in_its_place(path, kind)
    vault = Vault(path)

    assert vault.known() == {}
    vault.apply(ROW)

    assert (vault.in_memory, names(vault)) == (True, ["kei-a::one"])
    assert "graph.db" in vault.why
    assert not (path.parent / "elsewhere.db").exists()


def test_where_no_file_can_be_the_vault_is_in_memory(tmp_path):
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "graph.db", module.Path("/proc/none/graph.db"), tmp_path / "a\0b" / "graph.db"):
        vault = Vault(place)
        assert vault.known() == {}
        vault.apply(ROW)
        assert (vault.in_memory, names(vault)) == (True, ["kei-a::one"])
        assert vault.why


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_read_or_the_vault_is_in_memory(path):
    Vault(path).apply(ROW)
    path.parent.chmod(0o500)
    try:
        vault = Vault(path)
        vault.known()
        refreshed(vault, leaf("kei-b::two"))
    finally:
        path.parent.chmod(0o700)
    assert vault.in_memory


def refreshed(vault, *leaves):
    """As the scan does it: compare, then apply what differs, again where the index is another meanwhile."""
    wanted = {(each.node, each.name): entry(each) for each in leaves}
    for _ in range(4):
        try:
            with vault.lock():
                known = vault.known()
                changed = {key: each for key, each in wanted.items() if known.get(key) != each.known}
                vault.apply(Batch(changed, frozenset(known.keys() - wanted.keys())))
            return names(vault)
        except Begun:
            continue
    raise AssertionError("it never came to rest")


THREE = tuple(leaf(f"kei-{each}", body=f"{each} " * 900, title="of three") for each in ("a", "b", "c"))


@pytest.mark.parametrize("endings", [("",), ("", "-wal"), ("", "-wal", "-shm")])
def test_when_the_file_is_deleted_the_next_use_has_a_fresh_one(path, endings):
    vault, other = Vault(path), Vault(path)
    refreshed(vault, *THREE)
    refreshed(other, *THREE)
    for ending in endings:
        path.with_name(f"graph.db{ending}").unlink()

    assert vault.known() == {}
    assert refreshed(vault, *THREE[:2]) == ["kei-a", "kei-b"]
    assert refreshed(other, *THREE[:2]) == ["kei-a", "kei-b"]
    vault.close()
    assert names(other) == ["kei-a", "kei-b"]
    other.close()
    assert names(Vault(path)) == ["kei-a", "kei-b"]
    with Vault(path).reading() as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_what_is_known_of_one_file_is_not_written_into_another(path):
    vault = Vault(path)
    refreshed(vault, *THREE)
    assert len(vault.known()) == 3
    path.unlink()

    with pytest.raises(Begun):
        vault.apply(batch(leaf("kei-a", title="new")))

    assert vault.known() == {}


def test_a_broken_file_is_begun_again_wherever_it_is_broken(path):
    refreshed(Vault(path), *THREE)
    whole = path.read_bytes()
    assert len(whole) > 30 * 4096
    for page in range(0, len(whole) // 4096, 3):
        hurt = bytearray(whole)
        hurt[page * 4096 + (100 if page == 0 else 0) : (page + 1) * 4096] = b"\x5a" * (4096 - (100 if page == 0 else 0))
        for ending in ("-wal", "-shm"):
            path.with_name(f"graph.db{ending}").unlink(missing_ok=True)
        path.write_bytes(hurt)
        vault = Vault(path)

        assert told(vault, *THREE, leaf("kei-d")) == ["kei-a", "kei-b", "kei-c", "kei-d"]
        assert not vault.in_memory
        vault.close()


def told(vault, *leaves):
    """What a whole question does, which reads every table."""
    for _ in range(4):
        try:
            refreshed(vault, *leaves)
            with vault.reading() as db:
                db.execute("SELECT * FROM edges").fetchall()
                rows = db.execute("SELECT * FROM texts WHERE texts MATCH 'three OR kei'").fetchall()
                assert len(rows) == len(leaves) or db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]
            return names(vault)
        except Begun:
            continue
    raise AssertionError("it never came to rest")


def test_a_file_cut_short_is_begun_again(path):
    refreshed(Vault(path), *THREE)
    whole = path.read_bytes()
    for size in (50, 100, 4096, 5000, len(whole) // 2):
        for ending in ("-wal", "-shm"):
            path.with_name(f"graph.db{ending}").unlink(missing_ok=True)
        path.write_bytes(whole[:size])
        vault = Vault(path)
        assert told(vault, *THREE) == ["kei-a", "kei-b", "kei-c"]
        assert vault.in_memory is (size < 72)
        vault.close()


def test_an_error_of_a_reader_is_the_readers_own(path):
    vault = Vault(path)
    vault.apply(ROW)

    with pytest.raises(apsw.SQLError), vault.reading() as db:
        db.execute("SELECT nothing FROM nowhere")

    assert names(vault) == ["kei-a::one"]
    assert not vault.in_memory


def test_a_closed_vault_opens_again(path):
    vault = Vault(path)
    vault.apply(ROW)
    vault.known()
    vault.close()
    vault.close()

    vault.apply(batch(leaf("kei-b::two")))
    assert names(vault) == ["kei-a::one", "kei-b::two"]


def test_a_writer_that_does_not_end_is_not_waited_for(path, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE_S", 0.05)
    vault = Vault(path)
    vault.apply(ROW)
    handle = os.open(f"{path}.lock", os.O_RDWR)
    fcntl.flock(handle, fcntl.LOCK_EX)

    with pytest.raises(WorldFault, match="being written by somebody else") as raised:
        vault.apply(ROW)

    assert raised.value.retryable
    assert names(vault) == ["kei-a::one"]
    os.close(handle)
    vault.apply(batch(leaf("kei-b::two")))
    assert names(vault) == ["kei-a::one", "kei-b::two"]


def test_threads_share_a_vault_and_vaults_share_a_file(path):
    shared, failures = Vault(path), []

    def work(number):
        vault = shared if number % 2 else Vault(path)
        try:
            for turn in range(6):
                with vault.lock():
                    vault.known()
                    vault.apply(batch(leaf(f"kei-{number}-{turn}")))
                with vault.reading() as db:
                    count = db.execute("SELECT count(*) FROM nodes").fetchall()
                    assert db.execute("SELECT count(*) FROM sources").fetchall() == count
        except Exception as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert len(names(shared)) == 36


WRITER = """
import sys
from pathlib import Path
from keisei.graph.vault import Vault
from tests.graph.leaf_world import batch, leaf
vault = Vault(Path(sys.argv[1]))
print("ready", flush=True)
for turn in range(int(sys.argv[3])):
    with vault.lock():
        vault.known()
        vault.apply(batch(*(leaf(f"kei-{sys.argv[2]}-{turn % 3}-{n}", body=f"{turn} " * 50) for n in range(20))))
"""


def started(path, name, turns):
    root = module.Path(__file__).parents[2]
    command = [sys.executable, "-c", WRITER, str(path), name, str(turns)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root, env={**os.environ, "PYTHONPATH": str(root)})


def test_processes_may_write_at_once_from_nothing(path):
    processes = [started(path, str(number), 3) for number in range(3)]

    assert [process.wait(60) for process in processes] == [0, 0, 0]
    for process in processes:
        process.stdout.close()
    assert len(names(Vault(path))) == 180


def test_a_killed_writer_leaves_a_file_that_is_used(path):
    for pause in (0.0, 0.01, 0.03, 0.07):
        process = started(path, str(pause), 10_000)
        process.stdout.readline()
        threading.Event().wait(pause)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        process.stdout.close()
        vault = Vault(path)
        vault.apply(ROW)
        with vault.reading() as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert (db.execute("SELECT count(*) FROM nodes").fetchall()[0][0] - 1) % 20 == 0
        assert not vault.in_memory
        vault.close()
