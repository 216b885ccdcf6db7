"""Channels against real receivers on loopback: slow, hanging, broken and hostile ones, and rows that arrive once."""

import json
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from msgspec.structs import replace

from keisei.engine.deliver import LEASE, conclude, deliver
from keisei.engine.intake import Defaults
from keisei.engine.office import Office
from keisei.records.answer import ApprovalQuery
from keisei.records.move import EventQuery
from keisei.records.project import ProjectChannel, ProjectFile, ProjectWebhook
from keisei.rules.standard_webhook import message_id
from keisei.testing.queue import new_item
from keisei.wiring import channel_apprise, channel_webhook
from keisei.wiring.channel import AT_ONCE, ProjectChannels
from tests.store.desk import sqlite_desk
from tests.wiring.receiver import PATIENCE_S, Receiver, answer

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - the specification's example
SHORT_S = 0.3


def hook(name, receiver=None, **more):
    """A channel with the variables of its name."""
    fields = {"kind": "webhook", "url_env": f"{name}_URL", "secret_env": f"{name}_SECRET"} | more
    return ProjectChannel(**fields), {f"{name}_URL": receiver.url if receiver else "", f"{name}_SECRET": SECRET}


class Post:
    """A store, and channels to real receivers."""

    def __init__(self, desk):
        self.desk, self.store, self.clock = desk, desk.store, desk.clock
        self.file, self.env = ProjectFile(), {}
        self.told = []
        self._receivers = []
        self._channels = []

    def receiver(self, reply=None):
        self._receivers.append(Receiver(reply))
        return self._receivers[-1]

    def add(self, name, channel, env):
        self.file = replace(self.file, channels={**self.file.channels, name: channel})
        self.env |= env

    def webhook(self, name, reply=None):
        found = self.receiver(reply)
        self.add(name, *hook(name, found))
        return found

    def channels(self):
        made = ProjectChannels(self.file, self.env, lambda item, words: self.told.append((item.key, words)))
        self._channels.append(made)
        return made

    def ask(self, *payloads):
        claimed = self.desk.running()
        now = self.store.now()
        items = [replace(new_item(claimed, now, number=number), payload=each) for number, each in enumerate(payloads)]
        assert self.desk.settle(claimed, "completed", outbox=tuple(items)) == "settled"
        return [each.key for each in items]

    def deliver(self, channels, store=None):
        office = Office(store or self.store, lambda: None, Defaults(), lambda: self.desk.name("id"))
        return deliver(office, channels, 60)

    def sent(self, *payloads):
        """Ask for these, deliver them, wait until all have landed; their rows."""
        keys = self.ask(*payloads)
        channels = self.channels()
        self.deliver(channels)
        channels.close(PATIENCE_S)
        return [self.row(key) for key in keys]

    def row(self, key):
        return self.store.outbox_item(key)

    def everything(self):
        """All that is written down, as one text."""
        events = [each.detail for each in self.store.events(EventQuery(limit=1000))]
        needs = [(each.reason, each.detail) for each in self.store.approvals(ApprovalQuery(limit=100))]
        return json.dumps([events, needs, [each.reason for each in self.store.outbox(None, 100)]])

    def close(self):
        for receiver in self._receivers:
            receiver.close()
        for channels in self._channels:
            channels.close(PATIENCE_S)


@pytest.fixture
def post(tmp_path):
    with sqlite_desk(tmp_path) as desk:
        made = Post(desk)
        yield made
        made.close()


@contextmanager
def landing(channels):
    """Wait for what the block has begun."""
    yield
    channels.close(PATIENCE_S)


# --- the console ------------------------------------------------------------------------------------------------------


def test_on_the_console_the_row_is_the_delivery(post):
    first, second = post.sent({"text": "hello"}, {"channel": "console", "about": "task"})

    assert [first.status, second.status] == ["delivered", "delivered"]
    assert post.told == [(first.key, "hello"), (second.key, '{"channel": "console", "about": "task"}')]


def test_a_second_channel_may_be_a_console_too(post):
    post.add("desk", ProjectChannel(kind="console"), {})

    (row,) = post.sent({"channel": "desk", "text": "hello"})

    assert (row.status, post.told) == ("delivered", [(row.key, "hello")])


@pytest.mark.parametrize("name", ["phone", "", "a\nb", "x" * 10_000, ["phone"], None], ids=range(6))
def test_a_channel_nobody_configured_is_dead_at_once_and_says_what_to_write(post, name):
    (row,) = post.sent({"channel": name, "text": "hello"})

    assert (row.status, row.tries) == ("dead", 1)
    assert row.reason.startswith("no channel is called `")
    assert "[channels." in row.reason
    assert row.reason.isprintable()
    assert len(row.reason) < 400
    assert len(post.store.approvals(ApprovalQuery())) == 1


def test_a_message_nested_beyond_reason_harms_only_itself(post):
    deep = {"text": "a", "more": []}
    inner = deep["more"]
    for _ in range(900):
        inner.append([])
        inner = inner[0]

    bad, good = post.sent(deep, {"text": "b"})

    assert good.status == "delivered"
    assert bad.status in ("dead", "delivered")


# --- webhooks ---------------------------------------------------------------------------------------------------------


def test_a_webhook_is_posted_signed_and_named(post):
    receiver = post.webhook("ops")

    (row,) = post.sent({"channel": "ops", "text": "héllo"})

    (request,) = receiver.received
    assert (row.status, row.tries, row.reason) == ("delivered", 1, None)
    assert request.is_signed_with(SECRET)
    assert request.path == "/hooks/T0secretpath"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["webhook-id"] == message_id(row.key)
    assert request.headers["webhook-timestamp"] == str(int(post.clock.now().timestamp()))
    assert request.json == {
        "type": "keisei.message",
        "timestamp": row.created_at.isoformat().replace("+00:00", "Z"),
        "data": {
            "key": row.key,
            "task_id": row.task_id,
            "attempt_id": row.attempt_id,
            "message": {"channel": "ops", "text": "héllo"},
        },
    }


@pytest.mark.parametrize(
    ("reply", "status", "reason", "wait_s"),
    [
        (answer(204), "delivered", None, None),
        (answer(500), "pending", "the receiver answered 500", 10),
        (answer(404), "pending", "the receiver answered 404", 10),
        (answer(410), "dead", "the receiver answered 410: it wants no more messages", None),
        (answer(429, "Retry-After: 120"), "pending", "the receiver answered 429", 120),
        (answer(503, "Retry-After: 999999"), "pending", "the receiver answered 503", 3600),
        (answer(429, "Retry-After: soon"), "pending", "the receiver answered 429", 10),
        (answer(500, "Retry-After: 120"), "pending", "the receiver answered 500", 10),
        (b"", "pending", "was cut before the answer was complete", 10),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "pending", "was cut before the answer was complete", 10),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "pending", "does not answer in HTTP", 10),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut", "delivered", None, None),
    ],
    ids=["204", "500", "404", "410", "429", "503", "odd", "500-wait", "nothing", "half", "ssh", "cut-body"],
)
def test_what_a_receiver_answers_decides(post, reply, status, reason, wait_s):
    receiver = post.webhook("ops", reply)

    (row,) = post.sent({"channel": "ops", "text": "hello"})

    assert (row.status, row.tries, len(receiver.received)) == (status, 1, 1)
    assert row.reason is None if reason is None else reason in row.reason
    assert (row.next_try_at - post.clock.now()).total_seconds() == wait_s if wait_s else row.next_try_at is None


def test_a_receiver_may_say_when_to_come_again(post):
    later = format_datetime(datetime.fromtimestamp(post.clock.now().timestamp() + 300, UTC), usegmt=True)
    post.webhook("ops", answer(503, f"Retry-After: {later}"))

    (row,) = post.sent({"channel": "ops"})

    assert (row.next_try_at - post.clock.now()).total_seconds() == 300


def test_a_redirect_is_not_followed(post):
    elsewhere = post.receiver()
    post.webhook("ops", answer(307, f"Location: {elsewhere.url}"))

    (row,) = post.sent({"channel": "ops"})

    assert (row.status, elsewhere.received) == ("pending", [])
    assert "307" in row.reason


def test_an_endless_answer_is_hung_up_on(post):
    hung_up = threading.Event()

    def endless(line):
        line.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        try:
            while True:
                line.sendall(b"x" * 65536)
        except OSError:
            hung_up.set()

    post.webhook("ops", endless)

    (row,) = post.sent({"channel": "ops"})

    assert row.status == "delivered"
    assert hung_up.wait(PATIENCE_S)


def test_a_receiver_that_is_not_there_is_tried_again(post):
    gone = Receiver()
    gone.close()
    post.add("ops", *hook("ops", gone))

    (row,) = post.sent({"channel": "ops"})

    assert (row.status, row.tries) == ("pending", 1)
    assert "cannot be reached" in row.reason


def test_a_receiver_that_hangs_is_given_up_in_time(post, monkeypatch):
    monkeypatch.setattr(channel_webhook, "TIMEOUT_S", SHORT_S)
    receiver = post.webhook("ops")
    receiver.reply = receiver.hang

    (row,) = post.sent({"channel": "ops"})

    assert (row.status, row.reason) == ("pending", f"no answer within {SHORT_S} seconds")


def test_a_channel_that_hangs_delays_no_other(post):
    hanging, quick = post.webhook("hanging"), post.webhook("quick")
    hanging.reply = hanging.hang
    stuck = post.ask(*({"channel": "hanging", "text": str(number)} for number in range(60)))
    (key,) = post.ask({"channel": "quick", "text": "hello"})
    channels = post.channels()
    arrived = threading.Event()
    quick.reply = lambda line: (line.sendall(answer(200)), arrived.set())

    while not arrived.wait(0.01):
        post.deliver(channels)

    assert channels.room("hanging") == 0
    assert [post.row(each).tries for each in stuck] == [1] * AT_ONCE + [0] * (60 - AT_ONCE)
    assert len(quick.received) == 1
    assert key == quick.received[0].json["data"]["key"]


def test_a_runner_that_ends_cuts_off_what_hangs_and_puts_it_back(post):
    receiver = post.webhook("ops")
    receiver.reply = receiver.hang
    (key,) = post.ask({"channel": "ops"})
    channels = post.channels()
    post.deliver(channels)

    channels.close(0)

    row = post.row(key)
    assert (row.status, row.reason) == ("pending", "the runner ended before there was an answer")
    assert channels.room("ops") == AT_ONCE


def test_a_runner_killed_between_sending_and_writing_is_followed_by_one_that_sends_the_same_id(post):
    receiver = post.webhook("ops")
    (key,) = post.ask({"channel": "ops"})
    killed, living = post.channels(), post.channels()
    now = post.store.now()
    assert post.store.take(key, 0, now + LEASE)
    with landing(killed):
        killed.send(post.row(key), now, lambda _failed: None)

    assert post.deliver(living) == 0
    post.clock.advance(LEASE.total_seconds())
    with landing(living):
        assert post.deliver(living) == 1

    first, second = receiver.received
    assert (post.row(key).status, post.row(key).tries) == ("delivered", 2)
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) == 60
    assert second.is_signed_with(SECRET)


def test_two_who_deliver_at_once_post_once(post):
    receiver = post.webhook("ops")
    keys = post.ask(*({"channel": "ops", "text": str(number)} for number in range(AT_ONCE)))
    together = threading.Barrier(2)
    sides = [(post.channels(), post.desk.another()) for _ in range(2)]

    def work(channels, store):
        together.wait(PATIENCE_S)
        post.deliver(channels, store)
        channels.close(PATIENCE_S)

    threads = [threading.Thread(target=work, args=side) for side in sides]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)

    assert [post.row(key).status for key in keys] == ["delivered"] * AT_ONCE
    assert sorted(each.json["data"]["key"] for each in receiver.received) == sorted(keys)


def test_an_answer_after_the_store_has_closed_ends_its_thread_quietly(post):
    post.webhook("ops")
    post.ask({"channel": "ops"})
    channels = post.channels()

    def fail(_failed):
        raise RuntimeError

    with landing(channels):
        channels.send(post.store.outbox(None, 1)[0], post.store.now(), fail)

    assert channels.room("ops") == AT_ONCE


@pytest.mark.parametrize(
    ("changes", "env", "status", "reason"),
    [
        ({"url": "http://example.com/x", "url_env": None}, {}, "dead", "plain http"),
        ({"url": "ftp://example.com/x", "url_env": None}, {}, "dead", "begins with https://"),
        ({"url": "http://[::1", "url_env": None}, {}, "dead", "cannot be read"),
        ({"url": "https://user:pass@localhost/", "url_env": None}, {}, "dead", "user or a password"),
        ({"url": "http://127.0.0.1/"}, {}, "dead", "one address"),
        ({"url_env": None}, {}, "dead", "one address"),
        ({"secret_env": None}, {"ops_URL": "http://127.0.0.1:9/"}, "dead", "secret-env"),
        ({}, {"ops_URL": ""}, "pending", "`ops_URL`"),
        ({}, {"ops_URL": "http://127.0.0.1:9/", "ops_SECRET": ""}, "pending", "`ops_SECRET`"),
        ({}, {"ops_URL": "http://127.0.0.1:9/", "ops_SECRET": "whsec_tiny"}, "dead", "secret"),
    ],
)
def test_a_channel_that_is_not_set_up_says_what_is_missing(post, changes, env, status, reason):
    channel, own = hook("ops", **changes)
    post.add("ops", channel, own | env)

    (row,) = post.sent({"channel": "ops"})

    assert row.status == status
    assert reason in row.reason
    assert "whsec_tiny" not in post.everything()


def test_a_message_that_is_too_large_is_dead(post):
    receiver = post.webhook("ops")

    (row,) = post.sent({"channel": "ops", "text": "x" * channel_webhook.LARGEST})

    assert (row.status, receiver.received) == ("dead", [])


def test_secrets_never_leave_and_are_never_written_down(post):
    receiver = post.webhook("ops", answer(500, body=SECRET.encode()))
    inner = ProjectWebhook(kind="github", secret_env="HUB")  # noqa: S106 - a name
    post.file = replace(post.file, webhooks={"hub": inner})
    post.env["HUB"] = "hub-secret-value"
    text = f"look: {receiver.url} {SECRET} hub-secret-value"

    rows = post.sent({"channel": "ops", "text": text, SECRET: [{"a": SECRET}]}, {"channel": SECRET}, {"text": text})

    sent = receiver.received[0].body.decode()
    told = post.everything() + json.dumps(post.told)
    assert [each.status for each in rows] == ["pending", "dead", "delivered"]
    assert "[redacted]" in sent
    for secret in (SECRET, "hub-secret-value", receiver.url, "T0secretpath"):
        assert secret not in sent
        assert secret not in told


# --- apprise ----------------------------------------------------------------------------------------------------------


def apprise(receiver=None, **more):
    url = f"json://127.0.0.1:{receiver.port}/T0secretpath" if receiver else ""
    return ProjectChannel(**({"kind": "apprise", "url_env": "APPRISE"} | more)), {"APPRISE": url}


def test_apprise_hands_a_message_to_its_service(post):
    receiver = post.receiver()
    post.add("phone", *apprise(receiver))

    (row,) = post.sent({"channel": "phone", "title": "so", "text": "it goes\\n, {{ really }}"})

    (request,) = receiver.received
    assert row.status == "delivered", row.reason
    assert (request.json["title"], request.json["message"]) == ("so", "it goes\\n, {{ really }}")


def test_what_a_service_answers_to_apprise_is_told_as_a_number(post):
    receiver = post.receiver(answer(500))
    post.add("phone", *apprise(receiver))

    (row,) = post.sent({"channel": "phone", "text": "hello"})

    assert (row.status, row.reason) == ("pending", "apprise could not deliver it: the service answered 500")
    assert "T0secretpath" not in post.everything()


def test_apprise_is_ended_in_time(post, monkeypatch):
    monkeypatch.setattr(channel_apprise, "TIMEOUT_S", 1.0)
    receiver = post.receiver()
    receiver.reply = receiver.hang
    post.add("phone", *apprise(receiver))

    (row,) = post.sent({"channel": "phone", "text": "hello"})

    assert (row.status, row.reason) == ("pending", "apprise did not end within 1 seconds")


@pytest.mark.parametrize(
    ("changes", "env", "status", "reason"),
    [
        ({}, {}, "pending", "`APPRISE`"),
        ({}, {"APPRISE": "nonsense"}, "dead", "does not know"),
        ({"url": "json://127.0.0.1/"}, {}, "dead", "url-env"),
        ({"url_env": None}, {}, "dead", "url-env"),
    ],
)
def test_an_apprise_channel_that_is_not_set_up_says_what_is_missing(post, changes, env, status, reason):
    channel, own = apprise(**changes)
    post.add("phone", channel, own | env)

    (row,) = post.sent({"channel": "phone"})

    assert row.status == status
    assert reason in row.reason


def test_without_the_package_it_is_dead_with_the_way_to_install_it(post, monkeypatch):
    monkeypatch.setattr(channel_apprise, "find_spec", lambda _name: None)
    post.add("phone", *apprise(post.receiver()))

    (row,) = post.sent({"channel": "phone"})

    assert row.status == "dead"
    assert "pip install 'keisei[apprise]'" in row.reason


def test_a_dead_letter_is_not_killed_by_whoever_comes_late(post):
    (key,) = post.ask({"channel": "ops"})
    item = replace(post.row(key), tries=1)
    assert post.store.take(key, 0, post.store.now() + LEASE)
    assert conclude(post.store, lambda: post.desk.name("id"), item, None)

    assert not conclude(post.store, lambda: post.desk.name("id"), item, channel_webhook.Failed(reason="x", gone=True))

    assert post.row(key).status == "delivered"
    assert post.store.approvals(ApprovalQuery()) == []
