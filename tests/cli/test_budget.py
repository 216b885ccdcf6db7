"""`keisei budget`: every limit with what is left of it, unknown shown as unknown, and grants that are told."""

import pytest

from keisei.testing.model import Fault, ScriptedModel
from tests.cli.shop import PROJECT, Shop, bare

DONE = '{"status": "completed", "operator_summary": "did it"}'
MODEL = """
[adapters.model]
kind = "ollama-generate"
endpoint = "{url}"
model = "scripted"
timeout_ms = 10000
"""
LIMITS = """
[budget.task]
max-tokens = 15
[budget.day]
max-tokens = 40
max-cost-usd = 2.5
"""

TOKENS = LIMITS.replace("max-cost-usd = 2.5\n", "")
TIGHT = TOKENS.replace("40", "15")


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    made.answering()
    yield made
    made.close()


def spend(shop, script, limits=LIMITS, number=1):
    """So many tasks of a model."""
    with ScriptedModel(script) as model:
        (shop.folder / "keisei.toml").write_text(PROJECT + MODEL.format(url=model.url) + limits)
        tasks = [
            shop.add("", task_type="answering", payload={}, requested_adapter_id="model", max_attempts=1)
            for _ in range(number)
        ]
        shop.work()
    return tasks


def rows(shop):
    """Scope and unit to the rest of the line."""
    lines = [line.split() for line in shop.out("budget", "show").splitlines()[2:]]
    return {(words[0], words[1]): words[2:] for words in lines if words[0] != "a"}


def test_a_project_without_limits_has_spent_nothing(shop):
    assert rows(shop) == {
        ("day", "usd"): ["-", "0", "0", "0", "0", "-"],
        ("day", "tokens"): ["-", "0", "0", "0", "0", "-"],
    }
    told = shop.json("budget", "show")
    assert (told["task_limit"], [each["scope"] for each in told["balances"]]) == (None, ["day"])


def test_what_was_spent_without_a_limit_is_shown_by_adapter(shop):
    spend(shop, [DONE], limits="")

    assert rows(shop)[("adapter:model", "tokens")] == ["-", "0", "15", "0", "0", "-"]


def test_every_limit_is_shown_with_what_is_left_and_what_nobody_knows(shop):
    spend(shop, [DONE])

    found = rows(shop)
    assert found[("day", "tokens")] == ["40", "0", "15", "0", "0", "25"]
    assert found[("day", "usd")][:3] == ["2.5", "0", "unknown"]  # this model counts tokens and names no price
    assert shop.out("budget", "show").splitlines()[-1] == "a task that names no budget may spend 15 tokens"


def test_usage_that_nobody_told_is_unknown_and_never_nothing(shop):
    spend(shop, [Fault(400, "no")])

    assert rows(shop)[("day", "tokens")] == ["40", "0", "unknown", "0", "15", "25"]
    (day,) = (each for each in shop.json("budget", "show")["balances"] if each["scope"] == "day")
    assert (day["spent"]["tokens"], day["uncounted"]) == (None, 1)


def test_what_is_known_is_shown_beside_what_is_not(shop):
    spend(shop, [DONE, Fault(400, "no")], TOKENS, number=2)

    assert rows(shop)[("day", "tokens")][2:5] == ["15", "+", "unknown"]


def test_a_grant_is_told_counted_and_wakes_what_waits(shop):
    tasks = spend(shop, [DONE, DONE, DONE], TIGHT, number=2)
    assert sorted(shop.task(each)["status"] for each in tasks) == ["completed", "pending"]

    said = shop.out("budget", "grant", "--day", "--tokens", 20, "--reason", "a busy day")

    assert said.startswith("day granted 20 tokens for 2")
    assert rows(shop)[("day", "tokens")][:2] == ["15", "20"]
    assert "budget_granted" in shop.out("ledger", "list")
    assert [each["event_type"] for each in shop.json("event", "list", "--type", "budget_granted")] == ["budget_granted"]


def test_a_grant_for_a_task_is_for_good(shop):
    task = shop.add("true")

    told = shop.json("budget", "grant", "--task", task, "--usd", 0.5)

    assert (told["scope"], told["day"], told["amount"]) == (f"task:{task}", None, {"usd": 0.5, "tokens": None})
    assert bare(shop.out("budget", "grant", "--task", task, "--usd", 0.5)) == ["task:<1> granted 0.5 usd for good"]


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--day"],
        ["--tokens", 5],
        ["--day", "--agent", "x", "--tokens", 5],
        ["--day", "--tokens", 0],
        ["--day", "--tokens", -5],
        ["--day", "--usd", "nan"],
        ["--day", "--usd", "inf"],
        ["--day", "--usd", "much"],
        ["--task", "nobody", "--tokens", 5],
        ["--agent", "\udcff", "--tokens", 5],
    ],
    ids=["nothing", "no amount", "no scope", "two", "zero", "negative", "nan", "inf", "word", "task", "no text"],
)
def test_a_grant_that_is_none_is_a_mistake(shop, words):
    done = shop.run("budget", "grant", *words)

    assert (done.code, done.out) == (1, "")
    assert "error" in done.err.lower()
    assert "Traceback" not in done.err
    assert "budget_granted" not in shop.out("ledger", "list")


def test_a_limit_that_holds_for_nobody_is_told(shop):
    limits = "[budget.adapters.modle]\nmax-tokens = 5\n[budget.agents.nobody]\nmax-tokens = 5\n"
    (shop.folder / "keisei.toml").write_text(PROJECT + "\n" + limits)

    done = shop.run("budget", "show")

    assert done.code == 0
    assert "no adapter is called `modle`" in done.err
    assert "no agent is called `nobody`" in done.err


@pytest.mark.parametrize(
    "words", [("--day", "--usd", "3"), ("--adapter", "x", "--tokens", "3"), ("--agent", "x", "--usd", "1")]
)
def test_nothing_is_granted_where_there_is_no_limit_to_add_to(shop, words):
    (shop.folder / "keisei.toml").write_text(PROJECT + TOKENS)

    done = shop.run("budget", "grant", *words)

    assert (done.code, "has no limit in" in done.err) == (1, True)
    assert "keisei budget show" in done.err
