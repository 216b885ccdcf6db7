"""Events: newest first, narrowed by kind and task, page by page, whatever is asked."""

import pytest

from keisei.records.move import NewEvent
from tests.console.house import open_house
from tests.console.landings import HOSTILE


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with open_house(tmp_path_factory.mktemp("events")) as opened:
        opened.store.note([NewEvent(event_type="sensor_ran", task_id="task-1", detail={"n": n}) for n in range(7)])
        opened.store.note([NewEvent(event_type="gate_denied", task_id="task-2", detail={"said": HOSTILE, "list": [1]})])
        yield opened


def test_events_stand_newest_first_and_go_on_until_the_first(house):
    seen, after = [], {}
    while True:
        told = house.api("/events", limit=3, **after)
        seen += [each["id"] for each in told["items"]]
        if told["next"] is None:
            break
        after = {"after": told["next"]}

    assert seen == [8, 7, 6, 5, 4, 3, 2, 1]


def test_events_are_narrowed_by_kind_and_by_task(house):
    assert [each["id"] for each in house.api("/events", event_type="gate_denied")["items"]] == [8]
    assert len(house.api("/events", task_id="task-1")["items"]) == 7
    assert house.api("/events", task_id="task-1", event_type="gate_denied")["items"] == []


def test_the_page_names_what_agents_wrote_and_obeys_none_of_it(house):
    shown = house.page("/events")

    assert "&lt;script&gt;alert(1)&lt;/script&gt; \\x1b[31m \\u202eturned" in shown
    assert "<script>alert" not in shown
    assert 'href="/tasks/task-2"' in shown
    assert "[1]" in shown


def test_the_next_page_keeps_what_was_asked(house):
    assert 'href="?event_type=sensor_ran&amp;task_id=task-1&amp;limit=3&amp;after=5"' in house.page(
        "/events?event_type=sensor_ran&task_id=task-1&limit=3"
    )


@pytest.mark.parametrize("after", ["x", "-1", "\u0661", "9" * 30], ids=["word", "negative", "arabic", "long"])
def test_a_place_that_is_none_is_told_by_its_name(house, after):
    told = house.client.get("/api/v1/events", params={"after": after})

    assert told.status_code == 422
    assert told.json()["errors"][0]["field"] == "after"


def test_a_task_nobody_has_has_no_events(house):
    assert house.api("/events", task_id="no\0such\ud800".encode("utf-8", "replace").decode())["items"] == []
    assert "Nothing of this kind has happened" in house.page("/events?task_id=nobody")


def test_where_nothing_happened_the_page_says_what_makes_it_happen(tmp_path):
    with open_house(tmp_path) as house:
        assert "keisei run" in house.page("/events")
