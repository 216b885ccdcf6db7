"""Two schemas compared: what breaks is called breaking, and what is called compatible never breaks."""

import copy
import json

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keisei.contracts import compare
from keisei.contracts.compare import Change, changes
from keisei.contracts.generate import generated_schema
from keisei.contracts.registry import NAMES

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
NULL = {"type": "null"}


def closed(required=(), **properties):
    """An object that allows the named keys only."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def rule(key, value, then):
    return {"if": {"properties": {key: {"const": value}}, "required": [key]}, "then": then}


def referring(target, **definitions):
    return {"$ref": f"#/definitions/{target}", "definitions": definitions}


def linked(**node):
    """A list of nodes, each with the next one inside."""
    return referring("Node", Node=closed(next={"$ref": "#/definitions/Node"}, **node))


def worst(old, new):
    kinds = {change.kind for change in changes(old, new)}
    return next((kind for kind in ("breaking", "unknown", "compatible") if kind in kinds), None)


CASES = {
    # objects
    "a new optional key": (closed(a=TEXT), closed(a=TEXT, b=TEXT), "compatible"),
    "a key taken away": (closed(a=TEXT, b=TEXT), closed(a=TEXT), "breaking"),
    "a key renamed": (closed(a=TEXT), closed(b=TEXT), "breaking"),
    "a key newly required": (closed(a=TEXT), closed(["a"], a=TEXT), "breaking"),
    "a new key that is required": (closed(a=TEXT), closed(["b"], a=TEXT, b=TEXT), "breaking"),
    "a key no longer required": (closed(["a"], a=TEXT), closed(a=TEXT), "compatible"),
    "an object closed": ({"type": "object"}, {"type": "object", "additionalProperties": False}, "breaking"),
    "an object opened": (closed(a=TEXT), {"type": "object", "properties": {"a": TEXT}}, "compatible"),
    "a free key that is now checked": ({"type": "object"}, {"type": "object", "properties": {"a": TEXT}}, "breaking"),
    "a free key that is now named": ({"type": "object"}, {"type": "object", "properties": {"a": {}}}, "compatible"),
    "values of free keys narrowed": (
        {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
        {"type": "object", "additionalProperties": TEXT},
        "breaking",
    ),
    "a key moved from free to named": (
        {"type": "object", "additionalProperties": TEXT},
        {"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT},
        "unknown",
    ),
    "names of keys restricted": ({"type": "object"}, {"type": "object", "propertyNames": {"maxLength": 3}}, "breaking"),
    "names of keys restricted where all are short": (
        closed(abc=TEXT),
        {**closed(abc=TEXT), "propertyNames": {"maxLength": 3}},
        "compatible",
    ),
    "a key that could never be there": (closed(a=False), closed(), "compatible"),
    # any value
    "a type narrowed": ({"type": ["string", "integer"]}, TEXT, "breaking"),
    "a type widened": (TEXT, {"type": ["string", "integer"]}, "compatible"),
    "integers become numbers": ({"type": "integer"}, NUMBER, "compatible"),
    "numbers become integers": (NUMBER, {"type": "integer"}, "breaking"),
    "a type where there was none": ({}, TEXT, "breaking"),
    "a type that the values have anyway": ({"enum": ["a", "b"]}, {"enum": ["a", "b"], **TEXT}, "compatible"),
    "a value dropped": ({"enum": ["a", "b"]}, {"enum": ["a"]}, "breaking"),
    "a value added": ({"enum": ["a"]}, {"enum": ["a", "b"]}, "compatible"),
    "values in another order": ({"enum": ["a", "b"]}, {"enum": ["b", "a"]}, "compatible"),
    "values opened to a type": ({"enum": ["a", "b"]}, {**TEXT, "maxLength": 1}, "compatible"),
    "a word becomes a list of words": ({"const": "a"}, {"enum": ["a", "b"]}, "compatible"),
    "true is not 1": ({"const": True}, {"const": 1}, "breaking"),
    "1 is 1.0": ({"const": 1}, {"const": 1.0, "title": "One"}, "compatible"),
    "null allowed": (TEXT, {"anyOf": [TEXT, NULL]}, "compatible"),
    "null no longer allowed": ({"anyOf": [TEXT, NULL]}, TEXT, "breaking"),
    "a list of types becomes alternatives": ({"type": ["string", "null"]}, {"anyOf": [TEXT, NULL]}, "compatible"),
    "alternatives become a list of types": ({"anyOf": [TEXT, NULL]}, {"type": ["string", "null"]}, "compatible"),
    "an alternative narrowed": (
        {"anyOf": [TEXT, NULL]},
        {"anyOf": [{**TEXT, "maxLength": 5}, NULL]},
        "breaking",
    ),
    "an alternative of two like it narrowed": (
        {"anyOf": [closed(a=TEXT), closed(b=TEXT)]},
        {"anyOf": [closed(a={**TEXT, "maxLength": 3}), closed(b=TEXT)]},
        "breaking",
    ),
    "an alternative narrowed where another takes the rest": (
        {"anyOf": [closed(a=TEXT), closed(b=TEXT)]},
        {"anyOf": [closed(["a"], a=TEXT), closed(b=TEXT)]},
        "compatible",
    ),
    "exactly one of two that exclude each other": ({"anyOf": [TEXT, NULL]}, {"oneOf": [TEXT, NULL]}, "compatible"),
    "exactly one of two that overlap": (
        {"oneOf": [TEXT, NUMBER]},
        {"oneOf": [TEXT, NUMBER, {"minimum": 3}]},
        "breaking",
    ),
    "everything becomes nothing": (True, False, "breaking"),
    "nothing becomes something": (False, TEXT, "compatible"),
    "a new prohibition": (TEXT, {**TEXT, "not": {"const": "a"}}, "breaking"),
    "a prohibition of what was not there": (TEXT, {**TEXT, "not": {"type": "null"}}, "compatible"),
    "a prohibition lifted in part": ({"not": {"enum": ["a", "b"]}}, {"not": {"enum": ["a"]}}, "compatible"),
    "another prohibition": ({"not": {"const": "a"}}, {"not": {"const": "b"}}, "breaking"),
    # text, numbers, lists
    "text shortened": ({**TEXT, "maxLength": 9}, {**TEXT, "maxLength": 5}, "breaking"),
    "text lengthened": ({**TEXT, "maxLength": 5}, {**TEXT, "maxLength": 9}, "compatible"),
    "a limit removed": ({**TEXT, "minLength": 1}, TEXT, "compatible"),
    "a limit on what is not there": (TEXT, {**TEXT, "minimum": 3}, "compatible"),
    "a bound tightened": ({**NUMBER, "minimum": 0}, {**NUMBER, "minimum": 1}, "breaking"),
    "a bound that excludes itself": ({**NUMBER, "minimum": 0}, {**NUMBER, "exclusiveMinimum": 0}, "breaking"),
    "a bound that includes itself": ({**NUMBER, "exclusiveMaximum": 9}, {**NUMBER, "maximum": 9}, "compatible"),
    "a pattern where there was none": (TEXT, {**TEXT, "pattern": "^a"}, "breaking"),
    "another pattern": ({**TEXT, "pattern": "^a"}, {**TEXT, "pattern": "^[ab]"}, "unknown"),
    "a pattern that the values match": ({"enum": ["ab", "ac"]}, {**TEXT, "pattern": "^a"}, "compatible"),
    "a pattern removed": ({**TEXT, "pattern": "^a"}, TEXT, "compatible"),
    "a format where there was none": (TEXT, {**TEXT, "format": "date-time"}, "breaking"),
    "elements narrowed": (
        {"type": "array", "items": NUMBER},
        {"type": "array", "items": {"type": "integer"}},
        "breaking",
    ),
    "elements must differ": ({"type": "array"}, {"type": "array", "uniqueItems": True}, "breaking"),
    "lists may be longer": ({"type": "array", "maxItems": 2}, {"type": "array", "maxItems": 3}, "compatible"),
    # rules
    "a new rule": (closed(a=TEXT, b=TEXT), {**closed(a=TEXT, b=TEXT), "allOf": [{"required": ["a"]}]}, "breaking"),
    "a new rule with a condition": (
        closed(a=TEXT, b=TEXT),
        {**closed(a=TEXT, b=TEXT), "allOf": [rule("a", "x", {"required": ["b"]})]},
        "breaking",
    ),
    "a new rule that holds anyway": (
        closed(["b"], a=TEXT, b=TEXT),
        {**closed(["b"], a=TEXT, b=TEXT), "allOf": [rule("a", "x", {"required": ["b"]})]},
        "compatible",
    ),
    "a new rule for a new value": (
        closed(["a"], a={"enum": ["x"]}, b=TEXT),
        {**closed(["a"], a={"enum": ["x", "y"]}, b=TEXT), "allOf": [rule("a", "y", {"required": ["b"]})]},
        "compatible",
    ),
    "a rule demands more": (
        {**closed(a=TEXT, b=TEXT, c=TEXT), **rule("a", "x", {"required": ["b"]})},
        {**closed(a=TEXT, b=TEXT, c=TEXT), **rule("a", "x", {"required": ["b", "c"]})},
        "breaking",
    ),
    "a rule demands less": (
        {**closed(a=TEXT, b=TEXT, c=TEXT), **rule("a", "x", {"required": ["b", "c"]})},
        {**closed(a=TEXT, b=TEXT, c=TEXT), **rule("a", "x", {"required": ["b"]})},
        "compatible",
    ),
    "a rule with another condition": (
        {**closed(a=TEXT, b=TEXT), **rule("a", "x", {"required": ["b"]})},
        {**closed(a=TEXT, b=TEXT), **rule("a", "y", {"required": ["b"]})},
        "breaking",
    ),
    "a rule for fewer values": (
        {**closed(a=TEXT, b=TEXT), "if": {"properties": {"a": {"enum": ["x", "y"]}}}, "then": {"required": ["b"]}},
        {**closed(a=TEXT, b=TEXT), "if": {"properties": {"a": {"enum": ["x"]}}}, "then": {"required": ["b"]}},
        "compatible",
    ),
    "a rule says something else otherwise": (
        {"if": TEXT, "then": {"minLength": 1}, "else": {"minimum": 1}},
        {"if": TEXT, "then": {"minLength": 1}, "else": {"minimum": 2}},
        "breaking",
    ),
    "rules in another order": (
        {"allOf": [rule("a", "x", {"required": ["b"]}), rule("a", "y", {"required": ["c"]})]},
        {"allOf": [rule("a", "y", {"required": ["c"]}), rule("a", "x", {"required": ["b"]})]},
        "compatible",
    ),
    "a rule dropped": ({"allOf": [{"maxLength": 3}, {"minLength": 1}]}, {"allOf": [{"maxLength": 3}]}, "compatible"),
    "demands moved into a rule": (closed(["a"], a=TEXT), {"allOf": [closed(["a"], a=TEXT)]}, "compatible"),
    # references
    "a shape narrowed": (referring("A", A=TEXT), referring("A", A={**TEXT, "maxLength": 3}), "breaking"),
    "a shape renamed": (referring("A", A=TEXT), referring("B", B=TEXT), "compatible"),
    "a shape written in place": (referring("A", A=TEXT), TEXT, "compatible"),
    "a shape that nobody uses": (
        {**TEXT, "definitions": {"A": TEXT}},
        {**TEXT, "definitions": {"A": NULL}},
        "compatible",
    ),
    "a shape inside itself widened": (linked(), linked(value=TEXT), "unknown"),
    "a shape inside itself narrowed": (linked(value=TEXT), linked(value={**TEXT, "minLength": 1}), "breaking"),
    "the same file": ({"items": {"$ref": "a.json"}}, {"items": {"$ref": "a.json"}, "title": "A"}, None),
    "another file": ({"items": {"$ref": "a.json"}}, {"items": {"$ref": "b.json"}}, "unknown"),
    "a reference that leads nowhere": (TEXT, {"$ref": "#/definitions/Nobody"}, "unknown"),
    # words and what is not understood
    "words for people": (
        {**TEXT, "title": "A", "description": "Old.", "default": "a", "examples": ["a"]},
        {**TEXT, "title": "B", "description": "New.", "default": "b", "examples": ["b"], "$comment": "Hm."},
        None,
    ),
    "a keyword nobody knows": (TEXT, {**TEXT, "colour": "red"}, "compatible"),
    "a keyword nobody knows, gone": ({**TEXT, "colour": "red"}, TEXT, "compatible"),
    "a keyword nobody knows, deep inside": (
        referring("A", A=TEXT),
        referring("B", B={**TEXT, "colour": "red"}),
        "compatible",
    ),
    "a keyword nobody knows, unchanged": ({**TEXT, "colour": "red"}, {"colour": "red"}, "compatible"),
    "keys by pattern": (
        {"type": "object", "patternProperties": {"^x": TEXT}},
        {"type": "object", "patternProperties": {"^x": NUMBER}},
        "unknown",
    ),
    "a key that matches a pattern": (
        {**closed(xa=TEXT), "patternProperties": {"^x": TEXT}},
        {**closed(), "patternProperties": {"^x": TEXT}},
        "compatible",
    ),
    "a key that matches no pattern": (
        {**closed(ya=TEXT), "patternProperties": {"^x": TEXT}},
        {**closed(), "patternProperties": {"^x": TEXT}},
        "breaking",
    ),
    "another draft": (TEXT, {**TEXT, "$schema": "https://json-schema.org/draft/2020-12/schema"}, "unknown"),
    "an inner document": ({"items": {"$id": "a"}}, {"items": {"$id": "b"}}, None),
    "a type that is none": ({"type": "text"}, {"type": "words"}, "breaking"),
    "a bound that is none": ({"minimum": "3"}, {"minimum": "4"}, "unknown"),
    "a schema that is none": ({"items": 3}, {"items": 4}, "unknown"),
    "no schemas at all": ([1], None, "unknown"),
}


@pytest.mark.parametrize(("old", "new", "expected"), CASES.values(), ids=CASES)
def test_a_change_is_called_what_it_is(old, new, expected):
    assert worst(old, new) == expected, changes(old, new)


@pytest.mark.parametrize("name", NAMES)
def test_a_published_schema_equals_itself_and_accepts_itself_in_other_words(name):
    schema = generated_schema(name, [])

    assert changes(schema, schema) == ()
    assert changes(schema, {**schema, "title": "Another", "description": "Other words."}) == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_new_optional_key_in_any_published_shape_is_compatible(name):
    old = generated_schema(name, [])
    new = copy.deepcopy(old)
    for part in (new, *new.get("definitions", {}).values()):
        if part.get("additionalProperties") is False:
            part["properties"]["a-new-key"] = {"type": "string"}

    assert worst(old, new) == "compatible"
    assert worst(new, old) == "breaking"


def test_a_new_kind_of_adapter_is_compatible_and_one_taken_away_is_not():
    new = generated_schema("adapter.config", [])
    old = copy.deepcopy(new)
    old["properties"]["kind"]["enum"].remove("script")
    old["allOf"] = [each for each in old["allOf"] if each["then"] != {"$ref": "#/definitions/ScriptAdapter"}]
    del old["definitions"]["ScriptAdapter"]

    assert worst(old, new) == "compatible"
    assert worst(new, old) == "breaking"


def test_a_change_names_its_place_and_says_what_happened():
    old = closed(title={**TEXT, "maxLength": 20}, size={"enum": ["s", "m"]}, old=TEXT)
    new = closed(["title"], title={**TEXT, "maxLength": 10}, size={"enum": ["s", "m", "l"]})

    assert changes(old, new) == (
        Change("/properties/title/maxLength", "breaking", "the bound is 10 now; it was 20"),
        Change("/properties/size/enum", "compatible", "`l` is accepted now"),
        Change("/properties/old", "breaking", "`old` is gone"),
        Change("/required", "breaking", "`title` is required now"),
    )


def test_a_change_in_a_shared_shape_is_told_once_and_where_it_stands():
    old = {**closed(a={"$ref": "#/definitions/T"}, b={"$ref": "#/definitions/T"}), "definitions": {"T": TEXT}}
    new = {**old, "definitions": {"T": {**TEXT, "maxLength": 3}}}

    assert [change.path for change in changes(old, new)] == ["/definitions/T/maxLength"]


def test_names_with_slashes_and_tildes_are_written_as_in_a_json_pointer():
    old, new = closed(**{"a/b~c": TEXT}), closed(**{"a/b~c": NUMBER})

    assert [change.path for change in changes(old, new)] == ["/properties/a~1b~0c/type"]


def test_schemas_that_fan_out_without_end_are_compared_once_for_each_shape():
    def fan(kind):
        shapes = {
            f"S{depth}": closed(a={"$ref": f"#/definitions/S{depth + 1}"}, b={"$ref": f"#/definitions/S{depth + 1}"})
            for depth in range(40)
        }
        return referring("S0", S40=kind, **shapes)

    assert worst(fan(TEXT), fan(NUMBER)) == "breaking"


def test_schemas_that_are_nested_very_deeply_are_given_up_on():
    def nest(schema):
        for _ in range(3000):
            schema = {"items": schema}
        return schema

    assert worst(nest(TEXT), nest(NUMBER)) == "unknown"


class Panic(BaseException):
    """What a panic in Rust looks like from here."""


@pytest.mark.parametrize("failure", [ValueError, Panic])
def test_a_proof_that_fails_leaves_the_change_to_a_person(monkeypatch, failure):
    old, new, expected = CASES["an alternative narrowed where another takes the rest"]
    assert worst(old, new) == expected

    def fail(*_args, **_options):
        raise failure

    monkeypatch.setattr(jsonschema_rs, "canonicalize", fail)

    assert worst(old, new) == "unknown"


# What `changes` calls compatible is a proof. So: random schemas, a random edit, and no document may fall between them.

KEYS = ("a", "b", "xa")
WORDS = ("", "a", "ab", "xa", "2026-04-22T15:30:00Z")
PLAIN = (None, True, False, -1, 0, 1, 2, 1.5, *WORDS)
LEAVES = st.sampled_from(PLAIN)
DOCUMENTS = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
FLAT = [
    *PLAIN,
    {},
    *([one, other][:size] for one in PLAIN for other in PLAIN for size in (0, 1, 2)),
    *({"a": one, "b": other} for one in PLAIN for other in PLAIN),
    *({key: value} for key in KEYS for value in (*PLAIN, [], {}, ["a"], {"a": 1}, {"a": {"a": {}}}, [[]])),
]

KEYWORDS = [
    *("type", "enum", "const", "not", "allOf", "anyOf", "oneOf", "if", "then", "else", "minLength", "maxLength"),
    *("pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "items"),
    *("additionalItems", "contains", "minItems", "maxItems", "uniqueItems", "properties", "required"),
    *("additionalProperties", "propertyNames", "patternProperties", "minProperties", "maxProperties", "dependencies"),
]

NUMBERS = st.sampled_from([-1, 0, 1, 1.5, 2])
SIZES = st.sampled_from([0, 1, 2])
PATTERNS = st.sampled_from(["^a", "^x", "a$", "^a?$"])
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
REFERENCES = st.sampled_from(["#", "#/definitions/A", "#/definitions/B"]).map(lambda target: {"$ref": target})


def some_keywords(inner):
    """A schema with a few keywords, others inside it."""
    branches = st.lists(inner, min_size=1, max_size=3)
    keywords = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(DOCUMENTS, min_size=1, max_size=4),
        "const": DOCUMENTS,
        "minLength": SIZES, "maxLength": SIZES, "pattern": PATTERNS, "format": st.just("date-time"),
        "minimum": NUMBERS, "maximum": NUMBERS, "exclusiveMinimum": NUMBERS, "exclusiveMaximum": NUMBERS,
        "multipleOf": st.sampled_from([1, 2, 0.5]),
        "items": inner | st.lists(inner, max_size=2), "additionalItems": inner, "contains": inner,
        "minItems": SIZES, "maxItems": SIZES, "uniqueItems": st.booleans(),
        "properties": st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
        "required": st.lists(st.sampled_from(KEYS), max_size=2, unique=True),
        "additionalProperties": inner | st.booleans(), "propertyNames": inner,
        "patternProperties": st.dictionaries(PATTERNS, inner, min_size=1, max_size=1),
        "minProperties": SIZES, "maxProperties": SIZES,
        "dependencies": st.dictionaries(st.sampled_from(KEYS), inner | st.just(["b"]), max_size=1),
        "allOf": branches, "anyOf": branches, "oneOf": branches,
        "not": inner, "if": inner, "then": inner, "else": inner,
    }  # fmt: skip
    chosen = st.lists(st.sampled_from(KEYWORDS), max_size=4, unique=True)
    return chosen.flatmap(lambda names: st.fixed_dictionaries({name: keywords[name] for name in names}))


SIMPLE = st.booleans() | some_keywords(st.just({}) | TYPES.map(lambda name: {"type": name}))
SCHEMAS = st.recursive(SIMPLE, some_keywords, max_leaves=4)
PARTS = SCHEMAS | REFERENCES


def subschemas(schema):
    """Every object inside a schema that is one itself."""
    if isinstance(schema, dict):
        yield schema
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for part in inner:
        yield from subschemas(part)


@st.composite
def edits(draw):
    """A schema, and the same one after a few edits."""
    old = {**draw(some_keywords(PARTS)), "definitions": {"A": draw(SCHEMAS), "B": draw(PARTS)}}
    new = copy.deepcopy(old)
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.sampled_from(list(subschemas(new))))
        if place and draw(st.booleans()):
            gone = draw(st.sampled_from(sorted(place)))
            del place[gone]
        # Copied, because Hypothesis hands out the same object again and this one may be edited.
        place.update(copy.deepcopy(draw(some_keywords(PARTS))))
    return old, new


def compiled(schema):
    """A validator, or None where the schema is none or refers to itself without end."""
    try:
        return jsonschema_rs.Draft7Validator(schema, validate_formats=True)
    except (jsonschema_rs.ValidationError, ValueError):
        return None


RANDOM = settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))


@RANDOM
@given(edits(), st.lists(DOCUMENTS, max_size=5))
def test_what_is_called_compatible_refuses_nothing_that_was_valid(pair, documents):
    old, new = map(compiled, pair)
    if old is None or new is None or worst(*pair) not in (None, "compatible"):
        return

    refused = [each for each in (*FLAT, *documents) if old.is_valid(each) and not new.is_valid(each)]

    assert refused == [], json.dumps(pair)


ODD = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["$ref", "$id", "$schema", "definitions", *KEYWORDS]), inner, max_size=3)
    ),
    max_leaves=8,
)


@RANDOM
@given(ODD, ODD)
def test_anything_at_all_can_be_compared_with_anything(old, new):
    found = changes(old, new)

    assert found == () or worst(old, new)
    assert changes(old, old) == ()


def test_without_a_proof_nothing_is_proved(monkeypatch):
    def asked(*_):
        raise AssertionError("a hostile schema would hold every thread up")

    monkeypatch.setattr(compare, "_covers", asked)
    old, new = {"type": "object"}, {"type": "object", "allOf": [{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}]}

    assert changes(old, new, proved=False)
    assert changes(old, dict(old), proved=False) == ()
