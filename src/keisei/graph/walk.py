"""Walking the edges of graph.db, layer by layer."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from keisei.graph.vault_node import packed
from keisei.graph.vault_table import EDGES
from keisei.records.error import OperatorError
from keisei.records.sage import Direction, EdgeKind

if TYPE_CHECKING:
    import apsw

DEEPEST = 10
"""Further away everything is related to everything."""
LAYER = """
SELECT target, kind, 'out' FROM edges WHERE :out
AND source IN (SELECT value FROM json_each(:near)) AND kind IN (SELECT value FROM json_each(:kinds))
UNION
SELECT source, kind, 'in' FROM edges WHERE :in
AND target IN (SELECT value FROM json_each(:near)) AND kind IN (SELECT value FROM json_each(:kinds))
"""
BETWEEN = """
SELECT DISTINCT source, target, kind FROM edges WHERE source IN (SELECT value FROM json_each(:among))
AND target IN (SELECT value FROM json_each(:among)) AND kind IN (SELECT value FROM json_each(:kinds))
"""


class Way(NamedTuple):
    """Which edges are walked, and which way."""

    edges: Collection[EdgeKind]
    """Their kinds."""
    direction: Direction = "both"
    """`out` as they lead, `in` against them."""


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
        found |= {key: Step(distance, *_last(ways)) for key, ways in fresh.items()}
        near = list(fresh)
    return found


def between(db: "apsw.Connection", keys: Iterable[int], edges: Collection[EdgeKind]) -> list[tuple[int, int, EdgeKind]]:
    """Every edge with both ends among some nodes."""
    return list(db.execute(BETWEEN, {"among": packed(keys), "kinds": packed(edges)}))


def _fresh(
    db: "apsw.Connection", near: list[int], way: Way, known: set[int]
) -> dict[int, set[tuple[EdgeKind, Direction]]]:
    """What one more step reaches for the first time, and how."""
    values = {
        "near": packed(near),
        "kinds": packed(way.edges),
        "out": way.direction != "in",
        "in": way.direction != "out",
    }
    ways: dict[int, set[tuple[EdgeKind, Direction]]] = {}
    for key, kind, direction in db.execute(LAYER, values):
        if key not in known:
            ways.setdefault(key, set()).add((kind, direction))
    return ways


def _last(ways: set[tuple[EdgeKind, Direction]]) -> tuple[tuple[EdgeKind, ...], Direction]:
    kinds = {kind for kind, _direction in ways}
    directions = {direction for _kind, direction in ways}
    return tuple(each for each in EDGES if each in kinds), directions.pop() if len(directions) == 1 else "both"
