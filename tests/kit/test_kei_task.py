"""kei-task: what its pages promise, on a real database."""

import threading
from datetime import UTC, datetime
from itertools import pairwise

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.kit.desk import Declared, Desk


def refused(desk, atom, **given):
    with pytest.raises(Declared) as error:
        desk.call(atom, **given)
    return error.value.code


def test_a_new_task_is_pending_and_medium(desk):
    made = desk.call("kei-task::create", title="  Fix auth bug ")

    task = desk.call("kei-task::get", id=made["id"])
    assert made == {"id": 1, "created_at": task["created_at"]}
    assert (task["title"], task["status"], task["priority"]) == ("Fix auth bug", "pending", "medium")
    assert (task["description"], task["milestone_id"], task["completed_at"]) == ("", None, None)
    assert task["created_at"].endswith("Z")
    assert abs((datetime.now(UTC) - datetime.fromisoformat(task["created_at"])).total_seconds()) < 600


def test_a_call_made_again_under_its_id_creates_nothing(desk):
    first = desk.call("kei-task::create", "same", title="Once")
    again = desk.call("kei-task::create", "same", title="Once")

    assert first == again
    assert desk.sql("SELECT count(*) FROM tasks") == [(1,)]


def test_a_title_is_taken_once_in_a_milestone(desk):
    one, two = (desk.call("kei-milestone::create", name=name)["id"] for name in ("one", "two"))
    desk.tasks("Fix bug")
    desk.tasks("Fix bug", milestone_id=one)
    desk.tasks("Fix bug", milestone_id=two)

    assert refused(desk, "kei-task::create", title="Fix bug") == "DuplicateTitle"
    assert refused(desk, "kei-task::create", title=" Fix bug ", milestone_id=one) == "DuplicateTitle"
    assert refused(desk, "kei-task::update", id=2, milestone_id=two) == "DuplicateTitle"
    assert refused(desk, "kei-milestone::link", task_id=1, milestone_id=two) == "DuplicateTitle"
    assert refused(desk, "kei-task::create", title="Fix bug", milestone_id=9) == "MilestoneNotFound"
    assert desk.sql("SELECT count(*) FROM tasks") == [(3,)]


@pytest.mark.parametrize("priority", ["High", "", "urgent", None])
def test_a_priority_is_one_of_four(desk, priority):
    assert refused(desk, "kei-task::create", title="A", priority=priority) == "InvalidPriority"


@pytest.mark.parametrize(
    ("atom", "given"),
    [
        ("get", {"id": 9}),
        ("update", {"id": 9, "title": "A"}),
        ("complete", {"id": 9}),
        ("chain", {"id": 9}),
        ("add-dependency", {"parent": 1, "child": 9}),
        ("add-dependency", {"parent": 9, "child": 1}),
        ("remove-dependency", {"parent": 1, "child": 9}),
    ],
)
def test_a_task_that_is_not_there_is_a_declared_error(desk, atom, given):
    desk.tasks("A")

    assert refused(desk, f"kei-task::{atom}", **given) == "TaskNotFound"


def test_an_update_changes_what_is_given_and_nothing_else(desk):
    desk.tasks("A", description="long", assigned_to="ada", due_date="2026-05-01")

    before = desk.call("kei-task::get", id=1)
    after = desk.call("kei-task::update", id=1, status="in_progress", assigned_to=None)
    same = desk.call("kei-task::update", id=1, status="in_progress")

    assert after == before | {"status": "in_progress", "assigned_to": None, "updated_at": after["updated_at"]}
    assert same == after
    assert refused(desk, "kei-task::update", id=1, status="done") == "InvalidStatus"
    assert desk.call("kei-task::update", id=1)["status"] == "in_progress"


def test_a_parent_waits_for_its_children(desk):
    parent, child, other = desk.tasks("parent", "child", "other")
    desk.depend((parent, child), (parent, other))

    assert refused(desk, "kei-task::complete", id=parent) == "OpenDependencies"
    assert refused(desk, "kei-task::update", id=parent, status="completed") == "OpenDependencies"
    assert desk.call("kei-task::complete", id=child)["unblocked"] == []
    desk.call("kei-task::update", id=other, status="cancelled")
    done = desk.call("kei-task::complete", id=parent)
    assert (done["open_dependencies"], done["unblocked"]) == ([], [])


def test_a_forced_completion_says_what_was_left(desk):
    parent, child, above = desk.tasks("parent", "child", "above")
    desk.depend((parent, child), (above, parent))

    done = desk.call("kei-task::complete", id=parent, force=True)

    assert (done["open_dependencies"], done["unblocked"]) == ([child], [above])


def test_completing_twice_is_completing_once_and_reopening_takes_the_moment_away(desk):
    desk.tasks("A")

    first = desk.call("kei-task::complete", id=1)
    assert desk.call("kei-task::complete", id=1) == first
    assert desk.call("kei-task::update", id=1, title="B")["completed_at"] == first["completed_at"]
    assert desk.call("kei-task::update", id=1, status="pending")["completed_at"] is None


def test_a_dependency_is_added_once_and_keeps_its_type(desk):
    desk.tasks("A", "B")

    first = desk.call("kei-task::add-dependency", parent=1, child=2)
    again = desk.call("kei-task::add-dependency", parent=1, child=2)

    assert first == {"parent": 1, "child": 2, "dep_type": "depends_on", "added": True}
    assert again == first | {"added": False}
    assert refused(desk, "kei-task::add-dependency", parent=1, child=2, dep_type="blocks") == "DuplicateDependency"
    assert desk.call("kei-task::remove-dependency", parent=2, child=1)["removed"] is False
    assert desk.call("kei-task::remove-dependency", parent=1, child=2)["removed"] is True
    assert desk.call("kei-task::get", id=1)["depends_on"] == []


def test_a_cycle_is_refused_and_the_way_is_named(desk):
    desk.tasks("A", "B", "C")
    desk.depend((1, 2), (2, 3))

    with pytest.raises(Declared, match="3 -> 1 -> 2 -> 3") as error:
        desk.call("kei-task::add-dependency", parent=3, child=1)
    assert error.value.code == "CycleDetected"
    with pytest.raises(Declared, match="1 -> 1"):
        desk.call("kei-task::add-dependency", parent=1, child=1)


def test_a_long_way_around_is_told_in_short(desk):
    desk.tasks(*map(str, range(30)))
    desk.depend(*((n, n + 1) for n in range(1, 30)))

    with pytest.raises(Declared, match=r"30 -> 1 -> 2 -> .* -> \.\.\. -> .* -> 30$"):
        desk.call("kei-task::add-dependency", parent=30, child=1)


def test_the_tables_themselves_refuse_a_cycle(desk):
    desk.tasks("A", "B", "C")
    desk.depend((1, 2), (2, 3))

    for statement in (
        "INSERT INTO task_deps VALUES (3, 1, 'blocks', '')",
        "INSERT INTO task_deps VALUES (1, 1, 'blocks', '')",
        "UPDATE task_deps SET child = 1 WHERE parent = 2",
        "INSERT INTO task_deps VALUES (1, 3, 'nonsense', '')",
        "UPDATE tasks SET status = 'completed'",
        "UPDATE tasks SET due_date = '2026-02-30'",
    ):
        with pytest.raises(apsw.ConstraintError):
            desk.sql(statement)


moves = st.lists(
    st.tuples(st.sampled_from(["add", "add", "remove"]), st.integers(1, 6), st.integers(1, 6)), max_size=14
)


@given(moves=moves)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_order_of_dependencies_makes_a_cycle(tmp_path_factory, moves):
    desk = Desk(tmp_path_factory.mktemp("world") / "task.sqlite")
    desk.tasks(*"ABCDEF")
    kept = set()

    for move, *pair in moves:
        parent, child = pair
        if move == "remove":
            gone = desk.call("kei-task::remove-dependency", parent=parent, child=child)["removed"]
            assert gone == ((parent, child) in kept)
            kept.discard((parent, child))
        elif parent == child or parent in steps_below(kept, child):
            assert refused(desk, "kei-task::add-dependency", parent=parent, child=child) == "CycleDetected"
        else:
            added = desk.call("kei-task::add-dependency", parent=parent, child=child)["added"]
            assert added == ((parent, child) not in kept)
            kept.add((parent, child))

    for task in range(1, 7):
        chain = desk.call("kei-task::chain", id=task)["tasks"]
        expected = sorted(steps_below(kept, task).items(), key=lambda each: (-each[1], each[0]))
        assert [(each["id"], each["depth"]) for each in chain] == expected
        children = sorted(child for parent, child in kept if parent == task)
        assert desk.call("kei-task::get", id=task)["depends_on"] == children


def steps_below(pairs, start, steps=0):
    """The model: every task below one, with the steps to it on the longest way."""
    found = {}
    for child in (child for parent, child in pairs if parent == start):
        for task, depth in {child: steps + 1, **steps_below(pairs, child, steps + 1)}.items():
            found[task] = max(depth, found.get(task, 0))
    return found


def test_a_chain_tells_the_longest_way_and_first_things_first(desk):
    desk.tasks("goal", "near", "far", "deep")
    desk.depend((1, 2), (1, 4), (2, 3), (3, 4))

    chain = desk.call("kei-task::chain", id=1)

    assert [(each["id"], each["depth"]) for each in chain["tasks"]] == [(4, 3), (3, 2), (2, 1)]
    assert chain["truncated"] is False


def test_a_chain_is_bounded_and_its_diamonds_cost_nothing(desk):
    desk.tasks(*(f"{level}{side}" for level in range(40) for side in "ab"))
    levels = [(1 + 2 * level, 2 + 2 * level) for level in range(40)]
    desk.depend(*((p, c) for above, below in pairwise(levels) for p in above for c in below))

    whole = desk.call("kei-task::chain", id=1)
    part = desk.call("kei-task::chain", id=1, limit=5)

    assert len(whole["tasks"]) == 78
    assert max(each["depth"] for each in whole["tasks"]) == 39
    assert (len(part["tasks"]), part["truncated"]) == (5, True)
    assert desk.call("kei-task::chain", id=1, limit=78)["truncated"] is False


def test_pages_neither_repeat_nor_lose_a_task(desk):
    desk.tasks(*map(str, range(7)))

    seen, after = [], 0
    while after is not None:
        page = desk.call("kei-task::list", after=after, limit=3)
        seen += [task["id"] for task in page["tasks"]]
        after = page["next"]
        if len(seen) == 3:
            desk.tasks("meanwhile")
            desk.call("kei-task::update", id=1, title="renamed")

    assert seen == [1, 2, 3, 4, 5, 6, 7, 8]


def test_filters_are_joined_by_and_their_values_by_or(desk):
    desk.tasks("A", "B", "C", priority="high", assigned_to="ada")
    desk.tasks("D", task_type="bug")
    desk.depend((1, 2))
    desk.call("kei-task::complete", id=3)
    desk.call("kei-task::update", id=4, status="blocked")

    def listed(**given):
        return [task["id"] for task in desk.call("kei-task::list", **given)["tasks"]]

    assert listed(status=["pending", "completed"], assigned_to="ada") == [1, 2, 3]
    assert listed(priority=["high"], status=["completed"]) == [3]
    assert listed(ready=True) == [2]
    assert listed(ready=False) == [1, 3, 4]
    assert listed(task_type="bug") == [4]
    assert listed(milestone_id=1) == []


def test_a_search_finds_the_best_first(desk):
    desk.tasks("Rotate keys", description="the auth service forgets them")
    desk.tasks("Fix auth bug", "Écrire en français", "Learn C++", "Read kei-task::create", "auth", "Say 'what?' *")

    assert desk.found("auth") == ["auth", "Fix auth bug", "Rotate keys"]
    assert desk.found("AUTH fix") == ["Fix auth bug"]
    assert desk.found("auth", limit=1) == ["auth"]
    assert desk.found("ecrire FRANCAIS") == ["Écrire en français"]
    assert desk.found("c++") == ["Learn C++"]
    assert desk.found("kei-task::create") == ["Read kei-task::create"]
    assert desk.found("what?") == ["Say 'what?' *"]
    assert desk.found("fran") == ["Écrire en français"]
    assert desk.found("aut* bug") == ["Fix auth bug"]
    assert desk.found("aut bug") == []
    assert desk.found("*") == ["Say 'what?' *"]
    assert desk.found("") == desk.found("  ") == desk.found("auth AND nothing") == []


def test_a_search_follows_what_is_changed(desk):
    desk.tasks("before")

    desk.call("kei-task::update", id=1, title="after", description="with more")

    assert (desk.found("before"), desk.found("after"), desk.found("more")) == ([], ["after"], ["after"])
    desk.sql("INSERT INTO task_words (task_words) VALUES ('integrity-check')")


@given(text=st.text(max_size=40) | st.text(alphabet="\"*^:()-+{}' \0NEARORAND", max_size=40))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_is_an_error(searched, text):
    assert len(searched.call("kei-task::search", query=text)["tasks"]) <= 2


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    desk = Desk(tmp_path_factory.mktemp("searched") / "task.sqlite")
    desk.tasks("one", 'OR "two" NEAR(x)')
    return desk


def test_many_words_are_no_error(searched):
    assert searched.found(" ".join(["one"] * 500)) == ["one"]


def test_writers_wait_for_each_other(desk):
    failed = []

    def write(name):
        try:
            for number in range(10):
                desk.call("kei-task::create", f"{name}-{number}", title=f"{name} {number}")
        except Exception as error:  # noqa: BLE001 - told by the assertion
            failed.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert desk.sql("SELECT count(*), max(id) FROM tasks") == [(30, 30)]
