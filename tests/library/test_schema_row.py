"""Schemas as rows: what rows say comes back as rows, what they cannot say stays raw, and nothing is lost on the way."""

import json

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import settings as within
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.library.inference import inferred
from keisei.library.schema_row import row_faults
from keisei.library.schema_row_draft import draft_of, inferred_draft, rows_draft, schema_in, side_of, too_rich
from keisei.records.draft import SchemaDraft, SchemaRow
from keisei.records.error import OperatorError

INPUT, OUTPUT = side_of("kei-x::y", "input"), side_of("kei-x::y", "output")
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0"), min_size=1, max_size=8)
FEW = within(max_examples=60, deadline=None, database=None)


def leaves(kind):
    more = {}
    if kind == "string":
        more["choices"] = st.lists(NAMES, max_size=3, unique=True).map(tuple)
        more["max_length"] = st.none() | st.integers(0, 50)
    if kind in ("integer", "number"):
        more["minimum"] = st.none() | st.integers(-5, 5)
        more["maximum"] = st.none() | st.integers(5, 9)
    if kind == "array":
        more["items"] = st.none() | st.sampled_from(["string", "integer", "boolean"])
    told = {"required": st.booleans()} | ({} if kind == "any" else {"nullable": st.booleans()})
    return st.builds(SchemaRow, type=st.just(kind), description=st.just("") | NAMES, **told, **more)


LEAF = st.sampled_from(["string", "integer", "number", "boolean", "array", "any"]).flatmap(leaves)


def rows(row):
    """Rows, each with another name."""
    named = st.lists(st.tuples(NAMES, row), max_size=4, unique_by=lambda each: each[0])
    return named.map(lambda pairs: tuple(replace(row, name=name) for name, row in pairs))


def nested(children):
    fields = st.none() | rows(children)
    objects = st.builds(SchemaRow, type=st.just("object"), fields=fields, required=st.booleans())
    lists = st.builds(SchemaRow, type=st.just("array"), items=st.just("object"), fields=fields)
    return objects | lists


ROWS = rows(st.recursive(LEAF, nested, max_leaves=4))


def schema(draft, side=INPUT):
    made, problems = schema_in(draft, side)
    assert problems == []
    return made


def plain(rows):
    """Rows without examples, which the whole gets in its own way."""
    return tuple(replace(row, example=None) for row in rows)


# --- there and back ---------------------------------------------------------------------------------------------------


@FEW
@given(ROWS, st.sampled_from([INPUT, OUTPUT]), st.none() | st.booleans(), st.just("") | NAMES)
def test_rows_become_a_schema_and_the_same_rows_again(rows, side, closed, title):
    draft = SchemaDraft(rows=rows, closed=closed, title=title, description="d")
    if list(row_faults(rows, "rows")):
        return
    made = schema(draft, side)

    again = rows_draft(made, side)

    assert plain(again.rows) == rows
    assert list(made["properties"]) == [row.name for row in rows]
    assert schema(again, side) == made
    jsonschema_rs.Draft7Validator(made)


@FEW
@given(ROWS)
def test_the_example_that_rows_make_fits_their_schema(rows):
    if list(row_faults(rows, "rows")) or any(row.choices and row.max_length is not None for row in rows):
        return  # choices that are longer than they may be are the author's to mend
    made = schema(SchemaDraft(rows=rows))
    if '"enum"' in json.dumps(made) and '"maxLength"' in json.dumps(made):
        return

    assert list(jsonschema_rs.Draft7Validator(made).iter_errors(made["examples"][0])) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@FEW
@given(st.dictionaries(NAMES, JSON, max_size=4), st.sampled_from([INPUT, OUTPUT]))
def test_what_an_example_suggests_is_what_its_rows_make_or_stays_raw(example, side):
    wanted = inferred(example, side.title, closed=side.closed)

    draft = inferred_draft(example, side)

    assert json.dumps(schema(draft, side), sort_keys=True) == json.dumps(wanted, sort_keys=True)
    assert (draft.rows is None) == (draft.raw is not None) == (too_rich(wanted, side) is not None)


def test_the_order_of_rows_is_the_order_of_properties():
    one, two = SchemaRow(name="b"), SchemaRow(name="a", required=False, example="x")

    assert list(schema(SchemaDraft(rows=(one, two)))["properties"]) == ["b", "a"]
    assert list(schema(SchemaDraft(rows=(two, one)))["properties"]) == ["a", "b"]


def test_examples_stand_in_the_rows_and_further_ones_are_kept():
    first, second = {"n": 3, "s": "x"}, {"n": 4, "s": "y"}
    made = schema(
        SchemaDraft(rows=(SchemaRow(name="n", type="integer"), SchemaRow(name="s")), examples=(first, second))
    )

    draft = rows_draft(made, INPUT)

    assert [row.example for row in draft.rows] == [3, "x"]
    assert draft.examples == (second,)
    assert schema(draft)["examples"] == [first, second]


@pytest.mark.parametrize("first", [{"n": None}, {"n": 1, "more": 2}, {"n": "12"}, 5], ids=str)
def test_an_example_that_rows_would_tell_otherwise_is_kept_whole(first):
    row = SchemaRow(name="n", type="integer", nullable=True)
    made = schema(SchemaDraft(rows=(row,), closed=False, examples=(first,)))

    draft = rows_draft(made, INPUT)

    assert draft.examples == (first,)
    assert schema(draft)["examples"] == [first]


# --- what rows cannot say ---------------------------------------------------------------------------------------------

RICH = {
    "pattern": {"properties": {"a": {"type": "string", "pattern": "x"}}},
    "anyOf": {"properties": {"a": {"anyOf": [{}]}}},
    "$ref": {"properties": {"a": {"$ref": "#"}}},
    "two types": {"properties": {"a": {"type": ["string", "integer"]}}},
    "true": {"properties": {"a": True}},
    "items": {"properties": {"a": {"type": "array", "items": {"type": "string", "minLength": 1}}}},
    "open inside": {"properties": {"a": {"type": "object", "properties": {}}}, "additionalProperties": False},
    "enum of numbers": {"properties": {"a": {"enum": [1]}}},
    "required": {"properties": {}, "required": ["gone"]},
    "allOf": {"allOf": [{}]},
    "additionalProperties": {"additionalProperties": {"type": "string"}},
    "no name": {"properties": {"": {}}},
    "description": {"properties": {"a": {"type": "string", "description": 5}}},
    "minimum": {"properties": {"a": {"type": "integer", "minimum": "1"}}},
    "format": {"properties": {"a": {"type": "string", "format": "date"}}},
    "property examples": {"properties": {"a": {"type": "string", "examples": ["x"]}}},
}


@pytest.mark.parametrize("part", RICH.values(), ids=RICH)
def test_what_is_too_rich_for_rows_says_so_and_stays_as_it_is(part):
    rich = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", **part}

    with pytest.raises(OperatorError, match="too rich for rows"):
        rows_draft(rich, INPUT)
    assert draft_of(rich, INPUT) == SchemaDraft(raw=rich)
    assert schema(draft_of(rich, INPUT)) == rich
    assert "edit it as raw JSON" in too_rich(rich, INPUT)


@pytest.mark.parametrize("part", [{"properties": []}, {"required": "a"}, {"properties": {"a": []}}], ids=str)
def test_what_is_not_even_a_schema_is_too_rich(part):
    with pytest.raises(OperatorError, match="too rich for rows"):
        rows_draft({"type": "object", **part}, INPUT)


# --- what is wrong with a draft ---------------------------------------------------------------------------------------

WRONG = {
    "no name": (SchemaRow(), "name"),
    "a bound of a text": (SchemaRow(name="a", minimum=1), "minimum"),
    "a length of a number": (SchemaRow(name="a", type="number", min_length=1), "min_length"),
    "upside down": (SchemaRow(name="a", type="number", minimum=2, maximum=1), "maximum"),
    "infinite": (SchemaRow(name="a", type="number", maximum=float("inf")), "maximum"),
    "negative": (SchemaRow(name="a", max_length=-1), "max_length"),
    "choices of a number": (SchemaRow(name="a", type="integer", choices=("x",)), "choices"),
    "a choice twice": (SchemaRow(name="a", choices=("x", "x")), "choices"),
    "items of a text": (SchemaRow(name="a", items="string"), "items"),
    "fields of a text": (SchemaRow(name="a", fields=()), "fields"),
    "no JSON": (SchemaRow(name="a", type="integer", example="three"), "example"),
}


@pytest.mark.parametrize(("row", "field"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_row_is_told_where_it_stands(row, field):
    made, problems = schema_in(SchemaDraft(rows=(SchemaRow(name="ok"), row)), INPUT)

    assert made is not None
    assert f"input.rows[1].{field}" in [each.field for each in problems]


def test_two_rows_of_one_name_and_rows_within_rows_are_told():
    inner = SchemaRow(name="o", type="object", fields=(SchemaRow(name="x"), SchemaRow(name="x")))

    faults = dict(row_faults((inner, SchemaRow(name="o")), "rows"))

    assert set(faults) == {"rows[0].fields[1].name", "rows[1].name"}


@pytest.mark.parametrize(
    "draft",
    [SchemaDraft(raw="{"), SchemaDraft(raw="[]"), SchemaDraft(raw=[1]), SchemaDraft(raw='{"a": NaN}'),
     SchemaDraft(raw="[" * 100_000), SchemaDraft(raw="x" * 300_000), SchemaDraft(example="no"), SchemaDraft(example=5),
     SchemaDraft(example={"a": "\ud800"}), SchemaDraft(example={"a": 2**60})],
    ids=lambda draft: str(draft.raw or draft.example)[:12].encode("ascii", "replace").decode(),
)  # fmt: skip
def test_what_is_no_schema_is_a_problem_of_its_field(draft):
    made, problems = schema_in(draft, OUTPUT)

    assert made is None
    assert [each.field for each in problems] == ["output.raw" if draft.raw is not None else "output.example"]


def test_a_raw_schema_gets_its_draft_and_a_text_of_a_form_is_read_as_what_it_is():
    assert schema(SchemaDraft(raw='{"type": "object"}'))["$schema"].endswith("draft-07/schema#")
    made = schema(
        SchemaDraft(rows=(SchemaRow(name="n", type="integer", example="3"), SchemaRow(name="s", example="3")))
    )
    assert made["examples"] == [{"n": 3, "s": "3"}]
