"""Ranks: those that can be worked out by hand, and those of two other ways to compute them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx import DiGraph
from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python  # the one that needs no scipy

from keisei.graph import rank
from keisei.graph.rank import ranked, shares
from keisei.records.error import WorldFault
from tests.graph.leaf_world import filled, leaf

# Each share follows from: (1 - 0.85) / n, and 0.85 of what arrives; what stands at a dead end arrives everywhere.
WORLDS = {
    "a dead end": ({"a": "b", "b": ""}, {"b": 37 / 57, "a": 20 / 57}),
    "a circle": ({"a": "b", "b": "c", "c": "a"}, {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}),
    "a circle and its admirer": (
        {"a": "b", "b": "a", "c": "a"},
        {"a": 18 / 37, "b": 17.15 / 37, "c": 1.85 / 37},
    ),
    "a link to itself among others": ({"a": "ab", "b": "a"}, {"a": 37 / 57, "b": 20 / 57}),
    "a link to itself alone": ({"a": "a", "b": ""}, {"a": 20 / 23, "b": 3 / 23}),
    "parts": ({"a": "b", "b": "", "c": ""}, {"b": 1.85 / 3.85, "a": 1 / 3.85, "c": 1 / 3.85}),
    "parts that are circles": ({"a": "b", "b": "a", "c": "c"}, {"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}),
    "nothing is linked": ({"b": "", "a": ""}, {"a": 0.5, "b": 0.5}),
    "one alone": ({"a": ""}, {"a": 1.0}),
    "a link to nobody": ({"a": "bx", "b": ""}, {"b": 37 / 57, "a": 20 / 57}),
    "only links to nobody": ({"a": "x", "b": "a"}, {"a": 37 / 57, "b": 20 / 57}),
}
GRAPHS = st.integers(1, 12).flatmap(
    lambda count: st.tuples(
        st.just(count), st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=40)
    )
)


def atoms(world, kind="related"):
    return [leaf(name, links=[(kind, target) for target in targets]) for name, targets in world.items()]


def told(places):
    return {place.node.id: place.rank for place in places}


def iterated(count, pairs, start=None):
    """PageRank as it is defined."""
    anew = [1 / count if start is None else float(at == start) for at in range(count)]
    goals = [[target for source, target in pairs if source == at] for at in range(count)]
    ranks = anew
    for _round in range(250):
        loose = sum(share for share, leads in zip(ranks, goals, strict=True) if not leads)
        arrived = [loose * each for each in anew]
        for share, leads in zip(ranks, goals, strict=True):
            for goal in leads:
                arrived[goal] += share / len(leads)
        ranks = [0.15 * each + 0.85 * some for each, some in zip(anew, arrived, strict=True)]
    return ranks


def networkx_ranks(count, pairs, start=None):
    graph = DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(pairs)
    ranks = _pagerank_python(graph, personalization=start if start is None else {start: 1}, tol=1e-14, max_iter=1000)
    return [ranks[at] for at in range(count)]


@pytest.mark.parametrize("world", WORLDS)
def test_ranks_are_what_a_person_works_out(world):
    links, expected = WORLDS[world]

    found = ranked(filled(*atoms(links)).db)

    assert told(found) == pytest.approx(expected, abs=1e-11)
    assert [place.node.id for place in found] == list(expected)  # by rank, then by id


@pytest.mark.parametrize("world", WORLDS)
def test_what_a_person_works_out_is_what_others_compute(world):
    links, expected = WORLDS[world]
    places = {name: at for at, name in enumerate(links)}
    pairs = {(places[name], places[to]) for name, goals in links.items() for to in goals if to in places}
    wanted = [expected[name] for name in links]

    assert iterated(len(places), pairs) == pytest.approx(wanted, abs=1e-9)
    assert networkx_ranks(len(places), pairs) == pytest.approx(wanted, abs=1e-9)


def test_two_links_between_the_same_two_count_once():
    twice = leaf("a", links=[("related", "b"), ("body", "b"), ("body", "atoms/b"), ("related", "c")])

    found = told(ranked(filled(twice, leaf("b"), leaf("c")).db))

    assert found == pytest.approx({"b": 1.425 / 3.85, "c": 1.425 / 3.85, "a": 1 / 3.85}, abs=1e-11)


def test_only_the_chosen_edges_count():
    db = filled(leaf("a", links=[("related", "b"), ("lineage", "c")]), leaf("b"), leaf("c")).db

    assert [place.node.id for place in ranked(db)] == ["b", "a", "c"]
    assert [place.node.id for place in ranked(db, edges=["lineage"])] == ["c", "a", "b"]
    assert told(ranked(db, edges=[])) == pytest.approx(dict.fromkeys("abc", 1 / 3))


def test_edges_that_follow_from_others_are_ranked_too():
    world = {"a": "x", "b": "xy", "c": "y", "d": "xy"}
    db = filled(*(leaf(name, domains=tuple(domains)) for name, domains in world.items())).db

    found = told(ranked(db, edges=["domain"]))

    # b and d share two domains, which counts once. a = c = 0.15 / 4 + 0.85 * 2 b / 3, and b = d = 1 / 2 - a
    assert found == pytest.approx({"b": 111 / 376, "d": 111 / 376, "a": 77 / 376, "c": 77 / 376}, abs=1e-11)


def test_only_the_chosen_nodes_count():
    role = leaf("r", "role", links=[("related", "a"), ("related", "s")])
    db = filled(leaf("a", links=[("body", "roles/r")]), leaf("b"), role, leaf("s", "role")).db

    assert told(ranked(db)) == {"a": 0.5, "b": 0.5}
    assert [place.node.id for place in ranked(db, nodes=["role"])] == ["roles/s", "roles/r"]
    assert len(ranked(db, nodes=[])) == 4


def test_the_first_few_are_those_of_all():
    db = filled(*atoms({"a": "c", "b": "c", "c": "d", "d": ""})).db

    assert ranked(db, limit=2) == ranked(db)[:2]
    assert ranked(db, limit=-1) == []


def test_nothing_has_no_ranks():
    assert ranked(filled().db) == []
    assert ranked(filled(leaf("a")).db, nodes=["rule"]) == []
    assert shares([], []) == {}


def test_the_order_in_which_things_were_read_changes_nothing():
    leaves = atoms({name: "abcdefg"[at % 3 :: 2] for at, name in enumerate("gfedcba")}, "body")

    assert ranked(filled(*leaves).db) == ranked(filled(*leaves[::-1]).db)


def test_ranks_that_do_not_settle_are_said_to(monkeypatch):
    monkeypatch.setattr(rank, "ROUNDS", 1)

    with pytest.raises(WorldFault, match="the ranks of 2 nodes do not settle"):
        shares([0, 1], [(0, 1)])


@settings(max_examples=60, database=None, derandomize=True)
@given(GRAPHS)
def test_any_graph_is_ranked_as_others_rank_it(graph):
    count, pairs = graph

    found = list(shares(range(count), pairs).values())

    assert sum(found) == pytest.approx(1)
    assert found == pytest.approx(networkx_ranks(count, pairs), abs=1e-9)
    assert found == pytest.approx(iterated(count, pairs), abs=1e-9)


@settings(max_examples=40, database=None, derandomize=True)
@given(GRAPHS, st.integers(0, 11))
def test_a_walk_that_starts_anew_at_one_node_is_ranked_as_others_rank_it(graph, start):
    count, pairs = graph

    found = list(shares(range(count), pairs, start % count).values())

    assert found == pytest.approx(networkx_ranks(count, pairs, start % count), abs=1e-9)
    assert found == pytest.approx(iterated(count, pairs, start % count), abs=1e-9)


def test_a_walk_from_one_end_returns_to_it():
    # a -> b, and from b back to a: a = 0.15 + 0.85 b, b = 0.85 a; c is never visited
    assert shares([1, 5, 7], [(1, 5), (5, 3), (2, 7)], 1) == pytest.approx(
        {1: 1 / 1.85, 5: 0.85 / 1.85, 7: 0.0}, abs=1e-11
    )
