"""Where labels stand in the picture: upright while there is room for that, along the spokes otherwise."""

import math
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

from keisei.rules.drawing.label import HEIGHT, label, width
from keisei.rules.drawing.layout import LARGEST, Place
from keisei.rules.drawing.svg_raster import SIDE, Cell, cell

GAP: Final = 5.0
"""Between a node and its label."""
STEEP: Final = 0.35
"""Cosine of the directions in which an upright label stands above or below its node."""
SHEER: Final = 0.9
"""Sine of the directions in which a line from the start meets a label below it."""
SECOND: Final = 3.0
"""How many more squares of lines a label may cover where it stands better."""
OVERHANG: Final = 6.0
"""The same for one that stands above or below another node, as if it were that one's."""
Anchor = Literal["start", "middle", "end"]


class Box(NamedTuple):
    """A part of the picture, its sides level."""

    left: float
    top: float
    right: float
    bottom: float

    def wider(self, across: float, down: float) -> "Box":
        """With some air at its sides."""
        return Box(self.left - across, self.top - down, self.right + across, self.bottom + down)

    def meets(self, other: "Box") -> bool:
        """Whether they have a point in common."""
        level = self.left < other.right and other.left < self.right
        return level and self.top < other.bottom and other.top < self.bottom

    def meets_any(self, others: Iterable["Box"]) -> bool:
        """Whether it has a point in common with one of them."""
        return any(self.meets(other) for other in others)


class Spot(NamedTuple):
    """Where a label stands: around a point, turned, then moved by `x` and `y` along the turned axes."""

    text: str
    place: Place
    turn: float
    """In radians."""
    x: float
    y: float
    anchor: Anchor

    def box(self) -> Box:
        """What it covers, its sides level."""
        left, right = self._sides()
        corners = [self._at(x, self.y + y) for x in (left, right) for y in (-HEIGHT / 2, HEIGHT / 2)]
        xs, ys = zip(*corners, strict=True)
        return Box(min(xs), min(ys), max(xs), max(ys))

    def cells(self) -> set[Cell]:
        """The squares it covers."""
        left, right = self._sides()
        steps = math.ceil((right - left) / SIDE) or 1
        across = [left + (right - left) * step / steps for step in range(steps + 1)]
        return {cell(*self._at(x, self.y + y)) for x in across for y in (-HEIGHT / 3, 0.0, HEIGHT / 3)}

    def _sides(self) -> tuple[float, float]:
        long = width(self.text)
        left = self.x - {"start": 0.0, "middle": long / 2, "end": long}[self.anchor]
        return left, left + long

    def _at(self, x: float, y: float) -> tuple[float, float]:
        sin, cos = math.sin(self.turn), math.cos(self.turn)
        return self.place.x + x * cos - y * sin, self.place.y + x * sin + y * cos


def turned(places: Mapping[str, Place]) -> dict[str, Spot]:
    """A spot for every label, that of the start level and the others along their spokes."""
    return {name: _spoke(name, each) if each.ring else _centred(name, places) for name, each in places.items()}


def upright(places: Mapping[str, Place], crossed: Mapping[Cell, int]) -> dict[str, Spot] | None:
    """A level spot for every label, over as few lines as can be; None where there is no room for all."""
    circles = {name: around(place) for name, place in places.items()}
    boxes: list[Box] = []
    found = {}
    for name, place in places.items():
        others = [circle for other, circle in circles.items() if other != name]
        free = [each for each in _level(name, place) if not each.box().meets_any([*boxes, *others])]
        if not free:
            return None
        prices = [
            SECOND * number + sum(crossed[each] for each in spot.cells()) + OVERHANG * _overhangs(spot, others)
            for number, spot in enumerate(free)
        ]
        found[name] = free[prices.index(min(prices))]
        boxes.append(found[name].box().wider(GAP, 0.0))
    return found


def around(place: Place) -> Box:
    """What a node covers."""
    x, y, radius = place.x, place.y, place.radius
    return Box(x - radius, y - radius, x + radius, y + radius)


def _centred(name: str, places: Mapping[str, Place]) -> Spot:
    """Below the start; above it where only below a line leads straight away."""
    here = places[name]
    first = [math.sin(each.angle) for each in places.values() if each.ring == 1]
    above = max(first, default=0.0) > SHEER and min(first) > -SHEER
    return _above(name, here, -1 if above else 1)


def _level(name: str, place: Place) -> list[Spot]:
    """All spots of an upright label, the best first: away from the start."""
    cos, sin = math.cos(place.angle), math.sin(place.angle)
    side, end = (1 if cos >= 0 else -1), (1 if sin >= 0 else -1)
    outward: Anchor = "start" if side > 0 else "end"
    sides, ends = [_beside(name, place, side)], [_above(name, place, end), _above(name, place, end, outward)]
    nearest = [*ends, *sides] if not place.ring or abs(cos) < STEEP else [*sides, *ends]
    return [*nearest, _above(name, place, -end), _beside(name, place, -side)]


def _beside(name: str, place: Place, side: int) -> Spot:
    return Spot(label(name), place, 0.0, side * (place.radius + GAP), 0.0, "start" if side > 0 else "end")


def _above(name: str, place: Place, end: int, anchor: Anchor = "middle") -> Spot:
    """Above its node, or below it where `end` is 1."""
    return Spot(label(name), place, 0.0, 0.0, end * (place.radius + GAP + HEIGHT / 2), anchor)


def _overhangs(spot: Spot, others: Iterable[Box]) -> int:
    box = spot.box().wider(0.0, LARGEST)
    return sum(map(box.meets, others))


def _spoke(name: str, place: Place) -> Spot:
    far = place.radius + GAP
    if math.cos(place.angle) >= 0:
        return Spot(label(name), place, place.angle, far, 0.0, "start")
    return Spot(label(name), place, place.angle + math.pi, -far, 0.0, "end")
