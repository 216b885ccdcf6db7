"""Atoms in lists and neighbourhoods: every atom there is, not walked anew for each page; and what is near to one."""

import threading
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from keisei.console.premises import Premises
from keisei.records.atom_spec import AtomRow
from keisei.records.error import KeiseiError
from keisei.records.problem import Problem
from keisei.records.sage import EdgeKind, Node, Tie

Listed = tuple[list[AtomRow], list[Problem]]
QUICK_S: Final = 0.1
"""A walk that takes no longer is made for every page."""
TIMES, LONGEST_S = 20, 15.0
"""A longer one counts for so many times as long, and never longer than that."""
MOST: Final = 24
"""Neighbours of one sort that are told; the graph has all."""
DRAWN: Final = 200
FITS: Final[tuple[EdgeKind, ...]] = ("feeds", "supplies")
EDGES: Final[tuple[EdgeKind, ...]] = ("related", "body", "uses", "lineage", "together", *FITS)


class AtomRows:
    """Every atom of one console's project. One thread walks at a time; the others are told what it found."""

    def __init__(self, premises: Premises, clock: Callable[[], float] = time.monotonic) -> None:
        """Nobody has walked yet."""
        self._premises, self._clock = premises, clock
        self._turn = threading.Lock()
        self._found: Listed = ([], [])
        self._until = float("-inf")

    def listed(self) -> Listed:
        """The atoms by id, and a problem for each that is left out; where there are very many, as of seconds ago."""
        with self._turn:
            began = self._clock()
            if began >= self._until:
                self._found = self._premises.runtime.shelf.rows()
                took = self._clock() - began
                self._until = began if took <= QUICK_S else began + took + min(took * TIMES, LONGEST_S)
            return self._found

    def close(self) -> None:
        """Nothing is held."""


class AtomKin(Struct, frozen=True, kw_only=True):
    """Something near to an atom."""

    id: str
    """What."""
    node: str
    """What sort of thing."""
    title: str
    """What it is for."""
    by: tuple[str, ...]
    """Why it is near."""


class AtomNeighbours(Struct, frozen=True, kw_only=True):
    """What is near to an atom."""

    related: tuple[AtomKin, ...] = ()
    """What its page leads to, and what leads to it."""
    feeds: tuple[AtomKin, ...] = ()
    """Atoms that take what it gives."""
    fed_by: tuple[AtomKin, ...] = ()
    """Atoms that give what it takes."""
    trouble: str | None = None
    """Why nothing is known of it."""


def neighbours(premises: Premises, atom_id: str) -> AtomNeighbours:
    """What is near to an atom. Never raises: the page is worth more than its neighbours."""
    try:
        picture = premises.sage.picture(atom_id, depth=1, edges=EDGES, most=DRAWN)
    except KeiseiError as error:
        return AtomNeighbours(trouble=error.message)
    nodes = {each.node.id: each.node for each in picture.nodes}
    ties = [each for each in picture.ties if each.source != each.target]
    out = [each for each in ties if each.source == picture.start]
    back = [each for each in ties if each.target == picture.start]
    return AtomNeighbours(
        related=_kin(nodes, picture.start, [each for each in (*out, *back) if each.kind not in FITS]),
        feeds=_kin(nodes, picture.start, [each for each in out if each.kind in FITS]),
        fed_by=_kin(nodes, picture.start, [each for each in back if each.kind in FITS]),
    )


def _kin(nodes: dict[str, Node], start: str, ties: list[Tie]) -> tuple[AtomKin, ...]:
    """The other ends of ties, each once."""
    found: dict[str, set[str]] = {}
    for tie in ties:
        found.setdefault(tie.target if tie.source == start else tie.source, set()).add(tie.kind)
    return tuple(
        AtomKin(id=name, node=nodes[name].node, title=nodes[name].title, by=tuple(sorted(found[name])))
        for name in sorted(found)[:MOST]
    )
