"""`keisei sensor`: what people type, and what they are told."""

import hashlib
import hmac
import json
import signal
import urllib.request

import pytest

from tests.cli.shop import PROJECT, Shop, bare, lines_until
from tests.wiring.observatory import SKILL, event, saying

TASK = {"task_type": "script", "payload": {"args": ["-c", "true"]}}
EVENT = {"sensor_id": "eye", "source_ref": "sky", "dedupe_key": "k", "payload": {}, "proposed_task": TASK}


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    yield made
    made.close()


def skill(shop, name, program):
    folder = shop.folder / ".keisei" / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL.format(name=name))
    (folder / "skill.toml").write_text('sensor_path = "sensor"\n')
    (folder / "sensor").write_text(program)
    (folder / "sensor").chmod(0o755)


def project(shop, more):
    (shop.folder / "keisei.toml").write_text(f"{PROJECT}\n{more}")


def test_sensors_are_listed_with_what_is_known_of_them(shop):
    skill(shop, "eye", saying(event("a")))
    skill(shop, "ear", saying())
    project(
        shop,
        '[sensors.eye]\nevery-s = 5.0\n[sensors.nose]\n[webhooks.gh]\nkind = "github"\nsecret-env = "S"\n',
    )
    shop.out("sensor", "run", "eye")
    shop.out("sensor", "pause", "webhook:gh", "--reason", "quiet")

    assert bare(shop.out("sensor", "list")) == [
        "sensor kind state every last run note",
        "ear skill not run - - -",
        "eye skill on 5s <time> -",
        "nose skill missing 60s - no skill of this name brings a sensor",
        "webhook:gh webhook paused - - quiet",
    ]
    assert [each["sensor_id"] for each in shop.json("sensor", "list")] == ["ear", "eye", "nose", "webhook:gh"]


def test_a_sensor_is_run_by_hand(shop):
    skill(shop, "eye", saying(event("a", proposed_task=TASK), {"bad": 1}, {"cursor": {"n": 1}}))

    assert shop.out("sensor", "run", "eye") == "eye: 1 recorded, 0 known already, 1 refused\n"
    assert shop.json("sensor", "run", "eye")["deduped"] == 1
    shown = shop.json("sensor", "show", "eye")
    assert shown["remembered"]["cursor"] == {"n": 1}
    assert [each["event"]["dedupe_key"] for each in shown["events"]] == ["a"]
    assert "a <time> accepted 1" in " ".join(bare(shop.out("sensor", "show", "eye")))
    assert len(shop.json("task", "list")) == 1
    entry = shop.json("ledger", "list")[0]
    assert (entry["kind"], entry["subject"]) == ("sensor_ordered", "eye")


def test_a_run_that_fails_exits_2(shop):
    skill(shop, "eye", "#!/bin/sh\necho no network >&2\nexit 7\n")

    done = shop.run("sensor", "run", "eye")

    assert (done.code, done.out) == (2, "eye failed: it ended with exit 7: no network\n")


def test_an_event_can_be_handed_over(shop):
    said = json.loads(shop.out("sensor", "event", "--json", json.dumps(EVENT)))
    (shop.folder / "event.json").write_text(json.dumps(EVENT))
    again = json.loads(shop.out("sensor", "event", "--file", "event.json"))

    assert (said["accepted"], again["accepted"]) == (True, False)
    assert again["reason"] == "dedupe_key"
    assert said["task_id"] == again["task_id"] == shop.json("task", "list")[0]["task_id"]
    assert [each["repeats"] for each in shop.json("sensor", "events")] == [1]
    (row,) = shop.json("ledger", "list")
    assert (row["kind"], row["subject"], row["body"]["task_id"]) == ("sensor_event_told", "eye", said["task_id"])
    assert bare(shop.out("sensor", "events", "--sensor", "eye"))[1].startswith("eye k <time> accepted 1 <1>")
    assert shop.json("sensor", "events", "--sensor", "other") == []
    assert shop.json("sensor", "show", "eye")["kind"] == "other"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give one of --json and --file"),
        (["--json", "{"], "not JSON"),
        (["--json", "{}"], "missing key `sensor_id`"),
        (["--json", json.dumps(EVENT | {"observed_at": "2026-01-01 00:00"})], "observed_at"),
        (["--json", json.dumps(EVENT | {"proposed_task": {"task_type": "nope", "payload": {}}})], "nope"),
        (["--file", "nowhere"], "cannot be read"),
    ],
    ids=["none", "cut", "empty", "naive", "type", "file"],
)
def test_what_is_no_event_is_refused_in_a_sentence(shop, words, said):
    done = shop.run("sensor", "event", *words)

    assert (done.code, done.out) == (1, "")
    assert said in done.err
    assert shop.json("sensor", "events") == []


def test_a_deep_queue_refuses_events_with_exit_2(shop):
    (shop.folder / "keisei.toml").write_text(f"{PROJECT}sensor-backlog = 1\n")
    skill(shop, "eye", saying())
    shop.out("sensor", "event", "--json", json.dumps(EVENT))

    done = shop.run("sensor", "event", "--json", json.dumps(EVENT | {"dedupe_key": "k2"}))

    assert done.code == 2
    assert "1 tasks wait" in done.err
    assert shop.run("sensor", "run", "eye").code == 2


@pytest.mark.parametrize("verb", ["show", "run", "pause", "resume"])
def test_a_name_that_nobody_has_is_told(shop, verb):
    done = shop.run("sensor", verb, "nobody")

    assert (done.code, done.out) == (1, "")
    assert "nobody" in done.err


def test_webhooks_are_listened_to_until_somebody_says_stop(shop):
    project(shop, '[webhooks.gh]\nkind = "github"\nsecret-env = "HUSH"\n')
    refused = shop.run("sensor", "serve", "--port", 0)
    assert (refused.code, refused.out) == (1, "")
    assert "the variable HUSH is not set" in refused.err
    shop.shell.setenv("HUSH", "hush-hush")

    with shop.start("sensor", "serve", "--port", 0) as server:
        url = lines_until(server, "listening")[-1].removeprefix("listening at ")
        raw = b'{"zen": "Keep it simple."}'
        signature = "sha256=" + hmac.new(b"hush-hush", raw, hashlib.sha256).hexdigest()
        headers = {"X-Hub-Signature-256": signature, "X-GitHub-Delivery": "d1", "X-GitHub-Event": "push"}
        request = urllib.request.Request(url, raw, headers | {"Content-Type": "application/json"})  # noqa: S310 - our own
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - as above
            assert answer.status == 201
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0

    assert [each["event"]["sensor_id"] for each in shop.json("sensor", "events")] == ["webhook:gh"]
