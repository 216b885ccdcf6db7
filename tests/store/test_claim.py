"""Claims: what they cost, whatever else stands in the tables."""

import re
from contextlib import contextmanager

import pytest

from keisei.records.move import ClaimOrder
from keisei.store.claim import postgres_statement, sqlite_statement
from keisei.testing.queue import new_outcome
from tests.store.desk import postgres_desk, sqlite_desk

ROWS = 50_000
COLUMNS = """task_id, status, ready, rank, priority, task_type, source, profile_id, attempt_count, max_attempts, depth,
    available_at, created_at, updated_at, finished_at, outcome, body"""
KINDS = {
    "claimable": "'pending', 1, n, 0, 't', 's', 'p', 0, 3, 0, 1, 1, 1, NULL, NULL, '{\"payload\":{}}'",
    "delayed": "'pending', 0, -n, 0, 't', 's', 'p', 0, 3, 0, 9000000000000000, 1, 1, NULL, NULL, '{\"payload\":{}}'",
    "running": "'running', 2, -n, 0, 't', 's', 'p', 1, 3, 0, 1, 1, 1, NULL, NULL, '{\"payload\":{}}'",
    "over": "'completed', 3, -n, 0, 't', 's', 'p', 1, 3, 0, 1, 1, 1, 5, '{\"outcome\":1}', '{\"payload\":{}}'",
    "parked": "'blocked', 4, -n, 0, 't', 's', 'p', 1, 3, 0, 1, 1, 1, NULL, NULL, '{\"payload\":{}}'",
}
"""Rows by hand: thousands of tasks in one place, all of them better than what is claimed, if they only could be."""


@pytest.fixture
def sqlite(tmp_path):
    with sqlite_desk(tmp_path) as desk:
        yield desk


@pytest.fixture
def postgres_store(postgres_url):
    with postgres_desk(postgres_url) as desk:
        yield desk


def fill(desk, kind, number=ROWS):
    counting = f"WITH RECURSIVE g (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < {number})"  # noqa: S608
    desk.sql(f"{counting} INSERT INTO tasks ({COLUMNS}) SELECT '{kind}-' || n, {KINDS[kind]} FROM g")  # noqa: S608
    if desk.wall_leases:
        desk.sql("ANALYZE")


@contextmanager
def steps_counted(desk):
    """How many steps of SQLite's machine the block takes, by tens."""
    connection = desk.store._reader._writer.opened().connection
    taken = []
    connection.set_progress_handler(lambda: bool(taken.append(10)), 10)
    yield taken
    connection.set_progress_handler(None)


@pytest.mark.parametrize("without", [False, True], ids=["all adapters", "some are out"])
def test_the_claim_of_sqlite_reads_the_index_of_what_is_ready(sqlite, without):
    plan = sqlite.store._reader.read(f"EXPLAIN QUERY PLAN {sqlite_statement(4, without)}", {"now": 1, "without": "[]"})

    steps = [text for *_, text in plan]
    assert any(re.fullmatch(r"SCAN tasks USING (COVERING )?INDEX tasks_ready", step) for step in steps), steps
    assert not any("TEMP B-TREE" in step or step == "SCAN tasks" for step in steps), steps


@pytest.mark.parametrize("kind", KINDS)
def test_a_claim_of_sqlite_takes_as_many_steps_whatever_else_is_there(sqlite, kind):
    runner = sqlite.runner()
    sqlite.queue(20)
    sqlite.claim(runner)
    with steps_counted(sqlite) as few:
        assert len(sqlite.claim(runner, 4)) == 4

    fill(sqlite, kind)
    with steps_counted(sqlite) as many:
        assert len(sqlite.claim(runner, 4)) == 4

    assert sum(many) <= 1.5 * sum(few)


@pytest.mark.parametrize("kind", KINDS)
def test_no_statement_of_postgres_reads_a_whole_table(postgres_store, kind):
    desk = postgres_store
    desk.runner()
    fill(desk, kind)
    plans = []
    lines = desk.store._reader._lines

    def explained(sql, params):
        plans.append("\n".join(line for (line,) in original(f"EXPLAIN {sql}", params)))
        return original(sql, params)

    original, lines.execute = lines.execute, explained
    runner = desk.runner()
    desk.queue(2)
    first, second = (desk.claim(runner) or [None])[0], (desk.claim(runner, without=["x"]) or [None])[0]
    desk.settle(first, "completed")
    desk.settle(second, "retryable_failure")
    desk.store.wake_due()
    desk.store.next_due()
    desk.sweep(runner)

    assert len(plans) == 9
    for plan in plans:
        assert not re.search(r"Seq Scan on (tasks|attempts|events)", plan), plan


def test_a_plan_of_postgres_that_was_made_for_few_rows_holds_for_many(postgres_store):
    """A prepared statement keeps its plan: what was good for an empty table must not read a full one."""
    desk = postgres_store
    runner = desk.runner()
    desk.queue(20)
    for _ in range(12):
        desk.settle(desk.claim(runner)[0], "completed")
    desk.sql("ALTER TABLE tasks SET (autovacuum_enabled = off)")
    fill(desk, "over", 5000)

    assert len(desk.claim(runner, 4)) == 4
    plan = desk.store._reader.execute(
        f"EXPLAIN {postgres_statement(4, without=False)}", {"runner": runner, "attempts": list("abcd"), "without": []}
    )
    assert "Index Scan using tasks_ready on tasks" in "\n".join(line for (line,) in plan)


def test_every_move_of_postgres_is_one_statement(postgres_store):
    desk = postgres_store
    count = []
    reader = desk.store._reader
    original = reader._lines.execute
    reader._lines.execute = lambda sql, params: count.append(sql) or original(sql, params)

    def statements(action, *arguments, **options):
        count.clear()
        result = action(*arguments, **options)
        return result, len(count)

    assert statements(desk.runner)[1] == 1
    runner = desk.runner()
    assert statements(desk.queue, 50)[1] == 1
    claimed, number = statements(desk.claim, runner, 3)
    assert number == 1
    assert statements(desk.settle, claimed[0], "completed")[1] == 1
    assert statements(desk.settle, claimed[1], "retryable_failure")[1] == 1
    assert statements(desk.store.wake_due)[1] == 1
    assert statements(desk.sweep, runner)[1] == 1


def test_an_attempt_of_a_claim_that_asks_for_nothing_is_none(sqlite):
    sqlite.queue()

    assert sqlite.store.claim(ClaimOrder(runner_id=sqlite.runner(), attempt_ids=())) == []


def test_a_million_of_an_adapter_that_is_out_are_passed_over_in_the_index(sqlite):
    """The adapter stands in the index, so that the rows themselves are not read."""
    runner = sqlite.runner()
    fill(sqlite, "claimable")
    sqlite.sql("UPDATE tasks SET breaker_id = 'out'")
    (wanted,) = sqlite.queue(priority=-1000)

    plan = sqlite.store._reader.read(
        f"EXPLAIN QUERY PLAN {sqlite_statement(1, without=True)}", {"now": 1, "without": "[]"}
    )

    assert any("COVERING INDEX tasks_ready" in text for *_, text in plan)
    assert [claimed.task.task_id for claimed in sqlite.claim(runner, without=["out"])] == [wanted]


def test_an_outcome_that_was_kept_by_a_retry_comes_with_the_next_claim(sqlite):
    claimed = sqlite.running()
    sqlite.settle(claimed, "retryable_failure", at=sqlite.clock.now())

    (again,) = sqlite.claim(sqlite.runner())

    assert again.task.outcome == new_outcome("retryable_failure")
    assert (again.task.last_error, again.attempt.fence, again.task.attempt_count) == ("no", 2, 2)
