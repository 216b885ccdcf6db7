"""`keisei event`: what happened, in order, by task, by kind, and as it comes."""

import json
import re
import signal
from datetime import datetime, timedelta

import pytest

from tests.cli.shop import Shop, bare, lines_until


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    yield made
    made.close()


def test_events_are_told_in_words_oldest_first(shop):
    shop.add("true")
    shop.work()

    lines = bare(shop.out("event", "list"))

    assert lines[0] == "id time event task detail"
    assert lines[1:3] == [
        "1 <time> task_enqueued <1> task_type=script source=test",
        "2 <time> task_claimed <1> fence=1 attempt=1 runner_id=<2>",
    ]
    assert [line.split()[2] for line in lines[1:]] == [
        "task_enqueued",
        "task_claimed",
        "bundle_compiled",
        "task_started",
        "task_attempt_finished",
        "task_finished",
        "dispatch_idle",
    ]


def test_events_are_chosen_by_task_by_kind_and_by_place(shop):
    first, second = shop.add("true"), shop.add("true")
    shop.out("task", "cancel", first)

    assert [each["event_type"] for each in shop.json("event", "list", "--task", first)] == [
        "task_enqueued",
        "task_operator_canceled",
    ]
    assert [each["task_id"] for each in shop.json("event", "list", "--type", "task_enqueued")] == [first, second]
    assert [each["id"] for each in shop.json("event", "list", "--limit", 1)] == [3]
    assert [each["id"] for each in shop.json("event", "list", "--after", 1, "--limit", 1)] == [2]
    assert shop.json("event", "list", "--after", "9" * 40) == []


def test_a_reason_of_many_lines_stays_on_its_own(shop):
    shop.out("runner", "pause", "--reason", "a\nb\x1b[31m")

    assert bare(shop.out("event", "list"))[1].startswith(
        '1 <time> dispatch_pause_enabled - scope=all reason="a\\nb\\u001b[31m"'
    )


@pytest.mark.parametrize("verb", ["list", "tail"])
def test_a_task_that_nobody_has_is_one_clear_error(shop, verb):
    done = shop.run("event", verb, "--task", "x")

    assert (done.code, done.out) == (1, "")
    assert "no task has the id `x`" in done.err


@pytest.mark.parametrize("words", [["--type", "nope"], ["--after", "-1"], ["--limit", "0"], ["--limit", "1001"]])
def test_values_that_are_none_are_mistakes_of_usage(shop, words):
    assert shop.run("event", "list", *words).code == 1


def test_events_are_told_as_they_come_until_interrupted(shop):
    shop.add("true")

    with shop.start("event", "tail", "--after", 0, preexec_fn=hear_interrupts) as tail:
        first = lines_until(tail, "task_enqueued")
        task_id = shop.add("true")
        (line,) = lines_until(tail, task_id)
        tail.send_signal(signal.SIGINT)
        assert tail.wait() == 130

    assert bare("\n".join([*first, line])) == [
        "1 <time> task_enqueued <1> task_type=script source=test",
        "2 <time> task_enqueued <2> task_type=script source=test",
    ]


def hear_interrupts():
    """A background job of a script inherits interrupts that are ignored; a person's shell does not."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_events_are_exported_as_cloud_events(shop):
    task = shop.add("true")
    shop.work()

    told = [json.loads(line) for line in shop.out("event", "export").splitlines()]

    assert [each["type"] for each in told] == [
        f"keisei.{each['event_type']}" for each in shop.json("event", "list", "--limit", 1000)
    ]
    assert {each["specversion"] for each in told} == {"1.0"}
    assert len({(each["source"], each["id"]) for each in told}) == len(told)
    claimed = told[1]
    assert claimed["subject"] == task
    assert claimed["data"]["fence"] == 1
    assert all(re.fullmatch("[a-z0-9]{1,20}", name) for each in told for name in each)  # names that CloudEvents takes
    assert all(datetime.fromisoformat(each["time"]).utcoffset() == timedelta(0) for each in told)


def test_an_export_goes_on_where_the_last_one_ended(shop):
    first, second = shop.add("true"), shop.add("true")

    assert [json.loads(line)["subject"] for line in shop.out("event", "export", "--after", 1).splitlines()] == [second]
    assert [json.loads(line)["id"] for line in shop.out("event", "export", "--task", first).splitlines()] == ["1"]
