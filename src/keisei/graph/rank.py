"""Ranks by PageRank: what much leads to counts for more, and so does what it leads to.

A walk follows the links with probability 0.85 and starts anew otherwise; from a node without links it starts anew
always. A node's rank is its share of such a walk. Two nodes are joined or not: further links change nothing.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, get_args

import msgspec
import rustworkx

from keisei.graph.vault_node import of_kinds, packed
from keisei.graph.walk import Way
from keisei.records.error import WorldFault
from keisei.records.sage import EdgeKind, LinkKind, NodeKind, Ranked

if TYPE_CHECKING:
    import apsw

FOLLOWED = 0.85
"""How often the walk goes on."""
DIGITS = 12
"""Ranks that are alike in so many digits are the same: beyond them stands the order of additions."""
SETTLED, ROUNDS = 1e-15, 1000
"""The ranks are there when a round changes each by less than this on average; each round changes 0.85 of the last."""
WRITTEN = frozenset[EdgeKind](get_args(LinkKind))
"""Edges that are rows of a table. Its index holds them by their ends, so that to read each pair once costs little."""
KEYS = "SELECT key FROM nodes"
LINKS = """
SELECT json_group_array(key), json_group_array(goal) FROM
(SELECT DISTINCT goal, key FROM links WHERE goal IS NOT NULL AND kind IN (SELECT value FROM json_each(?)))
"""
PAIRS = """
SELECT json_group_array(source), json_group_array(target) FROM
(SELECT DISTINCT source, target FROM edges WHERE kind IN (SELECT value FROM json_each(?)))
"""
"""As one text each: a row for each pair costs more than what is done with it."""
ATOMS: tuple[NodeKind, ...] = ("atom",)
Pair = tuple[int, int]


def ranked(
    db: "apsw.Connection",
    *,
    nodes: Collection[NodeKind] = ATOMS,
    edges: Collection[EdgeKind] = ("related", "body"),
    limit: int | None = None,
) -> list[Ranked]:
    """All nodes of some kinds, or the first few of them, by rank and then by id. Other nodes and edges are nothing."""
    told = of_kinds(db, nodes)
    ranks = shares(told, _pairs(db, edges))
    best = sorted(told, key=ranks.__getitem__, reverse=True)[: None if limit is None else max(limit, 0)]
    return [Ranked(node=told[key], rank=ranks[key]) for key in best]


def visits(db: "apsw.Connection", start: int, way: Way) -> dict[int, float]:
    """The share of every node, by key, of a walk that always returns to the one with the key `start`."""
    pairs: Iterable[Pair] = _pairs(db, way.edges)
    if way.direction != "out":
        there = list(pairs)
        back = [(target, source) for source, target in there]
        pairs = back if way.direction == "in" else {*there, *back}
    return shares([key for (key,) in db.execute(KEYS)], pairs, start)


def shares(numbers: Collection[int], pairs: Iterable[Pair], start: int | None = None) -> dict[int, float]:
    """The ranks of nodes that have small numbers, 1 together, where each pair, a source and a target, is given once.

    Pairs with others are nothing. With a start, the walk always starts anew there.
    """
    if not numbers:
        return {}
    graph = rustworkx.PyDiGraph()
    graph.extend_from_edge_list(pairs)
    graph.add_nodes_from(range(max(numbers) + 1 - graph.num_nodes()))
    graph.remove_nodes_from({*range(graph.num_nodes())}.difference(numbers))
    anew = None if start is None else {start: 1.0}
    try:
        ranks = rustworkx.pagerank(graph, alpha=FOLLOWED, personalization=anew, tol=SETTLED, max_iter=ROUNDS)
    except rustworkx.FailedToConverge:
        raise WorldFault(f"the ranks of {len(numbers)} nodes do not settle in {ROUNDS} rounds") from None
    return {number: round(rank, DIGITS) for number, rank in ranks.items()}


def _pairs(db: "apsw.Connection", edges: Collection[EdgeKind]) -> Iterator[Pair]:
    """The keys of any two nodes that an edge of some kinds joins, each pair once."""
    (row,) = db.execute(LINKS if WRITTEN.issuperset(edges) else PAIRS, (packed(edges),))
    sources, targets = (msgspec.json.decode(text, type=list[int]) for text in row)
    return zip(sources, targets, strict=True)
