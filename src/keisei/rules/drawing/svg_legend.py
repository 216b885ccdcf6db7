"""The legend: the kinds that occur, how many things were left out, and nothing else."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from keisei.records.sage import EdgeKind, NodeKind, Picture
from keisei.rules.drawing.label import NARROW
from keisei.rules.drawing.svg_label import Box

MEANINGS: Final[dict[EdgeKind, str]] = {
    "related": "related",
    "body": "links to",
    "uses": "uses",
    "lineage": "made from",
    "domain": "same domain",
    "feeds": "can feed",
    "supplies": "can supply",
    "together": "used together",
}
ROW: Final = 20.0
SIGN: Final = 34.0
"""Room of a sign, before its words."""
AIR: Final = 16.0
PLAIN: Final = 900.0
"""A picture that is wider has a larger legend, so that it is read where the whole is seen."""


class _Entry(NamedTuple):
    sign: str
    words: str

    @property
    def wide(self) -> float:
        return (SIGN if self.sign else 0.0) + NARROW * len(self.words) + AIR


def legend(picture: Picture, nodes: Sequence[NodeKind], edges: Sequence[EdgeKind], box: Box) -> tuple[list[str], Box]:
    """The legend below a drawing that covers the box; and the box of both."""
    scale = max(1.0, (box.right - box.left) / PLAIN)
    rows = _rows(list(_entries(picture, nodes, edges)), (box.right - box.left) / scale)
    drawn = [f'<g class="legend" transform="translate({box.left:.1f} {box.bottom + AIR:.1f}) scale({scale:.2f})">']
    for number, row in enumerate(rows):
        x = 0.0
        for entry in row:
            drawn.append(_drawn(entry, x, (number + 0.5) * ROW))
            x += entry.wide
    widest = max((sum(each.wide for each in row) for row in rows), default=0.0)
    right = max(box.right, box.left + widest * scale)
    return [*drawn, "</g>"], box._replace(right=right, bottom=box.bottom + AIR + len(rows) * ROW * scale)


def _entries(picture: Picture, nodes: Sequence[NodeKind], edges: Sequence[EdgeKind]) -> Iterator[_Entry]:
    for node in nodes:
        yield _Entry(f'<g class="node {node}"><circle cx="22" r="6"/></g>', node.replace("-", " "))
    for edge in edges:
        yield _Entry(f'<path class="line {edge}" d="M2 0H28"/>', MEANINGS[edge])
    if picture.left_out:
        yield _Entry("", f"and {picture.left_out} more")


def _rows(entries: Sequence[_Entry], wide: float) -> list[list[_Entry]]:
    rows: list[list[_Entry]] = []
    room = 0.0
    for entry in entries:
        if not rows or room < entry.wide:
            rows.append([])
            room = wide
        rows[-1].append(entry)
        room -= entry.wide
    return rows


def _drawn(entry: _Entry, x: float, y: float) -> str:
    words = f'<text x="{SIGN if entry.sign else 0:.0f}">{entry.words}</text>'
    return f'<g transform="translate({x:.1f} {y:.1f})">{entry.sign}{words}</g>'
