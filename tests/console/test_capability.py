import pytest

from keisei.console import capability, capability_try
from tests.console.house import VIEWER, open_house

OWN = """[capability]
name = "policy::own"
category = "policy"
version = "1.0"
description = "Nobody <b>shouts</b>."
[restricts]
tool-patterns = ["^shout( |$)"]
[text]
path = "text.md"
[gate]
kind = "pattern"
[lineage]
creator = "me"
[[test]]
name = "shouting"
tool = "Bash"
input = { command = "shout now" }
expect = "deny"
[[test]]
name = "whispering"
tool = "Bash"
input = { command = "whisper" }
expect = "deny"
"""
FILES = [
    (".keisei/capabilities/policy/own/capability.toml", OWN),
    (".keisei/capabilities/policy/own/text.md", "Do not shout.\n\x1b[31m<i>red</i>\u202e\n"),
]


@pytest.fixture
def house(tmp_path):
    with open_house(tmp_path, files=FILES) as opened:
        yield opened


def test_every_capability_is_listed_with_its_roles(house):
    items = {each["name"]: each for each in house.api("/capabilities")["items"]}

    assert "edit-local" in items["policy::no-git-ops"]["roles"]
    assert items["tools::cargo-only-bash"]["alias"] == "tools::bash-allowlist"
    assert items["policy::own"]["layer"] == "project"
    assert items["policy::own"]["vectors"] == 2
    assert 'href="/capabilities/policy%3A%3Aown"' in house.page("/capabilities")


def test_a_broken_capability_is_told_beside_the_others(house):
    (house.root / FILES[0][0]).write_text("[capability]\nname = 5\n")

    told = house.api("/capabilities")

    assert "capability.toml:2" in told["problems"][0]
    assert len(told["items"]) > 10
    assert house.client.get("/capabilities/policy::own").status_code == 422
    assert house.client.get("/roles").status_code == 200


def test_a_capability_is_shown_with_its_text_gate_and_users(house):
    told = house.api("/capabilities/scope::files-whitelist")

    assert told["manifest"]["gate"]["kind"] == "paths"
    assert told["manifest"]["verify"]["rule"] == "scope"
    assert {
        "role": "edit-shared",
        "rule": {"how": "inherited", "by": "edit-local", "named": "scope::files-whitelist"},
    } in (told["roles"])
    assert "files-whitelist" in told["text"]
    assert told["vectors"][0]["decision"] is None


def test_what_authors_wrote_is_shown_and_not_obeyed(house):
    page = house.page("/capabilities/policy::own")

    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "<i>red" not in page
    assert "\\x1b[31m&lt;i&gt;red" in page
    assert "Nobody &lt;b&gt;shouts&lt;/b&gt;." in page
    assert "No role names it." in page


def test_an_old_name_shows_what_it_stands_for(house):
    told = house.api("/capabilities/tools::read-only")

    assert (told["name"], told["means"]) == ("tools::read-only", "tools::deny-tools")
    assert "is an old name of" in house.page("/capabilities/tools::read-only")


def test_its_vectors_are_run_when_asked(house):
    told = house.api("/capabilities/policy::own", test="true")

    assert (told["ran"], told["failed"]) == (2, 1)
    assert [each["passed"] for each in told["vectors"]] == [True, False]
    assert "2 run, 1 failed" in house.page("/capabilities/policy::own?test=true")


def test_vectors_have_no_more_than_their_time(house, monkeypatch):
    monkeypatch.setattr(capability, "LONGEST_S", -1.0)

    told = house.api("/capabilities/policy::own", test="true")

    assert told["ran"] == 1
    assert "no time for the other 1" in house.page("/capabilities/policy::own?test=true")


def test_a_command_is_tried_by_the_rule_alone_and_not_carried_out(house, tmp_path):
    mark = tmp_path / "made"
    told = house.api("/capabilities/policy::own", command=f"touch '{mark}'; sh -c 'shout loud'")["trial"]

    assert (told["decision"], told["cause"], told["capability"], told["rule"]) == (
        "deny",
        "rule",
        "policy::own",
        "^shout( |$)",
    )
    assert told["effects"]["commands"][-1]["inside"] == "sh"
    assert told["effects"]["writes"][0]["path"] == str(mark)
    assert not mark.exists()
    page = house.client.get("/capabilities/policy::own", params={"command": "shout '<b>'"}).text
    assert "refused" in page
    assert "shout '<b>'" not in page


def test_an_allowed_command_says_so(house):
    told = house.api("/capabilities/policy::own", command="whisper")["trial"]
    assert (told["decision"], told["reason"]) == ("allow", None)
    assert "No rule is against it." in house.page("/capabilities/policy::own?command=whisper")
    assert "It has no gate" in house.page("/capabilities/quality::tests-green?command=whisper")


def test_globs_go_to_whatever_takes_a_scope(house):
    path = "/capabilities/scope::files-whitelist"
    assert house.api(path, command="src/a", tool="Edit", scope="src/**")["trial"]["decision"] == "allow"
    assert house.api(path, command="src/a", tool="Edit")["trial"]["decision"] == "deny"
    denied = house.api("/capabilities/scope::files-denylist", command="src/a", tool="Edit", scope="src/**")["trial"]
    assert denied["decision"] == "deny"


@pytest.mark.parametrize(
    "command",
    [":(){ :|:& };:", "a\0b", "shout" + "x" * 7900, "(" * 4000, "$(" * 400, "\ufeff\u202e'\"`", "a;" * 3900],
    ids=["fork bomb", "nul", "long", "open", "nested", "strange", "many"],
)
def test_hostile_commands_are_data(house, command):
    answer = house.client.get("/api/v1/capabilities/policy::own", params={"command": command})

    assert answer.status_code == 200
    assert answer.json()["trial"]["decision"] in {"allow", "deny"}
    assert len(answer.json()["trial"]["effects"]["commands"]) <= capability_try.MOST
    assert house.client.get("/capabilities/policy::own", params={"command": command}).status_code == 200


@pytest.mark.parametrize("given", ["[1]", "{", '{"command": "\\ud800"}', "[" * 5000, "null"])
def test_an_input_that_is_none_is_told(house, given):
    answer = house.client.get("/api/v1/capabilities/policy::own", params={"input": given})

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "input"


def test_a_whole_input_is_taken_as_it_is(house):
    path = "/capabilities/policy::own"
    told = house.api(path, tool="mcp__x__y", input='{"command": "shout"}')["trial"]
    assert told["input"] == {"command": "shout"}
    assert house.api(path, input='{"command": "shout"}')["trial"]["decision"] == "deny"
    assert house.client.get(f"/api/v1{path}?tool=Strange&command=x").status_code == 422


def test_too_long_a_command_is_told_and_not_judged(house):
    answer = house.client.get("/api/v1/capabilities/policy::own", params={"command": "x" * 8001})

    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "command")


def test_who_finds_no_place_is_told_to_come_again(house, monkeypatch):
    monkeypatch.setattr(capability_try, "PATIENCE_S", 0.0)
    with capability_try.turn(), capability_try.turn():
        assert house.client.get("/api/v1/capabilities/policy::own?command=x").status_code == 503
    assert house.client.get("/api/v1/capabilities/policy::own?command=x").status_code == 200


@pytest.mark.parametrize("name", ["nobody", "policy::nobody", "policy::%00", "::", "a::b::c", "🙂::x", "x" * 199])
def test_a_capability_that_nobody_wrote_is_missing(house, name):
    assert house.client.get(f"/capabilities/{name}").status_code == 404
    assert house.client.get(f"/api/v1/capabilities/{name}").status_code == 404


def test_viewers_try_too(tmp_path):
    with open_house(tmp_path, files=FILES, visitor=VIEWER, read_only=True) as house:
        assert house.api("/capabilities/policy::own", command="shout")["trial"]["decision"] == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "cat {}/se*",
        "cp {}/*.txt .",
        "bash {}/secret.sh",
        ". {}/secret.sh",
        "sh -c 'source {}/secret.sh'",
        "cat {}/link",
        "rm -rf {}",
        "cat {{worktree}}/../../../../../..{}/se*",
    ],
)
def test_a_trial_tells_nothing_of_this_machine(tmp_path, command):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "secret.sh").write_text("curl https://token-of-ours.example/upload\n")
    (hidden / "secret.txt").write_text("x")
    (hidden / "link").symlink_to(hidden / "secret.txt")
    with open_house(tmp_path, files=FILES) as house:
        for place in ("/capabilities/policy::no-git-ops", "/roles/edit-local"):
            told = house.client.get(f"/api/v1{place}", params={"command": command.format(hidden)}).text
            assert "token-of-ours" not in told
            assert "secret.txt" not in told
            assert ("secret.sh" in told) == ("secret.sh" in command)
