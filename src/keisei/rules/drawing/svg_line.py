"""The paths of lines: bent around the start, and apart from each other where several join the same two nodes."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from keisei.rules.drawing.layout import Place
from keisei.rules.drawing.line import Line

PULL: Final = 0.45
"""How far the middle of a line is drawn to the start, where its ends stand in opposite directions."""
APART: Final = 22.0
"""Between the bends of lines that join the same two nodes."""
CLEAR: Final = 70.0
"""How far the bend of a line stays away from the start."""
GAP: Final = 1.5
"""Between a line and its node."""


class _Point(NamedTuple):
    x: float
    y: float


def paths(lines: Sequence[Line], places: Mapping[str, Place]) -> list[str]:
    """The `d` of every line, in their order."""
    many = Counter(frozenset((each.source, each.target)) for each in lines)
    drawn: Counter[frozenset[str]] = Counter()
    made = []
    for line in lines:
        pair = frozenset((line.source, line.target))
        turn = drawn[pair] - (many[pair] - 1) / 2
        made.append(_path(line, places, turn) if len(pair) > 1 else _loop(places[line.source], drawn[pair]))
        drawn[pair] += 1
    return made


def _path(line: Line, places: Mapping[str, Place], turn: float) -> str:
    one, other = places[line.source], places[line.target]
    # Which side is which must not depend on the direction of the line.
    bend = turn * APART * (1 if line.source < line.target else -1)
    middle = _bend(one, other, bend)
    begin, end = _edge(one, middle), _edge(other, middle)
    return f"M{_n(begin.x)} {_n(begin.y)}Q{_n(middle.x)} {_n(middle.y)} {_n(end.x)} {_n(end.y)}"


def _bend(one: Place, other: Place, aside: float) -> _Point:
    """The point a line bends to."""
    apart = abs((one.angle - other.angle + math.pi) % (2 * math.pi) - math.pi) if one.ring and other.ring else 0.0
    stay = 1 - PULL * apart / math.pi
    x, y = (one.x + other.x) / 2 * stay, (one.y + other.y) / 2 * stay
    if one.ring and other.ring and math.hypot(x, y) < CLEAR / 2:
        aside += CLEAR
    long = math.hypot(other.x - one.x, other.y - one.y) or 1.0
    return _Point(x - (other.y - one.y) / long * aside, y + (other.x - one.x) / long * aside)


def _edge(place: Place, towards: _Point) -> _Point:
    long = math.hypot(towards.x - place.x, towards.y - place.y) or 1.0
    far = (place.radius + GAP) / long
    return _Point(place.x + (towards.x - place.x) * far, place.y + (towards.y - place.y) * far)


def _loop(place: Place, number: int) -> str:
    """A line back to the same node, beside it."""
    side, size = place.angle - math.pi / 2, place.radius + 16 + 5 * number
    one, other = _around(place, side - 0.5, size), _around(place, side + 0.5, size)
    begin, end = _edge(place, one), _edge(place, other)
    return f"M{_n(begin.x)} {_n(begin.y)}C{_n(one.x)} {_n(one.y)} {_n(other.x)} {_n(other.y)} {_n(end.x)} {_n(end.y)}"


def _around(place: Place, angle: float, far: float) -> _Point:
    return _Point(place.x + far * math.cos(angle), place.y + far * math.sin(angle))


def _n(value: float) -> str:
    return f"{value:.1f}"
