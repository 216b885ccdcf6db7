"""Workflows in both stores: rows that cannot be read, columns that agree, completed ones that nobody reads again."""

import msgspec
import pytest
from msgspec.structs import replace

from keisei.records.error import OperatorError
from keisei.records.progression import WorkflowMove, WorkflowQuery
from keisei.rules.canonical import digest
from keisei.store.workflow import read_stirred, read_workflows
from keisei.testing.promise.workflow import begun, completed, found, moved, new_definition, visit
from tests.store.desk import postgres_desk, sqlite_desk

COLUMNS = """SELECT workflow_id, workflow_type, instance_key, status, definition_hash, version, updated_at, record
    FROM workflows"""


@pytest.fixture(params=["sqlite", "postgres"])
def desk(request, tmp_path):
    if request.param == "sqlite":
        with sqlite_desk(tmp_path) as found:
            yield found
    else:
        with postgres_desk(request.getfixturevalue("postgres_url")) as found:
            yield found


class Asked:
    """A driver that remembers what it was asked."""

    def __init__(self, driver):
        self.driver, self.questions = driver, []

    def read(self, sql, params):
        self.questions.append((sql, params))
        return self.driver.read(sql, params)


def open_questions(driver):
    """Everything that is asked every tick, or by somebody who looks at what goes on."""
    asked = Asked(driver)
    read_stirred(asked, 100)
    read_workflows(asked, WorkflowQuery(statuses=("active", "blocked")))
    return asked.questions


@pytest.mark.parametrize("table", ["workflows", "definitions"])
def test_a_row_that_cannot_be_read_harms_only_itself(desk, table):
    bad, good = begun(desk), begun(desk)
    other = new_definition(description="another")
    better = moved(good, definition=other, definition_hash=digest(msgspec.to_builtins(other)))
    assert desk.store.move_workflow(WorkflowMove(workflow=better, was=1))
    key = "workflow_id" if table == "workflows" else "definition_hash"
    desk.sql(f"UPDATE {table} SET record = '{{' WHERE {key} = ?", getattr(bad.record, key))  # noqa: S608 - a test

    assert desk.store.workflows(WorkflowQuery()) == desk.store.stirred() == [replace(better, version=2)]
    for ask in (
        lambda: desk.store.workflow(bad.record.workflow_id),
        lambda: desk.store.instance(bad.record.instance_key),
    ):
        with pytest.raises(OperatorError, match=bad.record.workflow_id):
            ask()
    assert desk.store.visits(bad.record.workflow_id) == []


def test_the_columns_say_what_the_record_says(desk):
    workflow = begun(desk)
    desk.clock.advance(1)
    move = WorkflowMove(workflow=moved(workflow, updated_at=desk.clock.now()), was=1, visits=(visit(desk, workflow),))
    assert desk.store.move_workflow(move)
    desk.clock.advance(1)
    assert desk.store.move_workflow(replace(move, workflow=completed(desk, workflow), was=2))

    ((*columns, version, updated_at, text),) = desk.sql(COLUMNS)

    record = msgspec.json.decode(text)
    names = ("workflow_id", "workflow_type", "instance_key", "status", "definition_hash")
    assert columns == [record[name] for name in names]
    assert (version, record["status"]) == (3, "completed")
    assert updated_at == int(found(desk, workflow).record.updated_at.timestamp() * 1_000_000)


def test_a_definition_is_stored_once_for_all_that_follow_it(desk):
    for _ in range(3):
        begun(desk)

    assert desk.sql("SELECT count(*) FROM definitions") == [(1,)]


def test_completed_workflows_are_not_read_again_by_sqlite(tmp_path):
    with sqlite_desk(tmp_path) as desk:
        driver = desk.store._reader
        for sql, params in open_questions(driver):
            steps = [row[-1] for row in driver.read(f"EXPLAIN QUERY PLAN {sql}", params)]
            assert steps[0] == "SCAN w USING INDEX workflows_open", steps
            assert not [step for step in steps[1:] if step.startswith("SCAN")], steps


def test_completed_workflows_are_not_read_again_by_postgresql(postgres_url):
    with postgres_desk(postgres_url) as desk:
        driver = desk.store._reader
        for sql, params in open_questions(driver):
            plan = "\n".join(row[0] for row in driver.read(f"EXPLAIN {sql}", params))
            assert "using workflows_open on workflows" in plan, plan
            assert "Seq Scan" not in plan, plan
