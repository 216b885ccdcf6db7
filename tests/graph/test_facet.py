"""Facets, families and authors."""

import pytest

from keisei.graph.facet import authored_by, creators, facet_counts, facets, lineage
from keisei.graph.kin import find
from keisei.records.error import OperatorError
from tests.graph.leaf_world import filled, leaf


@pytest.fixture
def db():
    return filled(
        leaf("a", facets={"kingdom": ("capability",), "phylum": ("Git", "file")}, creator="Ada"),
        leaf("b", facets={"kingdom": ("capability",), "phylum": ("git",)}, creator="ada"),
        leaf("a", "role", facets={"Kingdom": ("Capability",)}, creator="Grace"),
        leaf("c"),
    ).db


def ids(nodes):
    return [node.id for node in nodes]


def family(db, name):
    return [(each.name, each.node and each.node.id, each.generation) for each in lineage(db, find(db, name))]


def made(name, *parents):
    return leaf(name, links=[("lineage", parent) for parent in parents])


def test_all_that_is_wanted_must_hold(db):
    assert ids(facets(db, {"kingdom": "capability"})) == ["a", "b", "roles/a"]
    assert ids(facets(db, {"kingdom": "capability", "phylum": "git"})) == ["a", "b"]
    assert ids(facets(db, {"kingdom": "capability", "phylum": "file"})) == ["a"]
    assert ids(facets(db, {"KINGDOM": " Capability"}, ["role"])) == ["roles/a"]
    assert ids(facets(db, {"phylum": "git"}, ["role"])) == []
    assert ids(facets(db, {})) == ["a", "b", "c", "roles/a"]


def test_an_unknown_facet_is_answered_with_those_there_are(db):
    with pytest.raises(OperatorError, match="nothing has a facet `order`") as caught:
        facets(db, {"kingdom": "capability", "order": "x"})
    assert caught.value.hint == "those there are: `kingdom`, `phylum`"
    with pytest.raises(OperatorError) as caught:
        facets(filled(leaf("a")).db, {"order": "x"})
    assert caught.value.hint == "there is none at all"


def test_an_unknown_value_is_answered_with_a_near_one_or_some(db):
    with pytest.raises(OperatorError, match="no `kingdom` is `capabilty`") as caught:
        facets(db, {"kingdom": "capabilty"})
    assert "apability`" in caught.value.hint
    with pytest.raises(OperatorError) as caught:
        facets(db, {"phylum": "\0\udce4"})
    assert caught.value.hint == "those there are: `Git`, `file`, `git`"


def test_many_values_are_not_all_listed():
    db = filled(*(leaf(f"x{at}", facets={"f": (f"value {at:02}",)}) for at in range(25))).db

    with pytest.raises(OperatorError) as caught:
        facets(db, {"f": "?"})
    assert caught.value.hint.endswith("`value 19` and 5 more")


def test_values_are_counted(db):
    counted = [(each.facet, each.value, each.count) for each in facet_counts(db)]

    assert counted == [
        ("Kingdom", "Capability", 1),
        ("kingdom", "capability", 2),
        ("phylum", "Git", 1),
        ("phylum", "file", 1),
        ("phylum", "git", 1),
    ]
    assert [each.facet for each in facet_counts(db, ["role"])] == ["Kingdom"]


def test_a_family_is_told_by_generations():
    db = filled(made("a"), made("b", "a", "lost"), made("c", "atoms/b"), made("d", "c"), made("e", "c", "b")).db

    assert family(db, "c") == [
        ("atoms/b", "b", 1),
        ("a", "a", 2),
        ("lost", None, 2),
        ("d", "d", -1),
        ("e", "e", -1),
    ]
    assert family(db, "a") == [("b", "b", -1), ("c", "c", -2), ("e", "e", -2), ("d", "d", -3)]
    assert family(db, "e") == [("b", "b", 1), ("c", "c", 1), ("a", "a", 2), ("lost", None, 2)]


def test_a_family_may_be_a_circle():
    db = filled(made("a", "a", "c"), made("b", "a"), made("c", "b", "atoms/b")).db

    assert family(db, "a") == [("c", "c", 1), ("atoms/b", "b", 2), ("b", "b", -1), ("c", "c", -2)]


def test_only_lineage_makes_a_family():
    db = filled(leaf("a", links=[("related", "b"), ("uses", "b")]), leaf("b")).db

    assert family(db, "a") == family(db, "b") == []


def test_a_family_that_is_very_old_is_told_to_the_end():
    db = filled(*(made(f"x{at}", f"x{at + 1}") for at in range(300))).db

    assert family(db, "x0")[-1] == ("x300", None, 300)


def test_authors_are_known_by_what_they_made(db):
    assert ids(authored_by(db, "ADA")) == ["a", "b"]
    assert ids(authored_by(db, "grace")) == ["roles/a"]
    assert creators(db) == [("Ada", 1), ("Grace", 1), ("ada", 1)]


def test_an_unknown_author_may_be_another(db):
    with pytest.raises(OperatorError, match="nobody called `Grce` made any of this") as caught:
        authored_by(db, "Grce")
    assert caught.value.hint == "did you mean `Grace`?"
    with pytest.raises(OperatorError) as caught:
        authored_by(filled(leaf("a")).db, "\0")
    assert caught.value.hint == "there is none at all"
