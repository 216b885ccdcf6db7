"""Validators of authored schemas: short sentences with their places, no secrets in them, no schema that hangs us."""

import json
import uuid

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.contracts import validator
from keisei.contracts.validator import complaints, secret_values
from keisei.testing.strategies import json_values

QUICK = settings(max_examples=80, deadline=None, database=None)
SECRET = "hunter2-hunter2"  # noqa: S105 - of nobody
LOGIN = {
    "type": "object",
    "required": ["user", "password"],
    "additionalProperties": False,
    "properties": {
        "user": {"type": "string", "minLength": 3},
        "password": {"type": "string", "maxLength": 5, "writeOnly": True},
        "count": {"type": "integer", "maximum": 3},
    },
}


def told(schema, value):
    return complaints(uuid.uuid4().hex, schema, value)


def test_a_value_that_fits_has_no_complaints():
    assert told(LOGIN, {"user": "ann", "password": "abc"}) == []


def test_every_difference_is_told_with_its_place():
    found = told(LOGIN, {"user": 3, "count": 7, "usr": 1})

    assert sorted(found) == [
        "count: must be at most 3, not `7`",
        "document: missing key `password`",
        "document: unknown key `usr`",
        "user: must be a string, not an integer",
    ]


def test_places_inside_lists_and_choices_are_named():
    schema = {"items": {"oneOf": [{"type": "string"}, {"type": "object", "required": ["a"]}]}}

    assert told(schema, ["x", {}]) == ["[1]: missing key `a`"]


def test_at_most_five_short_lines_are_told():
    schema = {"items": {"type": "string", "pattern": "^x$"}}
    found = told(schema, ["\x1b[31m" + "y" * 5000] * 100)

    assert len(found) == 5
    assert all(len(line) <= 201 and line.isprintable() for line in found)


def test_formats_are_checked():
    assert told({"format": "date"}, "2026-13-01") == ["document: must be a date such as `2026-04-22`, not `2026-13-01`"]
    assert told({"format": "email"}, "  ") == ["document: must be an e-mail address, not `(blank)`"]


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"p": {"type": "integer", "writeOnly": True}}},
        {"properties": {"p": {"pattern": "^x$", "writeOnly": True}}},
        {"properties": {"p": {"const": 1, "writeOnly": True}}},
        {"properties": {"p": {"not": {}, "writeOnly": True}}},
        {"properties": {"p": {"$ref": "#/definitions/s"}}, "definitions": {"s": {"enum": [1], "writeOnly": True}}},
        {"additionalProperties": {"maxLength": 2, "writeOnly": True}},
        {"patternProperties": {"^p": {"maxLength": 2, "writeOnly": True}}},
        {"allOf": [{"properties": {"p": {"maxLength": 2}}}, {"properties": {"p": {"writeOnly": True}}}]},
    ],
    ids=["type", "pattern", "const", "not", "reference", "additional", "key-pattern", "branch"],
)
def test_a_write_only_value_is_a_secret_and_never_quoted(schema):
    value = {"p": SECRET}

    assert told(schema, value)
    assert SECRET not in " ".join(told(schema, value))
    assert SECRET in secret_values(schema, value)


def test_below_a_write_only_place_not_even_a_key_is_quoted():
    schema = {"properties": {"o": {"writeOnly": True, "additionalProperties": {"type": "null"}, "maxProperties": 0}}}

    assert SECRET not in " ".join(told(schema, {"o": {SECRET: 1}}))


def test_every_text_and_number_below_a_write_only_place_is_a_secret():
    schema = {"items": {"properties": {"p": {"writeOnly": True}}}}
    value = [{"p": ["alpha-secret", {"key": 12345678}]}, {"q": "plain"}]

    assert set(secret_values(schema, value)) == {"alpha-secret", "key", "12345678"}


def test_a_schema_too_large_to_follow_makes_everything_a_secret(monkeypatch):
    monkeypatch.setattr("keisei.contracts.secret_place.STEPS", 3)
    schema = {"items": {"properties": {"p": {"writeOnly": True}}}}

    assert "plain" in secret_values(schema, [{"q": "plain"}] * 10)


@QUICK
@given(json_values())
def test_no_mark_no_secret(value):
    assert secret_values({"type": "object", "properties": {"a": {"type": "string"}}}, value) == ()


@QUICK
@given(
    st.dictionaries(st.sampled_from(("user", "password", "count", "x")), json_values(), max_size=4),
)
def test_complaints_agree_with_the_library(value):
    found = told(LOGIN, value)

    assert (found == []) == jsonschema_rs.Draft7Validator(LOGIN, validate_formats=True).is_valid(value)
    assert len(found) <= validator.MOST


@pytest.mark.parametrize(
    "schema",
    [{"pattern": "("}, {"type": "strange"}, {"$ref": "#/definitions/none"}, {"$ref": "https://example.com/x.json"}],
    ids=["pattern", "type", "dangling", "fetched"],
)
def test_a_schema_that_cannot_be_used_is_a_complaint(schema):
    (line,) = told(schema, "x")

    assert line.startswith("document: cannot be checked: the schema cannot be used")


def test_a_pattern_that_backtracks_is_cut_short():
    bomb = {"pattern": "(?!x)(a|a)*(a|a)*(a|a)*b"}

    assert told(bomb, "a" * 10_000)
    assert "looks around" in told(bomb, "a" * 100_000)[0]


def test_a_schema_that_unfolds_without_end_is_refused():
    steps = {f"x{n}": {"allOf": [{"$ref": f"#/definitions/x{n + 1}"}] * 10} for n in range(1, 9)}
    bomb = {"$ref": "#/definitions/x1", "definitions": {**steps, "x9": {"type": "string"}}}

    assert "unfolds" in told(bomb, 1)[0]


def test_a_schema_that_refers_to_itself_tells_its_first_difference():
    tree = {"type": "object", "required": ["id"], "properties": {"below": {"items": {"$ref": "#"}}}}

    assert told(tree, {"id": 1, "below": [{"id": 2}, {}, {}]}) == ["below[1]: missing key `id`"]


def test_a_large_value_tells_its_first_difference():
    assert told({"items": {"type": "string"}}, [1] * 100_000) == ["[0]: must be a string, not an integer"]


@pytest.mark.parametrize("value", [{1: 2}, "\ud800", object()], ids=["key", "surrogate", "no-json"])
def test_what_is_no_json_is_a_complaint(value):
    assert len(told({"type": "object"}, value)) == 1


def test_the_kept_validators_are_bounded_and_found_by_key(monkeypatch):
    monkeypatch.setattr(validator, "KEPT", 3)
    monkeypatch.setattr(validator, "_kept", type(validator._kept)())
    for number in range(5):
        complaints(f"k{number}", {"const": number}, number)

    assert list(validator._kept) == ["k2", "k3", "k4"]
    assert complaints("k2", {"const": "never compiled"}, 2) == []


def test_a_deep_value_is_no_traceback():
    deep = json.loads("[" * 500 + "]" * 500)

    assert told({"type": "array", "items": {"$ref": "#"}}, deep) == []
