"""Search: one box for everything, any text is safe, an exact id leads straight to its page."""

from urllib.parse import quote

import pytest

from keisei.console.search_page import PLACES, places
from keisei.records.error import WorldFault
from keisei.records.move import NewTask
from keisei.testing.queue import new_task
from keisei.wiring.fresh import new_id
from tests.console.house import open_house
from tests.console.landings import HOSTILE, offer

STRANGE = [
    "\0",
    "a\0b",
    "'; DROP TABLE tasks; --",
    '"',
    'AND OR NOT NEAR("a" "b")',
    "title:x* ^y (",
    "x" * 10_000,
    "wort " * 2000,
    "%",
    "_",
    "\ud800",
    "😀 \u202e",
    "../../etc/passwd",
    "::",
    "/",
    "*",
]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with open_house(tmp_path_factory.mktemp("search")) as opened:
        now = opened.store.now()
        subjects = ["Mend the roof", "Paint the roof red", HOSTILE, "Count sheep"]
        tasks = [new_task(f"task-{number}", now, subject=subject) for number, subject in enumerate(subjects)]
        opened.store.enqueue([NewTask(task=each) for each in tasks])
        yield opened


def straight(house, text):
    """Where a browser is sent; None where it is shown a page."""
    answer = house.client.get("/search", params={"q": text}, follow_redirects=False)
    assert answer.status_code in (200, 303), answer.text
    return answer.headers.get("location")


def test_words_find_work_what_is_authored_and_pages(house):
    told = house.api("/search", q="roof")
    assert {hit["title"] for hit in told["tasks"]} == {"Mend the roof", "Paint the roof red"}
    assert told["tasks"][0]["page"].startswith("/tasks/task-")

    told = house.api("/search", q="git")
    hit = next(hit for hit in told["authored"] if hit["id"] == "policy::no-git-ops")
    assert (hit["page"], hit["graph"]) == ("/capabilities/policy::no-git-ops", "/graph?id=policy::no-git-ops")
    marked = [hit["snippet"][begin:end] for hit in told["authored"] for begin, end in hit["marks"]]
    assert any("git" in word.lower() for word in marked)

    assert [hit["page"] for hit in house.api("/search", q="land")["pages"]] == ["/landings"]
    shown = house.page("/search?q=roof")
    assert "Mend the roof" in shown
    assert 'href="/tasks/task-0"' in shown


def test_a_word_that_nobody_wrote_is_repaired_and_that_is_told(house):
    assert "task" in house.api("/search", q="taks")["repaired"]["taks"]
    assert "Showing results for" in house.page("/search?q=taks")


def test_an_exact_id_leads_straight_to_its_page(house):
    landing_id = offer(house, subject="Land it")
    landing = house.store.landing(landing_id)

    expected = {
        "task-1": "/tasks/task-1",
        landing.task_id: f"/tasks/{landing.task_id}",
        landing.attempt_id: f"/attempts/{landing.attempt_id}",
        landing_id: f"/landings/{landing_id}",
        "kei-fs::read": "/atoms/kei-fs::read",
        "policy::no-git-ops": "/capabilities/policy::no-git-ops",
        "roles/edit-local": "/roles/edit-local",
    }
    for text, page in expected.items():
        assert straight(house, f"  {text} ") == page
        assert house.api("/search", q=text)["exact"]["page"] == page
        assert house.client.get(page).status_code == 200


def test_a_word_is_looked_for_even_where_something_is_called_so(house):
    assert straight(house, "edit-local") is None
    assert house.api("/search", q="edit-local")["authored"][0]["id"] == "roles/edit-local"


def test_the_beginning_of_an_id_finds_what_has_it(house):
    landing_id = offer(house, subject="Begin")
    landing = house.store.landing(landing_id)

    told = house.api("/search", q=landing.attempt_id[:-4].upper())
    assert landing.attempt_id in [hit["id"] for hit in told["rows"] if hit["kind"] == "attempt"]
    told = house.api("/search", q=landing_id[:-1])
    assert landing_id in [hit["id"] for hit in told["rows"] if hit["kind"] == "landing"]
    assert landing.task_id in [hit["id"] for hit in house.api("/search", q=landing.task_id[:-1])["tasks"]]


@pytest.mark.parametrize("text", STRANGE, ids=lambda text: ascii(text[:12]))
def test_any_text_is_a_safe_question(house, text):
    asked = quote(text, safe="", errors="surrogatepass")
    assert house.client.get(f"/search?q={asked}").status_code == 200
    told = house.client.get(f"/api/v1/search?q={asked}")
    assert told.status_code == 200
    assert told.json()["exact"] is None


def test_what_agents_wrote_is_shown_and_not_obeyed(house):
    shown = house.page("/search?q=" + quote("<script>"))

    assert "<script>alert" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; \\x1b[31m \\u202eturned" in shown


def test_a_limit_holds_for_each_sort(house):
    told = house.api("/search", q="the", limit=1)
    assert len(told["tasks"]) == 1
    assert told["more_tasks"]
    assert house.client.get("/api/v1/search?q=a&limit=0").status_code == 422


def test_nothing_asked_and_nothing_found_say_what_to_do(house):
    assert "One box for everything" in house.page("/search")
    assert house.api("/search")["authored"] == []
    assert "Nothing fits these words" in house.page("/search?q=qqzzxxjj")
    assert "Nothing fits these words" in house.page(f"/search?q={new_id()}")


def test_work_is_found_where_nothing_authored_can_be(house, monkeypatch):
    def broken(*_, **__):
        raise WorldFault("the disk is full")

    monkeypatch.setattr(type(house.premises.sage), "search", broken)
    told = house.api("/search", q="roof")
    assert len(told["tasks"]) == 2
    assert told["trouble"] == "the disk is full"


def test_every_page_without_parameters_can_be_found_and_is_there(house):
    for place in PLACES:
        assert place in places(place.title)
        assert house.client.get(place.path).status_code == 200, place.path
    assert places("") == []
    assert places("zzz") == []
