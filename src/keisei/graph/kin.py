"""Kin: what an authored thing is related to, by steps along the edges or by where a walk from it leads."""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Literal

from keisei.graph.called import find
from keisei.graph.picture import picture
from keisei.graph.vault_node import by_keys, place_of, standing
from keisei.graph.vault_table import NODES
from keisei.graph.walk import Way, walked
from keisei.records.sage import Direction, EdgeKind, Kin, Node, NodeKind

if TYPE_CHECKING:
    import apsw

__all__ = ["EDGES", "find", "picture", "related"]

EDGES: tuple[EdgeKind, ...] = ("related", "body", "uses", "lineage")
"""Those that somebody wrote down."""


def related(  # noqa: PLR0913 - each is a choice of whoever asks
    db: "apsw.Connection",
    node: Node,
    *,
    depth: int = 1,
    edges: Collection[EdgeKind] = EDGES,
    nodes: Collection[NodeKind] = (),
    direction: Direction = "both",
    by: Literal["links", "rank"] = "links",
    limit: int = 100,
) -> list[Kin]:
    """Everything within some steps of a node, each once, at most `limit`; of some kinds, by a way through any.

    By links: the nearest first, then those that more kinds of edges lead to, then by id. By rank: first what a walk
    along the edges visits most that starts at the node and always starts anew there; then by id.

    Raises:
        OperatorError: the node is gone, or nobody walks so deep.
    """
    start, way = standing(db, node), Way(edges, direction)
    steps = walked(db, start, way, depth)
    ranks = _ranks(db, start, way) if by == "rank" else {}
    found = [
        Kin(node=each, depth=steps[key].depth, by=steps[key].by, direction=steps[key].direction, rank=ranks.get(key))
        for key, each in by_keys(db, steps).items()
        if each.node in (nodes or NODES)
    ]
    order: Callable[[Kin], tuple[object, ...]] = _by_rank if by == "rank" else _by_steps
    return sorted(found, key=order)[: max(limit, 0)]


def _by_steps(kin: Kin) -> tuple[object, ...]:
    return kin.depth, -len(kin.by), place_of(kin.node)


def _by_rank(kin: Kin) -> tuple[object, ...]:
    return -(kin.rank or 0.0), place_of(kin.node)


def _ranks(db: "apsw.Connection", start: int, way: Way) -> Mapping[int, float]:
    from keisei.graph.rank import visits  # noqa: PLC0415 - slow to import, and only ranks need it

    return visits(db, start, way)
