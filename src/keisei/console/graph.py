"""The graph: what is around one authored thing, drawn, and told as a list; from there one walks on."""

from collections.abc import Iterable
from typing import Annotated, Final, Literal, get_args

from msgspec import Meta, Struct

from keisei.console.asking import Key
from keisei.console.graph_drawing import Drawing, GraphEdge, GraphNode, GraphView, drawing
from keisei.console.graph_part import HUB, Part, in_sight
from keisei.console.page import Missing, Order, Page, page
from keisei.console.premises import Premises
from keisei.records.error import OperatorError
from keisei.records.sage import EdgeKind, NodeKind, Picture
from keisei.rules.drawing.line import MUTUAL
from keisei.wiring.sage import WRITTEN

Depth = Annotated[int, Meta(ge=1, le=3)]
Phrase = Annotated[str, Meta(max_length=200)]
MOST: Final = 300
"""Nodes that are drawn; nobody reads more."""
REACHED: Final = 1000
"""Nodes that are looked at for those that are drawn."""
EDGES: Final[tuple[EdgeKind, ...]] = get_args(EdgeKind)
KINDS: Final[tuple[NodeKind, ...]] = get_args(NodeKind)
WORDS: Final[dict[EdgeKind, tuple[str, str, str]]] = {
    "related": ("Related", "Names as related", "Is named as related by"),
    "body": ("Linked both ways", "Its text links to", "Is linked from the text of"),
    "uses": ("Use each other", "Uses", "Is used by"),
    "lineage": ("Made from each other", "Was made from", "Was made into"),
    "domain": ("Touches the same things", "", ""),
    "feeds": ("Output fits the input, both ways", "Its output fits the input of", "Takes the output of"),
    "supplies": ("Supply each other", "Its output has all that is required by", "Has all it requires in the output of"),
    "together": ("Used together in pipes", "", ""),
}
"""How neighbours are told: both ways, from the start, to the start."""
Way = Literal["both", "out", "in"]
WAYS: Final[tuple[Way, ...]] = ("both", "out", "in")


class GraphAsk(Struct, frozen=True, kw_only=True):
    """Which part of the graph."""

    id: Key | None = None
    """What it begins with: a name as people write it; the atom that most leads to where nothing is said."""
    depth: Depth = 2
    """How many steps from there."""
    edges: tuple[EdgeKind, ...] = ()
    """Along which edges; those that somebody wrote down where none is named."""
    kinds: tuple[NodeKind, ...] = ()
    """What is shown; everything where nothing is named."""
    q: Phrase = ""
    """What holds these words is told apart from the rest."""
    hubs: bool = False
    """Whether to walk on from hubs, which very much leads to."""


class GraphNear(Struct, frozen=True, kw_only=True):
    """Neighbours of the start that are near for one reason."""

    kind: EdgeKind
    """The reason."""
    way: Way
    """Whether it leads away from the start, towards it, or both."""
    title: str
    """The same in words."""
    ids: tuple[str, ...]
    """The neighbours."""


class GraphPage(Struct, frozen=True, kw_only=True):
    """A part of the graph."""

    start: str | None
    """What it begins with; None where nothing is authored."""
    edge_kinds: tuple[EdgeKind, ...]
    """Along which edges."""
    node_kinds: tuple[NodeKind, ...]
    """What is shown, the start aside."""
    nodes: tuple[GraphNode, ...] = ()
    """By depth, then by id; the start is the first."""
    edges: tuple[GraphEdge, ...] = ()
    """What joins them."""
    near: tuple[GraphNear, ...] = ()
    """Neighbours of the start, by reason."""
    view: GraphView | None = None
    """What the drawing covers."""
    left_out: int = 0
    """How many are near enough and were too many."""
    behind_hubs: int = 0
    """How many are near enough by hubs only."""
    most: int = MOST
    """How many are shown at most."""
    hub_from: int = HUB
    """What has more neighbours in sight is a hub."""


def show_graph(premises: Premises, asks: GraphAsk) -> GraphPage:
    """What is around one authored thing, with places to draw it at."""
    edges = asks.edges or WRITTEN
    chosen = tuple(each for each in EDGES if each in edges)
    kinds = tuple(each for each in KINDS if not asks.kinds or each in asks.kinds)
    start = asks.id or _first(premises)
    if start is None:
        return GraphPage(start=None, edge_kinds=chosen, node_kinds=kinds)
    part = _part(premises, start, asks, chosen)
    drawn = drawing(part, asks.q)
    return GraphPage(
        start=drawn.start,
        edge_kinds=chosen,
        node_kinds=kinds,
        nodes=drawn.nodes,
        edges=drawn.edges,
        near=tuple(_near(drawn)),
        view=drawn.view,
        left_out=part.picture.left_out,
        behind_hubs=part.behind,
    )


def _part(premises: Premises, start: str, asks: GraphAsk, edges: tuple[EdgeKind, ...]) -> Part:
    picture: Picture
    try:
        picture = premises.sage.picture(start, depth=asks.depth, edges=edges, most=REACHED)
    except OperatorError as error:
        raise Missing(error.message, error.hint) from error
    return in_sight(picture, asks.depth, kinds=asks.kinds, through_hubs=asks.hubs, most=MOST)


def _first(premises: Premises) -> str | None:
    """The atom of the project that most leads to; else that of all; else whatever there is."""
    ranked = premises.sage.ranked() or premises.sage.ranked(nodes=KINDS, edges=WRITTEN)
    own = (each.node.id for each in ranked if each.node.layer == "project")
    return next(own, ranked[0].node.id if ranked else None)


def _near(drawn: Drawing) -> Iterable[GraphNear]:
    found: dict[tuple[EdgeKind, Way], list[str]] = {}
    for edge in drawn.edges:
        if drawn.start in (edge.source, edge.target):
            out = edge.source == drawn.start
            way: Way = "both" if edge.direction == "both" or edge.kind in MUTUAL else "out" if out else "in"
            found.setdefault((edge.kind, way), []).append(edge.target if out else edge.source)
    for kind, way in ((kind, way) for kind in EDGES for way in WAYS if (kind, way) in found):
        ids = tuple(sorted(found[kind, way]))
        yield GraphNear(kind=kind, way=way, title=WORDS[kind][WAYS.index(way)], ids=ids)


PAGES: Final[tuple[Page, ...]] = (page("/graph", "graph.html", show_graph),)
ORDERS: Final[tuple[Order, ...]] = ()
