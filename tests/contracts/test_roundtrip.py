"""Every record comes back equal from its JSON, and its schema and its type agree on what is valid."""

import json
import subprocess
import sys
from functools import cache

import jsonschema_rs
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keisei.contracts.generate import generated_schema
from keisei.contracts.registry import NAMES, record_type
from keisei.testing.strategies import record

QUICK = settings(max_examples=40, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])


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
    """The data of a record with one or two places changed: most such documents are wrong, some are still right."""
    data = msgspec.json.decode(msgspec.json.encode(draw(record(name))))
    for _ in range(draw(st.integers(1, 2))):
        at = draw(st.sampled_from(list(places(data))))
        value = draw(st.sampled_from([GONE, *NEAR]))
        data = changed(data, at, value) if at else data
    return data


@pytest.mark.parametrize("name", NAMES)
def test_what_the_schema_accepts_the_type_builds(name):
    @QUICK
    @given(nearly(name))
    def check(data):
        if complaints(name, data):
            return

        built = msgspec.convert(data, record_type(name))

        assert complaints(name, msgspec.to_builtins(built)) == []

    check()
