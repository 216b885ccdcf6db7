"""Pictures as files: what other programs read in them is what was drawn, whatever ids and titles are made of."""

import io
import json
import math
import re
import subprocess
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from keisei.rules.drawing import drawn
from keisei.rules.drawing.layout import layout
from keisei.rules.drawing.legible import legible, shown, writable
from keisei.rules.drawing.line import MUTUAL, lines
from keisei.rules.drawing.palette import PAINTS
from tests.rules.drawing_world import HOSTILE, hostile, like_the_kit, picture, pictures

SVG = "{http://www.w3.org/2000/svg}"
ANY = settings(max_examples=60, deadline=None, database=None, derandomize=True)


def facts(picture, **missing):
    """The nodes and edges that a reader should find."""
    nodes = {
        each.node.id: {
            "node": each.node.node,
            "kind": each.node.kind,
            "title": each.node.title,
            "depth": each.depth,
            "rank": each.rank,
        }
        for each in picture.nodes
    }
    for values in nodes.values():
        for name in [name for name, value in missing.items() if values[name] == value]:
            del values[name]
    return nodes, sorted((each.source, each.target, each.kind) for each in picture.ties)


def found(graph):
    assert graph.is_directed()
    return dict(graph.nodes(data=True)), sorted(graph.edges(data="kind"))


@ANY
@given(pictures())
def test_networkx_reads_the_same_graph_in_graphml(picture):
    graph = nx.read_graphml(io.BytesIO(drawn(picture, "graphml").encode()), force_multigraph=True)

    clean = legible(picture)
    assert found(graph) == facts(clean, kind=None)
    assert (graph.graph["start"], graph.graph["left_out"]) == (clean.start, clean.left_out)


@ANY
@given(pictures())
def test_networkx_reads_the_same_graph_in_json(picture):
    text = drawn(picture, "json")

    clean = legible(picture)
    graph = nx.node_link_graph(json.loads(text.encode()))
    assert graph.is_multigraph()
    assert found(graph) == facts(clean)
    assert graph.graph == {"start": clean.start, "left_out": clean.left_out}
    assert text.endswith("}\n")


@ANY
@given(pictures())
def test_nothing_is_lost_where_characters_are_replaced(picture):
    clean = legible(picture)

    assert len({each.node.id for each in clean.nodes}) == len(picture.nodes)
    assert len(clean.ties) == len(picture.ties)
    for before, after in zip(picture.nodes, clean.nodes, strict=True):
        assert after.node.title == writable(before.node.title)
        assert before.node.id in (after.node.id, "") or before.node.id != writable(before.node.id)


def test_ids_that_look_alike_when_written_stay_apart():
    made = legible(picture({"a\x00": 0, "a\ufffd": 1, "a\x01": 1}, [("a\x00", "a\x01", "related")]))

    assert [each.node.id for each in made.nodes] == ["a\ufffd~2", "a\ufffd", "a\ufffd~3"]
    assert (made.start, made.ties[0].target) == ("a\ufffd~2", "a\ufffd~3")


def test_a_tie_that_leads_nowhere_is_not_drawn():
    odd = structs.replace(picture({"a": 0}, [("a", "gone", "body"), ("gone", "a", "body")]), start="gone")

    assert (legible(odd).ties, legible(odd).start) == ((), "a")


def read_by_graphviz(picture):
    """What the real program reads: labels by name, and edges by name."""
    program = ["dot", "-Tjson"]
    read = subprocess.run(program, input=drawn(picture, "dot").encode(), capture_output=True, check=True)
    assert read.stderr == b""
    made = json.loads(read.stdout)
    names = [each["name"] for each in made["objects"]]
    labels = {each["name"]: each["label"].replace("&amp;", "&") for each in made["objects"]}
    edges = {(names[each["tail"]], names[each["head"]], each["label"], each["dir"]) for each in made["edges"]}
    assert len(labels) == len(names)
    return labels, edges, made["label"]


def in_graphviz(name):
    """Its name there: backslashes stay doubled, and what begins with a percent sign is nobody's name but its own."""
    return name.replace("\\", "\\\\")


def test_graphviz_reads_names_labels_and_edges():
    kit = like_the_kit(30)

    labels, edges, more = read_by_graphviz(structs.replace(kit, left_out=3))

    assert labels == {each.node.id: each.node.id for each in kit.nodes}
    assert edges == {tuple(each) for each in lines(kit.ties)}
    assert more == "and 3 more"


def test_graphviz_reads_hostile_names_as_names():
    texts = [each for each in HOSTILE if not each.startswith("%")]  # it has such names for itself
    given = picture(dict.fromkeys(texts, 1), [(texts[0], each, "feeds") for each in texts])

    labels, edges, _ = read_by_graphviz(given)

    ids = [each.node.id for each in legible(given).nodes]
    assert labels == {in_graphviz(each): in_graphviz(shown(each, 60)) for each in ids}
    assert edges == {(in_graphviz(ids[0]), in_graphviz(each), "feeds", "forward") for each in ids}


FLOWCHART = [
    r"flowchart LR",
    r'    n\d+\["(?:[A-Za-z0-9_ .()/:-]|#\d+;)+"\]:::[a-z_]+',
    r"    n\d+ (?:<?-->|---|<?-\.->|<?==>)\|[a-z]+\| n\d+",
    r'    more\(\["and \d+ more"\]\)',
    r"    classDef [a-z_]+ fill:#[0-9a-f]{6},color:#[0-9a-f]{6},stroke:#4a5568",
    r"    style n\d+ stroke-width:4px",
]
"""Every line there can be."""


@ANY
@given(pictures())
def test_a_flowchart_has_the_same_few_forms_whatever_it_shows(picture):
    text = drawn(picture, "mermaid")

    assert text.endswith("\n")
    for line in text.removesuffix("\n").split("\n"):
        assert any(re.fullmatch(each, line) for each in FLOWCHART), line
    assert text.count('["') == len(picture.nodes) + (picture.left_out > 0)


def test_of_a_picture_that_mermaid_refuses_the_nearest_part_is_drawn():
    names = {f"n{number}": min(number, 1) for number in range(400)}
    ties = [("n0", name, kind) for name in names for kind in ("feeds", "related")]
    text = drawn(picture(names, ties, left_out=5), "mermaid")

    assert text.count("|related|") == text.count("|feeds|") <= 250
    assert f"and {405 - text.count(':::atom')} more" in text


@ANY
@given(pictures())
def test_an_svg_is_xml_with_every_node_in_it(picture):
    root = ET.fromstring(drawn(picture, "svg").encode())  # noqa: S314 - ours

    nodes = [each for each in root.findall(f"{SVG}g") if "node" in each.get("class").split()]
    assert [each.findtext(f"{SVG}text") for each in nodes] == [
        shown(each.node.id, 32) for each in legible(picture).nodes
    ]
    assert {each.tag for each in root.iter()} <= {
        SVG + tag for tag in ["svg", "title", "desc", "style", "defs", "marker", "path", "rect", "g", "circle", "text"]
    }
    assert root.findtext(f"{SVG}title")
    assert (f"and {picture.left_out} more" in "".join(root.itertext())) == (picture.left_out > 0)
    assert [each.get("href") for each in root.iter() if "href" in str(each.attrib)] == []


def test_a_tooltip_tells_what_it_is_and_not_where_it_is():
    text = drawn(like_the_kit(5), "svg")

    assert "<title>kei-task::create\natom, command\nWhat kei-task::create is for</title>" in text
    assert "/somewhere" not in text


def test_only_kinds_that_occur_stand_in_the_legend():
    text = drawn(picture({"a": 0, "b": 1}, [("a", "b", "uses")], kind="task-type"), "svg")

    legend = text.partition('<g class="legend"')[2]
    assert re.findall("<text[^>]*>([^<]*)</text>", legend) == ["task type", "uses"]


def test_ties_that_repeat_each_other_are_one_line():
    both = [(one, other, kind) for one, other in ("ab", "ba") for kind in ("related", "domain", "together")]
    made = lines(picture({"a": 0, "b": 1}, [*both, ("a", "b", "uses"), ("b", "b", "body")]).ties)

    assert [tuple(each) for each in made] == [
        ("a", "b", "related", "both"),
        ("a", "b", "domain", "none"),
        ("a", "b", "together", "none"),
        ("a", "b", "uses", "forward"),
        ("b", "b", "body", "forward"),
    ]
    assert {"domain", "together"} == MUTUAL


def touching(places):
    """Pairs of nodes that touch."""
    return [
        (one, other)
        for (one, a), (other, b) in combinations(places.items(), 2)
        if math.hypot(a.x - b.x, a.y - b.y) < a.radius + b.radius + 1
    ]


TREES = st.integers(1, 60).flatmap(
    lambda size: st.tuples(*(st.integers(0, max(number - 1, 0)) for number in range(size)))
)


@ANY
@given(TREES, st.lists(st.floats(0, 1), min_size=60, max_size=60), st.integers(0, 4))
def test_no_two_nodes_touch(parents, ranks, lost):
    names = {f"n{number}": 0 for number in range(len(parents) + lost)}
    made = picture(names, [(f"n{parent}", f"n{number}", "related") for number, parent in enumerate(parents)])
    nodes = [structs.replace(each, rank=rank) for each, rank in zip(made.nodes, ranks * 2, strict=False)]
    places = layout(structs.replace(made, nodes=tuple(nodes)))

    assert list(places) == list(dict.fromkeys(places))
    assert places.keys() == names.keys()
    assert places["n0"][:2] == (0.0, 0.0)
    assert touching(places) == []


SHAPES = {
    "star": lambda _: 0,
    "chain": lambda number: number - 1,
    "twos": lambda number: (number - 1) // 2,
    "twenties": lambda number: (number - 1) // 20,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_five_hundred_nodes_do_not_touch(shape):
    names = {f"n{number}": 0 for number in range(500)}
    ties = [(f"n{SHAPES[shape](number)}", f"n{number}", "related") for number in range(1, 500)]

    assert touching(layout(picture(names, ties))) == []


def test_places_depend_on_what_is_drawn_and_not_on_its_order():
    kit = like_the_kit(80)

    assert layout(structs.replace(kit, ties=kit.ties[::-1])) == layout(kit)
    assert {each.ring for each in layout(kit).values()} >= {0, 1, 2}


def lightness(colour):
    """CIE L* of a colour."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 116 * (0.2126 * red + 0.7152 * green + 0.0722 * blue) ** (1 / 3) - 16


def test_kinds_differ_in_lightness_too():
    shades = sorted(lightness(each.fill) for each in PAINTS.values())

    assert min(after - before for before, after in pairwise(shades)) > 7
    for paint in PAINTS.values():
        assert abs(lightness(paint.fill) - lightness(paint.ink)) > 40


def test_every_hostile_text_is_drawn_in_every_form():
    for form in ("graphml", "dot", "mermaid", "json", "svg"):
        text = drawn(hostile(), form)
        assert text.encode().endswith(b"\n")
        assert "\x00" not in text
        assert "\x1b" not in text
