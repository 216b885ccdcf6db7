"""How kinds look, in every form alike. No two kinds of node are equally light, so that they differ without colour."""

from typing import Final, NamedTuple

from keisei.records.sage import EdgeKind, NodeKind


class Paint(NamedTuple):
    """How a kind of node looks."""

    fill: str
    ink: str
    """What can be read on the fill."""
    shape: str
    """Graphviz's word for an outline."""


class Stroke(NamedTuple):
    """How a kind of edge looks."""

    light: str
    """Its colour on white."""
    dark: str
    """Its colour on black."""
    dashes: str
    """SVG's word for the dashes; empty for a solid line."""
    style: str
    """Graphviz's word for the same."""


PAINTS: Final[dict[NodeKind, Paint]] = {
    "atom": Paint("#2f74c0", "#ffffff", "ellipse"),
    "capability": Paint("#e08e1b", "#000000", "hexagon"),
    "role": Paint("#5e2a84", "#ffffff", "house"),
    "skill": Paint("#1f9e77", "#000000", "note"),
    "workflow": Paint("#a8322d", "#ffffff", "component"),
    "task-type": Paint("#8ec9ee", "#000000", "box"),
    "rule": Paint("#f4e58c", "#000000", "octagon"),
}
STROKES: Final[dict[EdgeKind, Stroke]] = {
    "related": Stroke("#4a5568", "#b8c2d3", "", "solid"),
    "body": Stroke("#718096", "#8d9ab0", "6 3", "dashed"),
    "uses": Stroke("#1d5fa8", "#6db1f5", "", "bold"),
    "lineage": Stroke("#9c5a0b", "#e0a355", "9 3 2 3", "dashed"),
    "domain": Stroke("#8a94a6", "#6f7b8f", "1 4", "dotted"),
    "feeds": Stroke("#1c7a52", "#5cc99a", "", "solid"),
    "supplies": Stroke("#1c7a52", "#5cc99a", "5 4", "dashed"),
    "together": Stroke("#8f2b6b", "#e27fc0", "2 3", "dotted"),
}
