"""Draft-07 in the words of 2020-12: whoever reads the new schema says of every value what the old one says."""

import copy
import random

import jsonschema_rs
import pytest

from keisei.contracts.draft2020 import DIALECT, FORMATS, modern
from keisei.contracts.registry import NAMES
from keisei.contracts.schema import schema as published


def old(schema):
    return jsonschema_rs.Draft7Validator(schema, validate_formats=True, offline=True)


def new(schema):
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True, offline=True)


def disagreements(schema, values):
    """The values of which the drafts say different things."""
    one, other = old(schema), new(modern(schema))
    return [value for value in values if one.is_valid(value) != other.is_valid(value)]


# Every schema there is, as far as a small one can be.

LOOKS = ({"definitions": {"a": {"$ref": "#/nowhere"}}, "items": [{"$id": "x"}]}, {"$ref": "#/definitions/a"}, [], "x")
"""Values that look like schemas."""
SCALARS = (None, True, 0, 1, 2.5, "", "x", "2026-01-01", "definitions")
KEYS = ("x", "y", "definitions", "$ref", "items", "$id")
KINDS = ("object", "array", "string", "integer", "null")
NOTES = {"default": LOOKS[0], "examples": list(LOOKS), "description": "x", "$comment": "x", "x-ours": LOOKS[1]}
STRANGE = {
    "prefixItems": [False],
    "dependentRequired": {"x": ["y"]},
    "dependentSchemas": {"x": False},
    "unevaluatedProperties": False,
    "unevaluatedItems": False,
    "minContains": 5,
    "$anchor": "here",
    "$dynamicRef": "#nowhere",
    "$defs": {"part": False},
}
"""What draft-07 does not know and 2020-12 obeys."""
LEAVES = (
    True,
    False,
    *({"type": kind} for kind in KINDS),
    {"type": ["string", "null"]},
    *({"const": each} for each in LOOKS),
    {"enum": [*LOOKS, 1]},
    {"minLength": 1, "pattern": "x"},
    *({"format": name} for name in ("date", "uri", "uuid", "duration", "ours")),
    {"minimum": 1},
    {"$ref": "#/definitions/leaf", "type": "null", "properties": {"x": False}, "definitions": {"a": False}},
)
ROOM = (
    *("#", "#/definitions/a", "#/definitions/odd%20~1~0%25", "#named", "http://a.example/sub", "#/x-shared/it"),
    *("http://a.example/sub#/definitions/k", "#/definitions/tuple/items/1", "#/definitions/tuple/additionalItems"),
)
"""Where references of a schema lead."""
INSIDE = ("#", "#/definitions/k", "sub", "#/definitions/leaf")
"""Where they lead inside a part with an address of its own."""


class Maker:
    """Schemas and values by chance. References stand below properties and items, so that no circle is without end."""

    def __init__(self, seed):
        self.chance = random.Random(seed)

    def one(self, values):
        return copy.deepcopy(self.chance.choice(values))

    def some(self, values, most):
        return self.chance.sample(values, self.chance.randint(0, most))

    def value(self, depth=2):
        if depth == 0 or self.chance.random() < 0.3:
            return self.one((*SCALARS, *LOOKS))
        if self.chance.random() < 0.4:
            return [self.value(depth - 1) for _ in range(self.chance.randint(0, 3))]
        return {key: self.value(depth - 1) for key in self.some(KEYS, 3)}

    def schema(self, references, depth=2):
        if depth == 0 or self.chance.random() < 0.2:
            return self.one(LEAVES)
        names = self.chance.sample(sorted(self.keywords(references, 0)), self.chance.randint(1, 4))
        made = {name: self.keywords(references, depth - 1)[name]() for name in names}
        extra = {**NOTES, **STRANGE}
        return {**made, **{name: copy.deepcopy(extra[name]) for name in self.some(sorted(extra), 2)}}

    def below(self, references, depth):
        if self.chance.random() < 0.6:
            return self.schema(references, depth)
        return {
            "$ref": self.one(references),
            **{name: (NOTES | STRANGE)[name] for name in self.some(sorted(STRANGE), 1)},
        }

    def keywords(self, references, depth):
        def below():
            return self.below(references, depth)

        def inner():
            return self.schema(references, depth)

        def several(make, most=3):
            return [make() for _ in range(self.chance.randint(1, most))]

        one = dict.fromkeys(("additionalProperties", "additionalItems", "contains"), below)
        same = dict.fromkeys(("propertyNames", "not", "if", "then", "else"), inner)
        choices = dict.fromkeys(("allOf", "anyOf", "oneOf"), lambda: several(inner, 2))
        return {
            **one,
            **same,
            **choices,
            "properties": lambda: {key: below() for key in self.some(KEYS, 3)},
            "patternProperties": lambda: {key: below() for key in self.some(("^x", "y$"), 1)},
            "items": self.one((below, lambda: several(below))),
            "required": lambda: self.some(KEYS, 1),
            "dependencies": lambda: {
                key: self.one((inner, lambda: self.some(KEYS, 2)))() for key in self.some(KEYS, 2)
            },
        }

    def whole(self):
        """A schema with every kind of place that a reference can lead to."""
        leaf = self.one(LEAVES[:-1])
        sub = {
            "definitions": {"k": self.schema(INSIDE), "leaf": leaf},
            "properties": {"x": {"$ref": "#/definitions/k"}},
        }
        root = self.schema(ROOM, 3)
        return {
            **(root if isinstance(root, dict) else {}),
            "definitions": {
                "a": self.schema(ROOM),
                "leaf": leaf,
                "odd /~%": self.schema(ROOM),
                "name": {"$id": "#named", "type": self.one(KINDS)},
                "inner": {"$id": "http://a.example/sub", **sub},
                "tuple": {"items": [True, self.schema(ROOM)], "additionalItems": self.schema(ROOM)},
            },
            "x-shared": {"it": self.schema(ROOM)},
        }


@pytest.mark.parametrize("start", range(0, 600, 100))
def test_both_drafts_say_the_same_of_every_value(start):
    for seed in range(start, start + 100):
        maker = Maker(seed)
        schema, values = maker.whole(), [*LOOKS, *(maker.value() for _ in range(20))]
        before = copy.deepcopy(schema)

        assert disagreements(schema, values) == [], seed
        assert schema == before


@pytest.mark.parametrize("name", NAMES)
def test_our_own_schemas_become_modern_and_keep_their_examples(name):
    schema = published(name)
    one, other = old(schema), new(modern(schema))

    for example in schema.get("examples", [{}]):
        assert one.is_valid(example) is other.is_valid(example)
        assert other.is_valid(example) or not schema.get("examples")
    assert not other.is_valid([])


# One by one, so that a difference can be read.

TUPLE = {"items": [{"type": "integer"}, {"type": "string"}], "additionalItems": {"type": "null"}}
CASES = {
    "tuple": (TUPLE, {"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "null"}}),
    "tuple-open": ({"items": [True]}, {"prefixItems": [True]}),
    "tuple-closed": ({"items": [True], "additionalItems": False}, {"prefixItems": [True], "items": False}),
    "additional-alone": ({"additionalItems": False}, {}),
    "additional-beside-one": ({"items": {"type": "null"}, "additionalItems": False}, {"items": {"type": "null"}}),
    "dependencies": (
        {"dependencies": {"a": ["b"], "c": {"required": ["d"]}, "e": False}},
        {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}, "e": False}},
    ),
    "siblings": (
        {"definitions": {"a": True}, "properties": {"p": {"$ref": "#/definitions/a", "type": "null", "title": "T"}}},
        {"properties": {"p": {"$ref": "#/$defs/a", "title": "T"}}, "$defs": {"a": True}},
    ),
    "property-called-definitions": (
        {"properties": {"definitions": {"properties": {"$ref": {"type": "string"}}}}},
        {"properties": {"definitions": {"properties": {"$ref": {"type": "string"}}}}},
    ),
    "into-a-property": (
        {"properties": {"definitions": {"type": "string"}, "b": {"$ref": "#/properties/definitions"}}},
        {
            "properties": {"definitions": {"type": "string"}, "b": {"$ref": "#/$defs/definitions"}},
            "$defs": {"definitions": {"type": "string"}},
        },
    ),
    "two-of-one-name": (
        {
            "properties": {"p": {"$ref": "#/definitions/a"}, "q": {"$ref": "#/definitions/b/definitions/a"}},
            "definitions": {"a": {"type": "null"}, "b": {"definitions": {"a": {"type": "string"}}}},
        },
        {
            "properties": {"p": {"$ref": "#/$defs/a"}, "q": {"$ref": "#/$defs/a-2"}},
            "$defs": {"a": {"type": "null"}, "a-2": {"type": "string"}},
        },
    ),
    "odd-name": (
        {"items": {"$ref": "#/definitions/a%20b"}, "definitions": {"a b": {"type": "null"}}},
        {"items": {"$ref": "#/$defs/part"}, "$defs": {"part": {"type": "null"}}},
    ),
    "unused": ({"type": "object", "definitions": {"a": True}}, {"type": "object"}),
    "root": (
        {"items": {"$ref": "#"}},
        {"items": {"$ref": "#/$defs/part"}, "$defs": {"part": {"items": {"$ref": "#/$defs/part"}}}},
    ),
    "circle": (
        {"items": {"$ref": "#/definitions/a"}, "definitions": {"a": {"items": {"$ref": "#/definitions/a"}}}},
        {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}},
    ),
    "named": (
        {"items": {"$ref": "#me"}, "definitions": {"a": {"$id": "#me", "type": "null"}}},
        {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "null"}}},
    ),
    "id": (
        {"$id": "http://a.example/b", "$schema": "http://json-schema.org/draft-07/schema#", "type": "null"},
        {"type": "null"},
    ),
    "below-an-address-where-nobody-looks": (
        {
            "items": {"$ref": "http://a.example/s#/x-o/it"},
            "definitions": {
                "k": False,
                "s": {
                    "$id": "http://a.example/s",
                    "x-o": {"it": {"items": {"$ref": "#/definitions/k"}}},
                    "definitions": {"k": {"type": "null"}},
                },
            },
        },
        {"items": {"$ref": "#/$defs/it"}, "$defs": {"it": {"items": {"$ref": "#/$defs/k"}}, "k": {"type": "null"}}},
    ),
    "values": (
        {"const": LOOKS[0], "enum": list(LOOKS), "default": LOOKS[1], "examples": list(LOOKS)},
        {"const": LOOKS[0], "enum": list(LOOKS), "default": LOOKS[1], "examples": list(LOOKS)},
    ),
    "strange-words": ({"type": "array", "prefixItems": [False], "unevaluatedItems": False}, {"type": "array"}),
    "format": ({"format": "date"}, {"format": "date"}),
    "format-of-later": ({"format": "uuid"}, {}),
    "booleans": ({"properties": {"a": True, "b": False}}, {"properties": {"a": True, "b": False}}),
}


@pytest.mark.parametrize(("schema", "expected"), CASES.values(), ids=CASES)
def test_each_word_has_its_new_one(schema, expected):
    assert modern(schema) == {"$schema": DIALECT, **expected}
    assert disagreements(schema, [[1, "x", None], [1, "x", 1], ["x"], [], {}, {"a": 1}, {"c": 1}, None, *LOOKS]) == []


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_of_draft_07_is_kept(name):
    assert disagreements({"format": name}, ["", "x", "%", "2026-01-01", "[", "a@b.example", "/a/b", "1.2.3.4"]) == []


def test_it_can_be_put_into_another_schema_circles_included():
    schema = {"type": "array", "items": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}}

    whole = modern(schema, lambda inner: {"type": "object", "properties": {"result": inner}, "required": ["result"]})

    assert new(whole).is_valid({"result": [None, [None, []]]})
    assert not new(whole).is_valid({"result": [None, [1]]})
    assert not new(whole).is_valid([None])


@pytest.mark.parametrize(
    "reference", ["#/definitions/b", "#/type", "other.json", "https://a.example/x", "#name", "http://[", "", 7, None]
)
def test_a_reference_that_leads_nowhere_demands_nothing_and_is_never_kept(reference):
    made = modern(
        {"type": "object", "properties": {"p": {"$ref": reference, "title": "P"}}, "definitions": {"a": True}}
    )

    kept = {"$ref": "#/$defs/part", "title": "P"} if reference == "" else {"title": "P"}  # the root itself
    assert made["properties"] == {"p": kept}
    new(made)


def test_texts_are_not_looked_into_any_more():
    schema = {"contentEncoding": "base64", "contentMediaType": "application/json"}

    assert not old(schema).is_valid("%")
    assert new(modern(schema)).is_valid("%")
    assert {key: value for key, value in modern(schema).items() if key != "$schema"} == schema


def test_notes_can_be_left_out_and_nothing_else_can():
    part = {"$ref": "#/definitions/a", "title": "T", "description": "D"}
    schema = {"title": "T", "type": "object", "properties": {"title": part}, "definitions": {"a": {"title": "T"}}}

    assert modern(schema, without=("title", "type", "properties")) == {
        "$schema": DIALECT,
        "type": "object",
        "properties": {"title": {"$ref": "#/$defs/a", "description": "D"}},
        "$defs": {"a": {}},
    }


def test_thousands_of_references_are_no_burden():
    names = [f"n{number}" for number in range(3000)]
    schema = {
        "properties": {name: {"$ref": f"#/definitions/{name}/properties/x"} for name in names},
        "definitions": {name: {"properties": {"x": {"const": name}}} for name in names},
    }

    made = modern(schema)

    assert len(made["$defs"]) == len(names)
    assert made["$defs"][made["properties"]["n2999"]["$ref"].removeprefix("#/$defs/")] == {"const": "n2999"}
