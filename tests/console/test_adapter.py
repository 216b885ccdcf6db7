import socket
from datetime import timedelta

import pytest
from msgspec.structs import replace

from keisei.records.breaker import Breaker
from keisei.testing.queue import ending
from tests.console.house import VIEWER, open_house
from tests.console.landings import claimed_task

PROJECT = """[project]
name = "house"
[adapters.own]
kind = "script"
command = "sh"
timeout_ms = 5000
extra_args = ["--token=abcdef123456", "<script>alert(1)</script>"]
[adapters.own.env]
PLAIN = "hunter22"
[adapters.gone]
kind = "script"
command = "no-such-program-here"
timeout_ms = 5000
[adapters.far]
kind = "ollama-generate"
endpoint = "http://me:hunter22@127.0.0.1:PORT"
model = "small"
timeout_ms = 5000
"""


@pytest.fixture
def project():
    with socket.socket() as held:  # bound and not listening: nothing answers there, and nobody else can
        held.bind(("127.0.0.1", 0))
        yield PROJECT.replace("PORT", str(held.getsockname()[1]))


@pytest.fixture
def house(tmp_path, project):
    with open_house(tmp_path, project=project) as opened:
        yield opened


def line(house, name):
    return next(each for each in house.api("/adapters")["items"] if each["adapter_id"] == name)


def fail(house, name, **more):
    """An attempt ends, and its runner has learnt that the adapter itself fails."""
    claimed = claimed_task(house)
    now = house.store.now()
    breaker = Breaker(adapter_id=name, failures=3, kind="network", reason="<b>no</b>", updated_at=now, **more)
    ended = ending(claimed, "retryable_failure", now)
    assert house.store.settle(replace(ended, breaker=breaker)) == "settled"


def test_adapters_are_told_with_their_gate_and_where_they_stand(house):
    own, shipped = line(house, "own"), line(house, "claude-code")

    assert (own["kind"], own["reached_by"], own["gate"]) == ("script", "sh", "none")
    assert own["origin"].endswith("keisei.toml:3")
    assert (shipped["gate"], shipped["breaker"]["state"]) == ("native", "closed")
    assert "names neither a key nor an address" in " ".join(shipped["problems"])
    assert "asks the gate before every tool call" in house.page("/adapters")


def test_no_secret_stands_on_the_page(house):
    told = house.client.get("/api/v1/adapters").text
    page = house.page("/adapters")

    for text in (told, page):
        assert "hunter22" not in text
        assert "abcdef123456" not in text
    assert line(house, "own")["config"]["env"] == {"PLAIN": "[redacted]"}
    assert "<script>alert" not in page


def test_a_probe_is_made_and_remembered_with_its_time(house):
    assert line(house, "own")["probe"] is None

    answer = house.form("/adapters/own/probe")

    assert (answer.status_code, answer.headers["location"]) == (303, "/adapters")
    probe = line(house, "own")["probe"]
    assert (probe["ok"], probe["reason"]) == (True, "reachable")
    assert probe["probed_at"]
    assert "reachable" in house.page("/adapters")


def test_a_probe_that_fails_says_why_and_no_secret(house):
    gone, far = house.order("/adapters/gone/probe").json(), house.order("/adapters/far/probe").json()

    assert (gone["ok"], gone["reason"]) == (False, "the program `no-such-program-here` is not on the PATH")
    assert far["ok"] is False
    assert "hunter22" not in far["reason"]
    assert "not reachable" in house.page("/adapters")


def test_an_open_breaker_is_told_and_reset(house):
    fail(house, "own", needs_person=True)
    breaker = line(house, "own")["breaker"]
    assert (breaker["state"], breaker["failures"]) == ("needs-person", 3)
    page = house.page("/adapters")
    assert "open until it is reset" in page
    assert "&lt;b&gt;no&lt;/b&gt;" in page

    answer = house.form("/adapters/own/reset")

    assert answer.status_code == 303
    assert line(house, "own")["breaker"]["state"] == "closed"
    row = house.store.entries(kind="adapter_breaker_reset")[0]
    assert (row.subject, row.actor) == ("own", "operator:tester")
    assert house.order("/adapters/own/reset").status_code == 409


def test_a_breaker_that_opens_for_a_while_says_until_when(house):
    fail(house, "own", open_until=house.premises.now() + timedelta(hours=1))

    assert line(house, "own")["breaker"]["state"] == "open"


def test_failures_of_an_adapter_that_is_gone_can_be_forgotten(house):
    fail(house, "former", needs_person=True)
    assert house.api("/adapters")["strays"] == ["former"]
    assert "stands in no file any more" in house.page("/adapters")

    assert house.order("/adapters/former/reset").json() == {"adapter_id": "former", "breaker": "closed"}

    assert house.api("/adapters")["strays"] == []


def test_a_broken_file_is_told(house):
    (house.root / "keisei.toml").write_text('[project]\nname = "house"\n[adapters.own]\nkind = "script"\n')

    told = house.api("/adapters")

    assert told["items"] == []
    assert "keisei.toml" in told["problems"][0]
    assert house.client.get("/adapters").status_code == 200
    assert house.order("/adapters/own/probe").status_code == 422


@pytest.mark.parametrize("name", ["nobody", "%00", "🙂", "x" * 199])
def test_an_adapter_that_nobody_wrote_is_missing(house, name):
    assert house.order(f"/adapters/{name}/probe").status_code == 404
    assert house.order(f"/adapters/{name}/reset").status_code == 404


@pytest.mark.parametrize("how", [{"visitor": VIEWER}, {"read_only": True}], ids=["viewer", "read-only"])
def test_whoever_only_looks_probes_and_resets_nothing(tmp_path, project, how):
    with open_house(tmp_path, project=project, **how) as house:
        fail(house, "own", needs_person=True)
        assert "/probe" not in house.page("/adapters")
        assert house.order("/adapters/own/probe").status_code == 403
        assert house.form("/adapters/own/reset").status_code == 403
        assert line(house, "own")["breaker"]["state"] == "needs-person"
