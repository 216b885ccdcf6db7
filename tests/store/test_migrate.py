"""Migrations: what they make, who may run them, and that the tables know the moves of the rules."""

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib.resources import files
from itertools import permutations

import apsw
import psycopg
import pytest

from keisei.records.error import IllegalMove, OperatorError
from keisei.rules.task import MOVES
from keisei.store import migrate, open_store
from keisei.store.postgres import LOCK
from keisei.testing.clock import VirtualClock
from keisei.testing.queue import new_task
from tests.store.crowd import told
from tests.store.desk import postgres_desk, sqlite_desk

CATALOGUE = """
SELECT 'column', table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
WHERE table_schema = 'public'
UNION ALL SELECT 'index', tablename, indexname, indexdef, '', '' FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', '' FROM pg_constraint
WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(oid), '', '' FROM pg_trigger
WHERE NOT tgisinternal
UNION ALL SELECT 'function', proname, '', prosrc, '', '' FROM pg_proc WHERE pronamespace = 'public'::regnamespace
UNION ALL SELECT 'options', relname, '', reloptions::text, '', '' FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
ORDER BY 1, 2, 3, 4
"""
PLACES = {"pending": 1, "retryable_failure": 1, "running": 2, "blocked": 4}
"""Where a status stands; the others are over."""


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


def schema(driver):
    return files("keisei.store").joinpath(f"schema.{driver}.sql").read_text(encoding="utf-8")


def test_the_schema_of_sqlite_is_the_sum_of_its_migrations(tmp_path):
    def made(name, *texts):
        with closing(apsw.Connection(str(tmp_path / name))) as connection:
            for text in texts:
                connection.execute(text).fetchall()
            return connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2").fetchall()

    assert made("sum", *(step.sql for step in migrate.known("sqlite"))) == made("schema", schema("sqlite"))


def test_the_schema_of_postgres_is_the_sum_of_its_migrations(postgres):
    def made(*texts):
        url = postgres.database()
        with psycopg.connect(url, autocommit=True) as connection:
            for text in texts:
                connection.execute(text.encode())
            rows = connection.execute(CATALOGUE).fetchall()
        postgres.drop(url)
        return rows

    assert made(*(step.sql for step in migrate.known("postgres"))) == made(schema("postgres"))


def test_both_stores_have_the_same_tables_and_columns(tmp_path, postgres_url):
    with sqlite_desk(tmp_path) as sqlite, postgres_desk(postgres_url) as postgres:
        found = sqlite.sql(
            "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'"
        )
        ours = {pair for pair in found if not pair[0].startswith("sqlite_")}
        theirs = set(
            postgres.sql("SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'")
        )

    assert theirs - ours == {("unsealed", "entry_id")}
    assert ours <= theirs


def test_what_ran_is_recorded_with_its_checksum(desk):
    rows = desk.sql("SELECT version, name, checksum FROM schema_migrations ORDER BY version")

    driver = "postgres" if desk.wall_leases else "sqlite"
    assert rows == [(step.version, step.name, step.checksum) for step in migrate.known(driver)]


def test_a_database_of_a_newer_keisei_is_refused(desk):
    desk.sql("INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (9999, 'later', 'x', 1)")

    with pytest.raises(OperatorError, match="newer than this keisei: it has the migration 9999_later"):
        desk.another()


def test_a_migration_that_was_edited_is_refused(desk):
    desk.sql("UPDATE schema_migrations SET checksum = 'another'")

    with pytest.raises(OperatorError, match="0001_queue is not ours"):
        desk.another()


def test_numbers_of_migrations_have_no_gap_and_names_are_plain():
    for driver in ("sqlite", "postgres"):
        steps = migrate.known(driver)
        assert [step.version for step in steps] == list(range(1, len(steps) + 1))
        assert all(re.fullmatch(r"[a-z0-9_]+", step.name) for step in steps)


def test_a_fresh_database_that_many_open_at_once_is_made_once(url):
    code = """
    def use(index):
        store = open_store(sys.argv[1])
        desk = Desk(store, VirtualClock(), None)
        desk.name = lambda kind: f"{kind}-{index}"
        desk.queue()
        store.close()

    sys.exit(at_once(16, use))
    """
    told(code, url)

    with closing(open_store(url)) as store:
        assert store.counts()["pending"] == 16


def test_an_opening_that_waited_for_another_sees_what_it_made(postgres_url):
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    recorded = "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (%s, %s, %s, %s)"
    with ThreadPoolExecutor(1) as pool, psycopg.connect(postgres_url) as first, psycopg.connect(postgres_url) as watch:
        first.execute(LOCK)
        late = pool.submit(open_store, postgres_url)
        while not watch.execute(waiting).fetchone()[0]:
            assert not late.done()
        for step in migrate.missing("postgres", []):
            first.execute(step.sql.encode())
            first.execute(recorded, [step.version, step.name, step.checksum, 0])
        first.commit()

        with closing(late.result()) as store:
            assert store.counts()["pending"] == 0


def test_a_database_of_an_earlier_keisei_is_brought_up_to_date_with_what_it_holds(desk):
    (task_id,) = desk.queue()
    driver = "postgres" if desk.wall_leases else "sqlite"
    *_, pipes, asked, console, latest = migrate.known(driver)
    desk.sql("DROP INDEX ledger_subject")
    desk.sql("DROP TABLE checkpoints")
    desk.sql("DROP TABLE tree_nodes")
    if driver == "postgres":
        desk.sql("ALTER TABLE unsealed DROP CONSTRAINT unsealed_entry_id_fkey")
        desk.sql("INSERT INTO unsealed VALUES (-1)")  # what somebody else left there must not be in the way
    for index in ("tasks_ill", "landings_rejected", "events_type", *(["tasks_list"] if driver == "sqlite" else [])):
        desk.sql(f"DROP INDEX {index}")
    desk.sql("DROP TABLE requests")
    desk.sql("DROP TABLE pipe_members")
    desk.sql("DROP TABLE pipe_runs")
    desk.sql("DROP INDEX tasks_asked")
    desk.sql("DELETE FROM schema_migrations WHERE version >= ?", pipes.version)

    store = desk.another()

    assert (pipes.name, asked.name, console.name, latest.name) == ("pipes", "asked", "console", "ledger")
    assert store.kept() == ([], [])
    assert store.begin_request("k", "ann", "d").state == "fresh"
    assert store.pipe_runs() == []
    assert store.children(task_id) == []
    assert store.task(task_id) == desk.read(task_id)
    assert desk.sql("SELECT max(version) FROM schema_migrations") == [(latest.version,)]


def test_a_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "state.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("CREATE TABLE theirs (a)")

    with pytest.raises(OperatorError, match="a database of another program"):
        open_store(f"sqlite://{path}")

    with closing(apsw.Connection(str(path))) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("theirs",)]


def test_a_table_of_another_program_in_postgres_is_left_alone(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE attempts (theirs text)")

    with pytest.raises(OperatorError, match="attempts"):
        open_store(postgres_url)

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        assert connection.execute("SELECT to_regclass('tasks')").fetchall() == [(None,)]


def test_the_tables_know_the_moves_of_the_rules(desk):
    moves = {(old, new) for old, targets in MOVES.items() for new in targets}
    allowed = set()
    for old, new in permutations(MOVES, 2):
        task_id = place(desk, old)
        try:
            move(desk, task_id, new)
            allowed.add((old, new))
        except (apsw.ConstraintError, psycopg.IntegrityError):
            assert (old, new) not in moves

    assert allowed == moves


def place(desk, status):
    """Put a task into a status by hand, whatever the moves say."""
    (task_id,) = desk.queue()
    if status != "pending":
        move(desk, task_id, "running")
    if status not in ("pending", "running"):
        move(desk, task_id, status)
    return task_id


def move(desk, task_id, status):
    over = status not in PLACES
    desk.sql(
        "UPDATE tasks SET status = ?, ready = ?, outcome = ?, finished_at = ? WHERE task_id = ?",
        *(status, PLACES.get(status, 3), "{}" if over else None, 1 if over else None, task_id),
    )


@pytest.mark.parametrize("change", ["updated_at = 5", "ready = 1", "fence = fence + 1", "outcome = NULL"])
def test_a_task_that_is_over_never_changes(desk, change):
    task_id = place(desk, "completed")

    with pytest.raises((apsw.ConstraintError, psycopg.IntegrityError)):
        desk.sql(f"UPDATE tasks SET {change} WHERE task_id = ?", task_id)  # noqa: S608 - our own words


@pytest.mark.parametrize(
    "change",
    [
        "ready = 2",
        "ready = 3, finished_at = 1",
        "finished_at = 1",
        "attempt_count = max_attempts",
        "attempt_count = -1",
        "cancel_at = 1",
        "status = 'someday'",
        "status = 'running'",
    ],
)
def test_a_row_that_contradicts_itself_is_refused(desk, change):
    (task_id,) = desk.queue()

    with pytest.raises((apsw.ConstraintError, psycopg.IntegrityError)):
        desk.sql(f"UPDATE tasks SET {change} WHERE task_id = ?", task_id)  # noqa: S608 - our own words


def test_a_task_has_one_open_attempt(desk):
    claimed = desk.running()

    with pytest.raises((apsw.ConstraintError, psycopg.IntegrityError)):
        desk.sql(
            "INSERT INTO attempts (attempt_id, task_id, runner_id, fence, started_at, adapter_id) "
            "VALUES ('another', ?, 'r', 9, 1, 'a')",
            claimed.task.task_id,
        )


def test_an_error_of_the_tables_is_an_illegal_move(desk):
    task = new_task("late", VirtualClock().now(), max_attempts=0)

    with pytest.raises(IllegalMove):
        desk.store.enqueue([type(desk.task())(task=task)])
