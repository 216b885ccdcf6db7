"""The landing queue and one landing: as pages and as JSON, and what an operator says to one, really carried out."""

from contextlib import contextmanager
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from keisei.console import landing
from keisei.console.app import application
from keisei.console.premises import Premises
from keisei.settings import read_settings
from tests.console.house import OPERATOR, VIEWER, House, open_house
from tests.console.landings import HOSTILE, offer
from tests.console.test_runner import register
from tests.wiring.test_landing import Yard


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


def queued(house, landing_id):
    return house.order(f"/landings/{landing_id}/approve").json()["landing"]["status"]


def test_an_empty_queue_says_what_to_do(house):
    assert house.api("/landings")["queue"] == []
    assert "Nothing waits to land." in house.page("/landings")


def test_the_queue_stands_in_the_order_in_which_it_lands(house):
    first, second, third = (offer(house, subject=f"number {number}") for number in range(3))
    assert (queued(house, third), queued(house, second)) == ("queued", "queued")

    told = house.api("/landings")

    order = [each["landing"]["landing_id"] for each in told["queue"]]
    assert order == [second, third, first]
    assert (told["items"], told["next"], told["runners"]) == ([], None, 0)
    shown = house.page("/landings")
    assert shown.index("number 1") < shown.index("number 2") < shown.index("number 0")
    assert "none is active" in shown


def test_what_is_over_is_told_page_by_page(house):
    made = [offer(house, subject=f"number {number}") for number in range(3)]
    for each in made:
        assert house.order(f"/landings/{each}/reject", reason="no").status_code == 200

    first = house.api("/landings", limit=2)
    rest = house.api("/landings", limit=2, after=first["next"])

    ids = [each["landing"]["landing_id"] for each in (*first["items"], *rest["items"])]
    assert (ids, rest["next"]) == ([*reversed(made)], None)
    assert 'rel="next"' in house.client.get("/landings?limit=2").text


def test_landings_are_chosen_by_their_status(house):
    held, turned_down, on_its_way = (offer(house, subject=f"number {number}") for number in range(3))
    house.order(f"/landings/{turned_down}/reject", reason="no")
    queued(house, on_its_way)

    def told(*words):
        found = house.client.get("/api/v1/landings", params={"status": words}).json()
        return [each["landing"]["landing_id"] for each in (*found["queue"], *found["items"])]

    assert told() == [on_its_way, held, turned_down]
    assert (told("rejected"), told("held"), told("landed")) == ([turned_down], [held], [])
    assert told("rejected", "queued", "landing") == [on_its_way, turned_down]
    assert house.client.get("/api/v1/landings?status=strange").status_code == 422
    shown = house.page("/landings?status=rejected")
    assert ("number 1" in shown, "number 0" in shown, "<h2>The queue</h2>" in shown) == (True, False, False)
    assert "<h2>Over</h2>" not in house.page("/landings?status=queued&status=landing")
    house.order(f"/landings/{held}/reject", reason="no")
    assert f"after={turned_down}&amp;status=rejected" in house.page("/landings?status=rejected&limit=1")


def test_a_queue_that_is_cut_says_so_and_nobody_is_called_the_next_in_vain(house, monkeypatch):
    monkeypatch.setattr(landing, "MOST", 2)
    for _ in range(3):
        offer(house)  # older ones that wait for a person take no place from those that land
    made = [offer(house) for _ in range(4)]
    for each in made:
        queued(house, each)

    told = house.api("/landings")

    assert ([each["landing"]["landing_id"] for each in told["queue"]], told["cut"]) == (made[:2], True)
    assert "more wait behind them" in house.page("/landings")
    ahead = [house.api(f"/landings/{each}") for each in made]
    assert [(each["ahead"], each["ahead_more"]) for each in ahead] == [(0, False), (1, False), (2, False), (2, True)]
    assert "It is the next to land" in house.page(f"/landings/{made[0]}")
    assert "2 land before it" in house.page(f"/landings/{made[2]}")
    assert "More than 2 land before it" in house.page(f"/landings/{made[3]}")


def test_a_runner_that_was_killed_lands_nothing(house, monkeypatch):
    landing_id = offer(house)
    queued(house, landing_id)
    register(house, lease_s=5.0)
    assert house.api("/landings")["runners"] == house.api("/schedules")["runners"] == 1
    later = house.store.now() + timedelta(seconds=6)
    monkeypatch.setattr(house.premises, "now", lambda: later)

    for path in ("/landings", f"/landings/{landing_id}", "/schedules"):
        assert house.api(path)["runners"] == 0
    assert "none is active" in house.page("/landings")
    assert "none is active" in house.page(f"/landings/{landing_id}")


def test_a_landing_is_told_with_its_verdict_its_files_and_its_history(house):
    findings = [
        {"capability": "quality::check-green", "status": "violated"},
        {"capability": "quality::taste", "status": "violated", "severity": "warn"},
        {},
    ]
    landing_id = offer(house, findings=findings)
    queued(house, landing_id)

    told = house.api(f"/landings/{landing_id}")

    assert (told["held"], told["asked"], len(told["against"]), told["ahead"]) == (1, 3, 1, 0)
    assert told["findings"][0]["capability"] == "quality::check-green"
    assert [each["path"] for each in told["diff"]["files"]] == ["src/new.txt", "src/old.txt"]
    assert "landing_queued" in [each["event_type"] for each in told["history"]]
    shown = house.page(f"/landings/{landing_id}")
    assert "1 rejects it" in shown
    assert "only warns" in shown
    assert f"/attempts/{told['landing']['attempt_id']}#changes" in shown
    assert "It is the next to land" in shown


def test_what_others_wrote_is_shown_and_not_obeyed(house):
    said = {"status": "violated", "reason": "<b>bold</b>", "detail": HOSTILE}
    landing_id = offer(house, subject=HOSTILE, findings=[said])

    for path in ("/landings", f"/landings/{landing_id}"):
        shown = house.page(path)
        assert "<script>alert" not in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "&lt;script&gt;alert(1)" in shown


@pytest.mark.parametrize("given", ["nothing", "%00", "x" * 200, "😀"])
def test_a_landing_that_nobody_knows_is_not_found(house, given):
    for path in (f"/landings/{given}", f"/api/v1/landings/{given}"):
        assert house.client.get(path).status_code == 404
    assert house.client.post(f"/api/v1/landings/{given}/approve", json={}).status_code == 404


def test_a_form_approves_and_goes_to_the_landing(house):
    landing_id = offer(house)

    answer = house.form(f"/landings/{landing_id}/approve", reason="fine")

    assert (answer.status_code, answer.headers["location"]) == (303, f"/landings/{landing_id}")
    found = house.store.landing(landing_id)
    assert (found.status, found.approved, found.decided_by) == ("queued", True, "operator:tester")
    assert house.order(f"/landings/{landing_id}/approve").status_code == 200


def test_a_rejected_landing_is_taken_over_once(house):
    landing_id = offer(house)

    first = house.order(f"/landings/{landing_id}/reject", reason="ugly", respawn=True).json()
    again = house.form(f"/landings/{landing_id}/reject", respawn="true")

    heir = first["respawned_as"]
    assert (first["landing"]["status"], first["landing"]["reason"]) == ("rejected", "ugly")
    assert again.headers["location"] == f"/tasks/{heir}"
    assert house.store.task(heir).status == "pending"
    assert house.api(f"/landings/{landing_id}")["heir"] == heir
    assert heir in house.page(f"/landings/{landing_id}")


def test_what_cannot_be_said_to_it_is_refused_with_the_next_step(house):
    landing_id = offer(house)

    told = house.order(f"/landings/{landing_id}/revert")

    assert told.status_code == 409
    assert "only what has landed" in told.json()["detail"]
    house.order(f"/landings/{landing_id}/reject")
    assert house.order(f"/landings/{landing_id}/approve").status_code == 409


@pytest.mark.parametrize(("who", "read_only"), [(VIEWER, False), (OPERATOR, True)], ids=["viewer", "read-only"])
def test_who_may_not_order_sees_no_form_and_changes_nothing(tmp_path, who, read_only):
    with open_house(tmp_path, visitor=who, read_only=read_only) as house:
        landing_id = offer(house)
        assert '<form class="order"' not in house.page(f"/landings/{landing_id}")
        for verb in ("approve", "reject", "revert"):
            assert house.order(f"/landings/{landing_id}/{verb}").status_code == 403
            assert house.form(f"/landings/{landing_id}/{verb}").status_code == 403
        assert house.store.landing(landing_id).status == "held"


@contextmanager
def console_of(yard):
    """A console on a project that stands already."""
    places = {"HOME": yard.folder, "KEISEI_HOME": yard.folder / "state", "XDG_RUNTIME_DIR": yard.folder / "run"}
    premises = Premises(read_settings({name: str(path) for name, path in places.items()}), yard.root)
    app = application(premises)

    async def seen(scope, receive, send):
        scope.setdefault("state", {})["visitor"] = OPERATOR
        await app(scope, receive, send)

    try:
        with TestClient(seen, base_url="http://127.0.0.1:4314") as client:
            yield House(premises=premises, client=client, root=yard.root, app=app)
    finally:
        premises.close()


def test_an_approved_candidate_is_landed_by_a_runner_and_taken_back_by_an_order(tmp_path):
    yard = Yard(tmp_path)
    try:
        landing_id = yard.work()
        with console_of(yard) as house:
            held = house.api(f"/landings/{landing_id}")
            assert (held["landing"]["status"], held["tip"]) == ("held", held["landing"]["before_commit"])
            assert queued(house, landing_id) == "queued"
            yard.run()
            landed = house.api(f"/landings/{landing_id}")
            assert (landed["landing"]["status"], landed["tip"]) == ("landed", landed["landing"]["after_commit"])
            assert "<b>Landed</b>" in house.page(f"/landings/{landing_id}")

            back = house.order(f"/landings/{landing_id}/revert", reason="not now").json()["landing"]

            assert (back["status"], back["reason"]) == ("reverted", "not now")
            assert yard.git("rev-parse", "main") == back["revert_commit"]
            assert not (yard.root / "src/new.txt").exists()
    finally:
        yard.close()
