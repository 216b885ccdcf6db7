"""Every record comes back equal from its JSON, and its schema and its type agree on what is valid."""

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import jsonschema_rs
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keisei.contracts.generate import generated_schema
from keisei.contracts.registry import NAMES, record_type
from keisei.testing.strategies import record

EXAMPLES = Path(__file__).parents[2] / "src" / "keisei" / "contracts" / "examples"
QUICK = settings(max_examples=30, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])


@cache
def validator(name):
    return jsonschema_rs.Draft7Validator(generated_schema(name, []), validate_formats=True)


def complaints(name, data):
    return [error.message for error in validator(name).iter_errors(data)]


@pytest.mark.parametrize("name", NAMES)
def test_a_record_fits_its_schema_and_comes_back_equal(name):
    @QUICK
    @given(record(name))
    def check(drawn):
        data = msgspec.to_builtins(drawn)

        assert complaints(name, data) == []
        assert msgspec.convert(data, record_type(name)) == drawn
        assert msgspec.json.decode(msgspec.json.encode(drawn), type=record_type(name)) == drawn

    check()


def places(data, at=()):
    """Every place in a document, the document itself first."""
    yield at
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list | tuple) else ()
    for key, value in inner:
        yield from places(value, (*at, key))


def changed(data, at, value):
    """The document with another value at one place; GONE takes the place away."""
    if not at:
        return value
    copied = dict(data) if isinstance(data, dict) else list(data)
    inner = changed(copied[at[0]], at[1:], value)
    if inner is GONE:
        del copied[at[0]]
    else:
        copied[at[0]] = inner
    return copied


GONE = object()
NEAR = [None, True, 0, -1, 1.5, 2**53, "", "a", "completed", "script", "deny", "..", "a\n", [], ["a"], {}, {"a": 1}]


@st.composite
def nearly(draw, name):
    """An example with a few places changed: most such documents are wrong, some are still right."""
    data = draw(st.sampled_from(json.loads((EXAMPLES / f"{name}.json").read_text(encoding="utf-8"))))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.sampled_from(list(places(data))))
        value = draw(st.sampled_from([GONE, *NEAR]))
        data = changed(data, at, value) if at else data
    return data


BEYOND_SCHEMAS = re.compile("agent_id `.*` must equal internal_name")
"""The one rule that JSON Schema has no words for: two keys hold the same."""


@pytest.mark.parametrize("name", NAMES)
def test_what_the_schema_accepts_the_type_builds(name):
    @QUICK
    @given(nearly(name))
    def check(data):
        if complaints(name, data):
            return

        try:
            built = msgspec.convert(data, record_type(name))
        except msgspec.ValidationError as error:
            if BEYOND_SCHEMAS.search(str(error)):
                return
            raise

        assert complaints(name, msgspec.to_builtins(built)) == []

    check()


RELATIVE_PATH = generated_schema("artifact.record", [])["properties"]["relative_path"]


def patterns():
    """Every pattern of every schema, keys of objects included."""
    waiting, found = [generated_schema(name, []) for name in NAMES], set()
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            found |= {part["pattern"]} if isinstance(part.get("pattern"), str) else set()
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return sorted(found)


BAITS = ["..", "a/..", "../a", "a/../b", "/a", "C:/a", "::", "a::b", "a", "A", "[[a]]", "a.b", "https://a", "0" * 64]
STRANGE = ["\n", "\r", "\t", "\x00", "\x1c", "\x85", "\xa0", "\u2028", "\ufeff", "\U0001f600"]


@pytest.mark.parametrize("pattern", patterns())
def test_a_pattern_accepts_no_more_in_the_schema_than_in_the_type(pattern):
    schema = jsonschema_rs.Draft7Validator({"pattern": pattern})
    texts = [bait[:at] + odd + bait[at:] for bait in BAITS for odd in ["", *STRANGE] for at in range(len(bait) + 1)]

    # Python and Rust differ in `$`, `.` and `\\s` where text holds line ends and other rare spaces.
    surplus = [text for text in texts if schema.is_valid(text) and not re.search(pattern, text)]

    assert surplus == []


def test_a_relative_path_never_leads_out_of_its_folder():
    schema = jsonschema_rs.Draft7Validator(RELATIVE_PATH)
    texts = [
        bait[:at] + odd + bait[at:] for bait in ("../a", "a/../b") for odd in STRANGE for at in range(len(bait) + 1)
    ]

    leading_out = [text for text in texts if schema.is_valid(text) and ".." in text.split("/")]

    assert leading_out == []


def test_the_strategies_are_the_only_part_of_testing_that_needs_hypothesis():
    program = "import sys, keisei.testing; sys.exit('hypothesis' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], check=False)

    assert done.returncode == 0
