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
MANY: Final = 100
"""More lines are drawn straight, around the start and without words: of many, Graphviz's ranks take it hours."""
AROUND: Final = "layout=twopi, splines=line, outputorder=edgesfirst"


def dot(picture: Picture) -> str:
    """A digraph. A tie that leads both ways is one edge, with `dir=both`; one without direction has `dir=none`.

    An edge's kind is its tooltip, and its label too where edges are few.
    """
    return "\n".join(_digraph(picture)) + "\n"


def _digraph(picture: Picture) -> Iterator[str]:
    yield f"digraph {name(picture.start or '-')} {{"
    more = f"and {picture.left_out} more" if picture.left_out else ""
    drawn = lines(picture.ties)
    few = len(drawn) <= MANY
    how = "rankdir=LR" if few else AROUND
    yield f'  graph [{how}, overlap=false, label="{more}", root={name(picture.start)}];'
    yield '  node [style=filled, fontname="sans-serif", fontsize=11];'
    yield '  edge [fontname="sans-serif", fontsize=9];'
    yield from (f"  {name(each.node.id)} [{_look(each, picture.start)}];" for each in picture.nodes)
    yield from (f"  {name(each.source)} -> {name(each.target)} [{_style(each, labelled=few)}];" for each in drawn)
    yield "}"


def _look(drawn: Drawn, start: str) -> str:
    node, paint = drawn.node, PAINTS[drawn.node.node]
    what = f"label={label(shown(node.id, LONGEST))}, tooltip={label(shown(node.title, TOOLTIP))}"
    wide = ", penwidth=3" if node.id == start else ""
    return f'{what}, shape={paint.shape}, fillcolor="{paint.fill}", fontcolor="{paint.ink}"{wide}'


def _style(line: Line, *, labelled: bool) -> str:
    stroke = STROKES[line.kind]
    what = f'label="{line.kind}", ' if labelled else ""
    return f'{what}tooltip="{line.kind}", style={stroke.style}, color="{stroke.light}", dir={line.heads}'
