"""`keisei schedule`: what people type, and what they are told."""

import json

import pytest

from tests.cli.shop import Shop, bare

SCRIPT = ("--type", "script", "--payload", '{"args": ["-c", "true"]}')


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    yield made
    made.close()


def test_a_schedule_is_added_fired_and_told(shop):
    assert bare(shop.out("schedule", "add", "nightly", "--every", "1d", *SCRIPT)) == ["nightly added: next <time>"]

    assert bare(shop.out("schedule", "tick")) == ["1 evaluated, 1 queued"]
    assert bare(shop.out("schedule", "tick")) == ["0 evaluated, 0 queued"]
    assert bare(shop.out("schedule", "list")) == [
        "name every state next last type note",
        "nightly 1d on <time> <time> script -",
    ]
    assert bare(shop.out("schedule", "slots", "nightly")) == [
        "schedule due became count task why",
        "nightly <time> enqueued 1 <1> -",
    ]
    lines = bare(shop.out("schedule", "show", "nightly"))
    assert "interval_seconds: 86400" in lines
    assert lines[-1].startswith("<time> enqueued 1 ")
    (task,) = shop.json("task", "list")
    assert task["source"].startswith("schedule:nightly:")


def test_everything_can_be_said_for_machines(shop):
    made = shop.json("schedule", "add", "n", "--every", "5m", "--overlap", "queue", *SCRIPT)
    shop.out("schedule", "tick")

    assert made["record"]["overlap"] == "queue"
    assert shop.json("schedule", "list")[0]["schedule_id"] == made["schedule_id"]
    shown = shop.json("schedule", "show", "n")
    assert [each["status"] for each in shown["slots"]] == ["enqueued"]
    assert shop.json("schedule", "slots")[0]["name"] == "n"
    assert shop.json("schedule", "tick") == {"evaluated": 0, "task_ids": []}
    assert shop.json("schedule", "pause", "n")["record"]["enabled"] is False
    assert shop.json("schedule", "resume", "n")["record"]["enabled"] is True
    assert shop.json("schedule", "delete", "n")["name"] == "n"


def test_a_delay_fires_once(shop):
    shop.out("schedule", "add", "later", "--in", "30m", *SCRIPT)

    assert bare(shop.out("schedule", "tick")) == ["0 evaluated, 0 queued"]
    assert "once, 30m" in shop.out("schedule", "list")
    shop.out("schedule", "tick", "--at", "2100-01-01T00:00:00Z")
    assert len(shop.json("task", "list")) == 1
    assert "off" in shop.out("schedule", "list")


def test_the_first_slot_can_wait(shop):
    shop.out("schedule", "add", "n", "--every", "1h", "--first-in", "10m", *SCRIPT)

    assert shop.json("schedule", "tick")["evaluated"] == 0


def test_an_intent_comes_from_a_file_too(shop):
    (shop.folder / "intent.json").write_text(
        json.dumps({"kind": "script", "source": "team", "payload": {"args": ["-c", "true"]}})
    )

    done = shop.run("schedule", "add", "n", "--every", "1h", "--file", "intent.json")

    assert done.code == 0
    assert "`kind` is now `task_type`" in done.err
    assert shop.json("schedule", "list")[0]["record"]["task"]["source"] == "team"


def test_paused_resumed_and_deleted(shop):
    shop.out("schedule", "add", "n", "--every", "1h", *SCRIPT)
    schedule_id = shop.json("schedule", "list")[0]["schedule_id"]
    shop.out("schedule", "tick")

    assert shop.out("schedule", "pause", "n", "--reason", "holiday") == "n paused: off\n"
    assert "holiday" in shop.out("schedule", "list")
    assert bare(shop.out("schedule", "resume", "n")) == ["n resumed: next <time>"]
    assert shop.out("schedule", "delete", "n") == "n deleted\n"
    assert len(shop.json("schedule", "slots", schedule_id)) == 1, "its slots stay"
    kinds = [each["kind"] for each in shop.json("ledger", "list")]
    assert [each for each in kinds if each.startswith("schedule_")] == [
        "schedule_upserted",
        "schedule_ticked",
        "schedule_paused",
        "schedule_resumed",
        "schedule_deleted",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--every", "5", *SCRIPT], "as in 5s or 5m"),
        (["--every", "5 minutes", *SCRIPT], "is no duration"),
        (["--every", "0s", *SCRIPT], "is no duration"),
        (["--every", "5m"], "give one of --file, --intent or --type"),
        (SCRIPT, "give one of --every and --in"),
        (["--every", "5m", "--in", "5m", *SCRIPT], "give one of --every and --in"),
        (["--in", "5m", "--first-in", "5m", *SCRIPT], "--first-in goes with --every"),
        (["--every", "5m", "--type", "scirpt"], "did you mean `script`?"),
        (["--every", "5m", "--type", "script", "--payload", "{"], "not JSON"),
        (["--every", "5m", "--intent", "{}"], "missing key `task_type`"),
        (["--every", "5m", "--intent", "[]"], "a schedule has one task, not 0"),
        (["--every", "5m", "--intent", "{}", "--subject", "x"], "go with --type"),
        (["--every", "5m", "--file", "nowhere.json"], "cannot be read"),
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_what_could_not_fire_is_refused_in_a_sentence(shop, words, said):
    done = shop.run("schedule", "add", "n", *words)

    assert done.code == 1
    assert said in done.err
    assert "Traceback" not in done.err
    assert shop.json("schedule", "list") == []


@pytest.mark.parametrize("at", ["soon", "2026-01-01", "2026-01-01T00:00:00", "9999-12-31T23:59:59-23:59"])
def test_a_time_says_its_offset(shop, at):
    done = shop.run("schedule", "tick", "--at", at)

    assert done.code == 1
    assert "is no time with an offset" in done.err


@pytest.mark.parametrize("verb", ["show", "pause", "resume", "delete", "slots"])
def test_a_name_that_nobody_has_is_told(shop, verb):
    done = shop.run("schedule", verb, "nobody")

    assert (done.code, done.out) == (1, "")
    assert "no schedule is called `nobody`" in done.err
