"""The doorbell, of one machine and of many: a ring wakes who waits, and nobody who rings has to wait."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import psycopg
import pytest

from keisei.records.error import OperatorError
from keisei.store.bell import SocketBell, wait_for
from keisei.store.notify import NotifyBell

LONG = 60.0
"""A wait that only a ring ends in time."""


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="kb-", dir="/tmp") as path:  # a socket's path must be short
        yield Path(path)


@pytest.fixture(params=["socket", "notify"])
def make_bell(request):
    """A function that makes one more bell of the same house."""
    made = []
    if request.param == "socket":
        place = request.getfixturevalue("folder")
        make = lambda: SocketBell(place)  # noqa: E731 - two of one kind
    else:
        url = request.getfixturevalue("postgres_url")
        make = lambda: NotifyBell(lambda: psycopg.connect(url, autocommit=True))  # noqa: E731 - as above

    def one():
        made.append(make())
        return made[-1]

    yield one
    for each in made:
        each.close()


def hung_up(bell):
    """The bell, hung up: the first wait returns at once, and so do those that hear it being hung up."""
    bell.wait(LONG)
    while waited(bell, 0.05):
        continue
    return bell


def waited(bell, timeout_s):
    """Whether the wait was ended by a ring, in a thread that a test does not hang on."""
    began = time.monotonic()
    bell.wait(timeout_s)
    return time.monotonic() - began < timeout_s


def test_a_ring_wakes_another_bell(make_bell):
    waits, rings = hung_up(make_bell()), make_bell()

    rings.ring()

    assert waited(waits, LONG)


def test_a_ring_wakes_every_bell(make_bell):
    waiting = [hung_up(make_bell()) for _ in range(3)]

    make_bell().ring()

    assert all(waited(each, LONG) for each in waiting)


def test_a_ring_inside_the_process_ends_a_wait(make_bell):
    bell = hung_up(make_bell())
    threading.Timer(0.05, bell.ring).start()

    assert waited(bell, LONG)


def test_without_a_ring_a_wait_lasts_its_time(make_bell):
    bell = hung_up(make_bell())

    assert not waited(bell, 0.05)


def test_a_ring_before_the_wait_is_not_lost_and_rings_once(make_bell):
    waits, rings = hung_up(make_bell()), make_bell()

    for _ in range(5):
        rings.ring()
    rings.close()

    assert waited(waits, LONG)
    while waited(waits, 0.05):  # ends when nothing is left
        continue


def test_many_rings_block_nobody_and_cost_no_memory(make_bell):
    waits, rings = hung_up(make_bell()), make_bell()

    for _ in range(5_000):
        rings.ring()
        waits.ring()

    assert waited(waits, LONG)


@pytest.mark.parametrize("timeout", [0.0, -1.0, 1e-9], ids=["zero", "negative", "tiny"])
def test_a_wait_of_no_time_returns(make_bell, timeout):
    bell = hung_up(make_bell())

    bell.wait(timeout)


def test_a_bell_may_be_closed_twice_and_rung_after(make_bell):
    bell = hung_up(make_bell())

    bell.close()
    bell.close()
    bell.ring()


def test_waiting_is_one_call_of_the_kernel(make_bell, monkeypatch):
    bell = hung_up(make_bell())
    calls = []

    def counted(heard, timeout_s):
        calls.append(heard)
        return wait_for(heard, timeout_s)

    monkeypatch.setattr("keisei.store.bell.wait_for", counted)
    monkeypatch.setattr("keisei.store.notify.wait_for", counted)
    bell.wait(0.05)

    assert len(calls) == 1


def test_a_signal_handler_may_ring_while_its_thread_waits(make_bell):
    bell = hung_up(make_bell())
    before = signal.signal(signal.SIGUSR1, lambda *_: bell.ring())
    try:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()

        assert waited(bell, LONG)
    finally:
        signal.signal(signal.SIGUSR1, before)


FORKED = """
import os, sys, time
from pathlib import Path
import psycopg
from keisei.store.bell import SocketBell
from keisei.store.notify import NotifyBell

where = sys.argv[1]
bell = NotifyBell(lambda: psycopg.connect(where, autocommit=True)) if "://" in where else SocketBell(Path(where))
bell.wait(60)
bell.ring()
bell.wait(60)
child = os.fork()
if child == 0:
    bell.wait(60)
    os.write(1, b"child\\n")
    bell.wait(60)
    bell.close()
    os.write(1, b"rung\\n")
    os._exit(0)
os.write(1, b"parent\\n")
os.waitpid(child, 0)
while True:
    began = time.monotonic()
    bell.wait(0.1)
    if time.monotonic() - began >= 0.1:
        break
os.write(1, b"quiet\\n")
bell.wait(60)
bell.close()
os.write(1, b"rung\\n")
"""


def test_a_child_of_a_fork_has_a_bell_of_its_own(request, make_bell):
    notify = isinstance(make_bell(), NotifyBell)
    where = request.getfixturevalue("postgres_url" if notify else "folder")
    rings = make_bell()
    with subprocess.Popen([sys.executable, "-c", FORKED, where], stdout=subprocess.PIPE, text=True) as process:
        said = {process.stdout.readline(), process.stdout.readline()}
        assert said == {"child\n", "parent\n"}

        rings.ring()
        assert process.stdout.readline() == "rung\n"
        assert process.stdout.readline() == "quiet\n"
        rings.ring()
        assert process.stdout.readline() == "rung\n"
        assert process.wait(60) == 0


# --- one machine


def test_without_a_folder_a_bell_rings_inside_its_process():
    bell = SocketBell(None)
    bell.ring()

    assert waited(bell, LONG)
    assert not waited(bell, 0.01)


def test_a_closed_bell_leaves_nothing_in_its_folder(folder):
    bell = hung_up(SocketBell(folder))
    assert len(list(folder.iterdir())) == 1

    bell.close()

    assert list(folder.iterdir()) == []


def test_a_bell_that_only_rings_leaves_nothing_in_its_folder(folder):
    SocketBell(folder).ring()

    assert list(folder.iterdir()) == []


def test_the_socket_of_a_dead_process_is_removed_by_the_next_ring(folder):
    dead = folder / "1-00000000.bell"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as left:
        left.bind(os.fspath(dead))
    bell = hung_up(SocketBell(folder))

    SocketBell(folder).ring()

    assert not dead.exists()
    assert waited(bell, LONG)
    bell.close()


def test_a_full_socket_is_left_alone_and_keeps_nobody_waiting(folder):
    full = folder / "1-00000000.bell"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as slow:
        slow.bind(os.fspath(full))
        for _ in range(1_000):
            SocketBell(folder).ring()

        assert full.exists()


@pytest.mark.parametrize("thing", ["file", "folder", "stream"])
def test_other_things_in_the_folder_hurt_nobody(folder, thing):
    place = folder / "x.bell"
    other = folder / "notes.txt"
    other.write_text("kept")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
        if thing == "stream":
            stream.bind(os.fspath(place))
            stream.listen()
        elif thing == "file":
            place.write_text("x")
        else:
            place.mkdir()
        bell = hung_up(SocketBell(folder))

        SocketBell(folder).ring()

        assert waited(bell, LONG)
        bell.close()
    assert other.read_text() == "kept"


def test_a_socket_that_was_swept_away_is_made_again(folder):
    bell = hung_up(SocketBell(folder))
    for path in folder.iterdir():
        path.unlink()
    bell.wait(LONG)

    SocketBell(folder).ring()

    assert waited(bell, LONG)
    bell.close()
    assert list(folder.iterdir()) == []


def test_a_folder_that_is_gone_leaves_the_bell_of_the_process(folder):
    bell = SocketBell(folder / "gone")
    bell.ring()

    assert waited(bell, LONG)


def test_a_folder_too_long_for_a_socket_is_refused_with_what_to_do(folder):
    with pytest.raises(OperatorError, match="too long") as caught:
        SocketBell(folder / ("x" * 90))

    assert "at most" in caught.value.hint


def test_the_longest_folder_that_is_taken_works(folder):
    room = 103 - len("/4194304-01234567.bell") - len(os.fsencode(folder)) - 1
    place = folder / ("x" * room)
    place.mkdir()
    bell = hung_up(SocketBell(place))

    SocketBell(place).ring()

    assert len(list(place.iterdir())) == 1
    assert waited(bell, LONG)
    bell.close()
    with pytest.raises(OperatorError):
        SocketBell(folder / ("x" * (room + 1)))


# --- many machines


def test_rings_that_follow_each_other_closely_leave_as_a_few(postgres_url):
    heard = []
    with psycopg.connect(postgres_url, autocommit=True) as listener:
        listener.execute("LISTEN keisei_bell")
        bell = NotifyBell(lambda: psycopg.connect(postgres_url, autocommit=True))
        for _ in range(2_000):
            bell.ring()
        bell.close()
        heard.extend(listener.notifies(timeout=1, stop_after=1))
        heard.extend(listener.notifies(timeout=0.2))

    assert 1 <= len(heard) < 100


def test_the_last_ring_is_sent_before_the_bell_is_closed(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as listener:
        listener.execute("LISTEN keisei_bell")
        for _ in range(10):
            bell = NotifyBell(lambda: psycopg.connect(postgres_url, autocommit=True))
            bell.ring()
            bell.close()
            assert len(list(listener.notifies(timeout=10, stop_after=1))) == 1


def test_a_lost_connection_is_subscribed_again(postgres_url, monkeypatch):
    monkeypatch.setattr("keisei.store.notify.AGAIN_S", 0.01)
    waits = hung_up(NotifyBell(lambda: psycopg.connect(postgres_url, autocommit=True, application_name="waits")))
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'waits'")
        waits.wait(LONG)
        listening = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waits' AND query ~ 'LISTEN'"
        while other.execute(listening).fetchone() != (1,):
            waits.wait(0.02)
        while waited(waits, 0.05):
            continue

        other.execute("NOTIFY keisei_bell")

        assert waited(waits, LONG)
    waits.close()


def test_a_ring_over_a_lost_connection_makes_another(postgres_url, monkeypatch):
    monkeypatch.setattr("keisei.store.notify.AGAIN_S", 0.01)
    rings = NotifyBell(lambda: psycopg.connect(postgres_url, autocommit=True, application_name="rings"))
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute("LISTEN keisei_bell")
        rings.ring()
        assert len(list(other.notifies(timeout=10, stop_after=1))) == 1
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'rings'")
        heard = []
        while not heard:
            rings.ring()
            heard = list(other.notifies(timeout=0.05, stop_after=1))
    rings.close()


def test_a_bell_that_is_rung_after_it_was_closed_opens_nothing(postgres_url):
    made = []

    def connect():
        made.append(1)
        return psycopg.connect(postgres_url, autocommit=True)

    bell = NotifyBell(connect)
    bell.close()
    bell.ring()
    bell.wait(0.01)

    assert made == []


def test_a_ring_without_a_thread_is_lost_and_no_error(postgres_url, monkeypatch):
    bell = NotifyBell(lambda: psycopg.connect(postgres_url, autocommit=True))
    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread.start", lambda _: (_ for _ in ()).throw(RuntimeError("no more threads")))
        bell.ring()

    with psycopg.connect(postgres_url, autocommit=True) as listener:
        listener.execute("LISTEN keisei_bell")
        bell.ring()
        bell.close()
        assert len(list(listener.notifies(timeout=10, stop_after=1))) == 1


def test_without_a_server_the_bell_rings_inside_its_process():
    tried = []

    def connect():
        tried.append(1)
        raise psycopg.OperationalError("nobody is there")

    bell = NotifyBell(connect)
    threading.Timer(0.05, bell.ring).start()

    bell.wait(LONG)
    bell.wait(0.01)
    bell.ring()
    bell.wait(LONG)
    bell.close()

    assert len(tried) == 1
