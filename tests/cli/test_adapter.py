"""`keisei adapter`: what is configured, what can be reached, and what is left alone until a person says so."""

import json

import pytest

from keisei.testing.model import Fault, ScriptedModel
from tests.cli.shop import PROJECT, Shop, bare

MODEL = """
[adapters.model]
kind = "ollama-generate"
endpoint = "{url}"
model = "scripted"
timeout_ms = 10000

[adapters.gone]
kind = "script"
command = "no-such-program"
timeout_ms = 1000
"""


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    yield made
    made.close()


def configured(shop, url):
    (shop.folder / "keisei.toml").write_text(PROJECT + MODEL.format(url=url))


def test_adapters_are_listed_and_shown(shop):
    lines = bare(shop.out("adapter", "list"))

    assert lines[0] == "adapter kind breaker"
    assert "script script closed" in lines
    assert shop.json("adapter", "list")[-1]["record"] == shop.json("adapter", "show", "script")
    assert shop.out("adapter", "show", "script").startswith("kind: script\nadapter_id: script\ncommand: sh\n")


@pytest.mark.parametrize("given", ["", "nope", "\0", "\udcff"])
@pytest.mark.parametrize("verb", ["show", "probe"])
def test_an_adapter_that_nobody_knows_is_one_clear_error(shop, verb, given):
    done = shop.run("adapter", verb, given)

    assert (done.code, done.out) == (1, "")
    assert "does not exist" in done.err
    assert "known adapters: claude-code, codex, hermes-agent, ollama, script" in done.err


def test_a_probe_says_who_can_be_reached(shop):
    with ScriptedModel([]) as model:
        configured(shop, model.url)

        done = shop.run("adapter", "probe", "script", "model", "gone")

    assert (done.code, bare(done.out)) == (
        2,
        [
            "adapter ok reason",
            "script yes reachable",
            "model yes reachable",
            "gone no the program `no-such-program` is not on the PATH",
        ],
    )
    assert [each["ok"] for each in json.loads(shop.run("adapter", "probe", "script", "model", "--json").out)] == [
        True,
        False,
    ]


def test_an_adapter_that_is_not_let_in_is_left_alone_until_it_is_reset(shop):
    shop.answering()
    with ScriptedModel([Fault(401, "no\x1b[31m key")]) as model:
        configured(shop, model.url)
        shop.add("", task_type="answering", payload={}, requested_adapter_id="model")
        shop.work()

    (line,) = (line for line in bare(shop.out("adapter", "list")) if line.startswith("model"))
    assert line.startswith("model ollama-generate open until reset: ")
    assert "\x1b" not in line
    assert shop.out("adapter", "reset", "model") == "model closed\n"
    assert "model ollama-generate closed" in bare(shop.out("adapter", "list"))
    done = shop.run("adapter", "reset", "model")
    assert (done.code, done.err.splitlines()[0]) == (1, "error: adapter `model` has no failures to forget")


def test_a_name_that_no_database_can_hold_is_a_mistake_of_usage(shop):
    assert "not text" in shop.run("adapter", "reset", "\udcff").err
