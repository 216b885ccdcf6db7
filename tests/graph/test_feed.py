"""Feeding and supplying: whose output serves whose input, by the definition and nothing else."""

import json
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import keisei
from keisei.contracts.containment import fits
from keisei.graph import feed
from keisei.graph.shape import shape
from keisei.graph.vault import Vault
from keisei.graph.vault_table import CROWD
from keisei.settings import read_settings
from keisei.wiring.atoms import open_shelf
from tests.graph.leaf_world import batch, filled, leaf
from tests.graph.schema_world import schemas

STRING = {"type": "string"}


def closed(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def feeding(vault, kind="feeds"):
    """Who feeds whom, by id."""
    with vault.reading() as db:
        return set(
            db.execute(
                "SELECT one.id, other.id FROM edges JOIN nodes AS one ON one.key = source "
                "JOIN nodes AS other ON other.key = target WHERE edges.kind = ?",
                (kind,),
            )
        )


def supplying(vault):
    return feeding(vault, "supplies")


def wanted(schema):
    """What is required of a schema that says nothing but fields, anything beside it allowed; None of another."""
    if not schema.keys() <= {"type", "properties", "required", "additionalProperties", "definitions"}:
        return None
    required = schema.get("required", [])
    return {**schema, "properties": {each: schema["properties"][each] for each in required}} | {
        "additionalProperties": True
    }


def is_contained(one, other):
    return other is not None and fits(json.loads(one.text), other).answer == "yes"


def defined(given, taken, most):
    """The same by comparing everybody with everybody."""
    given, taken = ({each.sha: each for each in map(shape, side) if each} for side in (given, taken))
    counts = [Counter(field for each in side.values() for field in each.fields) for side in (given, taken)]
    crowded = {field for count in counts for field, number in count.items() if number > most}
    pairs = [(one, other) for one, other in product(given.values(), taken.values()) if other.always <= one.always]
    feeds = {
        (one.sha, other.sha, "feeds")
        for one, other in pairs
        if (one.fields & other.fields) - crowded and is_contained(one, json.loads(other.text))
    }
    return feeds | {
        (one.sha, other.sha, "supplies")
        for one, other in pairs
        if other.always - crowded and is_contained(one, wanted(json.loads(other.text)))
    }


things = st.dictionaries(st.sampled_from("uvwxyz"), st.tuples(schemas, schemas), max_size=6)


@settings(database=None, derandomize=True, max_examples=40)
@given(st.lists(things, min_size=1, max_size=4), st.integers(1, 3))
def test_what_serves_what_follows_from_the_shapes_that_are_there_now(steps, most):
    vault, before = Vault(None), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feed, "MANY", feed.MANY.replace(str(CROWD), str(most)))
        for step in steps:
            made = [leaf(name, takes=takes, gives=gives) for name, (takes, gives) in step.items()]
            vault.apply(batch(*made, gone=[("atom", name) for name in before.keys() - step.keys()]))
            before = step

    taken, given = zip(*before.values(), strict=True) if before else ((), ())
    assert set(vault.db.execute("SELECT gives, takes, kind FROM flows")) == defined(given, taken, most)


def test_a_field_that_becomes_crowded_relates_nobody_until_it_is_so_no_longer():
    takes = [leaf(f"t{number}", takes=closed(q=STRING, **{f"own{number}": STRING})) for number in range(CROWD)]
    vault = filled(leaf("giver", gives=closed(["q"], q=STRING)), *takes)
    assert len(feeding(vault)) == CROWD

    vault.apply(batch(leaf("more", takes=closed(q=STRING))))
    assert feeding(vault) == set()

    vault.apply(batch(gone=[("atom", "t0")]))
    assert feeding(vault) == {("giver", each.name) for each in takes[1:]} | {("giver", "more")}


def test_equal_shapes_are_one_and_relate_nobody_when_too_many_have_it():
    takes = [leaf(f"t{number}", takes={**closed(q=STRING), "title": f"{number}"}) for number in range(CROWD)]
    vault = filled(leaf("giver", gives=closed(["q"], q=STRING)), *takes)
    assert len(feeding(vault)) == CROWD
    assert vault.db.execute("SELECT count(*) FROM shapes").fetchall() == [(2,)]

    vault.apply(batch(leaf("more", takes=closed(q=STRING))))
    assert feeding(vault) == set()

    vault.apply(batch(gone=[("atom", "more")]))
    assert len(feeding(vault)) == CROWD


def test_a_shape_that_too_many_give_serves_nobody():
    gives = [leaf(f"g{number}", gives=closed(["q"], q=STRING)) for number in range(CROWD + 1)]
    vault = filled(leaf("taker", takes=closed(["q"], q=STRING)), *gives)
    assert feeding(vault) == supplying(vault) == set()

    vault.apply(batch(gone=[("atom", "g0")]))
    assert feeding(vault) == supplying(vault) == {(each.name, "taker") for each in gives[1:]}


def test_what_is_said_to_people_is_not_of_the_shape_but_a_field_may_be_called_so():
    plain = closed(["title"], title=STRING, default=STRING)
    said = closed(["title"], title={**STRING, "title": "Title", "default": "x"}, default={**STRING, "$comment": "x"})
    said |= {"$id": "https://example.org/x", "description": "x", "examples": [{"title": "a"}]}

    assert shape(said) == shape(plain)
    assert shape(plain).fields == {"title", "default"}
    assert shape({**plain, "required": []}) != shape(plain)
    assert shape(closed(a={"const": {"title": "x"}})) != shape(closed(a={"const": {}}))


@pytest.mark.parametrize(
    "schema",
    [None, True, [], "x", {"type": "object"}, {"properties": {"a": {}}}, {"type": "array", "items": {}}, {1: 2}],
)
def test_what_need_not_be_an_object_with_fields_has_no_shape(schema):
    assert shape(schema) is None


def test_a_schema_that_leads_to_itself_or_is_too_large_has_no_shape():
    assert shape({"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/a"}}}) is None
    assert shape(closed(a={"enum": ["x" * 200_000]})) is None


def test_an_atom_does_not_feed_itself():
    both = closed(["q"], q=STRING)

    assert feeding(filled(leaf("a", takes=both, gives=both))) == set()
    assert feeding(filled(leaf("a", takes=both, gives=both), leaf("b", gives=both))) == {("b", "a")}


def test_who_gives_all_that_is_required_supplies_whatever_else_there_is():
    giver = leaf("giver", gives=closed(["a", "b", "c"], a=STRING, b={"type": "integer"}, c={"enum": ["x", "y"]}))
    takers = {
        "fewer": closed(["a"], a=STRING, more=STRING),
        "wider": closed(["b", "c"], b={"type": "number"}, c=STRING),
        "narrower": closed(["c"], c={"const": "x"}),
        "another type": closed(["a"], a={"type": "integer"}),
        "something else": closed(["a", "d"], a=STRING, d=STRING),
        "nothing": closed(a=STRING, b={"type": "integer"}, c=STRING),
        "more than fields": {**closed(["a"], a=STRING), "minProperties": 1},
        "unsaid": {"type": "object", "required": ["a"]},
        "never": {"type": "object", "properties": {"a": STRING}, "required": ["b"], "additionalProperties": False},
        "itself": closed(["a"], a={"$ref": "#"}),
    }
    vault = filled(giver, *(leaf(name, takes=takes) for name, takes in takers.items()))

    assert supplying(vault) == {("giver", "fewer"), ("giver", "wider"), ("giver", "unsaid")}
    assert feeding(vault) == {("giver", "nothing"), ("giver", "unsaid")}


def test_references_are_followed_on_both_sides():
    text = {"text": STRING, "tree": {"type": "array", "items": {"$ref": "#/definitions/tree"}}}
    tree = {"tree": {"type": "array", "items": {"$ref": "#/definitions/tree"}}, "text": {"type": "integer"}}
    by_name = {"a": {"$ref": "#/definitions/text"}}
    vault = filled(
        leaf("giver", gives={**closed(["a", "b"], b=STRING, **by_name), "definitions": text}),
        leaf("alike", takes={**closed(["a"], **by_name), "definitions": text}),
        leaf("other", takes={**closed(["a"], **by_name), "definitions": tree}),
        leaf("plain", takes=closed(["a"], a=STRING)),
    )

    assert supplying(vault) == {("giver", "alike"), ("giver", "plain")}


def test_what_is_required_and_crowded_supplies_nobody():
    takes = [leaf(f"t{number}", takes=closed(["q"], q=STRING, **{f"own{number}": STRING})) for number in range(CROWD)]
    vault = filled(leaf("giver", gives=closed(["q", "r"], q=STRING, r=STRING)), *takes)
    assert len(supplying(vault)) == CROWD

    vault.apply(batch(leaf("more", takes=closed(["q", "r"], q=STRING, r=STRING))))
    assert supplying(vault) == {("giver", "more")}

    vault.apply(batch(gone=[("atom", "t0")]))
    assert len(supplying(vault)) == CROWD


def test_among_the_atoms_that_ship_what_is_parsed_can_be_made_canonical():
    shelf = open_shelf(read_settings({}), roots=[Path(keisei.__file__).parent / "kit" / "primitives"])
    specs = {row.atom: shelf.atom(row.atom) for row in shelf.rows()[0]}

    vault = filled(*(leaf(name, takes=one.input_schema, gives=one.output_schema) for name, one in specs.items()))
    found = feeding(vault)

    assert ("kei-json::parse", "kei-json::canonicalize") in found
    assert ("kei-json::canonicalize", "kei-json::parse") not in found
    assert not {pair for pair in found if "kei-time::now" in pair}
    assert {("kei-agent::enqueue", "kei-agent::wait"), ("kei-task::create", "kei-task::get")} <= supplying(vault)
