"""`keisei outbox`: what waits, what left, what is dead, and the orders that change it."""

import json

import pytest

from tests.cli.shop import Shop, bare
from tests.wiring.receiver import Receiver, answer

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - the specification's example
CHANNELS = """
[channels.ops]
kind = "webhook"
url-env = "OPS_URL"
secret-env = "OPS_SECRET"
"""


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    (made.folder / "keisei.toml").write_text((made.folder / "keisei.toml").read_text() + CHANNELS)
    shell.setenv("OPS_SECRET", SECRET)
    yield made
    made.close()


@pytest.fixture
def receiver(shop):
    made = Receiver()
    shop.shell.setenv("OPS_URL", made.url)
    yield made
    made.close()


def failed(shop, *words):
    """A command that says no: its exit code and what it says."""
    done = shop.run(*words)
    return done.code, done.err


def dead(shop):
    """The key of a message that could not be delivered."""
    shop.run("outbox", "send", "--channel", "nowhere", "hello")
    return shop.json("outbox", "list")[0]["key"]


def test_a_message_is_sent_and_is_a_row(shop, receiver):
    said = shop.out("outbox", "send", "--channel", "ops", "hello")

    (row,) = shop.json("outbox", "list")
    (request,) = receiver.received
    assert said == f"{row['key']} delivered\n"
    assert (row["status"], row["tries"], row["payload"]) == ("delivered", 1, {"channel": "ops", "text": "hello"})
    assert request.is_signed_with(SECRET)
    assert (request.json["type"], request.json["data"]["message"]["text"]) == ("keisei.notice", "hello")
    events = [(each["event_type"], each["detail"].get("order")) for each in shop.json("event", "list")]
    assert events == [("operator_ordered", "send"), ("delivery_made", None)]
    (order,) = shop.json("ledger", "list")
    assert (order["kind"], order["subject"], order["body"]["channel"]) == ("message_ordered", row["key"], "ops")
    assert "hello" not in json.dumps(order)


def test_a_message_to_the_console_is_its_row(shop):
    shop.out("outbox", "send", "hello")

    assert bare(shop.out("outbox", "list")) == [
        "key created kind to status tries next try says reason",
        "operator/<1> <time> external_message console delivered 1 - hello -",
    ]


def test_a_message_that_cannot_be_delivered_exits_1_and_is_not_tried_again(shop, receiver):
    receiver.reply = answer(500)

    code, err = failed(shop, "outbox", "send", "--channel", "ops", "hello")

    (row,) = shop.json("outbox", "list", "--status", "dead")
    assert code == 1
    assert err.startswith("error: not delivered: the receiver answered 500\n")
    assert f"keisei outbox show {row['key']}" in err
    assert (row["reason"], row["tries"]) == ("the receiver answered 500", 1)


def test_in_json_it_says_whether_it_arrived(shop):
    done = shop.run("outbox", "send", "--channel", "nowhere", "hello", "--json")

    assert done.code == 1
    told = json.loads(done.out)
    assert (told["delivered"], "[channels.nowhere]" in told["reason"]) == (False, True)


def test_a_secret_in_the_text_stands_in_no_row(shop, receiver):
    shop.out("outbox", "send", "--channel", "ops", f"look {SECRET}")

    assert SECRET not in shop.out("outbox", "list", "--json")
    assert SECRET.encode() not in receiver.received[0].body


def test_rows_are_chosen_by_status_and_kind(shop):
    shop.out("outbox", "send", "one")
    shop.out("outbox", "send", "two")
    dead(shop)

    def texts(*words):
        return [each["payload"]["text"] for each in shop.json("outbox", "list", *words)]

    assert texts() == ["hello", "two", "one"]
    assert texts("--limit", "2") == ["hello", "two"]
    assert texts("--status", "dead") == ["hello"]
    assert texts("--kind", "external_message", "--limit", "1") == ["hello"]
    assert texts("--kind", "follow_up_task") == []


def test_a_row_is_shown_whole(shop):
    key = dead(shop)

    lines = bare(shop.out("outbox", "show", key))

    assert lines[:3] == [
        "key: operator/<1>",
        "kind: external_message",
        'payload: {"channel": "nowhere", "text": "hello"}',
    ]
    assert "status: dead" in lines
    assert shop.json("outbox", "show", key)["key"] == key
    assert failed(shop, "outbox", "show", "nobody's") == (
        1,
        "error: no row of the outbox has the key `nobody's`\n  hint: `keisei outbox list` shows all\n",
    )


def test_a_dead_letter_is_put_back_by_order(shop):
    key = dead(shop)

    assert shop.out("outbox", "retry", key, "--reason", "fixed") == f"{key} waits for delivery\n"

    row = shop.json("outbox", "show", key)
    assert (row["status"], row["tries"], row["reason"]) == ("pending", 0, None)
    entry = shop.json("ledger", "list")[-1]
    assert (entry["kind"], entry["subject"], entry["body"]["reason"]) == ("delivery_retried", key, "fixed")
    assert shop.json("event", "list")[-1]["event_type"] == "delivery_retried"


def test_all_dead_letters_are_put_back_at_once(shop):
    first, second = dead(shop), dead(shop)

    assert shop.json("outbox", "retry", "--all-dead") == {"retried": [first, second]}
    assert shop.out("outbox", "retry", "--all-dead") == "nothing is dead\n"


def test_what_has_left_cannot_be_put_back(shop):
    shop.out("outbox", "send", "hello")
    key = shop.json("outbox", "list")[0]["key"]

    code, err = failed(shop, "outbox", "retry", key)

    assert (code, "only what is dead or refused" in err) == (2, True)


@pytest.mark.parametrize("words", [(), ("a", "--all-dead")], ids=["nothing", "both"])
def test_retry_wants_one_key_or_all(shop, words):
    code, err = failed(shop, "outbox", "retry", *words)

    assert (code, "--all-dead" in err) == (1, True)


def test_a_row_that_waits_is_dropped_with_a_reason(shop):
    key = dead(shop)
    shop.out("outbox", "retry", key)

    assert failed(shop, "outbox", "drop", key)[0] == 1
    assert shop.out("outbox", "drop", key, "--reason", "not wanted") == f"{key} dropped\n"

    row = shop.json("outbox", "show", key)
    assert row["status"] == "dead"
    assert row["reason"].startswith("dropped by operator:")
    assert row["reason"].endswith(": not wanted")
    assert shop.json("ledger", "list")[-1]["kind"] == "delivery_dropped"
    assert failed(shop, "outbox", "drop", key, "--reason", "again")[0] == 2


def test_hostile_words_stay_on_their_line(shop):
    shop.out("outbox", "send", "a\x1b[31mb\nc")

    lines = shop.out("outbox", "list").splitlines()

    assert len(lines) == 2
    assert "\x1b" not in lines[1]
