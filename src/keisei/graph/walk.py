"""Walking the edges of graph.db, layer by layer."""

from collections.abc import Collection, Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from keisei.graph.vault_node import packed
from keisei.graph.vault_table import EDGES
from keisei.records.error import OperatorError
from keisei.records.sage import Direction, EdgeKind

if TYPE_CHECKING:
    import apsw

DEEPEST = 10
"""Further away everything is related to everything."""
MUTUAL: frozenset[EdgeKind] = frozenset(("domain", "together"))
"""Edges that lead both ways, so that those from a node are also those to it, and quickly found."""
LAYER = """
SELECT target, kind, 'out' FROM edges
WHERE source IN (SELECT value FROM json_each(:near)) AND kind IN (SELECT value FROM json_each(:out))
UNION ALL
SELECT source, kind, 'in' FROM edges
WHERE target IN (SELECT value FROM json_each(:near)) AND kind IN (SELECT value FROM json_each(:in))
"""
BETWEEN = """
SELECT DISTINCT source, target, kind FROM edges WHERE source IN (SELECT value FROM json_each(:among))
AND +target IN (SELECT value FROM json_each(:among)) AND kind IN (SELECT value FROM json_each(:kinds))
"""


Turn = tuple[EdgeKind, Direction]
"""A kind of edge, and which way it was walked."""


class Way(NamedTuple):
    """Which edges are walked, and which way."""

    edges: Collection[EdgeKind]
    """Their kinds."""
    direction: Direction = "both"
    """`out` as they lead, `in` against them."""

    def kinds(self) -> dict[str, str]:
        """The kinds that are walked as they lead and against them, packed; one that is mutual only as it leads."""
        return {
            "out": packed(each for each in self.edges if self.direction != "in" or each in MUTUAL),
            "in": packed(each for each in self.edges if self.direction != "out" and each not in MUTUAL),
        }


class Step(NamedTuple):
    """How something was reached."""

    depth: int
    """In how many steps, at the least."""
    by: tuple[EdgeKind, ...]
    """Which edges the last of them may take."""
    direction: Direction
    """Which way those lead, seen from the start."""


def walked(db: "apsw.Connection", start: int, way: Way, depth: int) -> dict[int, Step]:
    """Everything within some steps of a node, nearest first, each by its shortest way. The start is not among it."""
    if not 1 <= depth <= DEEPEST:
        raise OperatorError(f"the depth is {depth}", f"a number from 1 to {DEEPEST}")
    found: dict[int, Step] = {}
    near = [start]
    for distance in range(1, depth + 1):
        if not near:
            break
        fresh = _fresh(db, near, way, {start, *found})
        found |= {key: Step(distance, *_last(frozenset(ways))) for key, ways in fresh.items()}
        near = list(fresh)
    return found


def between(db: "apsw.Connection", keys: Iterable[int], edges: Collection[EdgeKind]) -> list[tuple[int, int, EdgeKind]]:
    """Every edge with both ends among some nodes."""
    return list(db.execute(BETWEEN, {"among": packed(keys), "kinds": packed(edges)}))


def _fresh(db: "apsw.Connection", near: list[int], way: Way, known: set[int]) -> dict[int, set[Turn]]:
    """What one more step reaches for the first time, and how."""
    ways: dict[int, set[Turn]] = {}
    for key, kind, direction in db.execute(LAYER, {"near": packed(near), **way.kinds()}):
        if key not in known:
            ways.setdefault(key, set()).add((kind, way.direction if kind in MUTUAL else direction))
    return ways


@cache
def _last(ways: frozenset[Turn]) -> tuple[tuple[EdgeKind, ...], Direction]:
    kinds = {kind for kind, _direction in ways}
    directions = {direction for _kind, direction in ways}
    return tuple(each for each in EDGES if each in kinds), directions.pop() if len(directions) == 1 else "both"
