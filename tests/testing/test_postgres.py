"""The private PostgreSQL server: real, alone, and gone with its owner."""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg
import pytest

from keisei.records.error import OperatorError, WorldFault
from keisei.sandbox.tree import look
from keisei.testing import postgres
from keisei.testing.postgres import Server, server


@pytest.fixture(scope="module")
def folder():
    """A folder with a space in its name, where the server's user may go."""
    with tempfile.TemporaryDirectory(prefix="keisei postgres-") as made:
        yield Path(made)


@pytest.fixture(scope="module")
def running(folder):
    with server(folder) as made:
        yield made


@pytest.fixture
def database(running):
    """A database on a running server, whatever the test before did to it."""
    running.start()
    return running.database()


def one(url, statement):
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(statement).fetchone()[0]


def order(url, statement):
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


def is_alive(pid):
    seen = look(pid)
    return seen is not None and not seen.dead


def wait_for(happened, *, within_s=60.0):
    until = time.monotonic() + within_s
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.01)


# --- one server, many databases ---------------------------------------------------------------------------------------


def test_it_speaks_utf8_sorts_by_bytes_and_keeps_utc(database):
    names = ("server_encoding", "lc_collate", "TimeZone")
    settings = [one(database, f"SELECT current_setting('{name}')") for name in names]

    assert settings == ["UTF8", "C", "UTC"]


def test_a_database_is_empty_and_knows_nothing_of_another(running, database):
    order(database, "CREATE TABLE thing (name text)")

    other = running.database()

    assert other != database
    assert one(other, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0


def test_a_database_is_dropped_under_its_clients(running, database):
    with psycopg.connect(database) as client:
        running.drop(database)

        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(database)


def test_an_address_holds_against_the_environment(database, monkeypatch):
    for name, value in {"PGHOST": "nowhere.invalid", "PGPORT": "1", "PGUSER": "nobody", "PGDATABASE": "none"}.items():
        monkeypatch.setenv(name, value)

    assert one(database, "SELECT current_user") == "keisei"


def test_nobody_reaches_it_over_the_network_or_from_another_account(running, database):
    assert one(database, "SELECT current_setting('listen_addresses')") == ""
    assert running.folder.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's server runs as that user")
def test_it_does_not_run_as_root(running, database):
    assert database
    assert Path(f"/proc/{running.pid}").stat().st_uid != 0


# --- stopping and starting --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["smart", "fast", "immediate"])
def test_what_was_committed_is_there_after_a_restart(running, database, mode):
    order(database, "CREATE TABLE kept AS SELECT 7 AS number")
    before = running.pid

    running.stop(mode)

    assert not running.running
    assert not is_alive(before)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(database)
    running.start()
    assert running.pid != before
    assert one(database, "SELECT number FROM kept") == 7


def test_a_kill_is_a_crash_for_who_is_connected(running, database):
    with psycopg.connect(database) as client:
        running.kill()

        with pytest.raises(psycopg.OperationalError):
            client.execute("SELECT 1")
    running.start()
    assert "not properly shut down" in (running.folder / "log").read_text(encoding="utf-8")


def test_starting_and_stopping_twice_changes_nothing(running, database):
    before = running.pid
    running.start()
    assert running.pid == before

    running.stop()
    running.stop()
    with pytest.raises(WorldFault, match="does not run"):
        _ = running.pid
    assert database


def test_a_server_that_cannot_start_says_what_its_log_says(running, database):
    running.stop()
    settings = running.folder / "postgresql.auto.conf"
    before = settings.read_bytes()
    settings.write_text("work_mem = 'much'\n", encoding="utf-8")
    try:
        with pytest.raises(WorldFault, match="work_mem"):
            running.start()
        assert not running.running
    finally:
        settings.write_bytes(before)
    running.start()
    assert one(database, "SELECT 1") == 1


# --- with its owner ---------------------------------------------------------------------------------------------------

OWNER = """
import sys, time
from pathlib import Path
from keisei.testing.postgres import server

with server(Path(sys.argv[1])) as running:
    print(running.pid, flush=True)
    time.sleep(600)
"""


def test_a_server_ends_with_its_owner_however_that_ends():
    with tempfile.TemporaryDirectory(prefix="keisei-owned-") as folder:
        owner = subprocess.Popen([sys.executable, "-c", OWNER, folder], stdout=subprocess.PIPE)
        try:
            assert select.select([owner.stdout], [], [], 120)[0]
            pid = int(owner.stdout.readline())
            assert is_alive(pid)
        finally:
            owner.send_signal(signal.SIGKILL)
            owner.communicate()

        wait_for(lambda: not is_alive(pid))
        # Stopped, not killed: it has given back the memory it shares, of which a machine has little.
        wait_for(lambda: not (Path(folder) / "postmaster.pid").exists())


def test_nothing_is_left_after_an_error_in_the_block():
    pids = []

    def use(folder):
        with server(Path(folder), fsync=True) as made:
            pids.append(made.pid)
            assert one(made.url, "SELECT current_setting('fsync')") == "on"
            raise KeyboardInterrupt

    with tempfile.TemporaryDirectory(prefix="keisei-block-") as folder, pytest.raises(KeyboardInterrupt):
        use(folder)
    assert [is_alive(pid) for pid in pids] == [False]


# --- where it cannot be -----------------------------------------------------------------------------------------------


def test_without_programs_the_error_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres, "_PACKAGED", tmp_path)

    with pytest.raises(OperatorError, match="no PostgreSQL server") as caught:
        Server(tmp_path / "data")

    assert "make setup-test" in caught.value.hint
    assert not (tmp_path / "data").exists()


def test_the_newest_of_the_packages_is_taken(tmp_path, monkeypatch):
    for version in ("9.6", "14", "15", "100"):
        programs = tmp_path / version / "bin"
        programs.mkdir(parents=True)
        for name in ("initdb", "pg_ctl", "postgres")[: 1 if version == "100" else 3]:
            (programs / name).touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(postgres, "_PACKAGED", tmp_path)

    assert postgres._find_programs() == tmp_path / "15" / "bin"


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    before = tmp_path.stat()

    with pytest.raises(OperatorError, match="not empty"):
        Server(tmp_path)

    assert (tmp_path.stat().st_uid, tmp_path.stat().st_mode) == (before.st_uid, before.st_mode)


def test_a_folder_too_deep_for_a_socket_is_refused_at_once(tmp_path):
    with pytest.raises(OperatorError, match="too long") as caught:
        Server(tmp_path / ("x" * 100))

    assert "at most 93 bytes" in caught.value.hint


def test_an_old_server_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(postgres, "OLDEST", 10_000)

    with pytest.raises(OperatorError, match=r"holds PostgreSQL \d+$") as caught:
        Server(tmp_path / "data")

    assert "10000 or newer" in caught.value.hint


def test_programs_that_are_no_server_are_refused(tmp_path, monkeypatch):
    for name in ("initdb", "pg_ctl", "postgres"):
        (tmp_path / name).write_text("#!/bin/sh\necho broken\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(OperatorError, match="broken"):
        Server(tmp_path / "data")


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's server needs no other account")
def test_a_folder_out_of_reach_of_the_servers_user_is_named(tmp_path):
    tmp_path.chmod(0o700)

    with pytest.raises(OperatorError, match="could not be prepared") as caught:
        Server(tmp_path / "data")

    assert "must be able to reach the folder" in caught.value.hint
