"""Connections: odd places, full disks, stopped processes, lost servers. One sentence each, and nothing told is lost."""

import os
import signal
import tempfile
import threading
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from keisei.records.error import OperatorError, WorldFault
from keisei.records.move import EventQuery, NewEntry, NewEvent
from keisei.store import open_store
from keisei.store.clock import SystemClock
from keisei.store.link import Still
from keisei.store.sqlite import Sqlite
from keisei.testing.clock import VirtualClock
from keisei.testing.promise.book import at_once
from keisei.testing.queue import Desk
from tests.store.crowd import running, told
from tests.store.desk import damage, postgres_desk, sqlite_desk

HOLDER = """
store = open_store(sys.argv[1])
with store._reader.write():
    print("held", flush=True)
    sys.stdin.readline()
store.close()
print("given", flush=True)
"""
"""A process that has the turn until it is spoken to."""

WRITER = """
store = open_store(sys.argv[1])
desk = Desk(store, VirtualClock(), None)
try:
    for number in range(int(sys.argv[2])):
        desk.queue(payload={"text": "x" * int(sys.argv[3])})
        os.write(1, f"task-{number + 1:04}\\n".encode())
except KeiseiError as error:
    os.write(1, f"{type(error).__name__}: {error.message}\\n".encode())
    assert store.counts()["pending"] == number, "what was told can still be read"
    store.close()
"""
"""A process that queues tasks and tells of each that was taken."""


@pytest.fixture
def url(tmp_path):
    return f"sqlite://{tmp_path}/state.db"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.db"


# where a database may stand


def a_link(path):
    path.with_name("real.db").touch()
    path.symlink_to("real.db")


def a_link_to_nothing(path):
    path.symlink_to("nothing.db")


def a_second_name(path):
    path.touch()
    path.with_name("other.db").hardlink_to(path)


def text(path):
    path.write_text("this is no database " * 100, encoding="utf-8")


def a_lock_that_is_a_folder(path):
    path.with_name("state.db.lock").mkdir()


def a_lock_that_is_a_link(path):
    path.with_name("state.db.lock").symlink_to(path.with_name("elsewhere"))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (a_link, "is a symbolic link"),
        (a_link_to_nothing, "is a symbolic link"),
        (a_second_name, "has a second name"),
        (Path.mkdir, "is not a regular file"),
        (os.mkfifo, "is not a regular file"),
        (text, "is not a whole SQLite database"),
        (a_lock_that_is_a_folder, "state.db.lock cannot be opened"),
        (a_lock_that_is_a_link, "state.db.lock cannot be opened"),
    ],
)
def test_an_odd_place_is_refused_in_one_sentence(make, said, path, url):
    make(path)

    with pytest.raises(OperatorError, match=said) as caught:
        open_store(url)

    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("sqlite://state.db", "no absolute path"),
        ("sqlite:///", "no absolute path"),
        ("sqlite:///tmp/a\0b/state.db", "cannot be used"),
        ("sqlite:///tmp/state\0.db", "cannot be reached"),
        ("sqlite:///tmp/" + "x" * 300, "cannot be reached"),
        ("sqlite:///dev/null/state.db", "cannot be used"),
        ("mysql://host/name", "`mysql`"),
        ("", "no database"),
        ("postgresql://[", "not understood"),
        ("postgresql://host/name?nonsense=1", "not understood"),
    ],
)
def test_an_odd_address_is_refused_in_one_sentence(address, said):
    with pytest.raises(OperatorError, match=said):
        open_store(address)


def test_an_address_is_taken_letter_by_letter(tmp_path):
    odd = tmp_path / "a folder %20 #1 ?x=y" / "state db?.db"

    open_store(f"sqlite://{odd}").close()

    assert odd.is_file()


def test_a_folder_behind_a_link_is_the_same_database(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with closing(open_store(f"sqlite://{tmp_path}/real/state.db")) as store:
        Desk(store, VirtualClock(), None).queue()

    with closing(open_store(f"sqlite://{tmp_path}/link/state.db")) as store:
        assert store.counts()["pending"] == 1


def test_files_are_their_owners_alone(tmp_path):
    before = os.umask(0)
    try:
        store = open_store(f"sqlite://{tmp_path}/folder/state.db")
    finally:
        os.umask(before)

    modes = {each.name: each.stat().st_mode & 0o777 for each in (tmp_path / "folder").iterdir()}
    assert modes == dict.fromkeys(("state.db", "state.db-shm", "state.db-wal", "state.db.lock"), 0o600)
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o700
    store.close()


ROWS = """
from keisei.records.move import NewEntry
store = open_store(f"sqlite://{sys.argv[1]}/state.db")
for number in range(3):
    store.append(NewEntry(kind="told", actor="ann", subject=f"s{number}", body={}))
if sys.argv[2] == "closed":
    store.close()
if sys.argv[2] == "without a map":
    os.unlink(f"{sys.argv[1]}/state.db-shm")
print(*(name for name in ("state.db-wal", "state.db-shm") if os.path.exists(f"{sys.argv[1]}/{name}")), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize("there", ["closed", "killed", "without a map", "new"])
def test_where_nothing_can_be_written_what_is_there_is_read(there):
    """With its log or without one; a log without its map takes a place that can be written."""
    code = """
    from keisei.records.move import NewEntry
    from keisei.store import sqlite_store  # imported while everything may be read
    if os.getuid() == 0:  # who may write everywhere
        for each in (Path(sys.argv[1]), *Path(sys.argv[1]).iterdir()):
            os.chown(each, 65534, 65534)
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    os.chmod(sys.argv[1], 0o500)
    try:
        store = open_store(f"sqlite://{sys.argv[1]}/state.db")
        print(f"{store.size()} rows")
        store.append(NewEntry(kind="told", actor="ann", subject="s", body={}))
    except KeiseiError as error:
        print(type(error).__name__, error.message, error.hint)
    """
    with tempfile.TemporaryDirectory() as base:  # not pytest's own, which only its owner may enter
        Path(base).chmod(0o755)
        home = Path(base) / "home"
        home.mkdir()
        if there != "new":
            kept = told(ROWS, home, there)
            (home / "state.db.lock").unlink()
            assert [name for name in ("state.db-wal", "state.db-shm") if (home / name).exists()] == kept.split()
        said = told(code, home).splitlines()
        home.chmod(0o700)

    if there in ("closed", "killed"):
        assert said.pop(0) == "3 rows"
    assert said[0].startswith("OperatorError " if there == "without a map" else "NoTurn ")
    assert "cannot be read where nothing" in said[0] if there == "without a map" else "cannot be opened" in said[0]
    assert "copy its folder" in said[0]


def test_what_somebody_writes_while_it_is_read_is_not_told(path, url):
    with closing(open_store(url)) as store:
        store.append(NewEntry(kind="told", actor="ann", subject="s", body={}))
    still = Still(path)
    assert still.read("SELECT count(*) FROM ledger", {}) == [(1,)]

    def written(*_):
        with closing(open_store(url)) as store:
            store.append(NewEntry(kind="told", actor="ann", subject="s", body={}))
        return True

    still.opened().connection.create_scalar_function("written", written)
    with pytest.raises(WorldFault, match="while it was read"):
        still.read("SELECT written(), count(*) FROM ledger", {})
    assert still.read("SELECT count(*) FROM ledger", {}) == [(2,)]
    still.close()


def test_a_network_file_system_is_refused(monkeypatch, tmp_path, url):
    device = tmp_path.stat().st_dev
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"22 27 {os.major(device)}:{os.minor(device)} / / rw,relatime shared:1 - nfs4 server:/x rw\n")
    monkeypatch.setattr("keisei.store.place.MOUNTS", mounts)

    with pytest.raises(OperatorError, match=r"network file system \(nfs4\)"):
        open_store(url)


def test_an_old_sqlite_is_refused(monkeypatch, url):
    monkeypatch.setattr("keisei.store.link.OLDEST", (99,))

    with pytest.raises(OperatorError, match="can corrupt a database"):
        open_store(url)


def test_a_damaged_page_is_told(path, url):
    open_store(url).close()
    content = bytearray(path.read_bytes())
    content[4096 : 4096 * 8] = b"\xaa" * 4096 * 7
    path.write_bytes(content)

    with pytest.raises(OperatorError, match="is not a whole SQLite database"), closing(open_store(url)) as store:
        store.counts()


def test_sqlite_costs_no_import_of_postgres(url):
    assert told("open_store(sys.argv[1]).close(); print('psycopg' in sys.modules)", url) == "False\n"


# turns


def test_who_waits_for_a_stopped_process_is_told_whom(url):
    store = open_store(url)
    store._reader.deadline_s = 0.2
    desk = Desk(store, VirtualClock(), None)
    with running(HOLDER, url) as holder:
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGSTOP)

        for _ in range(3):
            with pytest.raises(WorldFault, match=f"another process holds the database: pid {holder.pid} ") as caught:
                desk.queue()
            assert caught.value.retryable
        assert store.counts()["pending"] == 0  # reading waits for nobody

        holder.send_signal(signal.SIGCONT)
        assert holder.communicate("go\n")[0] == "given\n"
    store._reader.deadline_s = 30
    desk.queue()
    assert told("desk = Desk(open_store(sys.argv[1]), VirtualClock(), None); desk.name = str; desk.queue()", url) == ""
    assert store.counts()["pending"] == 2
    store.close()


def test_a_process_that_is_killed_in_its_turn_gives_it_back(url):
    with running(HOLDER, url) as holder:
        assert holder.stdout.readline() == "held\n"

    with closing(open_store(url)) as store:
        Desk(store, VirtualClock(), None).queue()
        assert store.counts()["pending"] == 1


def test_a_wait_that_was_given_up_holds_nobody_up(url):
    """It goes on in a thread; when the lock comes to it, it lets it go."""
    impatient = Sqlite(Path(url.removeprefix("sqlite://")), SystemClock(), deadline_s=0.05)
    with running(HOLDER, url) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(WorldFault), impatient.write():
            pass
        holder.communicate("go\n")

    for thread in [each for each in threading.enumerate() if each.name == "keisei-turn"]:
        thread.join()
    with closing(open_store(url)) as store:
        Desk(store, VirtualClock(), None).queue()
    impatient.close()


def test_a_store_that_was_closed_opens_again(url):
    store = open_store(url)
    desk = Desk(store, VirtualClock(), None)
    desk.queue()
    store.close()
    store.close()

    desk.queue()
    assert store.counts()["pending"] == 2
    store.close()


def test_a_thread_that_holds_the_turn_too_long_is_told_of(url):
    driver = Sqlite(Path(url.removeprefix("sqlite://")), SystemClock(), deadline_s=0.05)
    caught = []

    def write():
        try:
            with driver.write():
                pass
        except WorldFault as fault:
            caught.append(fault)

    with driver.write():
        other = threading.Thread(target=write)
        other.start()
        other.join()

    assert "another thread" in caught[0].message
    driver.close()


def test_a_child_of_a_fork_has_a_connection_of_its_own(url):
    code = """
    store = open_store(sys.argv[1])
    desk = Desk(store, VirtualClock(), None)
    desk.queue()

    def use(index):
        desk.name = lambda kind: f"{kind}-child-{index}"
        for _ in range(3):
            desk.store.enqueue([desk.task()])
        assert store.counts()["pending"] >= 2
        store.close()

    failed = at_once(4, use)
    desk.queue()
    print(failed, store.counts()["pending"])
    """

    assert told(code, url) == "0 6\n"


def test_a_child_does_not_keep_the_turn_of_its_parent(url):
    """The parent dies in its turn; the child, who lives on, must not hold the lock for it."""
    code = """
    store = open_store(sys.argv[1])
    with store._reader.write():
        child = os.fork()
        if child:
            print(child, flush=True)
            os._exit(0)
        os.setsid()
        sys.stdin.readline()
        os._exit(0)
    """
    with running(code, url) as parent:
        child = int(parent.stdout.readline())
        parent_ended = parent.wait()
        assert parent_ended == 0
        os.kill(child, 0)

        with closing(open_store(url)) as store:
            store._reader.deadline_s = 5
            Desk(store, VirtualClock(), None).queue()
            assert store.counts()["pending"] == 1


@pytest.mark.parametrize("which", ["sqlite", "postgres"])
def test_many_threads_share_a_store(which, request, tmp_path):
    make = sqlite_desk(tmp_path) if which == "sqlite" else postgres_desk(request.getfixturevalue("postgres_url"))
    with make as desk:
        failed = []

        def work(number):
            try:
                runner = desk.runner()
                for _ in range(5):
                    desk.queue(payload={"number": number})
                    for claimed in desk.claim(runner):
                        desk.settle(claimed, "completed")
                    desk.store.beat(runner)
                    desk.store.counts()
            except BaseException as error:  # noqa: BLE001 - told by the test below
                failed.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert failed == []
        counts = desk.store.counts()
        # who claims while others hold the rows may find none, and leaves them to the next
        assert counts["completed"] + counts["pending"] == 40
        assert len(desk.claim(desk.runner(), 40)) == counts["pending"]


# what a disk does


def test_a_full_disk_is_one_error_and_loses_nothing(url):
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (700_000, 700_000))\n"
    *kept, last = told(limit + WRITER, url, 1000, 20_000).splitlines()

    assert last.startswith("WorldFault: ")
    assert len(kept) > 3
    with sqlite_desk(Path(url.removeprefix("sqlite://")).parent) as desk:
        assert sorted(task for (task,) in desk.sql("SELECT task_id FROM tasks")) == kept
        assert damage(desk) == []
        desk.name = str
        desk.queue()


@pytest.mark.parametrize("after", [1, 4, 9])
def test_a_process_that_is_killed_while_it_writes_loses_nothing(after, url, tmp_path):
    with running(WRITER, url, 1000, 3000) as writer:
        kept = [writer.stdout.readline().strip() for _ in range(after)]
        writer.kill()
        kept += writer.stdout.read().split()

    with sqlite_desk(tmp_path) as desk:
        found = sorted(task for (task,) in desk.sql("SELECT task_id FROM tasks"))
        assert found[: len(kept)] == kept
        assert len(found) <= len(kept) + 1
        assert damage(desk) == []


def test_a_database_that_is_taken_away_is_told(url, path):
    with closing(open_store(url)) as store:
        for each in path.parent.glob("state.db*"):
            if each.name != "state.db.lock":
                each.unlink()

        with pytest.raises(WorldFault, match="cannot be reached"):
            store.counts()
        with pytest.raises(WorldFault, match="cannot be reached"):
            Desk(store, VirtualClock(), None).queue()


def test_every_commit_reaches_the_disk_before_it_is_told(url):
    with closing(open_store(url)) as store:
        assert store._reader._writer.opened().execute("PRAGMA synchronous").fetchall() == [(2,)]
        assert store._reader.read("PRAGMA journal_mode") == [("wal",)]
        assert store._reader.read("PRAGMA foreign_keys") == [(1,)]


def test_who_reads_cannot_write(url):
    with closing(open_store(url)) as store, pytest.raises(OperatorError):
        store._reader.read("DELETE FROM tasks")


def test_a_block_that_fails_writes_nothing(url):
    with closing(open_store(url)) as store:
        with suppress(ZeroDivisionError), store._reader.write() as cursor:
            cursor.execute("INSERT INTO pauses VALUES ('all', 'x', 'x', 1)")
            raise ZeroDivisionError
        assert store.pauses() == []
        Desk(store, VirtualClock(), None).queue()


# servers that go away


@pytest.fixture
def server_desk(postgres_url):
    with postgres_desk(postgres_url) as desk:
        yield desk


def send_away(desk):
    desk.sql(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )


def test_a_lost_connection_is_told_once_and_comes_back(server_desk):
    send_away(server_desk)

    with pytest.raises(WorldFault) as caught:
        server_desk.queue()

    assert caught.value.retryable
    assert server_desk.queue()
    assert server_desk.store.counts()["pending"] == 1


def test_reading_survives_a_lost_connection(server_desk):
    server_desk.queue()
    send_away(server_desk)

    assert server_desk.store.counts()["pending"] == 1


def test_a_heartbeat_survives_a_lost_connection(server_desk):
    runner = server_desk.runner()
    server_desk.store.beat(runner)
    send_away(server_desk)

    assert server_desk.store.beat(runner).alive


def test_one_statement_is_told_of_the_connections_that_were_lost(server_desk):
    """However many there were: the server went away once."""
    runner = server_desk.runner()
    at_once(lambda _: server_desk.queue(), range(8))
    send_away(server_desk)

    faults = 0
    for _ in range(8):
        try:
            server_desk.queue()
        except WorldFault:
            faults += 1

    assert faults == 1
    assert server_desk.claim(runner)


def test_a_heartbeat_survives_what_the_other_connection_suffers(server_desk):
    runner = server_desk.runner()
    server_desk.store.beat(runner)
    server_desk.sql(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid() AND strpos(query, 'heartbeat_at =') = 0"
    )

    assert server_desk.store.beat(runner).alive
    with pytest.raises(WorldFault):
        server_desk.queue()


def test_a_server_that_is_down_is_told_and_one_that_is_back_is_used(server_desk, postgres):
    server_desk.queue()
    postgres.stop()

    for _ in range(2):
        with pytest.raises(WorldFault) as caught:
            server_desk.store.counts()
        assert caught.value.retryable

    postgres.start()
    assert server_desk.store.counts()["pending"] == 1
    assert server_desk.queue()


def test_a_server_that_is_not_there_is_told(tmp_path):
    with pytest.raises(WorldFault) as caught:
        open_store(f"postgresql://somebody:secret@/name?host={quote(str(tmp_path))}")

    assert caught.value.retryable
    assert "secret" not in caught.value.message


def test_a_database_that_is_not_there_is_the_operators(postgres):
    with pytest.raises(OperatorError, match="does not exist"):
        open_store(postgres.url.replace("/postgres?", "/nothing-of-that-name?"))


def test_a_child_of_a_fork_speaks_on_a_connection_of_its_own(postgres_url):
    code = """
    store = open_store(sys.argv[1])
    desk = Desk(store, VirtualClock(), None)
    desk.queue()

    def use(index):
        desk.name = lambda kind: f"{kind}-child-{index}"
        desk.queue()
        store.close()

    failed = at_once(4, use)
    desk.queue()
    print(failed, store.counts()["pending"])
    store.close()
    """

    assert told(code, postgres_url) == "0 6\n"


def test_any_text_goes_through_an_array_unchanged(server_desk):
    odd = [
        "",
        " ",
        "NULL",
        "null",
        "{}",
        '"',
        "\\",
        '\\"',
        "a,b",
        "{a}",
        "\n\t",
        "é\u2028",
        "'",
        "\\x00",
        "%s",
        ":now",
        "$1",
    ]

    rows = server_desk.store._reader.read("SELECT unnest(:texts::text[])", {"texts": odd})

    assert [text for (text,) in rows] == odd
    bytes_ = [b"", b"\x00\xff", b"\\x", b'"']
    rows = server_desk.store._reader.read("SELECT unnest(:all::bytea[])", {"all": bytes_})
    assert [value for (value,) in rows] == bytes_


def test_a_statement_that_waits_too_long_for_a_row_is_told(server_desk, postgres_url):
    claimed = server_desk.running()
    server_desk.store._reader.execute("SELECT set_config('lock_timeout', '50ms', false)")

    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT 1 FROM tasks FOR UPDATE")
        with pytest.raises(WorldFault) as caught:
            server_desk.settle(claimed, "completed")

    assert caught.value.retryable
    assert server_desk.settle(claimed, "completed") == "settled"


def test_an_interrupted_statement_leaves_nothing_open(server_desk, monkeypatch):
    server_desk.queue()
    original = psycopg.Connection.execute

    def interrupted(connection, *arguments):
        original(connection, b"BEGIN")
        original(connection, *arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Connection, "execute", interrupted)
        with pytest.raises(KeyboardInterrupt):
            server_desk.queue()

    assert server_desk.store.counts()["pending"] == 1
    server_desk.queue()
    assert server_desk.another().counts()["pending"] == 2


# rows that are seen later than their number


def test_who_follows_events_waits_for_a_slow_writer(server_desk, postgres_url):
    """Its number is smaller than one that can be read already."""
    store = server_desk.store
    with psycopg.connect(postgres_url) as slow:
        slow.execute("INSERT INTO events (event_type, detail, created_at) VALUES ('dispatch_idle', '{}', 1)")
        store.note([NewEvent(event_type="dispatch_locked")])
        read = []
        following = threading.Thread(target=lambda: read.extend(store.events(EventQuery())))
        following.start()
        slow.commit()
        following.join()

    assert [event.event_type for event in read] == ["dispatch_idle", "dispatch_locked"]


def test_a_writer_that_does_not_end_lets_through_what_stands_in_front_of_it(server_desk, postgres_url, monkeypatch):
    monkeypatch.setattr("keisei.store.follow.PATIENCE_S", 0.01)
    store = server_desk.store
    store.note([NewEvent(event_type="dispatch_paused")])
    with psycopg.connect(postgres_url) as slow:
        slow.execute("INSERT INTO events (event_type, detail, created_at) VALUES ('dispatch_idle', '{}', 1)")
        store.note([NewEvent(event_type="dispatch_locked")])

        assert [event.event_type for event in store.events(EventQuery())] == ["dispatch_paused"]
        assert store.events(EventQuery(event_type="dispatch_locked")) == []
        assert len(store.events(EventQuery(newest=True))) == 2
        slow.rollback()

    assert [event.event_type for event in store.events(EventQuery())] == ["dispatch_paused", "dispatch_locked"]
