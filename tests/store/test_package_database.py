"""Databases of packages: forward only, one process at a time, each migration whole or not at all."""

import os
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc
from contextlib import closing
from datetime import UTC, datetime

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.error import KeiseiError, OperatorError, WorldFault
from keisei.store.package_database import Tables, bring_up, database_state
from keisei.store.package_migration import read_steps
from keisei.store.turn import Turn

QUICK = settings(max_examples=15, deadline=None, database=None)
FIRST = "CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL);"
SECOND = "ALTER TABLE tasks ADD COLUMN done INTEGER NOT NULL DEFAULT 0;"


def now():
    return datetime(2026, 11, 16, tzinfo=UTC)


def folder_of(tmp_path, *texts, name="migrations"):
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(texts, start=1):
        (folder / f"{number:04}_step_{number}.sql").write_text(text, encoding="utf-8")
    return folder


def tables_of(tmp_path, *texts):
    return Tables("kei-task", read_steps(folder_of(tmp_path, *texts)), "KEI_TASK_DB")


def rows(path, sql):
    with closing(apsw.Connection(str(path))) as connection:
        return connection.execute(sql).fetchall()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "task.sqlite"


def refused(path, tables):
    with pytest.raises(KeiseiError) as caught:
        bring_up(path, tables, now)
    return caught.value


def test_a_new_database_gets_every_migration_once(path, tmp_path):
    tables = tables_of(tmp_path, FIRST, SECOND)

    assert [step.version for step in bring_up(path, tables, now)] == [1, 2]
    assert bring_up(path, tables, now) == ()
    assert rows(path, "SELECT package, version, name, applied_at FROM keisei_migrations") == [
        ("kei-task", 1, "step_1", "2026-11-16T00:00:00+00:00"),
        ("kei-task", 2, "step_2", "2026-11-16T00:00:00+00:00"),
    ]
    assert rows(path, "SELECT * FROM keisei_calls") == []
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_the_state_tells_without_making_anything(path, tmp_path):
    tables = tables_of(tmp_path, FIRST)
    before = database_state(path, tables)

    assert (before.exists, before.is_current, len(before.missing)) == (False, False, 1)
    assert not path.parent.exists()

    bring_up(path, tables, now)
    after = database_state(path, tables_of(tmp_path, FIRST, SECOND))

    assert (after.exists, after.is_current) == (True, False)
    assert [step.version for step in after.applied] == [1]
    assert [step.version for step in after.missing] == [2]


def test_two_packages_share_one_file(path, tmp_path):
    bring_up(path, tables_of(tmp_path, FIRST), now)
    other = read_steps(folder_of(tmp_path, "CREATE TABLE notes (id INTEGER)", name="other"))

    assert len(bring_up(path, Tables("kei-note", other), now)) == 1
    assert rows(path, "SELECT package FROM keisei_migrations ORDER BY 1") == [("kei-note",), ("kei-task",)]


def test_a_package_without_migrations_still_keeps_its_calls(path):
    assert bring_up(path, Tables("kei-task", ()), now) == ()
    assert rows(path, "SELECT count(*) FROM keisei_calls") == [(0,)]
    assert database_state(path, Tables("kei-task", ())).is_current


def test_an_edited_migration_is_refused(path, tmp_path):
    bring_up(path, tables_of(tmp_path, FIRST), now)

    assert "was edited after it ran" in refused(path, tables_of(tmp_path, FIRST + "\n-- more")).message


def test_a_newer_database_is_refused(path, tmp_path):
    bring_up(path, tables_of(tmp_path, FIRST, SECOND), now)
    older = Tables("kei-task", read_steps(tmp_path / "migrations")[:1])

    assert "is newer than `kei-task`" in refused(path, older).message


def test_a_name_that_no_file_can_have_is_told_when_it_is_to_be_made(path, tmp_path):
    long = path.with_name("x" * 300)

    assert not database_state(long, tables_of(tmp_path, FIRST)).exists
    assert "cannot be reached" in refused(long, tables_of(tmp_path, FIRST)).message


def test_a_database_with_a_hole_is_refused(path, tmp_path):
    tables = tables_of(tmp_path, FIRST, SECOND)
    bring_up(path, tables, now)
    rows(path, "DELETE FROM keisei_migrations WHERE version = 1")

    assert "lacks the migration 0001" in refused(path, tables).message


def test_a_database_of_another_program_is_left_as_it_is(path, tmp_path):
    path.parent.mkdir()
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(
            "CREATE TABLE tasks (id, title); CREATE TABLE task_deps (a, b); INSERT INTO tasks VALUES (1, 'x')"
        )
    before = path.read_bytes()

    error = refused(path, tables_of(tmp_path, FIRST))

    assert "is no database of `kei-task`: it has tables (`task_deps`, `tasks`)" in error.message
    assert "set KEI_TASK_DB to a place for a new one" in error.hint
    assert path.read_bytes() == before


def test_what_is_no_database_is_told(path, tmp_path):
    path.parent.mkdir()
    path.write_bytes(b"not a database, and long enough to be read as one" * 50)

    assert isinstance(refused(path, tables_of(tmp_path, FIRST)), OperatorError)


@pytest.mark.parametrize("kind", ["symlink", "dangling", "hardlink", "folder"])
def test_a_database_stands_at_one_place_of_its_own(path, tmp_path, kind):
    path.parent.mkdir()
    other = tmp_path / "other.sqlite"
    if kind == "folder":
        path.mkdir()
    elif kind == "hardlink":
        other.touch()
        path.hardlink_to(other)
    else:
        path.symlink_to(other)
        if kind == "symlink":
            other.touch()
    tables = tables_of(tmp_path, FIRST)

    assert isinstance(refused(path, tables), OperatorError)
    with pytest.raises(OperatorError):
        database_state(path, tables)


# --- what a migration may say ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("COMMIT", "BEGIN, COMMIT or ROLLBACK is not allowed"),
        ("BEGIN", "BEGIN, COMMIT or ROLLBACK is not allowed"),
        ("ROLLBACK; CREATE TABLE x (a)", "BEGIN, COMMIT or ROLLBACK is not allowed"),
        ("SAVEPOINT a; RELEASE a", "SAVEPOINT is not allowed"),
        ("ATTACH '{other}' AS other", "ATTACH is not allowed"),
        ("VACUUM INTO '{other}'", ""),
        ("PRAGMA writable_schema = ON", "PRAGMA writable_schema is not allowed"),
        ("PRAGMA journal_mode = DELETE", "PRAGMA journal_mode is not allowed"),
        ("SELECT load_extension('x')", ""),
        ("DROP TABLE keisei_migrations", "are keisei's own"),
        ("INSERT INTO keisei_calls VALUES ('a', 'b', 'c')", "are keisei's own"),
        ("ALTER TABLE keisei_calls RENAME TO mine", "are keisei's own"),
        ("CREATE TRIGGER mine AFTER INSERT ON keisei_calls BEGIN DELETE FROM tasks; END", "are keisei's own"),
        ("CREATE TEMP TRIGGER mine AFTER INSERT ON keisei_migrations BEGIN SELECT 1; END", "are keisei's own"),
        ("CREATE UNIQUE INDEX mine ON Keisei_Calls (output)", "are keisei's own"),
        ("DROP INDEX keisei_calls_by_time", "are keisei's own"),
        ("CREATE TEMP TABLE keisei_migrations (a)", "are keisei's own"),
        ("CREATE TEMP TABLE large AS SELECT zeroblob(100000000)", "too big"),
        ("UPDATE sqlite_schema SET sql = ''", ""),
        ("INSERT INTO nowhere VALUES (1)", "no such table"),
        ("CREATE TABLE more (", "incomplete input"),
        ("INSERT INTO tasks (title) VALUES (?)", "bindings"),
        ("INSERT INTO tasks (title) VALUES (NULL)", "NOT NULL"),
        ("INSERT OR ROLLBACK INTO tasks (title) VALUES (NULL)", "NOT NULL"),
    ],
)
def test_a_migration_that_oversteps_leaves_nothing(path, tmp_path, sql, told):
    other = tmp_path / "other.sqlite"
    folder_of(tmp_path, FIRST, f"CREATE TABLE made (a); {sql.format(other=other)}")

    error = refused(path, Tables("kei-task", read_steps(tmp_path / "migrations")))

    assert "the migration 0002_step_2 of `kei-task`" in error.message
    assert told in error.message
    assert not other.exists()
    assert rows(path, "SELECT name FROM sqlite_schema WHERE name IN ('tasks', 'made', 'mine')") == [("tasks",)]
    assert rows(path, "SELECT version FROM keisei_migrations") == [(1,)]


def test_a_migration_may_make_what_packages_need(path, tmp_path):
    sql = """
    PRAGMA user_version = 7;
    CREATE VIRTUAL TABLE found USING fts5(title, content='tasks', content_rowid='id');
    CREATE TRIGGER tasks_in AFTER INSERT ON tasks BEGIN
      INSERT INTO found(rowid, title) VALUES (new.id, new.title);
    END;
    INSERT INTO tasks (title) VALUES ('a needle');
    CREATE VIEW titles AS SELECT title FROM tasks;
    CREATE INDEX by_title ON tasks (title);
    """
    bring_up(path, tables_of(tmp_path, FIRST, sql), now)

    assert rows(path, "SELECT title FROM found WHERE found MATCH 'needle'") == [("a needle",)]
    assert rows(path, "PRAGMA user_version") == [(7,)]


def test_a_table_may_be_rebuilt_while_others_refer_to_it(path, tmp_path):
    refers = "CREATE TABLE notes (task INTEGER REFERENCES tasks (id) ON DELETE CASCADE)"
    data = "INSERT INTO tasks VALUES (1, 'x'); INSERT INTO notes VALUES (1)"
    rebuild = """
    CREATE TABLE tasks_new (id INTEGER PRIMARY KEY, title TEXT NOT NULL, more TEXT);
    INSERT INTO tasks_new (id, title) SELECT id, title FROM tasks;
    DROP TABLE tasks;
    ALTER TABLE tasks_new RENAME TO tasks;
    """
    bring_up(path, tables_of(tmp_path, FIRST, refers, data, rebuild), now)

    assert rows(path, "SELECT task FROM notes") == [(1,)]


def test_a_migration_that_breaks_a_reference_leaves_nothing(path, tmp_path):
    refers = "CREATE TABLE notes (task INTEGER REFERENCES tasks (id))"
    error = refused(path, tables_of(tmp_path, FIRST, refers, "INSERT INTO notes VALUES (7)"))

    assert "leaves a row of `notes` that refers to nothing" in error.message
    assert rows(path, "SELECT count(*) FROM notes") == [(0,)]


def test_a_migration_without_end_is_ended(path, tmp_path, monkeypatch):
    monkeypatch.setattr("keisei.store.package_database.LONGEST_S", 0.0)
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    assert "took longer than" in refused(path, tables_of(tmp_path, endless)).message


def test_rows_that_a_migration_asks_for_are_not_kept(path, tmp_path):
    many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT i, zeroblob(4000) FROM n"
    tables = tables_of(tmp_path, many)
    tracemalloc.start()
    try:
        bring_up(path, tables, now)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()


def test_asked_again_it_goes_on_where_it_failed(path, tmp_path):
    refused(path, tables_of(tmp_path, FIRST, "CREATE BOGUS"))

    assert [step.version for step in bring_up(path, tables_of(tmp_path, FIRST, SECOND), now)] == [2]


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("0002_later.sql", b"", "are not numbered in a row"),
        ("1_short.sql", b"", "is no name of a migration"),
        ("0001-dash.sql", b"", "is no name of a migration"),
        ("0001_Add-Notes.sql", b"", "is no name of a migration"),
        ("0001_\xc3\xa9.sql", b"", "is no name of a migration"),
        ("0001_bytes.sql", b"\xff\xfe", "is not UTF-8"),
        ("0001_zero.sql", b"SELECT 1\0", "holds a NUL"),
    ],
)
def test_files_that_are_no_migrations_are_told(tmp_path, name, text, told):
    (tmp_path / name).write_bytes(text)

    with pytest.raises(OperatorError, match=told):
        read_steps(tmp_path)


def test_one_number_is_taken_once(tmp_path):
    (tmp_path / "0001_one.sql").touch()
    (tmp_path / "0001_two.sql").touch()

    with pytest.raises(OperatorError, match="not numbered in a row"):
        read_steps(tmp_path)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "flood"])
def test_a_migration_is_a_file_of_some_size(tmp_path, kind):
    (tmp_path / "elsewhere").write_text("SELECT 1")
    place = tmp_path / "0001_odd.sql"
    if kind == "link":
        place.symlink_to(tmp_path / "elsewhere")
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.write_bytes(b" " * (4 * 1024 * 1024 + 1))

    with pytest.raises(OperatorError):
        read_steps(tmp_path)


def test_other_files_beside_migrations_are_nobodys_business(tmp_path):
    (tmp_path / "README.md").touch()

    assert read_steps(tmp_path) == ()


@QUICK
@given(st.integers(0, 6), st.integers(0, 6))
def test_whatever_ran_before_in_the_end_all_ran_in_order(tmp_path_factory, first, more):
    tmp_path = tmp_path_factory.mktemp("laws")
    path, texts = tmp_path / "d.sqlite", [f"CREATE TABLE t{number} (a)" for number in range(first + more)]
    steps = read_steps(folder_of(tmp_path, *texts))

    assert bring_up(path, Tables("p", steps[:first]), now) == steps[:first]
    assert bring_up(path, Tables("p", steps), now) == steps[first:]
    assert database_state(path, Tables("p", steps)).applied == steps


# --- processes -------------------------------------------------------------------------------------------------------

PROGRAM = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from keisei.records.error import KeiseiError
from keisei.store.package_database import Tables, bring_up
from keisei.store.package_migration import read_steps
{before}
try:
    ran = bring_up(Path(sys.argv[1]), Tables("kei-task", read_steps(Path(sys.argv[2]))), lambda: datetime.now(UTC))
except KeiseiError as error:
    sys.exit(f"{{type(error).__name__}}: {{error.message}}")
print(len(ran))
"""


def started(path, folder, before=""):
    program = textwrap.dedent(PROGRAM).format(before=before)
    command = [sys.executable, "-c", program, str(path), str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_several_processes_at_once_run_each_migration_once(path, tmp_path):
    folder = folder_of(tmp_path, FIRST, SECOND, "INSERT INTO tasks (title) VALUES ('once')")
    crowd = [started(path, folder) for _ in range(3)]
    said = [process.communicate(timeout=60) for process in crowd]

    assert [process.returncode for process in crowd] == [0, 0, 0], said
    assert sorted(out.strip() for out, _ in said) == ["0", "0", "3"]
    assert rows(path, "SELECT title FROM tasks") == [("once",)]


def test_a_kill_in_the_middle_leaves_a_migration_undone(path, tmp_path):
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    folder = folder_of(tmp_path, FIRST, f"{SECOND} {endless}")
    process = started(path, folder)
    try:
        _wait_for(path)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)

    assert [step.version for step in bring_up(path, tables_of(tmp_path, FIRST, SECOND), now)] == [2]
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


def _wait_for(path):
    """Until the first migration is there, and the second one is running or about to."""
    for _ in range(3000):
        try:
            if path.exists() and rows(path, "SELECT version FROM keisei_migrations"):
                return
        except apsw.Error:
            pass
        time.sleep(0.01)
    pytest.fail("the first migration never came")


def test_a_full_disk_leaves_a_migration_undone(path, tmp_path):
    flood = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000) "
    flood += "INSERT INTO tasks (title) SELECT hex(randomblob(400)) FROM n"
    folder = folder_of(tmp_path, FIRST, flood)
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))"
    _, err = (process := started(path, folder, limit)).communicate(timeout=60)

    assert (process.returncode, err.partition(":")[0]) == (1, "WorldFault"), err
    assert rows(path, "SELECT count(*) FROM tasks") == [(0,)]
    assert [step.version for step in bring_up(path, Tables("kei-task", read_steps(folder)), now)] == [2]


def test_whoever_waits_too_long_is_told_who_holds_the_lock(path, tmp_path, monkeypatch):
    monkeypatch.setattr("keisei.store.package_database.DEADLINE_S", 0.0)
    path.parent.mkdir()
    with closing(Turn(path.with_name("task.sqlite.lock"))) as turn:
        turn.take(1)
        error = refused(path, tables_of(tmp_path, FIRST))

    assert isinstance(error, WorldFault)
    assert f"pid {os.getpid()}" in error.message
