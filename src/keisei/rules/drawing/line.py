"""What is drawn between two nodes: ties that only repeat each other the other way round are one line."""

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from keisei.records.sage import EdgeKind, Tie

MUTUAL: Final[frozenset[EdgeKind]] = frozenset({"domain", "together"})
"""Kinds without a direction."""


class Line(NamedTuple):
    """A line from one node to another, or to itself."""

    source: str
    target: str
    kind: EdgeKind
    heads: Literal["none", "forward", "both"]
    """At which ends it has an arrow."""


def lines(ties: Iterable[Tie]) -> list[Line]:
    """One line for every kind of tie between two nodes, in the order of the ties."""
    there = dict.fromkeys((each.source, each.target, each.kind) for each in ties)
    drawn = []
    for source, target, kind in there:
        back = source != target and (target, source, kind) in there
        if not back or source < target:
            drawn.append(Line(source, target, kind, _heads(kind, back=back)))
    return drawn


def _heads(kind: EdgeKind, *, back: bool) -> Literal["none", "forward", "both"]:
    if kind in MUTUAL:
        return "none"
    return "both" if back else "forward"
