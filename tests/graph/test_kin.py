"""Kin: what a name means, what is near it, and the picture of that."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python  # the one that needs no scipy

from keisei.graph.kin import find, picture, related
from keisei.records.error import OperatorError
from tests.graph.leaf_world import filled, leaf

EVERY = ("related", "body", "uses", "lineage", "domain", "feeds", "supplies", "together")


def chain(*names, kind="related"):
    return [leaf(name, links=[(kind, to)] if to else []) for name, to in zip(names, [*names[1:], ""], strict=True)]


def kin(db, name, **choices):
    return [(each.node.id, each.depth, each.by, each.direction) for each in related(db, find(db, name), **choices)]


def ids(db, name, **choices):
    return [each.node.id for each in related(db, find(db, name), **choices)]


def meant(db, name):
    try:
        return find(db, name).id
    except OperatorError:
        return None


class TestFind:
    @pytest.mark.parametrize("text", ["kei::do", "atoms/kei::do", "atom/kei::do", "KEI::Do", " Atoms/Kei::DO\n"])
    def test_any_name_in_any_capitals_will_do(self, text):
        assert find(filled(leaf("kei::do"), leaf("kei::undo")).db, text).id == "kei::do"

    def test_accents_may_be_written_in_two_ways(self):
        assert find(filled(leaf("Caf\u00e9", "skill")).db, "cafe\u0301").id == "skills/Caf\u00e9"

    def test_the_way_it_is_written_goes_first(self):
        db = filled(leaf("Do", "rule"), leaf("do", "rule")).db

        assert find(db, "do").id == "rules/do"
        with pytest.raises(OperatorError, match="several things") as caught:
            find(db, "DO")
        assert caught.value.hint == "say which: `rules/Do`, `rules/do`"

    def test_an_atom_goes_before_a_capability_that_is_found_by_its_folder(self):
        db = filled(leaf("a::b", "capability"), leaf("a::b")).db

        assert find(db, "a::b").node == "atom"
        assert find(db, "A::B").node == "atom"
        assert find(db, "capabilities/a::b").node == "capability"
        assert find(db, "a::b", ["capability"]).node == "capability"

    def test_a_name_that_two_kinds_share_must_be_said_in_full(self):
        db = filled(leaf("edit", "skill"), leaf("edit", "role"), leaf("edit")).db

        with pytest.raises(OperatorError, match="`edit` is what several things are called") as caught:
            find(db, "edit")
        assert caught.value.hint == "say which: `atoms/edit`, `roles/edit`, `skills/edit`"
        assert [find(db, name).node for name in ("atoms/edit", "roles/edit", "skills/edit")] == [
            "atom",
            "role",
            "skill",
        ]
        assert find(db, "edit", ["skill", "rule"]).id == "skills/edit"

    def test_an_id_goes_before_what_others_of_its_kind_are_called_as_well(self):
        names = ("RULE-1.2-x", "rules/RULE-1.2-x", "rule/RULE-1.2-x", "RULE 1.2", "rules/RULE 1.2")
        db = filled(leaf("RULE-1.2-x", "rule", names=names), leaf("RULE 1.2", "rule")).db

        assert find(db, "rules/RULE 1.2").id == "rules/RULE 1.2"

    def test_who_is_not_there_may_be_another(self):
        db = filled(*(leaf(f"kei-{at}::do-{at}") for at in range(200)), leaf("kei-task::create")).db

        with pytest.raises(OperatorError, match="there is no `kei-task::creat` among what is authored") as caught:
            find(db, "kei-task::creat")
        assert caught.value.hint == "did you mean `kei-task::create`? `kei-sage search` looks for words"
        with pytest.raises(OperatorError) as caught:
            find(db, "KEI-TSK::CREATE")
        assert "`kei-task::create`" in caught.value.hint

    @pytest.mark.parametrize(
        "text", ["", " ", "\0", "a\0b", "\udce4", "x" * 100_000, "'; DROP TABLE nodes", '"', "%", "\x1b[2J", "🦊" * 99]
    )
    def test_any_text_is_safe(self, text):
        with pytest.raises(OperatorError, match="there is no") as caught:
            find(filled(leaf("a::b")).db, text)
        assert "\x1b" not in caught.value.message
        assert len(caught.value.message) < 200

    def test_in_an_empty_world_nothing_is_called_anything(self):
        with pytest.raises(OperatorError, match="there is no `a`"):
            find(filled().db, "a")

    @settings(max_examples=60, database=None, derandomize=True)
    @given(st.text())
    def test_every_text_is_a_name_or_none(self, text):
        assert meant(filled(leaf("a"), leaf("ß", "role")).db, text) in {None, "a", "roles/ß"}


class TestRelated:
    def test_a_step_knows_its_edges_and_their_direction_and_more_edges_go_first(self):
        db = filled(
            leaf("a", links=[("body", "x"), ("related", "x"), ("uses", "c")]),
            leaf("x", links=[("lineage", "a")]),
            leaf("c"),
            leaf("d", links=[("related", "a")]),
        ).db

        assert kin(db, "a") == [
            ("x", 1, ("related", "body", "lineage"), "both"),
            ("c", 1, ("uses",), "out"),
            ("d", 1, ("related",), "in"),
        ]
        assert kin(db, "a", direction="out") == [("x", 1, ("related", "body"), "out"), ("c", 1, ("uses",), "out")]
        assert kin(db, "a", direction="in") == [("d", 1, ("related",), "in"), ("x", 1, ("lineage",), "in")]
        assert kin(db, "a", edges=["uses"]) == [("c", 1, ("uses",), "out")]
        assert kin(db, "a", edges=[]) == []

    def test_everything_is_told_once_at_its_least_depth(self):
        db = filled(*chain("a", "b", "c", "d", "e"), leaf("f", links=[("body", "a"), ("body", "d")])).db

        assert [each[:2] for each in kin(db, "a", depth=3)] == [("b", 1), ("f", 1), ("c", 2), ("d", 2), ("e", 3)]
        assert [each[:2] for each in kin(db, "a", depth=3, direction="out")] == [("b", 1), ("c", 2), ("d", 3)]
        assert ids(db, "a", depth=3, limit=2) == ["b", "f"]
        assert ids(db, "a", limit=-1) == []

    def test_nobody_is_its_own_kin(self):
        db = filled(leaf("a", links=[("related", "a"), ("related", "b")]), leaf("b", links=[("related", "a")])).db

        assert ids(db, "a", depth=5) == ["b"]
        assert ids(db, "a", depth=5, by="rank") == ["b"]

    def test_the_way_may_lead_through_what_is_not_told(self):
        role = leaf("r", "role", links=[("uses", "b")])
        db = filled(leaf("a", links=[("body", "roles/r")]), role, leaf("b")).db

        assert ids(db, "a", depth=2, nodes=["atom"]) == ["b"]
        assert ids(db, "a", depth=1, nodes=["atom"]) == []

    def test_what_follows_from_domains_and_pipes_leads_both_ways(self):
        leaves = [leaf("a", domains=("fs",)), leaf("b", domains=("fs",)), leaf("c")]
        db = filled(*leaves, pairs={("c", "a"): 2}).db

        assert kin(db, "a", edges=EVERY) == [("b", 1, ("domain",), "both"), ("c", 1, ("together",), "both")]
        assert kin(db, "c", edges=EVERY, depth=2)[1] == ("b", 2, ("domain",), "both")
        for direction in ("out", "in"):
            found = [("b", 1, ("domain",), direction), ("c", 1, ("together",), direction)]
            assert kin(db, "a", edges=EVERY, direction=direction) == found

    def test_by_rank_the_best_connected_stand_first(self):
        # of a's neighbours, b is also reached by way of c and d
        world = {"a": "bcd", "b": "", "c": "b", "d": "b", "e": "d", "f": ""}
        db = filled(*(leaf(name, links=[("body", to) for to in goals]) for name, goals in world.items())).db
        graph = nx.Graph([(name, to) for name, goals in world.items() for to in goals])

        found = related(db, find(db, "a"), depth=2, by="rank")

        assert [each.node.id for each in found] == ["b", "d", "c", "e"]
        assert [each.depth for each in found] == [1, 1, 1, 2]
        wanted = _pagerank_python(graph, personalization={"a": 1}, tol=1e-14, max_iter=1000)
        assert {each.node.id: each.rank for each in found} == pytest.approx(
            {each: wanted[each] for each in "bdce"}, abs=1e-9
        )
        assert ids(db, "a", by="rank") == ["b", "d", "c"]

    def test_by_rank_the_direction_counts(self):
        db = filled(*chain("a", "b", "c")).db

        found = related(db, find(db, "b"), direction="in", by="rank", depth=9)

        assert [(each.node.id, each.rank) for each in found] == [("a", pytest.approx(0.85 / 1.85))]

    @pytest.mark.parametrize("depth", [0, -1, 11, 10**30])
    def test_nobody_walks_nowhere_or_for_ever(self, depth):
        db = filled(leaf("a")).db

        for ask in (related, picture):
            with pytest.raises(OperatorError, match=f"the depth is {depth}"):
                ask(db, find(db, "a"), depth=depth)

    def test_what_is_gone_since_is_said_to_be(self):
        gone = find(filled(leaf("a")).db, "a")

        for ask in (related, picture):
            with pytest.raises(OperatorError, match="there is no `a` any more"):
                ask(filled(leaf("b")).db, gone)

    @settings(max_examples=30, database=None, derandomize=True)
    @given(
        st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=16),
        st.integers(1, 4),
        st.sampled_from(["out", "in", "both"]),
    )
    def test_every_depth_is_the_length_of_a_shortest_way(self, pairs, depth, direction):
        leaves = [leaf(str(at), links=[("body", str(to)) for source, to in pairs if source == at]) for at in range(9)]
        db = filled(*leaves).db
        graph = nx.DiGraph(sorted(pairs))
        graph.add_node(0)
        ways = {"out": graph, "in": graph.reverse(), "both": graph.to_undirected()}[direction]
        wanted = nx.single_source_shortest_path_length(ways, 0, cutoff=depth)

        found = related(db, find(db, "0"), depth=depth, direction=direction)

        assert {0: 0} | {int(each.node.id): each.depth for each in found} == wanted
        drawn = picture(db, find(db, "0"), depth=depth, direction=direction)
        assert {int(each.node.id): each.depth for each in drawn.nodes} == wanted
        assert {(int(tie.source), int(tie.target)) for tie in drawn.ties} == set(graph.subgraph(wanted).edges)


class TestPicture:
    def test_ties_are_told_between_all_that_is_drawn(self):
        leaves = [leaf("a", links=[("body", "b"), ("uses", "c")]), leaf("b", links=[("body", "c"), ("related", "c")])]
        db = filled(*leaves, leaf("c", links=[("body", "c"), ("body", "x"), ("body", "d")]), leaf("d")).db

        drawn = picture(db, find(db, "a"), depth=1)

        assert drawn.start == "a"
        assert [(each.node.id, each.depth) for each in drawn.nodes] == [("a", 0), ("b", 1), ("c", 1)]
        assert [(tie.source, tie.target, tie.kind) for tie in drawn.ties] == [
            ("a", "b", "body"),
            ("a", "c", "uses"),
            ("b", "c", "related"),
            ("b", "c", "body"),
            ("c", "c", "body"),
        ]
        assert drawn.left_out == 0

    def test_ranks_are_those_within_the_picture(self):
        db = filled(*chain("a", "b", "c", "d")).db

        drawn = picture(db, find(db, "a"), depth=1)

        assert [each.rank for each in drawn.nodes] == pytest.approx([20 / 57, 37 / 57])

    def test_the_nearest_are_drawn_and_the_rest_is_counted(self):
        hub = leaf("m", links=[("body", name) for name in "edcb"])
        db = filled(hub, *(leaf(name) for name in "ecb"), *chain("d", "a"), leaf("z", links=[("body", "a")])).db

        drawn = picture(db, find(db, "m"), depth=3, most=4)

        assert [each.node.id for each in drawn.nodes] == ["m", "b", "c", "d"]
        assert [(tie.source, tie.target) for tie in drawn.ties] == [("m", "b"), ("m", "c"), ("m", "d")]
        assert drawn.left_out == 3
        assert [each.node.id for each in picture(db, find(db, "m"), most=0).nodes] == ["m"]

    def test_ids_are_unique_and_still_names(self):
        capability = leaf("a::b", "capability", links=[("body", "atoms/a::b"), ("body", "roles/r")])
        db = filled(leaf("a::b"), capability, leaf("r", "role")).db

        drawn = picture(db, find(db, "capabilities/a::b"))

        assert drawn.start == "capabilities/a::b"
        assert [each.node.id for each in drawn.nodes] == ["capabilities/a::b", "a::b", "roles/r"]
        assert [(tie.source, tie.target) for tie in drawn.ties] == [
            ("capabilities/a::b", "a::b"),
            ("capabilities/a::b", "roles/r"),
        ]
        assert [each.node.id for each in related(db, drawn.nodes[0].node)] == ["a::b", "roles/r"]

    def test_the_start_is_drawn_whatever_is_chosen(self):
        db = filled(leaf("a", links=[("body", "roles/r"), ("body", "b")]), leaf("b"), leaf("r", "role")).db

        drawn = picture(db, find(db, "a"), nodes=["role"])

        assert [each.node.id for each in drawn.nodes] == ["a", "roles/r"]
