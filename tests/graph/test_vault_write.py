"""Writing the vault: the tables follow from what there is, not from how it came about."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.graph import feed, vault_write
from keisei.graph.vault import Batch, Entry, Known, Vault
from keisei.graph.vault_table import CROWD
from keisei.records.problem import Problem
from tests.graph.leaf_world import batch, entry, filled, leaf
from tests.graph.schema_world import schemas

TABLES = {
    "nodes": "id, node, name, kind, title, path, layer, stability, deprecated, creator, created, takes, gives "
    "FROM nodes",
    "sources": "* FROM sources",
    "names": "names.name, turn, id FROM names JOIN nodes USING (key)",
    "links": "nodes.id, links.kind, target, other.id FROM links JOIN nodes USING (key) "
    "LEFT JOIN nodes AS other ON other.key = goal",
    "dead": "count(*) FROM links WHERE goal IS NOT NULL AND goal NOT IN (SELECT key FROM nodes)",
    "facets": "facet, value, id FROM facets JOIN nodes USING (key)",
    "touches": "domain, id FROM touches JOIN nodes USING (key)",
    "texts": "id, texts.* FROM texts JOIN nodes ON nodes.key = texts.rowid",
    "terms": "* FROM terms",
    "shapes": "* FROM shapes",
    "fields": "* FROM fields",
    "flows": "* FROM flows",
    "pairs": "* FROM pairs",
    **{f"{each} rows": f"count(*) FROM {each}" for each in ("names", "links", "facets", "touches", "texts")},
}


def dump(vault):
    """Everything there is, by names."""
    with vault.reading() as db:
        return {each: sorted(map(repr, db.execute(f"SELECT {rest}"))) for each, rest in TABLES.items()}


def rows(vault, statement):
    return sorted(vault.db.execute(statement).fetchall())


def links(vault):
    return rows(
        vault,
        "SELECT one.id, links.kind, target, other.id FROM links JOIN nodes AS one USING (key) "
        "LEFT JOIN nodes AS other ON other.key = goal",
    )


words = st.sampled_from(["x", "y", "z", "roles/x", "Ünï", "RULE 1"])
leaves = st.builds(
    lambda node, name, others, **fields: leaf(name, node, names=(name, f"{node}/{name}", *others), **fields),
    st.sampled_from(["atom", "capability", "role", "rule"]),
    st.sampled_from(["x", "y", "z"]),
    st.lists(words, max_size=2),
    kind=st.sampled_from([None, "query"]),
    title=words,
    keywords=st.lists(words, max_size=2).map(tuple),
    body=st.sampled_from(["", "a text", "anotherText of words"]),
    facets=st.dictionaries(words, st.lists(words, max_size=2).map(tuple), max_size=2),
    links=st.lists(st.tuples(st.sampled_from(["related", "body"]), words), max_size=3),
    domains=st.lists(words, max_size=2).map(tuple),
    takes=st.none() | schemas,
    gives=st.none() | schemas,
)
problem = Problem(code="syntax", path="/x", message="no")
faulty = Entry(Known("/x", "user", "1", ("/x",), problem), None)
entries = leaves.map(entry) | st.just(faulty)
pairs = st.none() | st.dictionaries(st.tuples(words, words), st.integers(0, 3), max_size=4)


@st.composite
def batches(draw):
    """A few things that came or changed, a few that go, whether they are there or not."""
    key = st.tuples(st.sampled_from(["atom", "role", "rule"]), st.sampled_from(["x", "y", "z"]))
    found = {(each.leaf.node, each.leaf.name): each for each in draw(st.lists(leaves.map(entry), max_size=4))}
    found |= dict.fromkeys(draw(st.sets(key, max_size=1)), faulty)
    return Batch(found, frozenset(draw(st.sets(key, max_size=3)) - found.keys()), draw(pairs))


@settings(database=None, derandomize=True, max_examples=40)
@given(st.lists(batches(), min_size=1, max_size=5))
def test_however_it_came_about_the_tables_are_those_of_a_fresh_build(steps):
    vault, state, together = Vault(None), {}, None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feed, "MANY", feed.MANY.replace(str(CROWD), "2"))
        for step in steps:
            vault.apply(step)
            state = {key: each for key, each in (state | step.entries).items() if key not in step.gone}
            together = together if step.pairs is None else step.pairs
        fresh = Vault(None)
        fresh.apply(Batch(dict(sorted(state.items())), frozenset(), together))

    assert dump(vault) == dump(fresh)
    assert vault.known() == {key: each.known for key, each in state.items()}


def test_what_did_not_change_is_not_written():
    made = leaf("kei-a::x", title="one", links=[("related", "kei-b::y")], domains=("fs",), facets={"kingdom": ("a",)})
    vault = filled(made, leaf("kei-b::y"))
    before = vault.db.total_changes()

    vault.apply(batch(made))

    assert vault.db.total_changes() - before <= 2  # what is known of its file


def test_a_thing_that_changes_keeps_its_key():
    vault = filled(leaf("kei-a::x"), leaf("kei-b::y"))
    before = rows(vault, "SELECT key, id FROM nodes")

    vault.apply(batch(leaf("kei-a::x", title="new", kind="query")))

    assert rows(vault, "SELECT key, id FROM nodes") == before
    assert rows(vault, "SELECT rowid, title FROM texts WHERE texts MATCH 'new'") == [(before[0][0], "new")]


def test_ids_have_the_folder_of_what_is_no_atom_and_no_capability():
    vault = filled(leaf("a"), leaf("b::c", "capability"), leaf("d", "role"), leaf("e", "task-type"), leaf("f", "rule"))

    assert rows(vault, "SELECT id FROM nodes") == [("a",), ("b::c",), ("roles/d",), ("rules/f",), ("task-types/e",)]


def test_a_link_leads_to_the_first_who_has_the_name_and_then_to_the_next():
    start = leaf("start", links=[("body", "x"), ("related", "role/x"), ("uses", "nobody")])
    vault = filled(start, leaf("x", "role"), leaf("x", "rule"))
    to_role = ("start", "related", "role/x", "roles/x")
    dead = ("start", "uses", "nobody", None)
    assert links(vault) == [("start", "body", "x", "roles/x"), to_role, dead]

    vault.apply(batch(leaf("x")))
    assert links(vault) == [("start", "body", "x", "x"), to_role, dead]

    vault.apply(batch(leaf("nobody", "skill"), gone=[("atom", "x"), ("role", "x")]))
    assert links(vault) == [
        ("start", "body", "x", "rules/x"),
        ("start", "related", "role/x", None),
        ("start", "uses", "nobody", "skills/nobody"),
    ]


def test_of_two_alike_the_name_goes_to_the_first_by_name_not_by_arrival():
    both = [leaf(name, "rule", names=(name, "RULE 1")) for name in ("b", "a")]
    vault = filled(leaf("start", links=[("body", "RULE 1")]), *both)

    assert links(vault) == [("start", "body", "RULE 1", "rules/a")]


def test_names_are_found_by_their_words():
    vault = filled(leaf("kei-task::createNow"), leaf("RULE-0.12-agent-git-model", "rule"))
    find = "SELECT nodes.id FROM texts JOIN nodes ON nodes.key = texts.rowid WHERE texts MATCH "

    assert rows(vault, f"{find} 'create'") == rows(vault, f"{find} 'createnow'") == [("kei-task::createNow",)]
    assert rows(vault, f"{find} 'git'") == [("rules/RULE-0.12-agent-git-model",)]


def test_where_most_texts_are_new_their_words_are_in_one_piece(monkeypatch):
    monkeypatch.setattr(vault_write, "MANY", 3)
    vault = filled(*(leaf(name, body=f"a text of {name}") for name in ("one", "two", "three")))
    vault.apply(batch(leaf("one", body="another")))

    vault.db.execute("INSERT INTO texts (texts, rank) VALUES ('integrity-check', 1)")
    assert rows(vault, "SELECT name FROM texts WHERE texts MATCH 'text'") == [("three",), ("two",)]
    merges = "SELECT k, v FROM texts_config WHERE k LIKE '%merge'"
    assert rows(vault, merges) == [("automerge", 4), ("crisismerge", 16)]


def test_pairs_stand_both_ways_round_and_none_with_itself():
    vault = filled(leaf("a"), pairs={("a", "b"): 2, ("b", "a"): 1, ("a", "a"): 5, ("c", "a"): 0})
    stored = [("a", "b", 3), ("b", "a", 3)]
    assert rows(vault, "SELECT * FROM pairs") == stored

    vault.apply(batch(leaf("b")))
    assert rows(vault, "SELECT * FROM pairs") == stored
    ends = "nodes AS one ON one.key = source JOIN nodes AS other ON other.key = target"
    edges = f"SELECT one.id, other.id FROM edges JOIN {ends}"  # noqa: S608 - our names
    assert rows(vault, edges) == [("a", "b"), ("b", "a")]

    vault.apply(batch(pairs={}))
    assert rows(vault, "SELECT * FROM pairs") == []


def test_what_has_a_problem_is_known_and_not_found():
    vault = filled(leaf("a", links=[("body", "b")]), leaf("b"))

    vault.apply(Batch({("atom", "b"): faulty}, frozenset()))

    assert vault.known()["atom", "b"] == faulty.known
    assert rows(vault, "SELECT id FROM nodes") == [("a",)]
    assert links(vault) == [("a", "body", "b", None)]


def test_hostile_texts_are_kept_as_far_as_they_can_be():
    odd = "\0\ud800 \u202e\U0001f600 '\"%"
    made = leaf(odd, title=odd, body=odd, keywords=(odd,), links=[("body", odd)], facets={odd: (odd,)}, domains=(odd,))
    vault = filled(made, leaf("deep", takes=nested(3000), gives={"type": "object", "properties": {odd: {}}}))

    assert len(vault.known()) == 2
    assert len(links(vault)) == 1
    vault.apply(batch(gone=[("atom", odd), ("atom", "deep")]))
    assert dump(vault) == dump(filled())


def nested(depth):
    schema = {"type": "object", "properties": {"a": {}}}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema
