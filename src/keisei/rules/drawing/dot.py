"""Graphviz: shapes and colours by kind, and names that say nothing but themselves."""

from collections.abc import Iterator
from typing import Final

from keisei.records.sage import Drawn, Picture
from keisei.rules.drawing.legible import shown
from keisei.rules.drawing.line import Line, lines
from keisei.rules.drawing.palette import PAINTS, STROKES
from keisei.rules.graphviz import label, name

LONGEST: Final = 60
TOOLTIP: Final = 200
"""Characters of an id that are drawn, and of a title that is shown when it is pointed at."""


def dot(picture: Picture) -> str:
    """A digraph. A tie that leads both ways is one edge, with `dir=both`; one without direction has `dir=none`."""
    return "\n".join(_digraph(picture)) + "\n"


def _digraph(picture: Picture) -> Iterator[str]:
    yield f"digraph {name(picture.start or '-')} {{"
    more = f"and {picture.left_out} more" if picture.left_out else ""
    yield f'  graph [rankdir=LR, overlap=false, label="{more}", root={name(picture.start)}];'
    yield '  node [style=filled, fontname="sans-serif", fontsize=11];'
    yield '  edge [fontname="sans-serif", fontsize=9];'
    yield from (f"  {name(each.node.id)} [{_look(each, picture.start)}];" for each in picture.nodes)
    yield from (f"  {name(each.source)} -> {name(each.target)} [{_style(each)}];" for each in lines(picture.ties))
    yield "}"


def _look(drawn: Drawn, start: str) -> str:
    node, paint = drawn.node, PAINTS[drawn.node.node]
    what = f"label={label(shown(node.id, LONGEST))}, tooltip={label(shown(node.title, TOOLTIP))}"
    wide = ", penwidth=3" if node.id == start else ""
    return f'{what}, shape={paint.shape}, fillcolor="{paint.fill}", fontcolor="{paint.ink}"{wide}'


def _style(line: Line) -> str:
    stroke = STROKES[line.kind]
    return f'label="{line.kind}", style={stroke.style}, color="{stroke.light}", dir={line.heads}'
