"""The plan of a picture: where nodes and labels stand and lines run, so that all of it is seen."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from keisei.records.sage import Picture
from keisei.rules.drawing.layout import Place, layout
from keisei.rules.drawing.line import Line
from keisei.rules.drawing.svg_label import Spot, turned, upright
from keisei.rules.drawing.svg_line import MOST, curves, paths
from keisei.rules.drawing.svg_raster import Cell, cover

FEW: Final = 60
"""So many labels are tried upright."""
STRETCHES: Final = (1.0, 1.25, 1.5, 1.8)
"""How much larger a picture gets to have its labels upright."""


class Plan(NamedTuple):
    """Where everything is."""

    places: dict[str, Place]
    labels: dict[str, Spot]
    paths: list[str]
    """Of the lines, in their order."""


def plan(picture: Picture, lines: Sequence[Line]) -> Plan:
    """Labels are upright where a picture of few nodes has room for that, and along the spokes otherwise."""
    places, labels = _upright(picture, lines) or _turned(picture)
    written = {each for label in labels.values() for each in label.cells()}
    return Plan(places, labels, paths(lines, places, cover(places, written)))


def _upright(picture: Picture, lines: Sequence[Line]) -> tuple[dict[str, Place], dict[str, Spot]] | None:
    for stretch in STRETCHES if len(picture.nodes) <= FEW else ():
        places = layout(picture, stretch)
        labels = upright(places, _crossed(lines[:MOST], places))
        if labels is not None:
            return places, labels
    return None


def _crossed(lines: Sequence[Line], places: Mapping[str, Place]) -> Counter[Cell]:
    """How many lines go through a square, were all of them as short as can be."""
    crossed: Counter[Cell] = Counter()
    for curve in curves(lines, places).values():
        crossed.update(set(curve.cells()))
    return crossed


def _turned(picture: Picture) -> tuple[dict[str, Place], dict[str, Spot]]:
    places = layout(picture)
    return places, turned(places)
