"""Where nodes stand: a tree around the start, one ring a step, the same picture always alike.

A node's children share its wedge by the room that their leaves need where they stand, and a ring is as large as what
stands on it asks for, so that no two nodes touch. The time is linear in nodes and ties.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from keisei.records.sage import Picture
from keisei.rules.drawing.label import HEIGHT, label, width

SMALLEST: Final = 5.0
LARGEST: Final = 15.0
"""Radius of nodes, by rank."""
AIR: Final = 8.0
"""Between two nodes, at least."""
NEAREST: Final = 80.0
"""From one ring to the next, at least."""
WEAVE: Final = 90.0
"""How much further away the first ring is, at most, where many lines cross inside."""
TURN: Final = 2 * math.pi
HALVINGS: Final = 12
"""After so many the least radius is known well enough."""
_Ring = dict[str, str]
"""Nodes and their parents."""
_Turns = dict[str, float]
"""Angles by node."""


class Place(NamedTuple):
    """Where a node stands, the start at 0, 0, with y downwards."""

    x: float
    y: float
    radius: float
    angle: float
    """In which direction it stands, seen from the start, in radians."""
    ring: int
    """How many steps of the tree lead there."""


def layout(picture: Picture, stretch: float = 1.0) -> dict[str, Place]:
    """The places by id, in the order of the tree; all rings as much larger as asked for."""
    sizes = _sizes(picture)
    if not sizes:
        return {}
    rings = _rings(picture, sizes)
    steps = _steps(picture, rings, sizes)
    angles = _angles(rings, *_needs(rings, sizes, _guess(rings, sizes, steps)))
    places = {}
    for number, (ring, reach) in enumerate(zip(rings, _reaches(rings, sizes, angles, steps), strict=True)):
        for name in ring:
            far = reach * stretch
            x, y = far * math.cos(angles[name]), far * math.sin(angles[name])
            places[name] = Place(x, y, sizes[name], angles[name], number)
    return places


def _sizes(picture: Picture) -> dict[str, float]:
    ranks = {each.node.id: max(each.rank, 0.0) for each in picture.nodes}
    most = max(ranks.values(), default=0.0) or 1.0
    return {name: SMALLEST + (LARGEST - SMALLEST) * math.sqrt(rank / most) for name, rank in ranks.items()}


def _rings(picture: Picture, names: Iterable[str]) -> list[_Ring]:
    """The start alone, then ring by ring. What no tie leads to stands on the first ring."""
    order = {name: number for number, name in enumerate(names)}
    near: dict[str, set[str]] = {name: set() for name in order}
    for tie in picture.ties:
        near[tie.source].add(tie.target)
        near[tie.target].add(tie.source)
    start = picture.start if picture.start in order else next(iter(order))
    rings = _spread([start], near, order, {start})
    seen = {start}.union(*rings)
    lost = {name: start for name in order if name not in seen}
    if lost:
        rings[:1] = [{**(rings[0] if rings else {}), **lost}]
    return [{start: start}, *rings]


def _spread(ring: Iterable[str], near: Mapping[str, set[str]], order: Mapping[str, int], seen: set[str]) -> list[_Ring]:
    rings = []
    while ring:
        following: dict[str, str] = {}
        for parent in ring:
            fresh = sorted(near[parent] - seen, key=order.__getitem__)
            seen.update(fresh)
            following.update(dict.fromkeys(fresh, parent))
        if following:
            rings.append(following)
        ring = list(following)
    return rings


def _guess(rings: Sequence[_Ring], sizes: Mapping[str, float], steps: Sequence[float]) -> list[float]:
    """The least radii at which the rings have room for all, were it shared evenly."""
    least = list(accumulate(steps, initial=0.0))
    (start,) = rings[0]
    low, high = 0.0, sum(map(_room, sizes.values())) / TURN
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        _, inner = _needs(rings, sizes, [each + middle for each in least])
        low, high = (middle, high) if inner[start] > TURN else (low, middle)
    return [each + high for each in least]


def _needs(rings: Sequence[_Ring], sizes: Mapping[str, float], reaches: Sequence[float]) -> tuple[_Turns, _Turns]:
    """How much of a turn every node asks for, its children included; and how much its children alone do."""
    inner = dict.fromkeys(sizes, 0.0)
    needs = {}
    for ring, reach in zip(reversed(rings[1:]), reversed(reaches[1:]), strict=True):
        for name, parent in ring.items():
            needs[name] = max(_room(sizes[name]) / reach, inner[name])
            inner[parent] += needs[name]
    return needs, inner


def _angles(rings: Sequence[_Ring], needs: _Turns, inner: _Turns) -> _Turns:
    """The middle of every node's wedge; the first begins at the top."""
    begins = dict.fromkeys(rings[0], -math.pi / 2)
    widths = dict.fromkeys(rings[0], TURN)
    free = dict(begins)
    for ring in rings[1:]:
        for name, parent in ring.items():
            begins[name], widths[name] = free[parent], widths[parent] * needs[name] / inner[parent]
            free[name] = begins[name]
            free[parent] += widths[name]
    return {name: begins[name] + widths[name] / 2 for name in begins}


def _reaches(rings: Sequence[_Ring], sizes: Mapping[str, float], angles: _Turns, steps: Sequence[float]) -> list[float]:
    """The radius of every ring."""
    reaches = [0.0]
    for ring, step in zip(rings[1:], steps, strict=True):
        reaches.append(max(reaches[-1] + step, _radius(list(ring), angles, sizes)))
    return reaches


def _room(size: float) -> float:
    return max(2 * size + AIR, HEIGHT)


def _radius(names: Sequence[str], angles: _Turns, sizes: Mapping[str, float]) -> float:
    """The least radius at which neighbours do not touch."""
    if len(names) == 1:
        return 0.0
    least = 0.0
    for one, other in pairwise([*names, names[0]]):
        apart = (angles[other] - angles[one]) % TURN
        chord = 2 * math.sin(min(apart, TURN - apart) / 2)
        least = max(least, (_room(sizes[one]) + _room(sizes[other])) / 2 / chord)
    return least


def _steps(picture: Picture, rings: Sequence[_Ring], sizes: Mapping[str, float]) -> list[float]:
    """From every ring to the next, so that labels end before it. The start's own label stands below it."""
    steps = []
    for number, ring in enumerate(rings[:-1]):
        longest = max(sizes[name] + width(label(name)) * (1.0 if number else 0.5) for name in ring)
        nearest = NEAREST if number else NEAREST + _weave(picture, rings[1])
        steps.append(max(longest + LARGEST + 2 * AIR, nearest))
    return steps


def _weave(picture: Picture, ring: _Ring) -> float:
    inside = {
        frozenset((each.source, each.target)) for each in picture.ties if {each.source, each.target} <= ring.keys()
    }
    return min(float(len(inside)), WEAVE)
