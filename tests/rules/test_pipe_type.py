"""Types of pipe values: the declared is known, the closed is missed, and what is not understood is let through."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.pipe_type import Gap, Typed, judged, kinds_of, many, names_of, part_of, standalone
from keisei.rules.schema_part import ALWAYS

INT, TEXT = {"type": "integer"}, {"type": "string"}


def closed(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def walked(schema, *parts):
    found = Typed(schema, schema)
    for part in parts:
        found = part_of(found, part)
        if isinstance(found, Gap):
            return found
    return found


@pytest.mark.parametrize(
    ("schema", "parts", "schema_found", "sure"),
    [
        pytest.param(closed(["a"], a=INT), ["a"], INT, True, id="required"),
        pytest.param(closed([], a=INT), ["a"], INT, False, id="optional"),
        pytest.param({"properties": {"a": INT}, "required": ["a"]}, ["a"], INT, False, id="perhaps-no-object"),
        pytest.param(
            {"type": ["object", "null"], "properties": {"a": INT}, "required": ["a"]}, ["a"], INT, False, id="null"
        ),
        pytest.param(closed(["a"], a=closed(["b"], b=TEXT)), ["a", "b"], TEXT, True, id="deep"),
        pytest.param({"type": "array", "items": INT}, [0], INT, False, id="item"),
        pytest.param({"type": "array", "items": INT, "minItems": 2}, [1], INT, True, id="item-that-is-there"),
        pytest.param({"type": "array", "items": INT}, [None], INT, True, id="any-item"),
        pytest.param({"type": "array", "items": [INT, TEXT]}, [1], TEXT, False, id="place"),
        pytest.param({"type": "array", "items": [INT], "additionalItems": TEXT}, [4], TEXT, False, id="beyond-places"),
        pytest.param({"type": "object", "additionalProperties": INT}, ["x"], INT, False, id="map"),
        pytest.param(closed(["0"], **{"0": INT}), [0], INT, True, id="a-number-is-a-key-of-an-object"),
        pytest.param(
            {"allOf": [closed(["a"], a=INT), {"properties": {"a": {"minimum": 3}}}]},
            ["a"],
            {"allOf": [INT, {"minimum": 3}]},
            True,
            id="both",
        ),
        pytest.param(
            {"anyOf": [closed(["a"], a=INT), closed(["a"], a=TEXT)]}, ["a"], {"anyOf": [INT, TEXT]}, True, id="either"
        ),
        pytest.param({"oneOf": [closed(["a"], a=INT), closed(["b"], b=TEXT)]}, ["a"], INT, False, id="only-in-one"),
        pytest.param(
            {"$ref": "#/definitions/x", "definitions": {"x": closed(["a"], a=INT)}}, ["a"], INT, True, id="ref"
        ),
        pytest.param(
            {"$ref": "#/definitions/a~1b%25", "definitions": {"a/b%": closed(["a"], a=INT)}},
            ["a"],
            INT,
            True,
            id="odd-ref",
        ),
        pytest.param(
            {"$ref": "#/definitions/x", "definitions": {"x": {"$ref": "#/definitions/x"}}},
            ["a"],
            ALWAYS,
            False,
            id="ref-in-a-circle",
        ),
        pytest.param({"$ref": "http://elsewhere"}, ["a"], ALWAYS, False, id="ref-elsewhere"),
        pytest.param({"$ref": "#/nowhere"}, ["a"], ALWAYS, False, id="ref-nowhere"),
        pytest.param({}, ["a", "b", 0], ALWAYS, False, id="nothing-said"),
        pytest.param(True, ["a"], ALWAYS, False, id="true"),
        pytest.param(
            {"type": "object", "properties": {"a": INT}, "additionalProperties": True}, ["b"], ALWAYS, False, id="open"
        ),
        pytest.param(
            {"type": "object", "properties": {"a": INT}, "patternProperties": {"^b": INT}},
            ["b"],
            ALWAYS,
            False,
            id="pattern",
        ),
        pytest.param(
            {"type": "object", "properties": {"a": INT}, "if": {}, "then": {"properties": {"b": INT}}},
            ["b"],
            ALWAYS,
            False,
            id="then",
        ),
        pytest.param(
            {"properties": "nonsense", "required": 5, "allOf": 3, "type": 7, "items": "x"},
            ["a"],
            ALWAYS,
            False,
            id="nonsense",
        ),
    ],
)
def test_what_is_known_of_a_part(schema, parts, schema_found, sure):
    found = walked(schema, *parts)

    assert isinstance(found, Typed), found
    assert (found.schema, found.sure) == (schema_found, sure)


@pytest.mark.parametrize(
    ("schema", "part", "gap"),
    [
        pytest.param(closed([], a=INT, b=INT), "c", Gap(frozenset(), ("a", "b")), id="closed"),
        pytest.param(
            {"type": "object", "properties": {"a": INT}}, "c", Gap(frozenset(), ("a",)), id="nobody-declared-it"
        ),
        pytest.param(INT, "c", Gap(frozenset({"integer"}), ()), id="a-number-has-no-parts"),
        pytest.param({"type": "array", "items": INT}, "c", Gap(frozenset({"array"}), ()), id="a-list-has-no-names"),
        pytest.param(TEXT, 0, Gap(frozenset({"string"}), ()), id="a-text-has-no-places"),
        pytest.param({"type": "array", "maxItems": 1}, 1, Gap(frozenset(), ()), id="beyond-the-end"),
        pytest.param(
            {"type": "array", "items": [INT], "additionalItems": False}, 1, Gap(frozenset(), ()), id="no-more"
        ),
        pytest.param({"anyOf": [closed([], a=INT), TEXT]}, "c", Gap(frozenset(), ("a",)), id="in-no-branch"),
        pytest.param({"anyOf": [INT, TEXT]}, "c", Gap(frozenset({"integer", "string"}), ()), id="no-branch-has-parts"),
        pytest.param({"const": 5}, "c", Gap(frozenset({"number", "integer"}), ()), id="const"),
        pytest.param(False, "c", Gap(frozenset(), ()), id="false"),
    ],
)
def test_what_is_certainly_not_there(schema, part, gap):
    assert part_of(Typed(schema, schema), part) == gap


def test_a_schema_that_multiplies_is_not_looked_through_for_ever():
    definitions = {f"d{n}": {"allOf": [{"$ref": f"#/definitions/d{n + 1}"}] * 2} for n in range(40)}
    schema = {"$ref": "#/definitions/d0", "definitions": definitions}

    found = part_of(Typed(schema, schema), "a")

    assert found == Typed(ALWAYS, schema, sure=False)
    assert names_of(Typed(schema, schema)) == ((), frozenset())
    assert "string" in kinds_of(Typed(schema, schema))


def test_a_schema_that_nests_for_ever_is_let_through():
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    for _ in range(3_000):
        schema = {"allOf": [schema]}

    assert part_of(Typed(schema, schema), "a") == Typed(ALWAYS, schema, sure=False)
    assert judged(Typed(schema, ALWAYS), Typed(INT, INT))[0] == "perhaps"


@pytest.mark.parametrize(
    ("source", "target", "verdict"),
    [
        (INT, INT, "fits"),
        (INT, {"type": "number"}, "fits"),
        (INT, TEXT, "never"),
        (INT, {"type": "integer", "minimum": 1}, "perhaps"),
        (TEXT, {"enum": ["a", "b"]}, "likely"),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, "fits"),
        ({"enum": ["c"]}, {"enum": ["a", "b"]}, "never"),
        (True, INT, "perhaps"),
        (INT, True, "fits"),
        (INT, {}, "fits"),
    ],
)
def test_whether_one_value_may_stand_for_another(source, target, verdict):
    assert judged(Typed(source, source), Typed(target, target))[0] == verdict


def test_a_part_takes_what_it_refers_to_along():
    root = closed(["x"], x={"$ref": "#/definitions/id"}) | {"definitions": {"id": {"type": "integer", "minimum": 1}}}
    found = part_of(Typed(root, root), "x")

    assert isinstance(found, Typed)
    assert judged(found, Typed({"type": "integer", "minimum": 1}, ALWAYS)) == ("fits", None)
    assert judged(found, Typed(TEXT, ALWAYS))[0] == "never"
    assert judged(many(found), Typed({"type": "array", "items": INT}, ALWAYS))[0] == "fits"
    assert standalone(Typed(root, root)) is root


ODD = st.recursive(
    st.sampled_from([True, False, None, 5, "object", "array", {}, [], "#/definitions/a", "#", ["object", 3, []]]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "required",
                    "allOf",
                    "anyOf",
                    "oneOf",
                    "$ref",
                    "enum",
                    "const",
                    "a",
                    "definitions",
                    "additionalProperties",
                    "additionalItems",
                    "minItems",
                    "maxItems",
                    "patternProperties",
                    "then",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=100, database=None)
@given(ODD, st.lists(st.sampled_from(["a", "b", 0, 1, None]), max_size=3), ODD)
def test_no_schema_is_too_odd_to_be_asked(schema, parts, target):
    found = walked(schema, *parts)

    if isinstance(found, Typed):
        assert kinds_of(found) is not None
        assert names_of(found) is not None
        assert judged(found, Typed(target, target))[0] in ("fits", "never", "perhaps")
