"""`keisei replay`: what it says of an attempt, and how it ends."""

import json

import pytest

from tests.cli.shop import Shop

ROLE = """[role]
name = "program"
description = "Runs programs."
[capabilities]
required = []
[tools]
allowed = [{tools}]
[isolation]
require = "none"
"""
MANY = [f"Tool{number:03}" for number in range(50)]


def role(tools):
    return ROLE.format(tools=", ".join(f'"{each}"' for each in tools))


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    made.kit = made.folder / "a kit"
    (made.kit / "_roles").mkdir(parents=True)
    (made.kit / "_roles/program.toml").write_text(role(MANY))
    yield made
    made.close()


def attempt_of(shop, *words):
    """One attempt, run to its end."""
    shop.out("task", "add", "--type", "script", "--payload", '{"args": ["-c", "echo hello"]}', *words)
    shop.out("runner", "--until-idle", *words)
    return shop.json("attempt", "list")[0]["attempt_id"]


def test_an_attempt_replays_the_same(shop):
    attempt = attempt_of(shop)

    done = shop.run("replay", attempt)
    data = shop.json("replay", attempt)

    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[1:3] == [
        "evidence: every file is what the ledger says",
        "bundle: today's files make the same one",
    ]
    assert done.out.splitlines()[3].startswith("findings: nobody asked any then")
    assert data["same"] is True
    assert data["inputs"][0] == data["inputs"][1]


def test_an_attempt_of_another_kit_root_is_replayed_with_it(shop):
    attempt = attempt_of(shop, "--kit-root", shop.kit)

    assert shop.run("replay", attempt, "--kit-root", shop.kit).code == 0
    assert shop.run("replay", attempt).code == 2


def test_of_a_long_list_only_what_came_and_went_is_told(shop):
    attempt = attempt_of(shop, "--kit-root", shop.kit)
    (shop.kit / "_roles/program.toml").write_text(role([*MANY[1:], "Other"]))

    done = shop.run("replay", attempt, "--kit-root", shop.kit)

    assert done.code == 2
    assert "bundle: role.tools.allowed: came Other; went Tool000\n" in done.out
    (listed,) = [
        each
        for each in json.loads(shop.run("replay", attempt, "--kit-root", shop.kit, "--json").out)["drift"]
        if each["what"] == "role.tools.allowed"
    ]
    assert (listed["came"], listed["went"], len(listed["was"])) == (["Other"], ["Tool000"], 50)


def test_what_cannot_be_replayed_is_told_in_a_sentence(shop):
    attempt = attempt_of(shop)
    task = shop.json("attempt", "list")[0]["task_id"]

    assert "that is a task" in shop.run("replay", task).err
    evidence = shop.state / "evidence"
    evidence.rename(shop.state / "elsewhere")
    done = shop.run("replay", attempt, "--json")
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[0] == f"error: the evidence of attempt {attempt} is not on this machine"
    assert "replay it there, unless it was removed" in done.err
