"""The graph: local, stable, capped, walked without a script too, and safe whatever somebody writes into a title."""

import re

import pytest

from keisei.console.graph_part import HUB, in_sight
from keisei.console.templating import STATIC
from keisei.records.sage import Drawn, Node, Picture, Tie
from keisei.rules.drawing.palette import PAINTS, STROKES
from tests.console.house import open_house

HOSTILE = "<script>alert(1)</script>"
SKILL = f"""---
name: bake
description: "Bakes {HOSTILE} \\e[31m \\u202eturned"
---
# Bake

See [[kei-fs::read]] and [[roles/edit-local]].
"""
STRANGE = ["nobody", "%00", "a%2Fb", "%F0%9F%98%80", "..%2F..%2Fetc", "x" * 150, "%ED%A0%80", "%3Cscript%3E", "%22%27"]


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with open_house(tmp_path_factory.mktemp("graph"), files=[(".keisei/skills/bake/SKILL.md", SKILL)]) as opened:
        yield opened


def test_it_opens_on_what_most_leads_to_and_draws_what_is_around(house):
    told = house.api("/graph")

    assert told["nodes"][0]["id"] == told["start"] == house.premises.sage.ranked(limit=1)[0].node.id
    assert (told["nodes"][0]["x"], told["nodes"][0]["y"], told["nodes"][0]["depth"]) == (0, 0, 0)
    assert {node["depth"] for node in told["nodes"]} == {0, 1, 2}
    ids = {node["id"] for node in told["nodes"]}
    assert all(edge["source"] in ids and edge["target"] in ids for edge in told["edges"])
    assert house.api("/graph") == told


def test_every_node_stands_apart_and_larger_where_more_leads_to_it(house):
    nodes = house.api("/graph", depth=3)["nodes"]

    places = {(node["x"], node["y"]) for node in nodes}
    assert len(places) == len(nodes)
    by_rank = sorted(nodes, key=lambda node: node["rank"])
    assert [node["radius"] for node in by_rank] == sorted(node["radius"] for node in nodes)


def test_steps_edges_and_kinds_choose_what_is_in_sight(house):
    near = house.api("/graph", id="roles/edit-local", depth=1)
    far = house.api("/graph", id="roles/edit-local", depth=3)
    assert {node["id"] for node in near["nodes"]} < {node["id"] for node in far["nodes"]}

    only = house.api("/graph", id="roles/edit-local", depth=3, kinds="role")
    assert {node["kind"] for node in only["nodes"]} == {"role"}
    assert only["node_kinds"] == ["role"]

    fed = house.api("/graph", id="kei-fs::read", depth=1, edges=["feeds", "domain"])
    assert {edge["kind"] for edge in fed["edges"]} <= {"feeds", "domain"}
    assert fed["edge_kinds"] == ["domain", "feeds"]


def test_neighbours_are_told_by_reason_and_way(house):
    told = house.api("/graph", id="roles/edit-local", depth=1)

    uses = next(group for group in told["near"] if (group["kind"], group["way"]) == ("uses", "out"))
    assert "policy::no-git-ops" in uses["ids"]
    back = house.api("/graph", id="policy::no-git-ops", depth=1)["near"]
    assert any("roles/edit-local" in group["ids"] and group["way"] == "in" for group in back)


def test_the_page_is_a_drawing_and_a_list_without_a_script(house):
    shown = house.page("/graph?id=roles/edit-local&depth=1&hubs=1")

    assert re.search(r'<a class="thing[^"]*" href="/graph\?id=policy%3A%3Ano-git-ops&amp;depth=1&amp;hubs=1"', shown)
    assert re.search(r"<h3>.*?Uses .*?</h3>", shown, re.DOTALL)
    assert 'href="/roles/edit-local"' in shown
    assert "style=" not in shown
    assert "<style" not in shown


def test_words_tell_apart_what_holds_them(house):
    told = house.api("/graph", id="roles/edit-local", depth=1, q="NO-GIT")

    assert [node["id"] for node in told["nodes"] if node["fits"]] == ["policy::no-git-ops"]
    assert all(node["fits"] for node in house.api("/graph", id="roles/edit-local")["nodes"])


def test_things_lead_to_their_pages(house):
    nodes = {node["id"]: node for node in house.api("/graph", id="skills/bake")["nodes"]}

    assert nodes["kei-fs::read"]["page"] == "/atoms/kei-fs::read"
    assert nodes["roles/edit-local"]["page"] == "/roles/edit-local"
    assert nodes["policy::no-git-ops"]["page"] == "/capabilities/policy::no-git-ops"
    assert nodes["skills/bake"]["page"] is None
    for page in ("/atoms/kei-fs::read", "/roles/edit-local", "/capabilities/policy::no-git-ops"):
        assert house.client.get(page).status_code == 200


def test_what_somebody_writes_is_shown_and_not_obeyed(house):
    shown = house.page(f"/graph?id=skills/bake&q={HOSTILE}")

    assert HOSTILE not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize("name", STRANGE)
def test_what_nobody_is_called_is_missing(house, name):
    assert house.client.get(f"/graph?id={name}").status_code == 404
    told = house.client.get(f"/api/v1/graph?id={name}")
    assert (told.status_code, told.json()["status"]) == (404, 404)


@pytest.mark.parametrize("query", ["depth=4", "depth=0", "edges=love", "kinds=cat", "hubs=maybe", "q=" + "x" * 201])
def test_what_cannot_be_asked_is_told(house, query):
    assert house.client.get(f"/api/v1/graph?{query}").status_code == 422
    assert house.client.get(f"/graph?{query}").status_code == 422


def star(arms):
    """A start, a hub beside it, so many behind the hub, and one beyond the first of them that is near otherwise."""
    names = ["start", "hub", *(f"arm-{number:03}" for number in range(arms))]
    ties = [("start", "hub"), *(("hub", name) for name in names[2:]), ("start", "arm-000")]
    shown = {
        "node": "atom",
        "kind": None,
        "title": "",
        "path": "",
        "layer": "kit",
        "stability": None,
        "deprecated": None,
    }
    depths = {"start": 0, "hub": 1, "arm-000": 1}
    nodes = [Drawn(node=Node(id=name, **shown), depth=depths.get(name, 2), rank=0.1) for name in names]
    made = tuple(Tie(source=source, target=target, kind="related") for source, target in ties)
    return Picture(start="start", nodes=tuple(nodes), ties=made)


def test_nobody_walks_on_from_a_hub_unless_that_is_asked_for():
    picture = star(HUB + 3)

    part = in_sight(picture, 2, kinds=(), through_hubs=False, most=300)
    assert [each.node.id for each in part.picture.nodes] == ["start", "arm-000", "hub"]
    assert (part.hubs, part.behind) == ({"hub"}, HUB + 2)

    whole = in_sight(picture, 2, kinds=(), through_hubs=True, most=300)
    assert (len(whole.picture.nodes), whole.behind) == (HUB + 5, 0)


def test_too_many_are_told_and_the_nearest_are_shown():
    part = in_sight(star(50), 2, kinds=(), through_hubs=True, most=10)

    assert len(part.picture.nodes) == 10
    assert [each.node.id for each in part.picture.nodes][:3] == ["start", "arm-000", "hub"]
    assert part.picture.left_out == 42
    names = {each.node.id for each in part.picture.nodes}
    assert all(tie.source in names and tie.target in names for tie in part.picture.ties)


def test_kinds_look_as_in_every_other_drawing():
    light, _, dark = (STATIC / "graph.css").read_text().partition("@media (prefers-color-scheme: dark)")

    told = dict(re.findall(r"--(?:kind|edge)-([a-z-]+): (#[0-9a-f]{6});", light))
    assert told == {kind: paint.fill for kind, paint in PAINTS.items()} | {
        kind: stroke.light for kind, stroke in STROKES.items()
    }
    night = re.findall(r"--edge-([a-z-]+): (#[0-9a-f]{6});", dark)
    assert sorted(night) == sorted([(kind, stroke.dark) for kind, stroke in STROKES.items()] * 2)


def test_an_empty_graph_says_what_to_do(tmp_path, monkeypatch):
    with open_house(tmp_path) as house:
        monkeypatch.setattr(type(house.premises.sage), "ranked", lambda *_, **__: [])
        assert "keisei atom new" in house.page("/graph")
        assert house.api("/graph")["start"] is None
