"""Standard Webhooks: the vector of the specification's own libraries, and secrets that are none."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.records.error import OperatorError
from keisei.rules.standard_webhook import message_id, signed_headers, signing_key

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - the specification's example
AT = datetime.fromtimestamp(1614265330, UTC)


def test_the_specification_s_example_is_signed_as_its_libraries_sign_it():
    headers = signed_headers("msg_p5jXN8AQM9LWM0D4loKWxJek", AT, b'{"test": 2432232314}', signing_key(SECRET))

    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@pytest.mark.parametrize(
    "secret", [SECRET, SECRET.removeprefix("whsec_"), f" {SECRET}\n"], ids=["whole", "bare", "lax"]
)
def test_a_secret_is_read_with_and_without_its_prefix(secret):
    assert signing_key(secret) == base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")


def test_padding_may_be_left_out():
    key = bytes(range(25))
    coded = base64.b64encode(key).decode()

    assert coded.endswith("==")
    assert signing_key(coded) == signing_key(coded.rstrip("=")) == key


@pytest.mark.parametrize(
    "secret", ["", "whsec_", "whsec_short", "not base64, but long enough to be a key", "whsec_AAAA"]
)
def test_a_secret_that_is_none_is_refused_without_being_told(secret):
    with pytest.raises(OperatorError) as raised:
        signing_key(secret)

    assert not secret.removeprefix("whsec_") or secret not in f"{raised.value.message} {raised.value.hint}"


@given(st.text())
def test_an_id_is_the_same_every_time_and_holds_no_dot(key):
    assert message_id(key) == message_id(key)
    assert message_id(key).removeprefix("msg_").isalnum()


@given(st.binary(max_size=200), st.binary(min_size=24, max_size=64))
def test_a_receiver_that_knows_the_secret_finds_the_same_signature(body, key):
    headers = signed_headers("msg_1", AT, body, key)

    content = b"msg_1." + headers["webhook-timestamp"].encode() + b"." + body
    told = base64.b64decode(headers["webhook-signature"].removeprefix("v1,"))
    assert hmac.compare_digest(told, hmac.new(key, content, hashlib.sha256).digest())
