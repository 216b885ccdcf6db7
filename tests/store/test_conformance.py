"""Both stores keep every promise, and where one of them cannot keep a text, neither takes it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

pytest.register_assert_rewrite("keisei.testing.promise", "keisei.testing.queue")

from keisei.records.task import TaskRecord  # noqa: E402 - after the line that makes their asserts speak
from keisei.testing import strategies  # noqa: E402
from keisei.testing.promise import PROMISES  # noqa: E402
from keisei.testing.promise.text import DOUBTFUL, STORED, answered, places  # noqa: E402
from tests.store.desk import postgres_desk, sqlite_desk  # noqa: E402


@pytest.fixture
def sqlite(tmp_path):
    with sqlite_desk(tmp_path) as desk:
        yield desk


@pytest.fixture
def postgres_store(postgres_url):
    with postgres_desk(postgres_url) as desk:
        yield desk


@pytest.fixture(params=["sqlite", "postgres_store"], ids=["sqlite", "postgres"])
def desk(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("name", PROMISES)
def test_the_store_keeps_the_promise(name, desk):
    PROMISES[name](desk)


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in (STORED | DOUBTFUL).items()])
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


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tasks=st.lists(fresh, min_size=1, max_size=5))
def test_any_task_is_kept_as_it_is_or_refused(desk, tasks):
    known = {task.task_id for task in tasks if desk.store.task(task.task_id)}
    for task in tasks:
        new = replace(desk.task(), task=task)
        if answered(desk.store.enqueue, [new]) == "kept" and task.task_id not in known:
            read = desk.store.task(task.task_id)
            assert read == task or desk.store.enqueue([new])[0].created is False
            known.add(task.task_id)
