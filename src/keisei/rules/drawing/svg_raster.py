"""What covers which part of the picture, by small squares: so that nobody compares everything with everything."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from keisei.rules.drawing.layout import Place

SIDE: Final = 6.0
"""Of a square."""
CLEAR: Final = SIDE
"""Around a node: whoever keeps out of its squares does not touch it."""
Cell = tuple[int, int]


class Cover(NamedTuple):
    """What lines keep away from."""

    nodes: Mapping[Cell, frozenset[str]]
    """Who stands there."""
    labels: frozenset[Cell]
    """Where something is written."""


def cell(x: float, y: float) -> Cell:
    """The square around a point."""
    return round(x / SIDE), round(y / SIDE)


def cover(places: Mapping[str, Place], labels: Iterable[Cell] = ()) -> Cover:
    """Nodes, and the squares of labels."""
    nodes: dict[Cell, frozenset[str]] = {}
    for name, place in places.items():
        for each in disc(place):
            nodes[each] = nodes.get(each, frozenset()) | {name}
    return Cover(nodes, frozenset(labels))


def disc(place: Place) -> Iterator[Cell]:
    """The squares of a node, and those close to it."""
    far = place.radius + CLEAR
    across, down = cell(place.x, place.y)
    reach = math.ceil(far / SIDE)
    for x in range(across - reach, across + reach + 1):
        for y in range(down - reach, down + reach + 1):
            if math.hypot(x * SIDE - place.x, y * SIDE - place.y) < far:
                yield x, y
