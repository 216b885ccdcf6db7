"""Where labels stand in the picture: upright while there is room for that, along the spokes otherwise."""

import math
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final, Literal, NamedTuple

from keisei.rules.drawing.label import HEIGHT, label, width
from keisei.rules.drawing.layout import Place

FEW: Final = 60
"""So many labels are tried upright."""
GAP: Final = 5.0
"""Between a node and its label."""
STEEP: Final = 0.35
"""Cosine of the directions in which an upright label stands above or below its node."""
SHEER: Final = 0.9
"""Sine of the directions in which a line from the start meets a label below it."""
Anchor = Literal["start", "middle", "end"]


class Box(NamedTuple):
    """A part of the picture, its sides level."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """Whether they have a point in common."""
        level = self.left < other.right and other.left < self.right
        return level and self.top < other.bottom and other.top < self.bottom


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
        """What it covers."""
        long = width(self.text)
        left = self.x - {"start": 0.0, "middle": long / 2, "end": long}[self.anchor]
        corners = [self._at(x, self.y + y) for x in (left, left + long) for y in (-HEIGHT / 2, HEIGHT / 2)]
        xs, ys = zip(*corners, strict=True)
        return Box(min(xs), min(ys), max(xs), max(ys))

    def _at(self, x: float, y: float) -> tuple[float, float]:
        sin, cos = math.sin(self.turn), math.cos(self.turn)
        return self.place.x + x * cos - y * sin, self.place.y + x * sin + y * cos


def spots(places: Mapping[str, Place]) -> dict[str, Spot]:
    """A spot for every label."""
    if len(places) <= FEW:
        upright = {
            name: _centred(name, places) if not each.ring else _upright(name, each) for name, each in places.items()
        }
        if not _crowded(upright, places):
            return upright
    return {name: _centred(name, places) if not each.ring else _spoke(name, each) for name, each in places.items()}


def around(place: Place) -> Box:
    """What a node covers."""
    x, y, radius = place.x, place.y, place.radius
    return Box(x - radius, y - radius, x + radius, y + radius)


def _centred(name: str, places: Mapping[str, Place]) -> Spot:
    """Below the start; above it where only below a line leads straight away."""
    here = places[name]
    first = [math.sin(each.angle) for each in places.values() if each.ring == 1]
    above = max(first, default=0.0) > SHEER and min(first) > -SHEER
    far = here.radius + GAP + HEIGHT / 2
    return Spot(label(name), here, 0.0, 0.0, -far if above else far, "middle")


def _upright(name: str, place: Place) -> Spot:
    cos, far = math.cos(place.angle), place.radius + GAP
    if abs(cos) < STEEP:
        return Spot(label(name), place, 0.0, 0.0, math.copysign(far + HEIGHT / 2, math.sin(place.angle)), "middle")
    return Spot(label(name), place, 0.0, math.copysign(far, cos), 0.0, "start" if cos > 0 else "end")


def _spoke(name: str, place: Place) -> Spot:
    far = place.radius + GAP
    if math.cos(place.angle) >= 0:
        return Spot(label(name), place, place.angle, far, 0.0, "start")
    return Spot(label(name), place, place.angle + math.pi, -far, 0.0, "end")


def _crowded(spots: Mapping[str, Spot], places: Mapping[str, Place]) -> bool:
    boxes = {name: each.box() for name, each in spots.items()}
    return any(one.meets(other) for one, other in combinations(boxes.values(), 2)) or any(
        boxes[name].meets(around(place)) for name, place in _others(spots, places)
    )


def _others(spots: Mapping[str, Spot], places: Mapping[str, Place]) -> Iterator[tuple[str, Place]]:
    return ((name, place) for name in spots for other, place in places.items() if other != name)
