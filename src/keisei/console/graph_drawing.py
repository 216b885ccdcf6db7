"""A part of the graph laid out on a plane: nodes with their labels, and the lines between them. Pure.

The same part always looks the same: nothing jumps when somebody comes back.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from keisei.console.graph_page import page_of
from keisei.console.graph_part import Part
from keisei.records.sage import Drawn, EdgeKind, NodeKind, Picture
from keisei.rules.drawing.label import width
from keisei.rules.drawing.layout import Place, layout
from keisei.rules.drawing.legible import legible
from keisei.rules.drawing.line import lines
from keisei.rules.drawing.svg_label import Spot, turned, upright
from keisei.rules.drawing.svg_line import curves

FEW: Final = 60
"""So many labels are tried upright."""
STRETCHES: Final = (1.0, 1.25, 1.5, 1.8)
MARGIN: Final = 24


class GraphNode(Struct, frozen=True, kw_only=True):
    """Something authored, as it is drawn."""

    id: str
    """Its id; the graph begins with it at `/graph?id=`."""
    kind: NodeKind
    """What it is."""
    sort: str | None
    """Of an atom: command, query, stream or transform."""
    title: str
    """What it is for."""
    layer: str
    """Where its file stands: kit, root, user, project or installed."""
    page: str | None
    """Its page; None where it has none."""
    depth: int
    """How many steps from the start."""
    rank: float
    """Its share of a walk through the picture: how much leads to it."""
    hub: bool
    """Whether so much leads to it that the walk ends there, unless that is asked for."""
    fits: bool
    """Whether it holds the words that are searched for; of no words everything does."""
    x: float
    """Where it stands; the start stands at 0, 0."""
    y: float
    """The same, downwards."""
    radius: float
    """How large it is, by rank."""
    label: str
    """Its id, cut where it is long."""
    label_x: float
    """Where the middle of its label is, seen from its own."""
    label_y: float
    """The same, downwards."""
    label_turn: float
    """How far its label is turned, in degrees."""


class GraphEdge(Struct, frozen=True, kw_only=True):
    """Why two of them are near to each other."""

    source: str
    """The id of one."""
    target: str
    """The id of the other."""
    kind: EdgeKind
    """Why."""
    direction: Literal["none", "forward", "both"]
    """Whether it leads from the source to the target, both ways, or has no direction."""
    path: str
    """The line, as SVG says it."""


class GraphView(Struct, frozen=True, kw_only=True):
    """What a drawing covers."""

    left: int
    """Its left side."""
    top: int
    """Its upper side."""
    width: int
    """How wide it is."""
    height: int
    """How high it is."""


class Drawing(NamedTuple):
    """A part of the graph, laid out."""

    start: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    view: GraphView


def drawing(part: Part, words: str) -> Drawing:
    """Where everything is. Ids and titles are such that every page and program can hold them."""
    picture = legible(part.picture)
    places, labels = _placed(picture)
    ties = [each for each in lines(picture.ties) if each.source != each.target]
    curved = curves(ties, places)
    edges = tuple(
        GraphEdge(source=each.source, target=each.target, kind=each.kind, direction=each.heads, path=curved[at].path())
        for at, each in enumerate(ties)
    )
    sought = words.strip().casefold()
    nodes = tuple(_node(each, part, places[each.node.id], labels[each.node.id], sought) for each in picture.nodes)
    return Drawing(picture.start, nodes, edges, _view(places, labels))


def _placed(picture: Picture) -> tuple[dict[str, Place], Mapping[str, Spot]]:
    """Labels are upright where a picture of few nodes has room for that, and along the spokes otherwise."""
    for stretch in STRETCHES if len(picture.nodes) <= FEW else ():
        places = layout(picture, stretch)
        labels = upright(places, Counter())
        if labels is not None:
            return places, labels
    places = layout(picture)
    return places, turned(places)


def _node(drawn: Drawn, part: Part, place: Place, spot: Spot, sought: str) -> GraphNode:
    node, long = drawn.node, width(spot.text)
    middle = spot.x + {"start": long / 2, "middle": 0.0, "end": -long / 2}[spot.anchor]
    sin, cos = math.sin(spot.turn), math.cos(spot.turn)
    return GraphNode(
        id=node.id,
        kind=node.node,
        sort=node.kind,
        title=node.title,
        layer=node.layer,
        page=page_of(node),
        depth=drawn.depth,
        rank=drawn.rank,
        hub=node.id in part.hubs,
        fits=sought in f"{node.id}\n{node.title}".casefold(),
        x=round(place.x, 1),
        y=round(place.y, 1),
        radius=round(place.radius, 1),
        label=spot.text,
        label_x=round(middle * cos - spot.y * sin, 1),
        label_y=round(middle * sin + spot.y * cos, 1),
        label_turn=round(math.degrees(spot.turn), 1),
    )


def _view(places: Mapping[str, Place], labels: Mapping[str, Spot]) -> GraphView:
    boxes = [each.box() for each in labels.values()]
    left = min(*(each.left for each in boxes), *(each.x - each.radius for each in places.values()))
    top = min(*(each.top for each in boxes), *(each.y - each.radius for each in places.values()))
    right = max(*(each.right for each in boxes), *(each.x + each.radius for each in places.values()))
    bottom = max(*(each.bottom for each in boxes), *(each.y + each.radius for each in places.values()))
    x, y = math.floor(left) - MARGIN, math.floor(top) - MARGIN
    return GraphView(left=x, top=y, width=math.ceil(right) + MARGIN - x, height=math.ceil(bottom) + MARGIN - y)
