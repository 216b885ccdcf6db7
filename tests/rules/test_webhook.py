"""Who has signed a request: the vectors of the specifications, and everything that comes near them."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.records.error import OperatorError
from keisei.records.project import ProjectWebhook
from keisei.rules.webhook import Bad, Delivery, event_data, is_wanted, pointed, secret_key, verified

# The example of GitHub's documentation on validating deliveries.
GITHUB = b"It's a Secret to Everybody"
GITHUB_BODY = b"Hello, World!"
GITHUB_SIGNATURE = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
# The example of the Standard Webhooks libraries.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - published
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
STAMP = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
SENT = datetime.fromtimestamp(STAMP, UTC)
KEY = secret_key("standard", SECRET)
HOOK = ProjectWebhook(kind="github", secret_env="S")  # noqa: S106 - a name


def standard(**changes):
    headers = {"webhook-id": ID, "webhook-timestamp": str(STAMP), "webhook-signature": SIGNATURE} | changes
    return {key.replace("_", "-"): value for key, value in headers.items()}


def test_the_vector_of_github_holds():
    headers = {"x-hub-signature-256": GITHUB_SIGNATURE, "x-github-delivery": "72d3162e"}

    assert verified("github", GITHUB, headers, GITHUB_BODY, SENT) == Delivery("72d3162e", None)


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({"x-hub-signature-256": GITHUB_SIGNATURE}, b"Hello, World"),
        ({"x-hub-signature-256": GITHUB_SIGNATURE.removeprefix("sha256=")}, GITHUB_BODY),
        ({"x-hub-signature-256": GITHUB_SIGNATURE[:-1]}, GITHUB_BODY),
        ({"x-hub-signature-256": "sha256=ä"}, GITHUB_BODY),
        ({"x-hub-signature": "sha1=abc"}, GITHUB_BODY),
        ({}, GITHUB_BODY),
    ],
    ids=["body", "prefix", "short", "letters", "sha1", "none"],
)
def test_anything_else_is_not_signed_by_github(headers, body):
    assert isinstance(verified("github", GITHUB, {"x-github-delivery": "d", **headers}, body, SENT), Bad)


def test_a_delivery_of_github_has_an_id():
    assert isinstance(verified("github", GITHUB, {"x-hub-signature-256": GITHUB_SIGNATURE}, GITHUB_BODY, SENT), Bad)


def test_the_vector_of_standard_webhooks_holds():
    assert verified("standard", KEY, standard(), BODY, SENT) == Delivery(ID, SENT)


def test_one_of_several_signatures_is_enough():
    several = f"v1,{base64.b64encode(b'x' * 32).decode()} v1a,{SIGNATURE[3:]} {SIGNATURE}"

    assert isinstance(verified("standard", KEY, standard(webhook_signature=several), BODY, SENT), Delivery)


@pytest.mark.parametrize(
    "changes",
    [
        {"webhook_id": "msg_other"},
        {"webhook_id": ""},
        {"webhook_timestamp": str(STAMP + 1)},
        {"webhook_timestamp": ""},
        {"webhook_timestamp": "1e9"},
        {"webhook_timestamp": "9" * 400},
        {"webhook_timestamp": "-1"},
        {"webhook_signature": ""},
        {"webhook_signature": SIGNATURE[3:]},
        {"webhook_signature": f"v1a,{SIGNATURE[3:]}"},
        {"webhook_signature": "v1,"},
        {"webhook_signature": "v1,ä"},
    ],
    ids=str,
)
def test_anything_else_is_not_signed(changes):
    assert isinstance(verified("standard", KEY, standard(**changes), BODY, SENT), Bad)


@pytest.mark.parametrize(("late_s", "holds"), [(-301, False), (-300, True), (300, True), (301, False)])
def test_a_signature_is_good_for_five_minutes(late_s, holds):
    found = verified("standard", KEY, standard(), BODY, SENT + timedelta(seconds=late_s))

    assert isinstance(found, Delivery) is holds


@given(st.binary(max_size=50), st.text(max_size=20), st.binary(min_size=1, max_size=40))
def test_only_the_right_body_holds(body, noise, key):
    signature = "sha256=" + hmac.new(key, body, hashlib.sha256).hexdigest()
    headers = {"x-hub-signature-256": signature, "x-github-delivery": "d"}

    assert isinstance(verified("github", key, headers, body, SENT), Delivery)
    assert isinstance(verified("github", key, headers, body + b"!", SENT), Bad)
    assert isinstance(verified("github", key, headers | {"x-hub-signature-256": noise}, body, SENT), Bad)


@pytest.mark.parametrize(
    ("kind", "secret"),
    [
        *(("standard", secret) for secret in ("", "whsec_", "whsec_!!!", "whsec_c2hvcnQ=", "ä", "\udcff")),
        *(("github", secret) for secret in ("", "a", "hunter2", "hunter2 \n", " " * 20)),
    ],
)
def test_what_is_no_secret_is_no_key_and_is_not_told(kind, secret):
    with pytest.raises(OperatorError) as raised:
        secret_key(kind, secret)

    told = f"{raised.value.message} {raised.value.hint}"
    assert not any(word.removeprefix("whsec_") in told for word in secret.split() if len(word) > len("whsec_"))


@pytest.mark.parametrize("size", [16, 17, 24, 32])
def test_a_sender_may_choose_a_shorter_key_than_we_do_padded_or_not(size):
    coded = base64.b64encode(bytes(range(size))).decode()

    for secret in (coded, coded.rstrip("="), f"whsec_{coded}", f" whsec_{coded}\n"):
        assert secret_key("standard", secret) == bytes(range(size))


def test_a_secret_of_github_is_any_text_of_eight_bytes():
    assert secret_key("github", "hush-hus") == b"hush-hus"
    assert secret_key("github", "ähnlich") == "ähnlich".encode()


def test_kinds_of_events_can_be_chosen():
    only = ProjectWebhook(kind="github", secret_env="S", events=("push", "pull_request.opened"))  # noqa: S106
    plain = ProjectWebhook(kind="standard", secret_env="S", events=("user.created",))  # noqa: S106

    assert is_wanted(only, {"x-github-event": "push"}, {})
    assert is_wanted(only, {"x-github-event": "pull_request"}, {"action": "opened"})
    assert not is_wanted(only, {"x-github-event": "pull_request"}, {"action": "closed"})
    assert is_wanted(HOOK, {"x-github-event": "anything"}, {})
    assert not is_wanted(HOOK, {"x-github-event": "ping"}, {})
    assert is_wanted(plain, {}, {"type": "user.created"})
    assert not is_wanted(plain, {}, {"type": ["user.created"]})


def test_an_event_says_where_to_look():
    body = {"issue": {"html_url": "https://example.com/issues/7"}, "repository": {"html_url": "https://example.com"}}

    assert event_data("gh", HOOK, Delivery("d", None), body, SENT)["source_ref"] == "https://example.com/issues/7"
    assert event_data("gh", HOOK, Delivery("d", None), {}, SENT)["source_ref"] == "webhook:gh:d"
    assert (
        event_data("gh", HOOK, Delivery("d", None), {"issue": {"html_url": "javascript:x"}}, SENT)["source_ref"]
        == "webhook:gh:d"
    )


def test_the_same_value_is_the_same_event_where_the_table_points_at_one():
    hook = ProjectWebhook(kind="github", secret_env="S", dedupe="/issue/number")  # noqa: S106

    found = event_data("gh", hook, Delivery("d", None), {"issue": {"number": 7}}, SENT)

    assert (found["event_id"], found["dedupe_key"]) == ("d", "7")
    assert isinstance(event_data("gh", hook, Delivery("d", None), {"issue": {}}, SENT), Bad)
    assert isinstance(event_data("gh", hook, Delivery("d", None), {"issue": {"number": {}}}, SENT), Bad)


def test_proposals_are_given_the_body():
    hook = ProjectWebhook(
        kind="standard",
        secret_env="S",  # noqa: S106
        freshness_s=60.0,
        task={"task_type": "triage", "payload": {"how": "fast"}},
        workflow={"template": "goal-loop", "instance_key": "/data/id"},
    )
    body = {"data": {"id": "i-1"}}

    found = event_data("in", hook, Delivery("d", SENT), body, SENT + timedelta(seconds=10))

    assert found["proposed_task"] == {
        "source": "webhook:in",
        "task_type": "triage",
        "payload": {"how": "fast", "event": body},
    }
    assert found["proposed_workflow"] == {"template": "goal-loop", "instance_key": "i-1", "context": {"event": body}}
    assert found["observed_at"] == SENT.isoformat()
    assert found["freshness_deadline"] == (SENT + timedelta(seconds=60)).isoformat()


@pytest.mark.parametrize(
    ("pointer", "value"),
    [("", {"a/b": [{"~": 1}]}), ("/a~1b/0/~0", 1), ("/a~1b/00", None), ("/a~1b/1", None), ("a", None), ("/x", None)],
)
def test_pointers_are_those_of_the_rfc(pointer, value):
    assert pointed({"a/b": [{"~": 1}]}, pointer) == value
