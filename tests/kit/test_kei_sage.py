"""kei-sage: what its pages promise, on what ships and on a project's own files."""

import json
from unittest.mock import patch

import pytest

from keisei.wiring import sage_verb
from tests.kit.desk import ATOMS, Declared, spec_of
from tests.kit.project import Project
from tests.library.primitives import package, write

VERBS = [atom for atom in ATOMS if atom.startswith("kei-sage::")]
HOSTILE = ["", '"', "*", "a* OR b", "NEAR(a b)", "name:x", "x" * 2000, "\0", "\ud800", "kei-task::create -- '"]
CHILD = """\
[capability]
name = "policy::small-steps"
category = "policy"
version = "1.0"
description = "An agent takes small steps."

[taxonomy]
kingdom = "capability"
domain = "pace"

[lineage]
parents = ["policy::no-git-ops", "policy::long-gone"]
creator = "somebody"
created = "2026-11-15"
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """What ships, and a capability that was made from one that ships and one that is gone. Nobody leaves more there."""
    made = Project(tmp_path_factory.mktemp("sage"))
    folder = made.root / ".keisei" / "capabilities" / "policy" / "small-steps"
    write(folder / "text.md", "# Small steps\n\nOne thing after another.\n")
    write(folder / "capability.toml", CHILD)
    return made


def ids(found):
    return [each["id"] for each in found]


def refused(project, verb, attempt=None, /, **given):
    with pytest.raises(Declared) as error:
        project.call(f"kei-sage::{verb}", attempt, **given)
    return error.value.code, str(error.value)


# --- search -----------------------------------------------------------------------------------------------------------


def test_words_find_whatever_is_authored(project):
    found = project.call("kei-sage::search", text="small steps")

    first = found["hits"][0]
    assert (first["id"], first["node"], first["kind"]) == ("policy::small-steps", "capability", None)
    assert {first["snippet"][start:end].lower() for start, end in first["marks"]} & {"small", "steps"}
    assert found["unread"] == 0


def test_what_is_gone_is_not_found(project):
    rule = write(project.root / ".keisei" / "rules" / "RULE-9.9-tortoises.md", "# RULE 9.9 Tortoises\n\nSlowly.\n")
    there = project.call("kei-sage::search", text="tortoises")["hits"]
    rule.unlink()

    assert ids(there) == ["rules/RULE-9.9-tortoises"]
    assert project.call("kei-sage::search", text="tortoises")["hits"] == []


def test_an_id_is_found_and_a_wrong_letter_is_repaired(project):
    assert ids(project.call("kei-sage::search", text="kei-task::create")["hits"])[0] == "kei-task::create"
    found = project.call("kei-sage::search", text="mileston", kind="query")
    assert {hit["kind"] for hit in found["hits"]} == {"query"}
    found = project.call("kei-sage::search", text="milestnoe")
    assert "milestone" in " ".join(found["repaired"]["milestnoe"])
    assert found["hits"][0]["id"].startswith("kei-milestone::")
    assert project.call("kei-sage::search", text="qqqqq milestone")["unknown"] == ["qqqqq"]


def test_only_one_sort_and_so_many_are_told(project):
    found = project.call("kei-sage::search", text="git", node="rule", limit=1)

    assert [hit["node"] for hit in found["hits"]] == ["rule"]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_is_a_question(project, text):
    found = project.call("kei-sage::search", text=text, limit=3)

    assert len(found["hits"]) <= 3


def test_a_file_that_cannot_be_read_is_counted(tmp_path):
    project = Project(tmp_path)
    folder = package(project.root / ".keisei" / "primitives", "mine", "good", "bad", layout="src")
    write(folder / "src" / "mine" / "atoms" / "bad.md", "---\natom: [\n---\n")

    found = project.call("kei-sage::search", text="mine::good")

    assert (ids(found["hits"])[0], found["unread"]) == ("mine::good", 1)


# --- related, graph, lineage ------------------------------------------------------------------------------------------


def test_a_role_is_tied_to_its_capabilities_and_they_to_it(project):
    out = project.call("kei-sage::related", id="roles/edit-local", direction="out", node="capability")["related"]

    assert "policy::no-git-ops" in ids(out)
    assert {(each["depth"], each["direction"], each["rank"]) for each in out} == {(1, "out", None)}
    back = project.call("kei-sage::related", id="policy::no-git-ops", direction="in", edges=["uses"])["related"]
    assert "roles/edit-local" in ids(back)
    assert project.call("kei-sage::related", id="roles/edit-local", edges=["domain"])["related"] == []


def test_what_is_met_most_stands_first(project):
    found = project.call("kei-sage::related", id="kei-task::create", by="rank", depth=2, limit=5)["related"]

    ranks = [each["rank"] for each in found]
    assert ranks == sorted(ranks, reverse=True)
    assert len(found) == 5
    assert "kei-task::create" not in ids(found)


@pytest.mark.parametrize("form", spec_of("kei-sage::graph").input_schema["properties"]["format"]["enum"])
def test_a_drawing_says_what_is_in_it(project, form):
    found = project.call("kei-sage::graph", id="kei-task::create", depth=1, format=form)

    assert found["format"] == form
    assert found["nodes"] > 1
    assert found["ties"] > 0
    assert "create" in found["text"]
    if form == "json":
        assert len(json.loads(found["text"])["nodes"]) == found["nodes"]


def test_what_is_too_much_for_a_drawing_is_left_out_or_refused(project, monkeypatch):
    found = project.call("kei-sage::graph", id="roles/edit-local", depth=2, most=3)

    assert found["nodes"] == 3
    assert found["left_out"] > 0
    monkeypatch.setattr(sage_verb, "LONGEST", 10)
    code, message = refused(project, "graph", id="roles/edit-local", most=3)
    assert code == "TooLarge"
    assert "3 things" in message
    assert "`most`" in message


@pytest.mark.parametrize("verb", ["related", "graph", "lineage"])
@pytest.mark.parametrize("name", ["kei-task::creat", "../x", "\ud800", "\0"])
def test_what_is_not_there_is_one_declared_error(project, verb, name):
    code, message = refused(project, verb, id=name)

    assert code == "UnknownNode"
    if name == "kei-task::creat":
        assert "kei-task::create" in message


def test_a_family_is_told_with_those_that_are_gone(project):
    found = project.call("kei-sage::lineage", id="policy::small-steps")["family"]

    assert {(each["name"], each["generation"], each["id"]) for each in found} == {
        ("policy::no-git-ops", 1, "policy::no-git-ops"),
        ("policy::long-gone", 1, None),
    }
    down = project.call("kei-sage::lineage", id="policy::no-git-ops")["family"]
    assert [(each["generation"], each["id"]) for each in down] == [(-1, "policy::small-steps")]


# --- rank, facets -----------------------------------------------------------------------------------------------------


def test_all_of_one_sort_are_ranked(project):
    found = project.call("kei-sage::rank", limit=1000)

    ranks = [each["rank"] for each in found["ranked"]]
    assert set(ids(found["ranked"])) == set(ATOMS)
    assert ranks == sorted(ranks, reverse=True)
    assert sum(ranks) == pytest.approx(1)
    few = project.call("kei-sage::rank", limit=2)
    assert (few["ranked"], few["among"]) == (found["ranked"][:2], len(ATOMS))
    roles = project.call("kei-sage::rank", node="role", edges=["uses"])["ranked"]
    assert {each["node"] for each in roles} == {"role"}


def test_facets_are_counted_and_asked_for(project):
    found = project.call("kei-sage::facets", wanted={"kingdom": "capability", "domain": "pace"})

    assert ids(found["found"]) == ["policy::small-steps"]
    assert {"facet": "domain", "value": "pace", "count": 1} in found["counts"]
    assert project.call("kei-sage::facets", node="rule", wanted={"domain": "pace"})["found"] == []
    assert project.call("kei-sage::facets")["found"] == []
    for wanted in ({"colour": "red"}, {"domain": "pac"}):
        assert refused(project, "facets", wanted=wanted)[0] == "UnknownFacet"


# --- everywhere -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("atom", VERBS)
def test_inside_an_attempt_nothing_is_told_but_what_its_role_has(project, atom):
    code, message = refused(project, atom.partition("::")[2], "an-attempt", **spec_of(atom).manifest.input.example)

    assert code == "NotAllowed"
    assert "atoms_search" in message


def test_without_a_state_folder_that_can_be_used_the_answers_are_the_same(project, tmp_path):
    before = project.call("kei-sage::related", id="roles/edit-local")

    with patch.dict(project.env, KEISEI_HOME=str(write(tmp_path / "a file", ""))):
        assert project.call("kei-sage::related", id="roles/edit-local") == before
