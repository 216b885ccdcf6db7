import shutil

import pytest

from keisei.library.document import parse
from keisei.library.load import load
from keisei.library.source import read_source
from keisei.records.move import NewTask
from keisei.testing.queue import new_task
from keisei.wiring.constitution import FOLDER, KIND
from keisei.wiring.constitution_proposal import Archive, Wish, alone, propose
from tests.console.house import VIEWER, open_house

AGENT = """[identity]
agent_id = "indra"
internal_name = "indra"
display_name = "Indra <script>alert(1)</script>"
[identity.external_name]
name = "Trustless Indra"
source = "aibtc-api"
wallet_ref = "bc1qxyz"
[constitution]
version = "1.0"
revised_at = 2026-01-01T00:00:00Z
[[wallets]]
chain = "bitcoin"
address = "bc1qxyz"
"""
FOLDER_OF = ".keisei/agents/indra"
FILES = [
    (f"{FOLDER_OF}/agent.toml", AGENT),
    (f"{FOLDER_OF}/SOUL.md", "I am calm.\n\x1b[31m<b>red</b>\u202e\n"),
    (f"{FOLDER_OF}/PURPOSE.md", "Do good.\n"),
]


@pytest.fixture
def house(tmp_path):
    project = '[project]\nname = "house"\nagent = "indra"\n[budget.agents.indra]\nmax-cost-usd = 3.0\n'
    with open_house(tmp_path, files=FILES, project=project) as opened:
        yield opened


def seen(house):
    soul, purpose = house.api("/agents/indra")["papers"]
    return {"soul_sha256": soul["sha256"], "purpose_sha256": purpose["sha256"]}


def rows(house):
    return house.store.entries(kind=KIND)


def test_without_agents_the_page_says_how_one_is_made(tmp_path):
    with open_house(tmp_path) as house:
        assert house.api("/agents") == {"items": [], "problems": []}
        page = house.page("/agents")
        assert "agent.toml" in page
        assert "SOUL.md" in page


def test_agents_are_listed_with_the_state_of_their_constitution(house):
    line = house.api("/agents")["items"][0]

    assert (line["agent_id"], line["state"], line["wallets"], line["is_default"]) == ("indra", "new", 1, True)
    assert "never accepted" in house.page("/agents")


def test_a_broken_agent_is_told_beside_the_others(house):
    other = house.root / ".keisei/agents/other"
    other.mkdir()
    (other / "agent.toml").write_text("[identity]\n")

    told = house.api("/agents")

    assert [each["agent_id"] for each in told["items"]] == ["indra"]
    assert "agents/other/agent.toml" in told["problems"][0]
    assert house.client.get("/agents/other").status_code == 422


def test_what_agents_wrote_is_shown_and_not_obeyed(house):
    page = house.page("/agents/indra")

    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "<script>alert" not in page
    assert "<b>red" not in page
    assert "\\x1b[31m&lt;b&gt;red" in page
    assert "Trustless Indra" in page
    assert "bc1qxyz" in page


def test_a_form_accepts_what_was_read_and_the_page_shows_it(house):
    answer = house.form("/agents/indra/accept", **seen(house))

    assert (answer.status_code, answer.headers["location"]) == (303, "/agents/indra")
    row = rows(house)[0]
    assert (row.subject, row.actor, row.source) == ("indra", "operator:tester", "engine")
    assert row.body == {**seen(house), "version": "1.0"}
    told = house.api("/agents/indra")
    assert (told["state"], told["accepted"]["seq"]) == ("accepted", row.seq)
    assert "As accepted." in house.page("/agents/indra")
    kept = {each.name for each in (house.premises.home.folder / FOLDER).iterdir()}
    assert kept == set(seen(house).values())


def test_a_change_is_shown_as_a_difference(house):
    house.order("/agents/indra/accept", **seen(house))
    (house.root / f"{FOLDER_OF}/SOUL.md").write_text("I am calm.\n<i>And loud.</i>\n")

    told = house.api("/agents/indra")

    assert told["state"] == "changed"
    assert "+<i>And loud.</i>" in told["papers"][0]["changes"]
    assert told["papers"][1]["changes"] == []
    page = house.page("/agents/indra")
    assert "<ins>+&lt;i&gt;And loud.&lt;/i&gt;</ins>" in page
    assert "changed since it was accepted" in page


def test_a_text_that_changed_since_it_was_read_is_not_accepted(house):
    read = seen(house)
    (house.root / f"{FOLDER_OF}/SOUL.md").write_text("Obey me.\n")

    answer = house.order("/agents/indra/accept", **read)

    assert answer.status_code == 409
    assert "has changed since you read it" in answer.json()["detail"]
    assert rows(house) == []


def test_it_waits_for_whoever_else_changes_the_constitution(house, monkeypatch):
    read = seen(house)
    monkeypatch.setattr("keisei.wiring.constitution_proposal.PATIENCE_S", 0.05)

    with alone(Archive(house.store, house.premises.home.folder), "indra"):
        assert house.order("/agents/indra/accept", **read).status_code >= 400
        assert rows(house) == []
    assert house.order("/agents/indra/accept", **read).status_code < 400


def test_an_agent_that_says_it_is_another_accepts_nothing_for_it(house):
    read = seen(house)
    shutil.copytree(house.root / FOLDER_OF, house.root / FOLDER_OF / "../evil")

    assert house.order("/agents/evil/accept", **read).status_code == 422
    assert rows(house) == []
    assert "differs from the folder `evil`" in house.api("/agents")["problems"][0]


def test_an_accepted_text_that_another_machine_keeps_is_told(house):
    house.order("/agents/indra/accept", **seen(house))
    for each in (house.premises.home.folder / FOLDER).iterdir():
        each.unlink()
    (house.root / f"{FOLDER_OF}/SOUL.md").write_text("Other.\n")

    assert [each["known"] for each in house.api("/agents/indra")["papers"]] == [False, False]
    assert "not kept on this machine" in house.page("/agents/indra")


def test_a_missing_paper_is_a_problem_and_nothing_to_accept(house):
    (house.root / f"{FOLDER_OF}/PURPOSE.md").unlink()

    told = house.api("/agents/indra")

    assert (told["papers"], told["state"]) == ([], "unreadable")
    assert "PURPOSE.md" in told["problems"][0]
    assert "/accept" not in house.page("/agents/indra")
    body = {"soul_sha256": "0" * 64, "purpose_sha256": "0" * 64}
    assert house.order("/agents/indra/accept", **body).status_code == 422


def test_its_tasks_and_its_spending_are_told(house):
    now = house.store.now()
    mine, other = (("task-1", "<i>polish</i>", "indra"), ("task-2", "another's", "ann"))
    tasks = [new_task(name, now, subject=subject, agent=agent) for name, subject, agent in (mine, other)]
    house.store.enqueue([NewTask(task=each) for each in tasks])

    told = house.api("/agents/indra")

    assert [each["task_id"] for each in told["tasks"]] == ["task-1"]
    assert told["balance"]["limit"]["usd"] == 3.0
    page = house.page("/agents/indra")
    assert "&lt;i&gt;polish" in page
    assert "another" not in page


@pytest.mark.parametrize("body", [{}, {"soul_sha256": "x", "purpose_sha256": "0" * 64}, {"soul_sha256": "0" * 64}])
def test_an_order_that_names_no_texts_is_refused(house, body):
    assert house.order("/agents/indra/accept", **body).status_code == 422
    assert rows(house) == []


@pytest.mark.parametrize("name", ["nobody", "%00", "🙂", "x" * 199])
def test_an_agent_that_nobody_wrote_is_missing(house, name):
    body = {"soul_sha256": "0" * 64, "purpose_sha256": "0" * 64}
    assert house.client.get(f"/agents/{name}").status_code == 404
    assert house.client.get(f"/api/v1/agents/{name}").status_code == 404
    assert house.order(f"/agents/{name}/accept", **body).status_code == 404


@pytest.mark.parametrize("how", [{"visitor": VIEWER}, {"read_only": True}], ids=["viewer", "read-only"])
def test_whoever_only_looks_accepts_nothing(tmp_path, how):
    with open_house(tmp_path, files=FILES, **how) as house:
        assert "/accept" not in house.page("/agents/indra")
        assert house.order("/agents/indra/accept", **seen(house)).status_code == 403
        assert house.form("/agents/indra/accept", **seen(house)).status_code == 403
        assert rows(house) == []


def test_what_an_agent_proposes_is_shown_with_what_it_would_change(house):
    loaded = load(parse(read_source(house.root / FOLDER_OF / "agent.toml")), "agent.file")
    wish = Wish(None, b"Do better.\n<script>x</script>\x1b\n", "why <b>not</b>")
    made = propose(loaded, wish, Archive(house.store, house.premises.home.folder), "attempt:a1")

    (proposal,) = house.api("/agents/indra")["proposals"]
    assert (proposal["seq"], proposal["actor"], proposal["fits"]) == (made.seq, "attempt:a1", True)
    assert "+Do better." in proposal["papers"][0]["changes"]
    page = house.page("/agents/indra")
    assert f"Proposal {made.seq}" in page
    assert "<script>x" not in page
    assert "<b>not" not in page
