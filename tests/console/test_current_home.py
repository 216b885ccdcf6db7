"""keisei.toml is followed while a console runs: an edit holds at once, a broken one changes nothing and is told."""

import pytest

from tests.console.house import PROJECT, open_house

BUDGET = "[budget.day]\nmax-cost-usd = 5.0\n"
HOOK = '[webhooks.late]\nkind = "github"\nsecret-env = "KS_LATE"\n'


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path) as opened:
        yield opened


def edit(house, text):
    (house.root / "keisei.toml").write_text(text)


def test_an_edit_holds_at_once(house):
    before = house.premises.home
    edit(house, PROJECT + BUDGET)

    after = house.premises.home

    assert (before.file.budget, after.file.budget.day.max_cost_usd) == (None, 5.0)
    assert (after.name, after.root, after.folder) == (before.name, before.root, before.folder)
    assert house.premises.stale is None
    assert house.premises.home is after, "what did not change is not read again"


def test_a_broken_file_changes_nothing_and_every_page_tells(house):
    edit(house, PROJECT + BUDGET)
    assert house.premises.home.file.budget.day.max_cost_usd == 5.0
    edit(house, PROJECT + "[budget.day]\nmax-cost-usd = <b>\n")

    for path in ("/", "/tasks", "/nowhere"):
        assert "keisei.toml cannot be read" in house.client.get(path).text
    assert "<b>" not in house.client.get("/").text.partition("cannot be read")[2][:200]
    assert house.premises.home.file.budget.day.max_cost_usd == 5.0
    (house.root / "keisei.toml").unlink()
    assert "keisei.toml cannot be read" in house.page("/")
    edit(house, PROJECT)
    assert house.premises.home.file.budget is None
    assert "keisei.toml cannot be read" not in house.page("/")


def test_another_name_holds_from_the_next_start_on(house):
    edit(house, PROJECT.replace("house", "cottage") + BUDGET)

    assert "calls the project `cottage` now" in house.page("/")
    assert (house.premises.home.name, house.premises.home.folder.name) == ("house", "house")
    assert house.premises.home.file.budget.day.max_cost_usd == 5.0


def test_a_file_that_changed_a_moment_ago_is_read_once_more(house, monkeypatch):
    edit(house, PROJECT + BUDGET)
    assert house.premises.home.file.budget.day.max_cost_usd == 5.0
    path = house.root / "keisei.toml"
    monkeypatch.setattr("keisei.console.current_home.stamp_of", lambda _found: "same")
    monkeypatch.setattr("keisei.console.current_home.is_hot", lambda _found: True)
    monkeypatch.setattr("keisei.console.current_home.SETTLED_S", 0.0)
    assert house.premises.home.file.budget.day.max_cost_usd == 5.0
    path.write_text(path.read_text().replace("5.0", "6.0"))

    assert house.premises.home.file.budget.day.max_cost_usd == 6.0


def test_a_webhook_that_is_added_is_listened_to(house, monkeypatch):
    monkeypatch.setenv("KS_LATE", "a secret that is long enough")
    assert house.client.post("/hooks/late", content=b"{}").status_code == 404
    edit(house, PROJECT + HOOK)

    assert house.client.post("/hooks/late", content=b"{}").status_code == 401
    edit(house, PROJECT)
    assert house.client.post("/hooks/late", content=b"{}").status_code == 404
