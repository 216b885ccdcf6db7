"""Both stores keep every promise, and where one of them cannot keep a text, neither takes it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.records.task import TaskRecord
from keisei.testing import strategies
from keisei.testing.promise import PROMISES
from keisei.testing.promise.text import DOUBTFUL, LONG, STORED, answered, places
from tests.store.desk import PostgresDesks, SqliteDesks


@pytest.fixture(scope="module")
def sqlite_desks(tmp_path_factory):
    return SqliteDesks(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="module")
def postgres_desks(postgres):
    """One database for all of them, because making one takes a second."""
    postgres.start()
    url = postgres.database()
    yield PostgresDesks(url)
    postgres.start()
    postgres.drop(url)


@pytest.fixture
def sqlite(sqlite_desks):
    with sqlite_desks() as desk:
        yield desk


@pytest.fixture
def postgres_store(postgres_desks):
    with postgres_desks() as desk:
        yield desk


@pytest.fixture(params=["sqlite", "postgres_store"], ids=["sqlite", "postgres"])
def desk(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("name", PROMISES)
def test_the_store_keeps_the_promise(name, desk):
    PROMISES[name](desk)


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=name) for name, text in (STORED | DOUBTFUL | {"long": LONG}).items()]
)
def test_both_stores_do_the_same_with_a_text(text, sqlite, postgres_store):
    answers = [
        {place: answered(desk.store.enqueue, [desk.task(**changes)]) for place, changes in places(text).items()}
        for desk in (sqlite, postgres_store)
    ]

    assert answers[0] == answers[1]


fresh = strategies.of_type(TaskRecord).map(
    lambda task: replace(
        task,
        status="pending",
        attempt_count=0,
        started_at=None,
        finished_at=None,
        outcome=None,
        last_error=None,
        lease=None,
    )
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tasks=st.lists(fresh, min_size=1, max_size=5))
def test_any_task_is_kept_as_it_is_or_refused(desk, tasks):
    known = {task.task_id for task in tasks if desk.store.task(task.task_id)}
    for task in tasks:
        new = replace(desk.task(), task=task)
        if answered(desk.store.enqueue, [new]) == "kept" and task.task_id not in known:
            read = desk.store.task(task.task_id)
            assert read == task or desk.store.enqueue([new])[0].created is False
            known.add(task.task_id)
