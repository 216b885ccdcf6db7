"""Webhooks: signed or turned away, once each, and never a traceback for whoever knocks."""

import base64
import hashlib
import hmac
import json
import socket
import threading
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest

from keisei.engine import sensor as sensors
from keisei.records.error import OperatorError, WorldFault
from keisei.records.observation import SeenQuery
from keisei.wiring.registry import defaults_of
from keisei.wiring.webhook import LARGEST, WebhookServer, open_reception, receive
from tests.wiring.observatory import Observatory

KEY = b"0123456789abcdef0123456789abcdef"
ENVIRONMENT = {"GITHUB_SECRET": "hush-hush", "PLAIN_SECRET": f"whsec_{base64.b64encode(KEY).decode()}"}
TOML = """
[webhooks.gh]
kind = "github"
secret-env = "GITHUB_SECRET"
events = ["issues.opened", "push"]

[webhooks.gh.task]
task_type = "hook"

[webhooks.plain]
kind = "standard"
secret-env = "PLAIN_SECRET"
dedupe = "/data/id"
freshness-s = 60.0

[runner]
sensor-backlog = 3
"""
HOOK = """
task_type = "hook"
description = "Whatever came."
payload_schema_id = "schemas/any.json"
default_profile_id = "script"
default_adapter_id = "script"
"""
BODY = {"action": "opened", "issue": {"number": 7, "html_url": "https://example.com/7"}}


@pytest.fixture
def sky(tmp_path):
    made = Observatory(tmp_path, TOML)
    types = made.root / ".keisei" / "task-types"
    (types / "schemas").mkdir(parents=True)
    (types / "hook.toml").write_text(HOOK)
    (types / "schemas" / "any.json").write_text('{"type": "object"}')
    yield made
    made.close()


def reception(sky, **changes):
    return open_reception(sky.home, sky.store, sky.registry, defaults_of(sky.home), ENVIRONMENT)._replace(**changes)


def github(body, delivery="d1", kind="issues", secret=b"hush-hush"):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {
        "content-type": "application/json",
        "x-hub-signature-256": "sha256=" + hmac.new(secret, raw, hashlib.sha256).hexdigest(),
        "x-github-delivery": delivery,
        "x-github-event": kind,
    }
    return headers, raw


def standard(sky, body, message="m1", late_s=0):
    raw = json.dumps(body).encode()
    stamp = str(int(sky.clock.now().timestamp()) - late_s)
    signature = base64.b64encode(hmac.digest(KEY, f"{message}.{stamp}.".encode() + raw, "sha256")).decode()
    headers = {
        "content-type": "application/json; charset=utf-8",
        "webhook-id": message,
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{signature}",
    }
    return headers, raw


def seen(sky):
    return list(reversed(sky.store.seen(SeenQuery())))


def test_a_signed_delivery_becomes_an_event_with_its_task(sky):
    answer = receive(reception(sky), "gh", *github(BODY))

    assert answer.status == 201
    (known,) = seen(sky)
    assert (known.event.sensor_id, known.event.event_id, known.event.dedupe_key) == ("webhook:gh", "d1", "d1")
    assert known.event.source_ref == "https://example.com/7"
    assert known.event.payload == BODY
    (task,) = sky.tasks()
    assert (task.payload, task.source) == ({"event": BODY}, "webhook:gh")
    assert answer.body["task_id"] == task.task_id


def test_the_same_delivery_again_is_known(sky):
    door = reception(sky)
    receive(door, "gh", *github(BODY))

    assert receive(door, "gh", *github(BODY)).status == 200
    assert len(sky.tasks()) == 1
    assert receive(door, "gh", *github(BODY, delivery="d2")).status == 201


def test_the_same_value_is_the_same_event_where_the_table_says_so(sky):
    door = reception(sky)

    first = receive(door, "plain", *standard(sky, {"data": {"id": "x"}}, "m1"))
    again = receive(door, "plain", *standard(sky, {"data": {"id": "x"}, "more": 1}, "m2"))

    assert (first.status, again.status) == (201, 200)
    assert receive(door, "plain", *standard(sky, {"data": {}}, "m3")).status == 400


def test_a_delivery_that_was_long_on_its_way_starts_nothing(sky):
    answer = receive(reception(sky), "plain", *standard(sky, {"data": {"id": "x"}}, late_s=61))

    assert answer.status == 202
    assert [each.status for each in seen(sky)] == ["stale"]


def changed(name, value):
    def change(headers, raw):
        return {key: held for key, held in {**headers, name: value}.items() if held is not None}, raw

    return change


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (changed("x-hub-signature-256", None), 401),
        (changed("x-hub-signature-256", "sha256=00"), 401),
        (lambda headers, raw: (headers, raw + b" "), 401),
        (lambda headers, raw: github(BODY, secret=b"other"), 401),  # noqa: ARG005
        (changed("x-github-delivery", None), 401),
        (changed("content-type", "application/x-www-form-urlencoded"), 415),
        (changed("content-type", None), 415),
        (lambda headers, raw: github(b"{"), 400),  # noqa: ARG005
        (lambda headers, raw: github(b"[]"), 400),  # noqa: ARG005
        (lambda headers, raw: github(b"[" * 50_000), 400),  # noqa: ARG005
        (lambda headers, raw: github(b'{"a":' * 200 + b"1" + b"}" * 200), 400),  # noqa: ARG005
        (lambda headers, raw: github(b"\xff"), 400),  # noqa: ARG005
        (lambda headers, raw: github(b""), 400),  # noqa: ARG005
        (changed("x-github-event", "ping"), 200),
        (changed("x-github-event", "star"), 200),
    ],
    ids=[
        "unsigned",
        "zero",
        "body",
        "secret",
        "delivery",
        "form",
        "untyped",
        "cut",
        "list",
        "deep",
        "nested",
        "bytes",
        "empty",
        "ping",
        "star",
    ],
)
def test_what_is_not_signed_not_json_or_not_wanted_leaves_nothing(sky, change, status):
    answer = receive(reception(sky), "gh", *change(*github(BODY)))

    assert answer.status == status
    assert (seen(sky), sky.tasks()) == ([], [])
    assert "hush" not in json.dumps(answer.body)


def test_nobody_knows_other_names(sky):
    assert receive(reception(sky), "nobody", *github(BODY)).status == 404


def test_a_deep_queue_tells_senders_to_come_again(sky):
    door = reception(sky)
    for number in range(3):
        receive(door, "gh", *github(BODY, delivery=str(number)))

    answer = receive(door, "gh", *github(BODY, delivery="late"))

    assert answer.status == 503
    assert int(answer.headers["Retry-After"]) > 0
    assert len(seen(sky)) == 3
    assert receive(door, "gh", *github(BODY, secret=b"other")).status == 401, "strangers are not told"


def test_a_paused_webhook_takes_nothing(sky):
    door = reception(sky)
    sensors.pause(sky.store, "webhook:gh", "quiet", "operator:test")

    assert receive(door, "gh", *github(BODY)).status == 503
    sensors.resume(sky.store, "webhook:gh", "loud", "operator:test")
    assert receive(door, "gh", *github(BODY)).status == 201


def test_a_proposal_that_cannot_run_is_refused_and_taken_when_it_can(sky):
    door = reception(sky)
    own = sky.root / ".keisei" / "task-types" / "hook.toml"
    own.unlink()

    assert receive(door, "gh", *github(BODY)).status == 422
    assert seen(sky) == []
    assert len(sky.events("sensor_event_refused")) == 1
    own.write_text(HOOK)
    assert receive(door, "gh", *github(BODY)).status == 201


def test_a_broken_file_is_no_fault_of_the_delivery(sky):
    door = reception(sky)
    own = sky.root / ".keisei" / "task-types" / "hook.toml"
    own.write_text("[[[")

    answer = receive(door, "gh", *github(BODY))

    assert (answer.status, answer.body) == (503, {"error": "a file of the project cannot be read"})
    own.write_text(HOOK)
    assert receive(door, "gh", *github(BODY)).status == 201


def test_what_breaks_here_is_not_shown_there(sky):
    def broken():
        raise RuntimeError("a secret place")

    def away():
        raise WorldFault("the disk is gone", retryable=True)

    assert receive(reception(sky, registry=broken), "gh", *github(BODY)) == (
        500,
        {"error": "this is a bug in keisei"},
        {},
    )
    assert receive(reception(sky, registry=away), "gh", *github(BODY)).status == 503


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "GITHUB_SECRET is not set"),
        (ENVIRONMENT | {"GITHUB_SECRET": ""}, "GITHUB_SECRET is not set"),
        (ENVIRONMENT | {"PLAIN_SECRET": "whsec_short"}, "PLAIN_SECRET: the secret of a webhook is not base64"),
        (ENVIRONMENT | {"GITHUB_SECRET": "hunter2"}, "GITHUB_SECRET: the secret of a webhook is shorter than 8 bytes"),
    ],
)
def test_a_secret_that_is_missing_is_named_and_never_shown(sky, environment, words):
    with pytest.raises(OperatorError, match=words) as caught:
        open_reception(sky.home, sky.store, sky.registry, defaults_of(sky.home), environment)

    told = f"{caught.value.message} {caught.value.hint}".replace(words, "")
    assert "short" not in told
    assert "hunter2" not in told


@pytest.mark.parametrize(
    "table",
    ["[webhooks.x.task]\npayload = {}\n", '[webhooks.x.workflow]\ntemplate = "goal-loop"\n'],
    ids=["task", "workflow"],
)
def test_a_table_that_could_never_start_anything_is_refused_at_once(tmp_path, table):
    sky = Observatory(tmp_path, f'[webhooks.x]\nkind = "github"\nsecret-env = "GITHUB_SECRET"\n{table}')

    with pytest.raises(OperatorError, match="webhook `x`"):
        reception(sky)
    sky.close()


def test_a_project_without_webhooks_has_nothing_to_listen_for(tmp_path):
    sky = Observatory(tmp_path)

    with pytest.raises(OperatorError, match="has no webhooks"):
        reception(sky)
    sky.close()


# --- the server -------------------------------------------------------------------------------------------------------


@contextmanager
def listening(sky):
    with WebhookServer(reception(sky), 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(server, method, path, headers, body):
    connection = HTTPConnection(*server.server_address, timeout=30)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


def raw_ask(server, text):
    with socket.create_connection(server.server_address, timeout=30) as connection:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").read()


def test_a_delivery_comes_in_over_http(sky):
    with listening(sky) as server:
        assert server.server_address[0] == "127.0.0.1"
        headers, raw = github(BODY)
        status, body, told = ask(server, "POST", "/hooks/gh", headers, raw)

    assert status == 201
    assert json.loads(body)["status"] == "recorded"
    assert told["Content-Type"] == "application/json"
    assert "Python" not in told["Server"]
    assert len(sky.tasks()) == 1


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/", {}, 404),
        ("POST", "/hooks/", {}, 404),
        ("POST", "/hooks/nobody", {}, 404),
        ("POST", "/hooks/gh/../gh", {}, 404),
        ("POST", "/hooks/gh?x=1", {}, 404),
        ("GET", "/hooks/gh", {}, 501),
        ("POST", "/hooks/gh", {"Transfer-Encoding": "chunked"}, 411),
        ("POST", "/hooks/gh", {"Content-Length": "-1"}, 411),
        ("POST", "/hooks/gh", {"Content-Length": "1e3"}, 411),
        ("POST", "/hooks/gh", {"Content-Length": str(LARGEST + 1)}, 413),
        ("POST", "/hooks/gh", {"Content-Length": "9" * 5000}, 413),
    ],
    ids=str,
)
def test_other_requests_are_turned_away(sky, method, path, headers, status):
    lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
    with listening(sky) as server:
        answer = raw_ask(server, f"{method} {path} HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode())

    assert answer.split(b" ", 2)[1] == str(status).encode()
    assert seen(sky) == []


@pytest.mark.parametrize("text", [b"", b"\x16\x03\x01", b"POST\r\n\r\n", b"GET " + b"x" * 70_000], ids=len)
def test_what_is_no_request_breaks_nothing(sky, text):
    with listening(sky) as server:
        raw_ask(server, text)
        assert ask(server, "POST", "/hooks/gh", *github(BODY))[0] == 201


def test_a_body_that_ends_early_is_none(sky):
    headers, raw = github(BODY)
    lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
    head = f"POST /hooks/gh HTTP/1.1\r\n{lines}Content-Length: {len(raw) + 1}\r\n\r\n".encode()
    with listening(sky) as server:
        answer = raw_ask(server, head + raw)

    assert answer.split(b" ", 2)[1] == b"400"


def test_a_sender_that_drips_holds_nobody_up(sky, monkeypatch):
    monkeypatch.setattr("keisei.wiring.webhook.LIMIT_S", 0.5)
    with listening(sky) as server, socket.create_connection(server.server_address, timeout=30) as slow:
        slow.sendall(b"POST /hooks/gh HTTP/1.1\r\nContent-Length: 10\r\n\r\n1")
        assert ask(server, "POST", "/hooks/gh", *github(BODY))[0] == 201
        assert slow.makefile("rb").read().split(b" ", 2)[1:2] in ([], [b"400"])


def test_a_port_that_is_taken_is_told(sky):
    with listening(sky) as server, pytest.raises(OperatorError, match="cannot be listened on"):
        WebhookServer(reception(sky), server.server_address[1])


def scripted(tmp_path, task):
    return Observatory(
        tmp_path, f'[webhooks.x]\nkind = "github"\nsecret-env = "GITHUB_SECRET"\n[webhooks.x.task]\n{task}\n'
    )


def test_a_script_that_ships_reads_what_was_delivered(tmp_path):
    sky = scripted(tmp_path, 'task_type = "script"\npayload = { args = ["-c", "true"] }')

    answer = receive(reception(sky), "x", *github(BODY))

    (task,) = sky.tasks()
    assert (answer.status, task.payload) == (201, {"args": ["-c", "true"], "event": BODY})
    sky.close()


@pytest.mark.parametrize(
    ("task_type", "words"),
    [("goal-plan", "webhook `x`: the payload of task type `goal-plan` takes no `event`"), ("nobody", "`nobody`")],
)
def test_a_type_that_could_not_be_begun_so_is_told_before_anybody_knocks(tmp_path, task_type, words):
    sky = scripted(tmp_path, f'task_type = "{task_type}"')

    with pytest.raises(OperatorError, match=words):
        reception(sky)
    sky.close()
