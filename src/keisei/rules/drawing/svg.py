"""SVG: one file, without scripts and without anything from elsewhere, for light and dark pages."""

import math
from collections.abc import Iterable, Iterator
from typing import Final
from xml.sax.saxutils import escape  # writes, reads nothing

from keisei.records.sage import Drawn, EdgeKind, NodeKind, Picture
from keisei.rules.drawing.label import width
from keisei.rules.drawing.layout import Place
from keisei.rules.drawing.legible import shown
from keisei.rules.drawing.line import Line, lines
from keisei.rules.drawing.palette import PAINTS, STROKES
from keisei.rules.drawing.svg_label import Box, Spot, around
from keisei.rules.drawing.svg_legend import legend
from keisei.rules.drawing.svg_plan import plan
from keisei.rules.drawing.svg_style import heads, style

MARGIN: Final = 24.0
NARROWEST: Final = 400.0
"""No picture is narrower, or its legend is a column."""
LONGEST: Final = 300
"""Characters of a text that a tooltip shows."""


def svg(picture: Picture) -> str:
    """A picture of its own size, that may be shown in any other."""
    return "\n".join(_document(picture)) + "\n"


def _document(picture: Picture) -> Iterator[str]:
    ties = lines(picture.ties)
    places, labels, paths = plan(picture, ties)
    nodes, edges = _kinds(picture, ties)
    signs, box = legend(picture, nodes, edges, _bounds(places.values(), labels.values()))
    left, top, wide, high = _view(box)
    size = f'width="{wide}" height="{high}" viewBox="{left} {top} {wide} {high}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" class="sage" role="img" {size}>'
    yield from _words(picture)
    yield from style(nodes, edges)
    yield from heads(edges)
    yield f'<rect class="paper" x="{left}" y="{top}" width="{wide}" height="{high}"/>'
    yield from (_line(*each) for each in zip(ties, paths, strict=True))
    yield from (_node(each, picture.start, places[each.node.id], labels[each.node.id]) for each in picture.nodes)
    yield from signs
    yield "</svg>"


def _kinds(picture: Picture, ties: Iterable[Line]) -> tuple[list[NodeKind], list[EdgeKind]]:
    nodes, edges = {each.node.node for each in picture.nodes}, {each.kind for each in ties}
    return [each for each in PAINTS if each in nodes], [each for each in STROKES if each in edges]


def _bounds(places: Iterable[Place], labels: Iterable[Spot]) -> Box:
    boxes = [Box(-NARROWEST / 2, 0.0, NARROWEST / 2, 0.0), *map(around, places), *(each.box() for each in labels)]
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


def _view(box: Box) -> tuple[int, int, int, int]:
    left, top = math.floor(box.left - MARGIN), math.floor(box.top - MARGIN)
    return left, top, math.ceil(box.right + MARGIN) - left, math.ceil(box.bottom + MARGIN) - top


def _words(picture: Picture) -> Iterator[str]:
    yield f"<title>{escape(shown(picture.start, LONGEST))} and what is around it</title>"
    more = f"; and {picture.left_out} more that are not drawn" if picture.left_out else ""
    yield f"<desc>{len(picture.nodes)} nodes, {len(picture.ties)} edges{more}</desc>"


def _line(line: Line, path: str) -> str:
    marker = f"url(#sage-{line.kind})"
    end = f' marker-end="{marker}"' if line.heads != "none" else ""
    begin = f' marker-start="{marker}"' if line.heads == "both" else ""
    return f'<path class="line {line.kind}" d="{path}"{begin}{end}/>'


def _node(drawn: Drawn, start: str, place: Place, spot: Spot) -> str:
    node = drawn.node
    kind = f"{node.node}, {shown(node.kind, LONGEST)}" if node.kind else node.node
    tooltip = escape("\n".join(filter(str.strip, (shown(node.id, LONGEST), kind, node.title[:LONGEST]))))
    circle = f'<circle cx="{place.x:.1f}" cy="{place.y:.1f}" r="{place.radius:.1f}"/>'
    role = f"node {node.node} start" if node.id == start else f"node {node.node}"
    return f'<g class="{role}"><title>{tooltip}</title>{circle}{_label(spot)}</g>'


def _label(spot: Spot) -> str:
    move = f"translate({spot.place.x:.1f} {spot.place.y:.1f})"
    turn = f" rotate({math.degrees(spot.turn):.2f})" if spot.turn else ""
    anchor = f' text-anchor="{spot.anchor}"' if spot.anchor != "start" else ""
    # Glyphs of other scripts come from whatever font has them; only what is told to fit is sure to.
    fit = "" if spot.text.isascii() else f' textLength="{width(spot.text):.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text transform="{move}{turn}" x="{spot.x:.1f}" y="{spot.y:.1f}"{anchor}{fit}>{escape(spot.text)}</text>'
