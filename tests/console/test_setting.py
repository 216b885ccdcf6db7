import pytest

from keisei import __version__
from keisei.console.setting import _database
from keisei.settings import SETTINGS
from tests.console.house import VIEWER, open_house

PROJECT = """[project]
name = "house"
[runner]
jobs = 7
policy = "be <script>alert(1)</script> kind"
[commands]
check = "curl -H 'Authorization: Bearer abcdefghijklmnop' x"
[webhooks.ci]
kind = "github"
secret-env = "CI_SECRET"
[channels.far]
kind = "webhook"
url = "https://me:hunter22@example.org/x"
"""


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path, project=PROJECT) as opened:
        yield opened


def row(house, table, key):
    return next(each for each in house.api("/settings")["rows"] if (each["table"], each["key"]) == (table, key))


def test_every_setting_is_told_with_its_origin(house, tmp_path):
    told = {each["name"]: each for each in house.api("/settings")["settings"]}

    assert list(told) == [each.name for each in SETTINGS]
    assert (told["own_state"]["value"], told["own_state"]["origin"]) == (str(tmp_path / "state"), "environment")
    assert (told["config_home"]["value"], told["config_home"]["origin"]) == (str(tmp_path / "config"), "environment")
    page = house.page("/settings")
    assert all(each.variable in page for each in SETTINGS)


def test_what_the_surroundings_do_not_say_is_a_default(house, monkeypatch):
    monkeypatch.delenv("KEI_CREATOR_ID", raising=False)
    told = next(each for each in house.api("/settings")["settings"] if each["name"] == "creator")

    assert (told["value"], told["origin"]) == ("unknown", "default")


def test_keys_of_the_file_are_told_with_their_line_and_the_others_with_their_default(house):
    assert row(house, "runner", "jobs") == {
        "table": "runner",
        "key": "jobs",
        "value": "7",
        "default": "2",
        "origin": "file",
        "line": 4,
    }
    silent = row(house, "runner", "max-attempts")
    assert (silent["value"], silent["origin"], silent["line"]) == ("3", "default", None)
    assert row(house, "landing", "auto")["value"] == "false"
    assert row(house, "webhooks.ci", "secret-env")["value"] == '"CI_SECRET"'
    assert "line 4" in house.page("/settings")


def test_no_secret_stands_on_the_page(house):
    for text in (house.client.get("/api/v1/settings").text, house.page("/settings")):
        assert "hunter22" not in text
        assert "abcdefghijklmnop" not in text
    assert "example.org" in row(house, "channels.far", "url")["value"]
    assert "<script>alert" not in house.page("/settings")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", ""),
        ("postgresql://me:hunter22@db.example:5432/keisei?sslmode=on", "postgresql://db.example:5432/keisei"),
        ("postgresql:///keisei?password=hunter22", "postgresql:///keisei"),
        ("postgresql://me:hun@ter22@db/x", "[redacted]"),
        ("postgresql://me:hun/ter22@db/x", "[redacted]"),
        ("postgresql://me:hun?ter22@db/x", "[redacted]"),
        ("postgresql://me:hun#ter22", "[redacted]"),
        ("password=hunter22", "[redacted]"),
    ],
)
def test_of_an_address_only_what_is_surely_no_secret_is_told(url, shown):
    assert _database(url) == shown


def test_layers_folders_and_versions_are_told(house):
    told = house.api("/settings")

    assert (told["version"], told["project"], told["root"]) == (__version__, "house", str(house.root))
    assert (told["database"], told["database_place"].endswith("/house/state.db")) == ("SQLite", True)
    assert [each["name"] for each in told["layers"]] == ["kit", "project"]
    assert next(each for each in told["folders"] if each["name"] == "state")["there"] is True


def test_an_edit_since_the_start_holds(house):
    (house.root / "keisei.toml").write_text(PROJECT.replace("jobs = 7", "jobs = 8"))

    assert row(house, "runner", "jobs")["value"] == "8"
    assert house.api("/settings")["stale"] is False
    assert house.premises.home.file.runner.jobs == 8


def test_a_broken_file_is_told(house):
    (house.root / "keisei.toml").write_text("[project]\nname = 5\n")

    told = house.api("/settings")

    assert "keisei.toml:2" in told["problems"][0]
    assert house.client.get("/settings").status_code == 200


def test_viewers_see_them_too(tmp_path):
    with open_house(tmp_path, visitor=VIEWER, read_only=True) as house:
        assert house.api("/settings")["read_only"] is True
        assert "this console is read-only" in house.page("/settings")


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.slack.example/services/T000/B000/SECRETPART",
        "tgram://123456:SECRETPART/chat",
        "discord://id/SECRETPART",
        "https://example.org/in?key=SECRETPART",
        "SECRETPART",
    ],
)
def test_an_address_of_a_channel_is_not_told(tmp_path, url):
    channel = f'[channels.team]\nkind = "apprise"\nurl = "{url}"\n'
    with open_house(tmp_path, project=f"{PROJECT}{channel}") as house:
        for told in (house.client.get("/settings").text, house.client.get("/api/v1/settings").text):
            assert "channels.team" in told
            assert "SECRETPART" not in told
