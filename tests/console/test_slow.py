"""Slow things are done a few at a time: whatever hangs, pages answer."""

import threading
from contextlib import ExitStack

import pytest

from keisei.console.slow import MOST, slowly
from keisei.records.error import WorldFault
from keisei.records.move import LandingMove
from keisei.rules.landing import moved
from keisei.wiring.landing import locked
from keisei.wiring.sensor import Ran, Sensing
from tests.cli.landing import COMMIT
from tests.console.house import VIEWER, open_house
from tests.console.landings import offer
from tests.console.test_sensor import opened

MANY = 50
"""More than there are threads for requests."""
LONG_S = 60
"""How long whoever would hang is waited for; nothing here takes long."""


@pytest.fixture
def house(tmp_path):
    with opened(tmp_path) as made:
        yield made


def side_by_side(acts):
    """Threads that do these things."""
    threads = [threading.Thread(target=act, daemon=True) for act in acts]
    for each in threads:
        each.start()
    return threads


def test_home_answers_while_a_sensor_hangs_that_fifty_have_ordered(house, monkeypatch):
    goes_on, answers, home = threading.Event(), [], []
    runs = threading.Semaphore(0)

    def hangs(_self, name, _actor):
        runs.release()
        goes_on.wait(LONG_S)
        return Ran(sensor_id=name)

    monkeypatch.setattr(Sensing, "run", hangs)
    try:
        ordered = side_by_side([lambda: answers.append(house.order("/sensors/eye/run").status_code)] * MANY)
        assert runs.acquire(timeout=LONG_S)
        (asked,) = side_by_side([lambda: home.append(house.client.get("/").status_code)])
        asked.join(LONG_S)
        assert home == [200]
        for each in ordered:  # everybody has asked before the one goes on; that one alone is still waited for
            while each.is_alive() and len(answers) < MANY - 1:
                each.join(0.01)
    finally:
        goes_on.set()
    for each in ordered:
        each.join()

    assert sorted(answers) == [200] + [503] * (MANY - 1)
    assert not runs.acquire(blocking=False)


@pytest.mark.parametrize(
    "path",
    [
        "/sensors/eye/run",
        "/adapters/script/probe",
        "/ledger/verify",
        "/schedules/tick",
    ],
)
def test_what_is_slow_is_refused_while_too_much_is_under_way(house, path):
    with ExitStack() as held:
        for number in range(MOST):
            held.enter_context(slowly(house.premises, f"thing {number}"))

        told = house.order(path)

        assert (told.status_code, told.json()["detail"]) == (503, "too much is under way at once")
        assert house.client.get("/").status_code == 200
    assert house.order(path).status_code == 200


def test_a_viewer_who_runs_vectors_while_others_do_is_told_to_come_again(tmp_path):
    with open_house(tmp_path, visitor=VIEWER) as house:
        path = "/api/v1/capabilities/policy::no-git-ops?test=true"
        with slowly(house.premises, "a test of a capability's vectors"):
            assert house.client.get(path).status_code == 503
            assert house.client.get(path.removesuffix("?test=true")).status_code == 200
        assert house.client.get(path).json()["ran"] > 0


def test_the_same_is_not_done_twice_at_once_and_a_place_is_given_back(house):
    with slowly(house.premises, "this"):
        with pytest.raises(WorldFault, match="this is under way already"), slowly(house.premises, "this"):
            pass
        with slowly(house.premises, "that"):
            pass
    with pytest.raises(ValueError, match="oh"), slowly(house.premises, "this"):
        raise ValueError("oh")
    with slowly(house.premises, "this"):
        pass


def test_what_has_not_landed_is_not_reverted_whoever_lands_meanwhile(house):
    held = offer(house)
    with ExitStack() as busy:
        for number in range(MOST):
            busy.enter_context(slowly(house.premises, f"thing {number}"))
        told = house.order(f"/landings/{held}/revert")

    assert told.status_code == 409
    assert "only what has landed is taken back" in told.json()["detail"]


def test_a_revert_waits_a_little_for_whoever_lands(house, monkeypatch):
    class Hall:
        home = house.premises.home

    landing = house.store.landing(offer(house))
    for status in ("queued", "landing", "landed"):
        after = moved(landing, status, house.store.now(), before_commit=COMMIT, after_commit=COMMIT)
        assert house.store.move_landing(LandingMove(landing=after, was=landing.status))
        landing = after
    monkeypatch.setattr("keisei.console.landing_order.PATIENCE_S", 0.01)
    with locked(Hall) as mine:
        assert mine
        told = house.order(f"/landings/{landing.landing_id}/revert")

    assert (told.status_code, told.json()["detail"]) == (409, "somebody lands just now")
    assert "/landings" in told.json()["hint"]
