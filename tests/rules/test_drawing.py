"""Pictures as files: what other programs read in them is what was drawn, whatever ids and titles are made of."""

import io
import json
import math
import re
import subprocess
from itertools import combinations, pairwise, product
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from keisei.rules.drawing import drawn, kept
from keisei.rules.drawing.label import width
from keisei.rules.drawing.layout import layout
from keisei.rules.drawing.legible import legible, shown, writable
from keisei.rules.drawing.line import MUTUAL, lines
from keisei.rules.drawing.palette import PAINTS
from keisei.rules.drawing.svg_line import curves
from keisei.rules.drawing.svg_plan import plan
from keisei.rules.drawing.svg_raster import cover
from tests.rules.drawing_world import HOSTILE, hostile, like_the_kit, picture, pictures

SVG = "{http://www.w3.org/2000/svg}"
ANY = settings(max_examples=25, deadline=None, database=None, derandomize=True)


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


NAMES = [each for each in HOSTILE if not each.startswith("%")]  # Graphviz has such names for itself
DOMAIN = [f"kei-pack{number // 8}::verb-{number}" for number in range(64)]
GRAPHS = {
    "few": structs.replace(like_the_kit(30), left_out=3),
    "hostile": picture(dict.fromkeys(NAMES, 1), [(NAMES[0], each, "feeds") for each in NAMES]),
    "many": picture(dict.fromkeys(NAMES, 1), product(NAMES, NAMES, ["feeds"])),
    "domain": picture(
        dict.fromkeys(DOMAIN, 1), [(one, other, "domain") for one, other in product(DOMAIN, DOMAIN) if one != other]
    ),
}


@pytest.fixture(scope="module")
def graphs():
    """What the real program reads and lays out, asked once: it would take hours for the last one in its usual way."""
    text = "".join(drawn(each, "dot") for each in GRAPHS.values())
    read = subprocess.run(["dot", "-Tjson"], input=text.encode(), capture_output=True, check=True, timeout=120)
    assert read.stderr == b""
    made, rest = [], read.stdout.decode().lstrip()
    while rest:
        graph, end = json.JSONDecoder().raw_decode(rest)
        made.append(graph)
        rest = rest[end:].lstrip()
    return dict(zip(GRAPHS, made, strict=True))


def in_graphviz(name):
    """Its name there: backslashes stay doubled."""
    return name.replace("\\", "\\\\")


@pytest.mark.parametrize("name", GRAPHS)
def test_graphviz_reads_names_labels_and_edges(graphs, name):
    clean, made = legible(GRAPHS[name]), graphs[name]
    names = [each["name"] for each in made["objects"]]

    assert {each["name"]: each["label"].replace("&amp;", "&") for each in made["objects"]} == {
        in_graphviz(each.node.id): in_graphviz(shown(each.node.id, 60)) for each in clean.nodes
    }
    assert len(names) == len(clean.nodes)
    assert {(names[each["tail"]], names[each["head"]], each["tooltip"], each["dir"]) for each in made["edges"]} == {
        (in_graphviz(each.source), in_graphviz(each.target), each.kind, each.heads) for each in lines(clean.ties)
    }
    assert made["label"] == ("and 3 more" if clean.left_out else "")


def test_edges_have_words_in_graphviz_where_they_are_few(graphs):
    words = {name: [each.get("label") == each["tooltip"] for each in graph["edges"]] for name, graph in graphs.items()}

    assert {name: (all(each), any(each)) for name, each in words.items()} == {
        "few": (True, True),
        "hostile": (True, True),
        "many": (False, False),
        "domain": (False, False),
    }


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


@pytest.mark.parametrize("form", ["graphml", "dot", "mermaid", "json", "svg"])
def test_what_a_form_left_out_can_be_asked(form):
    names = {f"n{number}": min(number, 1) for number in range(300)}
    whole = picture(names, [("n0", name, kind) for name in names for kind in ("feeds", "related")], left_out=5)

    part = kept(whole, form)

    assert drawn(part, form) == drawn(whole, form)
    assert len(part.nodes) + part.left_out == 305
    assert (part.left_out > 5) == (form == "mermaid")
    assert kept(part, form) == part


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


def under(line, curve, places):
    """The other nodes that a line goes below."""
    (a, b), (c, d), (e, f) = curve
    steps = [number / 80 for number in range(81)]
    way = [
        ((1 - t) ** 2 * a + 2 * t * (1 - t) * c + t * t * e, (1 - t) ** 2 * b + 2 * t * (1 - t) * d + t * t * f)
        for t in steps
    ]
    others = {name: place for name, place in places.items() if name not in line[:2]}
    return [
        name
        for name, (x, y, radius, *_) in others.items()
        if min(math.hypot(px - x, py - y) for px, py in way) < radius
    ]


@pytest.mark.parametrize("many", range(2, 12))
def test_lines_among_neighbours_go_around_the_start_and_each_other(many):
    names = [f"kei-json::verb-{number}" for number in range(many + 1)]
    ties = [(one, other, kind) for one, other in combinations(names, 2) for kind in ("related", "body")]
    drawing = picture({name: min(number, 1) for number, name in enumerate(names)}, ties)
    drawn_lines = lines(drawing.ties)
    places = plan(drawing, drawn_lines).places

    made = curves(drawn_lines, places, cover(places))

    assert len(made) == len(ties)
    assert [under(drawn_lines[number], curve, places) for number, curve in made.items()] == [[]] * len(ties)


def test_a_line_to_an_only_child_is_not_below_the_label_of_its_parent():
    ring = [f"kei-task::a-rather-long-verb-{number}" for number in range(12)]
    names = {"kei-task::create": 0, **dict.fromkeys(ring, 1), "rules/RULE-0.13-orchestrator": 2}
    ties = [*(("kei-task::create", each, "domain") for each in ring), (ring[0], "rules/RULE-0.13-orchestrator", "body")]
    drawing = picture(names, ties)
    drawn_lines = lines(drawing.ties)

    places, labels, _ = plan(drawing, drawn_lines)
    way = set(curves(drawn_lines, places)[12].cells())

    assert {each.turn for each in labels.values()} == {0.0}
    assert len(way & labels[ring[0]].cells()) < len(way) / 10


def test_marks_and_joiners_take_no_room():
    assert width("a\u0301\u20dd\ufe0e") == width("a")
    assert width("👩\u200d👩\u200d👧") == width("👩")
    assert width("a\u200db") == width("ab")
    assert width("\u0301") > 0


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
