"""Mermaid: a flowchart that pages draw, kept within what they draw without being told to."""

from collections.abc import Iterator
from typing import Final

from msgspec import structs

from keisei.records.sage import Drawn, EdgeKind, Picture
from keisei.rules.drawing.legible import shown
from keisei.rules.drawing.line import Line, lines
from keisei.rules.drawing.palette import PAINTS
from keisei.rules.mermaid import label

MOST_LINES: Final = 500
MOST_TEXT: Final = 50_000
"""What Mermaid draws; a page can allow more, a diagram cannot."""
LONGEST: Final = 50
"""Characters of an id that are drawn."""
STROKES: Final[dict[EdgeKind, tuple[str, str]]] = {
    "body": ("-.-", "-.->"),
    "uses": ("===", "==>"),
    "supplies": ("-.-", "-.->"),
}
"""Without and with an arrow, where it is not the plain line."""


def mermaid(picture: Picture) -> str:
    """A flowchart of everything that Mermaid draws of the picture."""
    return _text(allowed(picture))


def allowed(picture: Picture) -> Picture:
    """The picture; of one that Mermaid would refuse, the part that is nearest to the start."""
    while len(lines(picture.ties)) > MOST_LINES or len(_text(picture)) > MOST_TEXT:
        picture = _smaller(picture)
    return picture


def _smaller(picture: Picture) -> Picture:
    """Without the last tenth of its nodes. A single node is small enough."""
    kept = picture.nodes[: len(picture.nodes) * 9 // 10 or 1]
    ids = {each.node.id for each in kept}
    ties = tuple(each for each in picture.ties if each.source in ids and each.target in ids)
    return structs.replace(picture, nodes=kept, ties=ties, left_out=picture.left_out + len(picture.nodes) - len(kept))


def _text(picture: Picture) -> str:
    return "\n".join(_flowchart(picture)) + "\n"


def _flowchart(picture: Picture) -> Iterator[str]:
    numbers = {each.node.id: f"n{number}" for number, each in enumerate(picture.nodes)}
    yield "flowchart LR"
    yield from (f"    {_node(each, numbers[each.node.id])}" for each in picture.nodes)
    yield from (f"    {_line(each, numbers)}" for each in lines(picture.ties))
    if picture.left_out:
        yield f'    more(["and {picture.left_out} more"])'
    for kind in dict.fromkeys(each.node.node for each in picture.nodes):
        paint = PAINTS[kind]
        yield f"    classDef {_class(kind)} fill:{paint.fill},color:{paint.ink},stroke:#4a5568"
    if picture.start in numbers:
        yield f"    style {numbers[picture.start]} stroke-width:4px"


def _node(drawn: Drawn, number: str) -> str:
    told = label(shown(drawn.node.id, LONGEST)).replace("#58;", ":")  # in quotes a colon is one, and ids can be read
    return f'{number}["{told}"]:::{_class(drawn.node.node)}'


def _class(kind: str) -> str:
    return kind.replace("-", "_")


def _line(line: Line, numbers: dict[str, str]) -> str:
    plain, arrow = STROKES.get(line.kind, ("---", "-->"))
    stroke = {"none": plain, "forward": arrow, "both": f"<{arrow}"}[line.heads]
    return f"{numbers[line.source]} {stroke}|{line.kind}| {numbers[line.target]}"
