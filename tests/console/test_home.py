"""Home: what needs you, what runs, what waits, what went wrong, what it costs, and whether the house is up."""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from msgspec.structs import replace

from keisei.console import home_isolation
from keisei.records.approval import ApprovalRecord
from keisei.records.attempt import Usage
from keisei.records.confinement import Machine
from keisei.records.id import BundleId
from keisei.records.move import ClaimOrder, LandingMove, NewTask, PauseOrder
from keisei.records.runner import RunnerRecord
from keisei.testing.queue import ending, new_task
from keisei.wiring.fresh import new_id
from tests.console.house import PROJECT, VIEWER, open_house
from tests.console.landings import HOSTILE, claimed_task, offer

SHOWN = "&lt;script&gt;alert(1)&lt;/script&gt; \\x1b[31m \\u202eturned"
WHOLE = Machine(bwrap="/usr/bin/bwrap", landlock=7, seccomp=True)


@pytest.fixture(autouse=True)
def probes(monkeypatch):
    """How often the machine was looked at; what is found is whole."""
    counted = Counter()

    def look():
        counted["probe"] += 1
        return WHOLE

    monkeypatch.setattr(home_isolation, "probe", look)
    monkeypatch.setattr(home_isolation, "_probing", [])
    return counted


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


def register(house, runner_id="runner-1"):
    now = house.store.now()
    told = {"host": "host", "boot_id": "boot", "pid": 7, "born": "1", "version": "0", "slots": 2, "lease_s": 600.0}
    house.store.register(RunnerRecord(runner_id=runner_id, started_at=now, heartbeat_at=now, **told))
    return runner_id


def ask(house, **more):
    """A blocked task whose question is open."""
    claimed = claimed_task(house, more.pop("subject", "Mend it."))
    told = {
        "approval_id": new_id(),
        "kind": "task",
        "key": f"task:{claimed.task.task_id}",
        "reason": "which of two ways is meant",
        "task_id": claimed.task.task_id,
        "created_at": house.store.now(),
        "decided_at": None,
    }
    asked = ApprovalRecord(**(told | more))
    house.store.settle(ending(claimed, "blocked", house.store.now(), approvals=(asked,), error="blocked, so it is"))
    return asked


def test_an_empty_house_is_calm_and_says_how_to_begin(house):
    told, shown = house.api("/home"), house.page("/")

    assert (told["needs"], told["needs_all"], told["pauses"], told["runners"]) == ([], 0, [], [])
    assert "Nothing needs you." in shown
    assert "keisei up" in shown
    assert "Nothing is scheduled." in shown


def test_what_needs_a_person_stands_most_urgent_first_and_once(house):
    held = offer(house, reason="a person decides")
    asked = ask(house, subject=HOSTILE, reason=HOSTILE, created_at=house.store.now() + timedelta(seconds=5))

    told, shown = house.api("/home"), house.page("/")

    assert [each["approval_id"] or each["landing_id"] for each in told["needs"]] == [asked.approval_id, held]
    assert told["needs_all"] == 2
    assert told["needs"][0]["deadline"] is not None
    assert f'href="/approvals/{asked.approval_id}"' in shown
    assert f'href="/landings/{held}"' in shown
    assert SHOWN in shown
    assert "<script>alert" not in shown


def test_a_held_landing_somebody_was_asked_about_is_told_once(house):
    held = offer(house)
    ask(house, kind="landing", key=f"landing:{held}", reason="may it land?")

    told = house.api("/home")

    assert ([each["landing_id"] for each in told["needs"]], told["needs_all"]) == ([held], 1)


def test_every_held_landing_is_counted_and_what_is_overdue_is_never_pushed_off(house):
    now = house.store.now()
    landings = [offer(house) for _ in range(10)]
    ask(house, kind="landing", key=f"landing:{landings[0]}", reason="may it land?", deadline=now + timedelta(days=3))
    overdue = ask(house, deadline=now - timedelta(days=1), created_at=now - timedelta(days=2))
    later = [ask(house, deadline=now + timedelta(days=day)) for day in (2, 1)]

    told, shown = house.api("/home"), house.page("/")

    assert (told["needs_all"], told["needs_unasked"], len(told["needs"])) == (13, 9, 8)
    assert [each["approval_id"] for each in told["needs"][:3]] == [
        overdue.approval_id,
        later[1].approval_id,
        later[0].approval_id,
    ]
    assert [each["landing_id"] for each in told["needs"][3:]] == landings[:5]  # the first by its question's deadline
    assert '<a href="/landings?status=held">9 held landings</a>' in shown
    assert '<a href="/approvals">4 questions</a>' in shown
    assert [each["landing"]["landing_id"] for each in house.api("/landings", status="held")["queue"]] == landings
    assert "9 held landings" in house.page("/approvals")


def test_where_only_landings_need_somebody_the_way_leads_to_them(house):
    offer(house)

    assert 'class="card stat calls" href="/landings?status=held"' in house.page("/")
    shown = house.page("/approvals")
    assert "1 held landing</a> waits" in shown
    assert "Nothing needs you." not in shown


def test_what_runs_and_what_waits_are_told(house):
    now = house.store.now()
    house.store.enqueue([NewTask(task=new_task("running", now, subject=HOSTILE))])
    house.store.claim(ClaimOrder(runner_id=register(house), attempt_ids=("attempt-1",)))
    later = new_task("later", now, available_at=now + timedelta(hours=1))
    house.store.enqueue([NewTask(task=new_task("waits", now)), NewTask(task=later)])

    told, shown = house.api("/home"), house.page("/")

    assert [each["attempt_id"] for each in told["running"]] == ["attempt-1"]
    assert (told["claimable"], told["delayed"]) == (1, 1)
    assert (told["runners"][0]["alive"], told["runners"][0]["running"]) == (True, 1)
    assert 'href="/attempts/attempt-1"' in shown
    assert SHOWN in shown
    assert "No runner is there" not in shown


def test_what_went_wrong_today_is_linked(house):
    landing = offer(house)
    rejected = replace(house.store.landing(landing), status="rejected", updated_at=house.store.now())
    assert house.store.move_landing(LandingMove(landing=rejected, was="held"))
    failed = claimed_task(house, "Fails")
    house.store.settle(ending(failed, "permanent_failure", house.store.now(), error=HOSTILE))

    shown = house.page("/")

    assert f'href="/landings/{landing}"' in shown
    assert f'href="/tasks/{failed.task.task_id}"' in shown
    assert SHOWN in shown


def test_every_link_of_a_bad_day_leads_to_a_list_that_answers_it(house):
    for number in range(9):
        landing = house.store.landing(offer(house, subject=f"number {number}"))
        rejected = replace(landing, status="rejected", updated_at=house.store.now())
        assert house.store.move_landing(LandingMove(landing=rejected, was="held"))
    offer(house, subject="held")

    shown = house.page("/")

    assert "9 were rejected" in shown
    for path in re.findall(r'href="(/(?:tasks|landings)\?status=[^"]+)"', shown):
        assert house.client.get(f"/api/v1{path.replace('&amp;', '&')}").status_code == 200
    told = house.api("/landings", status="rejected")
    assert (len(told["items"]), told["queue"]) == (9, [])


def test_a_pause_is_loud_and_can_be_ended_there(house):
    house.order("/runners/pause", reason=HOSTILE)

    shown = house.page("/")

    assert "Paused: no runner takes anything new" in shown
    assert SHOWN in shown
    assert 'action="/runners/resume"' in shown
    house.form("/runners/resume")
    assert "Paused" not in house.page("/")


def test_a_viewer_sees_the_pause_and_no_button(tmp_path):
    with open_house(tmp_path, visitor=VIEWER) as house:
        order = PauseOrder(scope="all", paused=True, reason="the disk is full", actor="operator:tester")
        house.store.pause(order)

        shown = house.page("/")

        assert "the disk is full" in shown
        assert 'method="post"' not in shown
        assert "/tasks/new" not in shown


def spend(house, cost):
    """An attempt that began and ended today, and says so much of its cost."""
    claimed = claimed_task(house)
    usage = Usage(input_tokens=None, output_tokens=None, cache_read_tokens=None, cache_write_tokens=None, cost_usd=cost)
    begun = replace(
        claimed, attempt=replace(claimed.attempt, bundle_id=BundleId("b"), adapter_id="claude", usage=usage)
    )
    assert house.store.settle(ending(begun, "completed", house.store.now())) == "settled"


def test_what_nobody_knows_is_never_shown_as_nothing(tmp_path):
    with open_house(tmp_path, project=PROJECT + "[budget.day]\nmax-cost-usd = 20\n") as house:
        spend(house, None)
        assert house.api("/home")["balances"][0]["spent"]["usd"] is None
        assert "<b>unknown</b>" in house.page("/")

        spend(house, 3.5)
        shown = house.page("/")
        assert "<b>$3.50 + unknown</b>" in shown
        assert "$3.50 + unknown of $20.00" in shown
        assert 'max="20.0"' in shown


def test_the_machine_is_looked_at_once_whoever_asks(house, probes):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: house.client.get("/"), range(8)))

    told = house.api("/home")["isolation"]

    assert probes["probe"] == 1
    assert (told["level"], told["landlock"], told["bubblewrap"], told["hint"]) == ("full", 7, True, None)


def test_a_machine_that_cannot_be_looked_at_holds_nothing(house, monkeypatch):
    def broken():
        raise OSError("no more processes")

    monkeypatch.setattr(home_isolation, "probe", broken)

    told = house.api("/home")["isolation"]

    assert (told["level"], told["landlock"]) == ("none", 0)
    assert "no more processes" in told["detail"]
    assert "no Landlock" in house.page("/")
