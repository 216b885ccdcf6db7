"""Workflows: drawn where they stand, begun and steered by forms and by programs."""

import re

import pytest

from keisei.console.workflow_drawing import drawing
from keisei.records.workflow import Transition, WorkflowDefinition, WorkflowState
from tests.console.house import OPERATOR, VIEWER, open_house
from tests.console.landings import HOSTILE

FLOW = """\
workflow_type = "release"
description = "Write, review, publish."
initial_state = "write"

[[states]]
state_id = "write"
transitions = [{ signal = "written", next_state = "review" }]
max_visits = 2

[[states]]
state_id = "review"
transitions = [{ signal = "revise", next_state = "write" }, { signal = "approved", next_state = "done" }]
completion_signals = ["dropped"]

[[states]]
state_id = "done"
"""
FILES = ((".keisei/workflows/release.toml", FLOW),)


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path, files=FILES) as opened:
        yield opened


def begin(house, key="v1", **more):
    return house.order("/workflows", type="release", key=key, **more).json()["record"]["workflow_id"]


def test_definitions_are_listed_and_no_instance_says_what_to_do(house):
    told = house.api("/workflows")
    assert told["items"] == []
    assert {"goal-loop", "release"} <= {each["name"] for each in told["definitions"]}
    shown = house.page("/workflows")
    assert "No workflow is under way." in shown
    assert 'href="/workflows/definitions/release"' in shown


def test_a_definition_that_cannot_be_read_harms_no_other(tmp_path):
    with open_house(tmp_path, files=(*FILES, (".keisei/workflows/bad.toml", "workflow_type = 3\n"))) as house:
        found = {each["name"]: each["fault"] for each in house.api("/workflows")["definitions"]}
        assert found["release"] is None
        assert found["bad"]
        assert "cannot be read" in house.page("/workflows")
        assert house.client.get("/workflows/definitions/bad").status_code == 422


def test_a_form_begins_one_and_goes_to_it(house):
    answer = house.form("/workflows", type="release", key="v1", context='{"objective": "ship"}', state="")

    assert answer.status_code == 303
    told = house.api(answer.headers["location"])
    assert (told["line"]["record"]["current_state"], told["line"]["awaits"]) == ("write", "signal")
    assert told["line"]["record"]["context"] == {"objective": "ship"}
    again = house.form("/workflows", type="release", key="v1")
    assert again.headers["location"] == answer.headers["location"]


@pytest.mark.parametrize(
    "body",
    [
        {"type": "release", "key": "k", "context": "[1]"},
        {"type": "release", "key": "k", "context": "{"},
        {"type": "release", "key": "k\n"},
        {"type": "nothing", "key": "k"},
        {"type": "../../etc", "key": "k"},
        {"type": "release", "key": "k", "state": "nowhere"},
    ],
    ids=["list", "no-json", "key", "type", "path", "state"],
)
def test_what_could_not_begin_is_refused(house, body):
    assert house.order("/workflows", **body).status_code == 422
    assert house.api("/workflows", status="all")["items"] == []


def test_one_is_steered_from_state_to_state_and_every_stay_is_told(house):
    workflow_id = begin(house)

    assert (
        house.order(f"/workflows/{workflow_id}/signal", signal="written").json()["record"]["current_state"] == "review"
    )
    house.form(f"/workflows/{workflow_id}/signal", signal="revise", reason="typos")
    refused = house.order(f"/workflows/{workflow_id}/transition", state="done")
    assert (refused.status_code, "no signal leads" in refused.json()["detail"]) == (409, True)
    moved = house.form(f"/workflows/{workflow_id}/transition", state="done", force="true")
    assert moved.status_code == 303

    told = house.api(f"/workflows/{workflow_id}")
    assert told["line"]["record"]["status"] == "completed"
    assert [(each["state"], each["signal"]) for each in reversed(told["visits"])] == [
        ("write", "written"),
        ("review", "revise"),
        ("write", None),
        ("done", None),
    ]
    shown = house.page(f"/workflows/{workflow_id}")
    assert "operator:tester" in shown
    assert house.order(f"/workflows/{workflow_id}/complete").status_code == 409


def test_the_drawing_marks_where_it_stands_and_says_it_in_words_too(house):
    workflow_id = begin(house)
    house.order(f"/workflows/{workflow_id}/signal", signal="written")

    shown = house.page(f"/workflows/{workflow_id}")

    (current,) = re.findall(r'<g class="box current">.*?</g>', shown, re.DOTALL)
    assert "▶ review" in current
    assert '<g class="box visited">' in shown
    assert "stands here" in shown
    for word in ("revise", "approved", "dropped"):
        assert word in shown
    assert "style=" not in shown
    assert [each["kind"] for each in house.api(f"/workflows/{workflow_id}")["drawing"]["states"]] == [
        "visited",
        "current",
        "last",
        "end",
    ]


def test_a_newer_definition_is_followed_when_an_operator_says_so(house):
    workflow_id = begin(house)
    assert house.api(f"/workflows/{workflow_id}")["outdated"] is False
    (house.root / ".keisei/workflows/release.toml").write_text(FLOW.replace("max_visits = 2", "max_visits = 5"))

    assert house.api(f"/workflows/{workflow_id}")["outdated"] is True
    assert "/upgrade" in house.page(f"/workflows/{workflow_id}")
    house.form(f"/workflows/{workflow_id}/upgrade", state="")

    told = house.api(f"/workflows/{workflow_id}")
    assert (told["outdated"], told["definition"]["states"][0]["max_visits"]) == (False, 5)


def test_instances_are_chosen_and_told_page_by_page(house):
    made = [begin(house, f"v{number}") for number in range(3)]
    house.order(f"/workflows/{made[0]}/complete")

    first = house.api("/workflows", status="all", limit=2)
    rest = house.api("/workflows", status="all", limit=2, after=first["next"])

    ids = [each["record"]["workflow_id"] for each in (*first["items"], *rest["items"])]
    assert (ids, rest["next"]) == ([*reversed(made)], None)
    assert [each["record"]["workflow_id"] for each in house.api("/workflows")["items"]] == [made[2], made[1]]
    assert house.api("/workflows", type="goal-loop")["items"] == []
    assert "after=" in house.client.get("/workflows?status=all&limit=2").text


def test_a_definition_is_drawn(house):
    begin(house)
    told = house.api("/workflows/definitions/goal-loop")
    assert (told["layer"], told["drawing"]["states"][0]["name"]) == ("kit", "plan")
    shown = house.page("/workflows/definitions/release")
    assert "<svg" in shown
    assert "v1" in shown
    assert 'value="release" selected' in house.client.get("/workflows/new?type=release").text


def test_what_others_wrote_is_shown_and_not_obeyed(house):
    workflow_id = begin(house, "<b>key</b>", context={"said": HOSTILE})

    for path in ("/workflows", f"/workflows/{workflow_id}"):
        shown = house.page(path)
        assert "<b>key" not in shown
        assert "<script>alert" not in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown


@pytest.mark.parametrize("given", ["nothing", "%00", "..%2f..%2fetc%2fpasswd", "😀"])
def test_what_nobody_knows_is_not_found(house, given):
    for path in (f"/workflows/{given}", f"/workflows/definitions/{given}", f"/api/v1/workflows/{given}"):
        assert house.client.get(path).status_code == 404
    assert house.client.post(f"/api/v1/workflows/{given}/complete", json={}).status_code == 404


@pytest.mark.parametrize(("who", "read_only"), [(VIEWER, False), (OPERATOR, True)], ids=["viewer", "read-only"])
def test_who_may_not_order_begins_nothing(tmp_path, who, read_only):
    with open_house(tmp_path, files=FILES, visitor=who, read_only=read_only) as house:
        assert house.form("/workflows", type="release", key="v1").status_code == 403
        assert house.order("/workflows", type="release", key="v1").status_code == 403
        assert 'method="post"' not in house.page("/workflows/new")
        assert house.api("/workflows", status="all")["items"] == []


def state(name, *ways, **more):
    return WorkflowState(
        state_id=name, transitions=tuple(Transition(signal=f"to-{way}", next_state=way) for way in ways), **more
    )


def test_no_two_states_are_drawn_over_each_other_and_no_line_beyond_the_edge():
    definition = WorkflowDefinition(
        workflow_type="wide",
        initial_state="a",
        states=(
            state("a", "b", "c", "d", "a", "gone"),
            state("b", "e", "a", completion_signals=("fine",)),
            state("c", "b", "e"),
            state("d", "a"),
            state("e", "a", "c"),
            state("alone", "alone"),
            state("x" * 64),
        ),
    )

    made = drawing(definition, "c", {"a": 1})

    boxes = [(each.x, each.y, each.x + each.width, each.y + each.height) for each in made.states]
    assert not [
        (one, other)
        for number, one in enumerate(boxes)
        for other in boxes[number + 1 :]
        if one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
    ]
    assert len(made.ways) == 13
    for x0, y0, x1, y1 in boxes:
        assert (x0 >= 0, y0 >= 0, x1 <= made.width, y1 <= made.height) == (True,) * 4
    for way in made.ways:
        assert 0 <= way.x <= made.width
        assert 0 <= way.y <= made.height
        numbers = [float(each) for each in re.findall(r"-?[0-9.]+", way.path)]
        assert min(numbers) >= 0


def test_states_stand_in_the_order_in_which_work_goes_through_them(house):
    told = house.api("/workflows/definitions/goal-loop")["drawing"]["states"]
    assert [each["name"] for each in sorted(told, key=lambda each: each["x"])] == [
        "plan",
        "execute",
        "verify",
        "complete",
    ]


def test_a_definition_with_very_many_states_is_told_in_words_only():
    states = tuple(state(f"s{number}") for number in range(100))
    assert drawing(WorkflowDefinition(workflow_type="many", initial_state="s0", states=states)) is None


def test_an_order_from_a_page_that_is_out_of_date_is_not_obeyed_elsewhere(house):
    workflow_id = house.order("/workflows", type="goal-loop", key="w", context={"objective": "x", "scope": ["**"]})
    workflow_id = workflow_id.json()["record"]["workflow_id"]
    shown = house.page(f"/workflows/{workflow_id}")
    sight = dict(re.findall(r'name="(seen_\w+)" value="([^"]*)"', shown))
    assert (len(re.findall('name="seen_state"', shown)), sight) == (3, {"seen_state": "plan", "seen_visit": "1"})

    sent = [house.form(f"/workflows/{workflow_id}/signal", signal="continue", **sight) for _ in range(2)]

    assert [each.status_code for each in sent] == [303, 409]
    here = house.api(f"/workflows/{workflow_id}")["line"]
    assert (here["record"]["current_state"], house.store.task(here["task_id"]).status) == ("execute", "pending")
    for verb, more in (("transition", {"state": "plan", "force": True}), ("complete", {}), ("upgrade", {})):
        refused = house.order(f"/workflows/{workflow_id}/{verb}", seen_state="plan", seen_visit=1, **more)
        assert (refused.status_code, "stands in `execute`" in refused.json()["detail"]) == (409, True)
    assert house.order(f"/workflows/{workflow_id}/signal", signal="continue", seen_visit=2).status_code == 409
    assert house.order(f"/workflows/{workflow_id}/signal", signal="continue", seen_state="execute").status_code == 200
