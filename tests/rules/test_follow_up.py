"""Follow-ups: nothing that an agent writes gives it more than its own task had."""

from datetime import UTC, datetime

import pytest

from keisei.records.error import Refused
from keisei.records.id import TaskId
from keisei.records.intent import Budget, TaskIntent, WorkflowRef
from keisei.rules.follow_up import DEEPEST, MOST, check_place, curbed
from keisei.testing.queue import new_task

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def wish(**more):
    return TaskIntent(task_type="note", source="agent", payload={}, **more)


def queued(intent, **parent):
    task = new_task(TaskId("parent"), NOW, **parent)
    return curbed(intent, task, key="a/follow_up_task/0", priority=5, max_attempts=3)


def test_where_it_comes_from_is_not_asked():
    ref = WorkflowRef(workflow_id="w", state_id="verify", instance_key="k")

    found = queued(wish(idempotency_key="mine", workflow_ref=ref))

    assert (found.source, found.idempotency_key, found.workflow_ref) == ("task:parent", "a/follow_up_task/0", None)


def test_a_moment_of_its_own_is_refused():
    with pytest.raises(Refused, match="available_at"):
        queued(wish(available_at=NOW))


def test_it_runs_under_its_parent_s_identity():
    assert queued(wish(), agent="arc").agent == "arc"
    assert queued(wish(agent="arc"), agent="arc").agent == "arc"
    assert queued(wish()).agent is None
    with pytest.raises(Refused, match="boss"):
        queued(wish(agent="boss"), agent="arc")
    with pytest.raises(Refused, match="boss"):
        queued(wish(agent="boss"))


@pytest.mark.parametrize(
    ("asked", "parent", "found"),
    [
        (None, None, None),
        (Budget(max_cost_usd=100), None, None),
        (None, Budget(max_cost_usd=2), Budget(max_cost_usd=2)),
        (Budget(max_cost_usd=1), Budget(max_cost_usd=2), Budget(max_cost_usd=1)),
        (Budget(max_cost_usd=3), Budget(max_cost_usd=2), Budget(max_cost_usd=2)),
        (Budget(max_tokens=9), Budget(max_cost_usd=2), Budget(max_cost_usd=2)),
        (Budget(max_tokens=9), Budget(max_tokens=5), Budget(max_tokens=5)),
        (Budget(max_tokens=4), Budget(max_tokens=5), Budget(max_tokens=4)),
    ],
)
def test_it_spends_at_most_what_its_parent_may(asked, parent, found):
    assert queued(wish(budget=asked), budget=parent).budget == found


def test_it_stands_before_neither_its_parent_nor_an_ordinary_task():
    assert queued(wish(priority=1000), priority=0).priority == 5
    assert queued(wish(priority=1000), priority=8).priority == 8
    assert queued(wish(priority=-3), priority=8).priority == -3
    assert queued(wish()).priority is None


def test_it_is_not_tried_more_often_than_its_parent_or_an_ordinary_task():
    assert queued(wish(max_attempts=1000), max_attempts=1).max_attempts == 3
    assert queued(wish(max_attempts=1000), max_attempts=7).max_attempts == 7
    assert queued(wish(max_attempts=2), max_attempts=7).max_attempts == 2


def test_the_deepest_and_the_last_are_let_in_and_no_more():
    check_place(DEEPEST, MOST - 1)
    check_place(1, None)
    with pytest.raises(Refused, match="deep"):
        check_place(DEEPEST + 1, 0)
    with pytest.raises(Refused, match="one outcome"):
        check_place(1, MOST)
