"""Redaction: known secrets in every form a program writes them, unknown ones by their shape, and little else."""

import base64
import hashlib
import json
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.redact import LONG, MARK, Redactor, byte_forms
from keisei.testing.strategies import json_values

QUICK = settings(max_examples=150, deadline=None, database=None)
KNOWN = 's3cr/t "ß+&\\key'


def shuffled(text):
    """Every character as a JSON escape."""
    return "".join(f"\\u{ord(char):04x}" for char in text)


FORMS = {
    "plain": KNOWN,
    "json": json.dumps(KNOWN)[1:-1],
    "json-not-ascii": json.dumps(KNOWN, ensure_ascii=False)[1:-1],
    "json-with-escaped-slashes": json.dumps(KNOWN)[1:-1].replace("/", "\\/"),
    "json-in-json": json.dumps(json.dumps(KNOWN))[3:-3],
    "json-in-json-in-json": json.dumps(json.dumps(json.dumps(KNOWN)))[7:-7],
    "all-escaped": shuffled(KNOWN),
    "one-escaped": KNOWN[0] + shuffled(KNOWN[1]) + KNOWN[2:],
    "url": quote(KNOWN, safe=""),
    "url-path": quote(KNOWN),
    "url-form": quote_plus(KNOWN),
    "url-lower-case": re.sub("%..", lambda match: match[0].lower(), quote(KNOWN, safe="")),
    "url-all": "".join(f"%{byte:02X}" for byte in KNOWN.encode()),
    "url-in-json": quote(KNOWN, safe="").replace("%", shuffled("%")),
    "hex": KNOWN.encode().hex(),
    "hex-capitals": KNOWN.encode().hex().upper(),
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_a_known_secret_goes_in_every_form(text):
    redacted = Redactor([KNOWN]).redact(f"curl '{text}' --data")

    assert text not in redacted
    assert MARK in redacted
    assert redacted.startswith("curl '")
    assert redacted.endswith("' --data")


@pytest.mark.parametrize("name", sorted(FORMS.keys() - {"all-escaped", "one-escaped", "url-all", "url-in-json"}))
def test_a_known_secret_has_its_bytes_in_every_form_that_programs_choose(name):
    forms = byte_forms([KNOWN, "short"])

    assert FORMS[name].encode() in forms
    assert not any(b"short" in form for form in forms)
    assert [len(form) for form in forms] == sorted(len(form) for form in set(forms))


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode], ids=["standard", "url"])
@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
@pytest.mark.parametrize("after", ["", "x", "xy"])
def test_a_known_secret_goes_wherever_it_lies_in_base64(encode, before, after):
    known = "hunter2-and-more???>>>"
    text = encode((before + known + after).encode()).decode()

    redacted = Redactor([known]).redact(f"-H {text}")

    assert MARK in redacted
    assert len(redacted.replace(MARK, "")) <= len("-H ") + len(before + after) * 2 + 6


def test_a_known_secret_goes_in_base64_that_was_wrapped():
    known = "the-secret-value-that-is-long-enough"
    coded = base64.encodebytes(b"x" * 50 + known.encode() + b"y" * 50).decode()

    redacted = Redactor([known]).redact(coded)

    kept = base64.b64decode(redacted.partition(MARK)[0].replace("\n", "")[:64])
    assert MARK in redacted
    assert known[:4].encode() not in kept


def test_keys_and_values_at_every_depth_are_redacted():
    value = {"a": [{"hunter2x": ["x hunter2x", 1, None, True, 1.5]}]}

    assert Redactor(["hunter2x"]).redact(value) == {"a": [{MARK: [f"x {MARK}", 1, None, True, 1.5]}]}


def test_two_keys_that_become_alike_are_both_kept():
    value = {"secret-one": 1, "secret-two": 2}

    assert Redactor(["secret-one", "secret-two"]).redact(value) == {MARK: 1, f"{MARK}+": 2}


def test_a_number_that_is_a_secret_goes():
    assert Redactor(["12345678"]).redact([12345678, 12345679, 10**5000]) == [MARK, 12345679, 10**5000]


@pytest.mark.parametrize(
    ("secrets", "text", "expected"),
    [
        pytest.param(["abcdef", "defghi"], "-abcdefghi-", f"-{MARK}-", id="overlapping"),
        pytest.param(["abcdef", "ghijkl"], "-abcdefghijkl-", f"-{MARK}-", id="adjacent"),
        pytest.param(["abcdef", "bcdefg"], "-abcdefg-", f"-{MARK}-", id="one-inside-the-next"),
        pytest.param(["abcdefghijkl", "cdefgh"], "-abcdefghijkl-", f"-{MARK}-", id="one-inside-another"),
        pytest.param(["abcabcabc"], "-abcabcabcabc-", f"-{MARK}-", id="overlapping-itself"),
        pytest.param(["abcdef"], "abcdef abcdef", f"{MARK} {MARK}", id="twice"),
        pytest.param(["abcdef\n"], "-abcdef-", f"-{MARK}-", id="with-its-newline"),
    ],
)
def test_secrets_that_meet_leave_nothing_between_them(secrets, text, expected):
    assert Redactor(secrets).redact(text) == expected


@pytest.mark.parametrize("secret", ["", "a", "main", "12345", "     \n"])
def test_values_too_short_to_be_secrets_are_left(secret):
    text = "git checkout main # a 12345"

    assert Redactor([secret]).redact(text) == text


SHAPES = {
    "openai": ("echo {}", "sk-proj-abcdefghijklmnopqrst0123"),
    "anthropic": ("echo {}", "sk-ant-api03-AbCdEfGhIjKlMnOpQrSt"),
    "stripe": ("k={}", "sk_live_abcdefghijklmnop1234"),
    "github": ("git clone https://{}@github.com/x", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
    "github-fine": ("{}", "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz"),
    "gitlab": ("{}", "glpat-abcdefghij_klmnopqrst"),
    "aws": ("aws configure set x {}", "AKIAIOSFODNN7EXAMPLE"),
    "slack": ("{}", "xoxb-123456789012-abcdefghij"),
    "google": ("?key={}", "AIzaSyA1234567890abcdefghijklmnopqrstuv"),
    "jwt": ("{}", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"),
    "npm": ("//r/:_authToken={}", "npm_abcdefghijklmnopqrstuvwxyz0123456789"),
    "pypi": ("{}", "pypi-AgEIcHlwaS5vcmcCJGFiY2RlZg"),
    "bearer": ("curl -H 'Authorization: Bearer {}'", "abc.def-0123456789"),
    "basic": ("curl -H 'Authorization: Basic {}'", "dXNlcjpwYXNzd29yZA=="),
    "password": ("mysql --password={} db", "hunter2"),
    "password-apart": ("mysql --password {} db", "hunter2"),
    "password-quoted": ('export DB_PASSWORD="{}"', "hunter2!"),
    "password-in-yaml": ("password: {}", "hunter2"),
    "password-in-json": ('{{"password": "{}"}}', "hunter2"),
    "password-in-escaped-json": ('"{{\\"password\\": \\"{}\\"}}"', "hunter2"),
    "api-key": ("API_KEY={} run", "abcd1234"),
    "aws-secret": ("AWS_SECRET_ACCESS_KEY={}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    "address": ("psql postgres://user:{}@host/db", "hunter2"),
    "private-key": ("{}", "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"),
    "private-key-escaped": ("{}", "-----BEGIN PRIVATE KEY-----\\nMIIEpA\\n-----END PRIVATE KEY-----"),
    "private-key-cut": ("{}", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA"),
}


@pytest.mark.parametrize(("frame", "secret"), SHAPES.values(), ids=SHAPES)
def test_a_secret_is_known_by_its_shape(frame, secret):
    assert Redactor().redact(frame.format(secret)) == frame.format(MARK)


def test_a_shape_spelt_with_escapes_is_known():
    token = "ghp_" + "a1" * 18

    assert Redactor().redact(f'{{"x":"{shuffled(token)}"}}') == f'{{"x":"{MARK}"}}'


@pytest.mark.parametrize(
    "text",
    [
        "git commit -m 'task-management for the risk-assessment-of-the-basket'",
        "TOKEN=$(gh auth token) make",
        'curl -H "Authorization: Bearer $TOKEN" https://example.org:8080/a@b',
        "export PASSWORD=$PASSWORD; secret=`cat x`",
        "if token == other: tokens = []",
        "max_tokens=4096",
        "https://example.org/path:with@signs",
        "eyJust a word",
        "-----BEGIN CERTIFICATE-----",
        "cat AKIA.txt",
        "a\\nb %41 \\u0041",
    ],
)
def test_what_is_no_secret_stays_readable(text):
    assert Redactor(["hunter2-not-here"]).redact(text) == text


@pytest.mark.parametrize("key", ["password", "api_key", "apiKey", "access-token", "X-Api-Key", "clientSecret", "token"])
def test_a_value_goes_for_the_name_of_its_key(key):
    assert Redactor().redact({key: "abc"}) == {key: MARK}


@pytest.mark.parametrize("key", ["file_path", "tokens", "keyboard", "secretary", "command"])
def test_a_value_stays_for_a_name_that_only_sounds_so(key):
    assert Redactor().redact({key: "abc"}) == {key: "abc"}


def test_a_long_string_is_cut_and_known_by_its_sha256():
    text = "é" * (LONG + 1)

    redacted = Redactor().redact(text)

    whole = hashlib.sha256(text.encode()).hexdigest()
    assert redacted == "é" * LONG + f"… [cut: {LONG + 1} characters, sha256 {whole}]"
    assert Redactor().redact("é" * LONG) == "é" * LONG


@pytest.mark.parametrize("offset", [1, 5, 12, 19])
@pytest.mark.parametrize("secret", ["hunter2-hunter2-hunter2", "sk-abcdefghijklmnopqrstuvwxyz"])
def test_a_secret_across_the_cut_leaves_no_part_of_itself(secret, offset):
    text = "." * (LONG - offset) + secret + "." * 1000

    redacted = Redactor(["hunter2-hunter2-hunter2"]).redact(text)

    assert redacted.startswith("." * (LONG - offset) + MARK + "…")
    assert secret[:3] not in redacted


def test_a_secret_behind_a_long_one_does_not_slip_in_from_beyond_the_cut():
    first, second = "a1" * 1000, "hunter2-" * 30
    text = first + "." * (LONG - len(first)) + "." * 240 + second

    redacted = Redactor([first, second]).redact(text)

    assert "hunter2" not in redacted


def test_what_is_not_json_is_taken_out_and_nothing_raises():
    deep = []
    for _ in range(100_000):
        deep = [deep]

    assert Redactor(["abcdef"]).redact({1: object(), "b": b"abcdef", "t": ("abcdef",)}) == {
        MARK: MARK,
        "b": MARK,
        "t": [MARK],
    }
    assert MARK in str(Redactor().redact(deep))


@QUICK
@given(
    json_values() | st.text(st.characters(), max_size=50), st.lists(st.text(st.characters(), max_size=12), max_size=4)
)
def test_any_value_with_any_secrets_is_redacted_without_a_crash(value, secrets):
    redactor = Redactor(secrets)
    once = redactor.redact(value)

    for secret in secrets:
        if len(secret.strip()) >= 6 and secret not in MARK:
            assert secret not in json.dumps(once, ensure_ascii=False).replace(MARK, "\0")


@QUICK
@given(st.text('abcdef\\u%6123456789/+=\n"', max_size=60), st.text("abcdef", min_size=6, max_size=8))
def test_any_text_of_escapes_around_a_secret_loses_it(text, secret):
    redacted = Redactor([secret]).text(text + secret + text)

    assert secret not in redacted


@pytest.mark.parametrize("form", ["plain", "json", "percent"])
def test_a_text_that_was_cut_before_ends_and_begins_with_no_piece_of_a_secret(form):
    text = FORMS.get(form) or quote(KNOWN, safe="")
    for at in range(6, len(text) - 5):
        assert Redactor([KNOWN]).text(f"it is {text[:at]}") == f"it is {MARK}"
        assert Redactor([KNOWN]).text(f"{text[at:]} it is") == f"{MARK} it is"
        assert Redactor([KNOWN]).text(f"a: …{text[at:]} and {text[:at]}… [more]") == f"a: …{MARK} and {MARK}… [more]"


def test_a_value_that_somebody_marked_is_a_secret_whatever_its_length():
    assert Redactor(["main"], ["7", " a\\b ", ""]).text('main 7 a\\b "a\\\\b"') == f'main {MARK} {MARK} "{MARK}"'


def test_text_made_to_be_slow_is_quick_in_steps():
    hostile = ["eyJ" * 1400, "bearer " * 600, "-----BEGIN " * 380, "://a:" * 800, "token=" * 700, "\\u0041" * 700]

    assert len(Redactor(["x" * 4000, "a" * 3000]).redact(hostile * 20)) == 120
    assert Redactor(["ab" * 2000 + "c"]).text("ab…" * 9000 + "ab" * 9000).endswith(MARK)
