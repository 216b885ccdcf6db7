"""The paths of lines: around other nodes, and apart from each other where several join the same two nodes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from keisei.rules.drawing.layout import Place
from keisei.rules.drawing.line import Line
from keisei.rules.drawing.svg_raster import SIDE, Cell, Cover, cell

PULL: Final = 0.45
"""How far the middle of a line is drawn to the start, where its ends stand in opposite directions."""
APART: Final = 22.0
"""Between the bends of lines that join the same two nodes."""
DETOURS: Final = (20.0, 40.0, 64.0, 90.0, 120.0, 160.0, 210.0)
"""How far the bends of such lines are moved, to either side, where something stands in their way."""
STEEPEST: Final = 0.8
"""No bend is moved further than this part of a line's length, or lines are rings."""
SHORT: Final = 64.0
"""A line that is shorter than its detour may have this one."""
UNDER: Final = 30.0
"""What a step below a node costs, where one below a label costs 1."""
LENGTHY: Final = 0.06
"""What a pixel of a detour costs."""
MOST: Final = 1500
"""Lines that look for a way."""
GAP: Final = 1.5
"""Between a line and its node."""


class _Point(NamedTuple):
    x: float
    y: float


class Curve(NamedTuple):
    """A line that bends once, towards a point."""

    begin: _Point
    bend: _Point
    end: _Point

    def path(self) -> str:
        """SVG's words for it."""
        return f"M{_n(self.begin)}Q{_n(self.bend)} {_n(self.end)}"

    def cells(self) -> Iterator[Cell]:
        """The squares it goes through."""
        (a, b), (c, d), (e, f) = self
        steps = int((math.hypot(c - a, d - b) + math.hypot(e - c, f - d)) / SIDE) + 1
        for step in range(steps + 1):
            t = step / steps
            one, two, three = (1 - t) * (1 - t), 2 * t * (1 - t), t * t
            yield cell(one * a + two * c + three * e, one * b + two * d + three * f)


def paths(lines: Sequence[Line], places: Mapping[str, Place], cover: Cover) -> list[str]:
    """The `d` of every line, in their order."""
    made = curves(lines, places, cover)
    loops: dict[str, int] = {}
    drawn = []
    for number, line in enumerate(lines):
        if number in made:
            drawn.append(made[number].path())
        else:
            loops[line.source] = loops.get(line.source, -1) + 1
            drawn.append(_loop(places[line.source], loops[line.source]))
    return drawn


def curves(lines: Sequence[Line], places: Mapping[str, Place], cover: Cover | None = None) -> dict[int, Curve]:
    """The way of every line that joins two nodes, by its number: the shortest that keeps away from what is covered.

    Of more than `MOST` lines nobody can tell which goes where; none of them looks for a way.
    """
    pairs: dict[tuple[str, str], list[int]] = {}
    for number, line in enumerate(lines):
        if line.source != line.target:
            # Which side is which must not depend on the direction of the line.
            pairs.setdefault((min(line[:2]), max(line[:2])), []).append(number)
    made: dict[int, Curve] = {}
    for (one, other), numbers in pairs.items():
        ways = _ways(one, other, places, len(numbers), cover if len(lines) <= MOST else None)
        made.update(
            (number, way if lines[number].source == one else Curve(*way[::-1]))
            for number, way in zip(numbers, ways, strict=True)
        )
    return made


def _ways(one: str, other: str, places: Mapping[str, Place], many: int, cover: Cover | None) -> list[Curve]:
    """So many curves from one node to another, side by side."""
    ends = places[one], places[other]
    best, least = _beside(*ends, 0.0, many), math.inf
    for aside in _asides(*ends) if cover else ():
        ways, price = _beside(*ends, aside, many), abs(aside) * LENGTHY * many
        for way in ways:
            price += _price(way, cover, {one, other}) if cover and price < least else 0.0
        if price < least:
            best, least = ways, price
    return best


def _beside(one: Place, other: Place, aside: float, many: int) -> list[Curve]:
    return [_curve(one, other, aside + (turn - (many - 1) / 2) * APART) for turn in range(many)]


def _asides(one: Place, other: Place) -> Iterator[float]:
    """From the shortest way on."""
    far = max(math.hypot(other.x - one.x, other.y - one.y) * STEEPEST, SHORT)
    yield 0.0
    for each in DETOURS:
        if each <= far:
            yield from (each, -each)


def _price(curve: Curve, cover: Cover, ends: set[str]) -> float:
    price = 0.0
    for each in curve.cells():
        if each in cover.labels:
            price += 1
        if not cover.nodes.get(each, frozenset()) <= ends:
            price += UNDER
    return price


def _curve(one: Place, other: Place, aside: float) -> Curve:
    bend = _bend(one, other, aside)
    return Curve(_edge(one, bend), bend, _edge(other, bend))


def _bend(one: Place, other: Place, aside: float) -> _Point:
    """The point a line bends to."""
    apart = abs((one.angle - other.angle + math.pi) % (2 * math.pi) - math.pi) if one.ring and other.ring else 0.0
    stay = 1 - PULL * apart / math.pi
    x, y = (one.x + other.x) / 2 * stay, (one.y + other.y) / 2 * stay
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
    return f"M{_n(_edge(place, one))}C{_n(one)} {_n(other)} {_n(_edge(place, other))}"


def _around(place: Place, angle: float, far: float) -> _Point:
    return _Point(place.x + far * math.cos(angle), place.y + far * math.sin(angle))


def _n(point: _Point) -> str:
    return f"{point.x:.1f} {point.y:.1f}"
