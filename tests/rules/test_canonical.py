"""Canonical JSON: the vectors of RFC 8785, what it refuses, and the laws a hash leans on."""

import hashlib
import json
import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.canonical import LARGEST, canonical, digest
from keisei.testing.strategies import json_objects, json_values

QUICK = settings(max_examples=100, deadline=None, database=None)

NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}
"""RFC 8785, appendix B: a double by its bits, and its text."""


def double(bits):
    return struct.unpack(">d", bytes.fromhex(bits))[0]


def read(raw):
    """JSON as a reader of doubles takes it: an integer that a double cannot keep exactly was a double."""
    return json.loads(raw, parse_int=lambda text: int(text) if abs(int(text)) <= LARGEST else float(text))


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items(), ids=NUMBERS)
def test_a_number_is_written_as_appendix_b_says(bits, text):
    assert canonical(double(bits)) == text.encode()


@pytest.mark.parametrize(
    "bits", ["7fffffffffffffff", "7ff0000000000000", "fff0000000000000"], ids=["nan", "inf", "-inf"]
)
def test_a_number_that_json_cannot_say_is_refused(bits):
    with pytest.raises(ValueError, match="has no canonical form"):
        canonical(double(bits))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(1.0, "1", id="whole"),
        pytest.param(100.0, "100", id="zeros-before-the-point"),
        pytest.param(4.50, "4.5", id="zeros-behind-the-point"),
        pytest.param(2e-3, "0.002", id="small"),
        pytest.param(1e-6, "0.000001", id="last-without-exponent"),
        pytest.param(1e-7, "1e-7", id="first-with-exponent"),
        pytest.param(1.5e-7, "1.5e-7", id="digits-and-exponent"),
        pytest.param(0.000123, "0.000123", id="leading-zeros"),
        pytest.param(123e18, "123000000000000000000", id="twenty-one-digits"),
        pytest.param(1.5e300, "1.5e+300", id="large"),
        pytest.param(-1.5, "-1.5", id="negative"),
        pytest.param(LARGEST, "9007199254740991", id="largest-integer"),
        pytest.param(-LARGEST, "-9007199254740991", id="smallest-integer"),
        pytest.param(True, "true", id="true-is-not-one"),
        pytest.param(False, "false", id="false-is-not-zero"),
        pytest.param(None, "null", id="null"),
    ],
)
def test_a_scalar_is_written_as_ecmascript_writes_it(value, text):
    assert canonical(value) == text.encode()


def test_keys_are_sorted_by_utf16_code_units():
    names = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }

    values = list(json.loads(canonical(names)).values())

    assert values == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


def test_the_sample_object_of_the_rfc_gives_its_bytes():
    sample = json.loads(
        r"""{
          "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
          "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
          "literals": [null, true, false]
        }"""
    )

    raw = canonical(sample)

    assert raw == (
        b'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        b'"string":"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_that_look_like_numbers_are_sorted_as_text():
    assert canonical({"2": 2, "10": 10}) == b'{"10":10,"2":2}'


@pytest.mark.parametrize(
    ("character", "text"),
    [
        pytest.param("\b", r"\b", id="backspace"),
        pytest.param("\t", r"\t", id="tab"),
        pytest.param("\n", r"\n", id="newline"),
        pytest.param("\f", r"\f", id="form-feed"),
        pytest.param("\r", r"\r", id="carriage-return"),
        pytest.param('"', r"\"", id="quote"),
        pytest.param("\\", r"\\", id="backslash"),
        pytest.param("\0", r"\u0000", id="nul"),
        pytest.param("\x1f", r"\u001f", id="last-control"),
        pytest.param("\x7f", "\x7f", id="delete-stands-as-it-is"),
        pytest.param("/", "/", id="slash-stands-as-it-is"),
        pytest.param("\u2028", "\u2028", id="line-separator-stands-as-it-is"),
        pytest.param("\U0001f600", "\U0001f600", id="emoji-stands-as-it-is"),
    ],
)
def test_only_what_must_be_escaped_is(character, text):
    assert canonical(character) == f'"{text}"'.encode()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(2**53, "beyond 2\\^53-1", id="integer-too-large"),
        pytest.param(-(2**53), "beyond 2\\^53-1", id="integer-too-small"),
        pytest.param([math.nan], "nan has no canonical form", id="nan-inside"),
        pytest.param("\ud800", "half a surrogate pair", id="half-surrogate"),
        pytest.param({"\udc00": 1}, "half a surrogate pair", id="half-surrogate-in-a-key"),
        pytest.param({1: "one"}, "keys that are not strings", id="number-as-key"),
        pytest.param({None: "none"}, "keys that are not strings", id="null-as-key"),
        pytest.param(b"bytes", "a bytes has no canonical form", id="bytes"),
        pytest.param({"a"}, "a set has no canonical form", id="set"),
        pytest.param(object(), "a object has no canonical form", id="object"),
    ],
)
def test_what_has_no_canonical_form_is_refused(value, reason):
    with pytest.raises(ValueError, match=reason):
        canonical(value)


def test_a_value_nested_without_end_is_refused_and_not_a_crash():
    deep = []
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(ValueError, match="nested too deeply"):
        canonical(deep)


def test_tuples_are_lists():
    assert canonical((1, ("a",))) == canonical([1, ["a"]]) == b'[1,["a"]]'


def test_a_digest_is_the_sha256_of_the_bytes():
    assert digest({"b": 1, "a": 2}) == hashlib.sha256(b'{"a":2,"b":1}').hexdigest()


@QUICK
@given(json_values())
def test_canonical_json_reads_back_equal(value):
    assert read(canonical(value)) == value


@QUICK
@given(json_values())
def test_canonical_json_is_canonical_already(value):
    raw = canonical(value)

    assert canonical(read(raw)) == raw


@QUICK
@given(json_objects(), st.randoms(use_true_random=False))
def test_the_order_of_keys_leaves_no_trace(value, random):
    items = list(value.items())
    random.shuffle(items)

    assert canonical(dict(items)) == canonical(value)


@QUICK
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_comes_back_bit_for_bit_but_for_the_sign_of_zero(value):
    back = float(canonical(value))

    assert back == value
    assert math.copysign(1, back) == math.copysign(1, value) or value == 0
