"""kei-milestone: what its pages promise, on the tables of kei-task."""

import pytest

from tests.kit.desk import Declared


def refused(desk, atom, **given):
    with pytest.raises(Declared) as error:
        desk.call(atom, **given)
    return error.value.code


def test_a_name_is_taken_once(desk):
    made = desk.call("kei-milestone::create", "same", name=" v1 ", target_date="2026-05-01")

    assert desk.call("kei-milestone::create", "same", name="v1") == made
    assert refused(desk, "kei-milestone::create", name="v1") == "DuplicateName"
    (only,) = desk.call("kei-milestone::list")["milestones"]
    assert (only["id"], only["name"], only["target_date"], only["total"]) == (1, "v1", "2026-05-01", 0)


def test_a_task_is_in_one_milestone(desk):
    desk.tasks("A")
    for name in ("one", "two"):
        desk.call("kei-milestone::create", name=name)

    assert desk.call("kei-milestone::link", task_id=1, milestone_id=1)["previous"] is None
    assert desk.call("kei-milestone::link", task_id=1, milestone_id=2)["previous"] == 1
    before = desk.call("kei-task::get", id=1)
    assert desk.call("kei-milestone::link", task_id=1, milestone_id=2)["previous"] == 2
    assert desk.call("kei-task::get", id=1) == before
    assert [each["total"] for each in desk.call("kei-milestone::list")["milestones"]] == [0, 1]
    assert refused(desk, "kei-milestone::link", task_id=9, milestone_id=1) == "TaskNotFound"
    assert refused(desk, "kei-milestone::link", task_id=1, milestone_id=9) == "MilestoneNotFound"


def test_progress_leaves_cancelled_tasks_out(desk):
    desk.call("kei-milestone::create", name="v1")
    empty = desk.call("kei-milestone::progress", id=1)
    desk.tasks("A", "B", "C", "D", milestone_id=1)
    desk.call("kei-task::complete", id=1)
    desk.call("kei-task::update", id=2, status="cancelled")

    part = desk.call("kei-milestone::progress", id=1)
    for task in (3, 4):
        desk.call("kei-task::complete", id=task)
    whole = desk.call("kei-milestone::progress", id=1)

    assert (empty["total"], empty["pending"], empty["percent"], empty["is_done"]) == (0, 0, 0, False)
    assert (part["total"], part["completed"], part["cancelled"], part["pending"]) == (4, 1, 1, 2)
    assert (part["percent"], part["is_done"]) == (33, False)
    assert (whole["percent"], whole["is_done"]) == (100, True)
    assert refused(desk, "kei-milestone::progress", id=2) == "MilestoneNotFound"


def test_pages_of_milestones_follow_each_other(desk):
    for name in "abc":
        desk.call("kei-milestone::create", name=name)

    first = desk.call("kei-milestone::list", limit=2)
    second = desk.call("kei-milestone::list", limit=2, after=first["next"])

    assert [each["name"] for page in (first, second) for each in page["milestones"]] == ["a", "b", "c"]
    assert (first["next"], second["next"]) == (2, None)
