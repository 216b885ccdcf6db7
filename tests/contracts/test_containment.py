"""Containment: a yes is never wrong, a no is shown on a document, and what is not known is said so, in good time."""

import json

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.contracts.containment import Fit, empty_parts, fits, impossible, misfit, refusing
from keisei.contracts.witness import documents


def text(longest):
    return {"type": "string", "maxLength": longest}


def table(**properties):
    return {"type": "object", "properties": properties}


LINE = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[^\n]*[^\s][^\n]*$"}
ID = {"type": "integer", "minimum": 1}

CASES = {
    "shorter": (table(title=text(200)), table(title=text(80)), '"title" of 81 to 200 characters'),
    "shorter-in-a-list": (
        table(steps={"type": "array", "items": table(name=text(9))}),
        table(steps={"type": "array", "items": table(name=text(3))}),
        '"steps"[0]."name" of 4 to 9 characters',
    ),
    "smaller": (
        table(n={"type": "integer", "maximum": 10}),
        table(n={"type": "integer", "maximum": 5}),
        '"n" of 6 to 10',
    ),
    "required": (table(), table() | {"required": ["title"]}, 'a document without "title"'),
    "closed": (table(a={"type": "integer"}), table() | {"additionalProperties": False}, 'a document with "a"'),
    "fewer-words": (table(s={"enum": ["a", "b", "c"]}), table(s={"enum": ["a"]}), '"s": "b" or "c"'),
    "whole": ({"type": "number"}, {"type": "integer"}, "0.5"),
    "not-null": ({"type": ["string", "null"]}, {"type": "string"}, "null"),
    "pattern": ({"type": "string", "pattern": "^[a-z]+$"}, {"type": "string", "pattern": "^a+$"}, '"zz"'),
    "format": ({"type": "string"}, {"type": "string", "format": "date"}, '""'),
    "a-line": ({"type": "string", "minLength": 9}, LINE, "a text of 201 characters"),
    "a-long-word": (table(s={"const": "x" * 300}), table(s=text(3)), '"s" of 300 characters'),
    "deep-and-wide": (
        table(all={"type": "array", "items": table(**dict.fromkeys("abcdefghijkl", ID), t=LINE | {"maxLength": 300})}),
        table(all={"type": "array", "items": table(**dict.fromkeys("abcdefghijkl", ID), t=LINE)}),
        '"all"[0]."t" of 300 characters',
    ),
    "by-reference": (
        table(id={"$ref": "#/definitions/id"}) | {"definitions": {"id": text(9)}},
        table(id={"$ref": "#/definitions/id"}) | {"definitions": {"id": text(3)}},
        '"id" of 4 to 9 characters',
    ),
}


@pytest.mark.parametrize(("source", "target", "example"), CASES.values(), ids=CASES)
def test_what_does_not_fit_is_said_in_words(source, target, example):
    assert fits(source, target) == Fit("no", example)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (text(80), text(200)),
        ({"type": "integer"}, {"type": "number"}),
        ({"enum": ["a"]}, {"enum": ["b", "a"]}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"$ref": "#/definitions/a", "definitions": {"a": text(3)}}, text(3)),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "x/y", **text(3)}, text(3)),
        (False, {"type": "string"}),
        ({"type": "string"}, True),
    ],
)
def test_what_fits_is_known_to_fit(source, target):
    assert fits(source, target) == Fit("yes", None)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (5, 6),
        ({"type": "bogus"}, {}),
        ({"$ref": "https://example.org/a.json"}, {"type": "string"}),
        ({"type": "string", "pattern": "("}, {"type": "string"}),
        ({"type": "string", "pattern": "^a+$"}, {"type": "string", "pattern": "^[a-z]+$"}),
        ({"const": float("nan")}, {}),
        ({"default": object()}, {}),
    ],
)
def test_what_is_not_known_is_said_so_and_is_not_impossible(source, target):
    assert fits(source, target).answer == "unknown"
    assert not impossible(source, target)


def nested(levels):
    schema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


def multiplied(number):
    choices = [{"anyOf": [{"required": [f"a{n}"]}, {"required": [f"b{n}"]}]} for n in range(number)]
    return {"type": "object", "allOf": choices}


def doubled(number):
    levels = {"d0": {"type": "string"}}
    for n in range(1, number):
        step = {"$ref": f"#/definitions/d{n - 1}"}
        levels[f"d{n}"] = table(a=step, b=step)
    return {"$ref": f"#/definitions/d{number - 1}", "definitions": levels}


def wide(number):
    return table(**{f"p{n}": text(n + 1) for n in range(number)}) | {"additionalProperties": False}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (multiplied(40), multiplied(41)),
        (doubled(60), doubled(61)),
        (wide(400), wide(399)),
        (nested(2000), nested(1999)),
        ({"dependencies": {f"a{n}": [f"b{n}"] for n in range(60)}}, {"type": "string"}),
        ({"oneOf": [table(**{f"p{n}": text(n)}) for n in range(40)]}, table()),
    ],
    ids=["branches", "references", "properties", "levels", "dependencies", "choices"],
)
def test_a_schema_that_would_take_for_ever_is_not_asked(source, target):
    assert fits(source, target).answer == "unknown"
    assert not impossible(source, target)
    assert empty_parts(source) == ()


def test_a_schema_that_refers_to_itself_in_many_places_is_not_followed_for_ever():
    circle = table(**{f"p{n}": {"$ref": "#"} for n in range(30)})

    assert fits(circle | {"maxProperties": 9}, circle | {"minProperties": 2}).answer in ("no", "unknown")
    assert misfit(circle, table(p0={"type": "string"})) is not None


@pytest.mark.parametrize(
    ("source", "target", "example"),
    [
        ({"type": "string"}, LINE, None),
        ({"type": ["string", "null"]}, LINE, "null"),
        ({"type": "string"}, {"enum": ["low", "high"]}, '"Fix auth bug #42 (Zürich), today."'),
        ({"type": "string"}, {"type": "string", "pattern": "^[a-z-]+$"}, '"Fix auth bug #42 (Zürich), today."'),
        ({"type": "integer"}, ID, None),
        ({"type": "integer", "minimum": 0}, ID, "0"),
        ({"type": "integer", "minimum": -(2**53)}, ID, None),
        ({"type": "array", "items": ID}, {"type": "array", "minItems": 1}, "[]"),
        (table(a=ID, b=ID), table(a=ID) | {"additionalProperties": False}, 'a document with "b"'),
        (table(a=ID), table(a=ID) | {"additionalProperties": False}, None),
        (True, ID, None),
        ({}, ID, None),
    ],
)
def test_only_what_is_to_be_expected_is_called_likely(source, target, example):
    assert misfit(source, target) == example


def test_what_a_schema_refuses_is_said_in_words():
    assert refusing(LINE)("x" * 300) == "a text of 300 characters"
    assert refusing(LINE)([{"a": "y" * 99}]) == '[{"a": "yyyyyyyyyyyyyyyyyyyy… (99 characters)"}]'
    assert refusing(LINE)(list(range(99))) == "a list of 99 items"
    assert refusing(LINE)("x") is None
    assert refusing({"type": "bogus"})("x") is None


def test_what_cannot_be_both_is_impossible():
    assert impossible({"type": "string"}, {"type": "integer"})
    assert impossible(table(id={"type": "integer"}) | {"required": ["id"]}, table(id={"type": "string"}))
    assert not impossible({"type": ["string", "integer"]}, {"type": "integer"})
    assert not impossible(table(id={"type": "integer"}), table(id={"type": "string"}))


def test_parts_that_admit_nothing_are_named_and_those_written_so_are_not():
    empty = {"type": "string", "minLength": 5, "maxLength": 3}

    assert empty_parts(table(a=empty, b=False) | {"additionalProperties": False}) == ("/properties/a",)
    assert empty_parts(table(a=empty) | {"required": ["a"]}) == ("", "/properties/a")
    assert empty_parts(table(a=text(3))) == ()


bounds = st.integers(0, 4)
leaves = st.one_of(
    st.builds(lambda low, high: {"type": "string", "minLength": low, "maxLength": high}, bounds, bounds),
    st.builds(lambda low, high: {"type": "integer", "minimum": low, "maximum": high}, bounds, bounds),
    st.builds(
        lambda values: {"enum": values}, st.lists(st.sampled_from(["a", 1, None, True]), min_size=1, unique=True)
    ),
    st.sampled_from([True, {"type": "number"}, {"type": "string", "format": "date"}, {"not": {"type": "null"}}]),
)
schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda item, low: {"type": "array", "items": item, "minItems": low}, inner, bounds),
        st.builds(
            lambda properties, required, closed: {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": not closed,
            },
            st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            st.booleans(),
        ),
        st.builds(
            lambda key, parts: {key: parts},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(inner, min_size=1, max_size=2),
        ),
    ),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(schemas, schemas)
def test_a_document_never_disproves_an_answer(source, target):
    answer, apart = fits(source, target).answer, impossible(source, target)
    taken, allowed = (jsonschema_rs.Draft7Validator(each, validate_formats=True) for each in (source, target))

    for document in [*documents(source), *documents(target)]:
        if taken.is_valid(document):
            assert answer != "yes" or allowed.is_valid(document), document
            assert not (apart and allowed.is_valid(document)), document


@settings(max_examples=50, deadline=None, database=None, derandomize=True)
@given(schemas)
def test_every_schema_fits_itself_whatever_is_said_of_it(schema):
    told = {"allOf": [schema], "title": "x", "description": "y"} if isinstance(schema, dict) else schema

    assert fits(schema, json.loads(json.dumps(schema))).answer == "yes"
    assert fits(told, schema).answer != "no"
