"""A part of the graph around one node, with all that joins its nodes, to be drawn."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from keisei.graph.vault_node import by_keys, place_of, standing
from keisei.graph.vault_table import EDGES, NODES
from keisei.graph.walk import Way, between, walked
from keisei.records.sage import FOLDERS, Direction, Drawn, EdgeKind, Node, NodeKind, Picture, Tie

if TYPE_CHECKING:
    import apsw

Edge = tuple[int, int, EdgeKind]


def picture(  # noqa: PLR0913 - each is a choice of whoever asks
    db: "apsw.Connection",
    node: Node,
    *,
    depth: int = 2,
    edges: Collection[EdgeKind] = ("related", "body", "uses", "lineage"),
    nodes: Collection[NodeKind] = (),
    direction: Direction = "both",
    most: int = 500,
) -> Picture:
    """A node, what is within some steps of it, of some kinds, and every edge among those; at most so many nodes.

    Where there are more, the nearest are drawn, then the first by id; the node itself always is. Ids are unique.

    Raises:
        OperatorError: the node is gone, or nobody walks so deep.
    """
    start = standing(db, node)
    depths = {start: 0} | {key: step.depth for key, step in walked(db, start, Way(edges, direction), depth).items()}
    told = {key: each for key, each in by_keys(db, depths).items() if key == start or each.node in (nodes or NODES)}
    near = sorted(told, key=lambda key: (depths[key], place_of(told[key])))
    drawn = near[: max(most, 1)]
    unique = _unique({key: told[key] for key in drawn})
    ties = between(db, drawn, edges)
    ranks = _ranks(drawn, ties)
    return Picture(
        start=unique[start].id,
        nodes=tuple(
            Drawn(node=unique[key], depth=depths[key], rank=ranks[key])
            for key in sorted(drawn, key=lambda key: (depths[key], unique[key].id))
        ),
        ties=tuple(sorted((_tie(unique, edge) for edge in ties), key=_order)),
        left_out=len(near) - len(drawn),
    )


def _unique(told: Mapping[int, Node]) -> dict[int, Node]:
    """Nodes with an id of their own: the later one of two that share it gets its folder in front."""
    taken: set[str] = set()
    unique = {}
    for key, node in sorted(told.items(), key=lambda item: (NODES.index(item[1].node), item[1].id)):
        name = node.id
        while name in taken:
            name = f"{FOLDERS[node.node]}/{name}"
        taken.add(name)
        unique[key] = node if name == node.id else msgspec.structs.replace(node, id=name)
    return unique


def _ranks(keys: Sequence[int], ties: Sequence[Edge]) -> dict[int, float]:
    from keisei.graph.rank import shares  # noqa: PLC0415 - slow to import, and only ranks need it

    return shares(keys, {(source, target) for source, target, _kind in ties})


def _tie(nodes: Mapping[int, Node], edge: Edge) -> Tie:
    source, target, kind = edge
    return Tie(source=nodes[source].id, target=nodes[target].id, kind=kind)


def _order(tie: Tie) -> tuple[str, str, int]:
    return tie.source, tie.target, EDGES.index(tie.kind)
