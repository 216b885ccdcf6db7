"""What is authored, by its taxonomy and by who made it, and what it was made from."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, cast

from keisei.contracts.words import listed, shown
from keisei.graph.called import folded, near
from keisei.graph.lineage import lineage
from keisei.graph.vault_node import by_keys, kinds_of, place_of
from keisei.graph.vault_table import NODES
from keisei.records.error import OperatorError
from keisei.records.sage import FacetCount, Node, NodeKind

if TYPE_CHECKING:
    import apsw

__all__ = ["authored_by", "creators", "facet_counts", "facets", "lineage"]

SOME = 20
"""So many names fit into a hint."""
VALUES = "SELECT DISTINCT facet, value FROM facets"
HAVING = "SELECT key FROM facets WHERE facet = ? AND value = ?"
EVERY = "SELECT key FROM nodes"
COUNTS = """
SELECT facet, value, count(*) FROM facets JOIN nodes ON nodes.key = facets.key
WHERE nodes.node IN (SELECT value FROM json_each(?)) GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2
"""
CREATORS = "SELECT creator, count(*) FROM nodes WHERE creator IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1"
MADE = "SELECT key FROM nodes WHERE creator = ?"


def facets(db: "apsw.Connection", wanted: Mapping[str, str], nodes: Collection[NodeKind] = ()) -> list[Node]:
    """What has every wanted value, by id. Capitals do not count; a value of nobody among these kinds finds nothing.

    Raises:
        OperatorError: nothing that is authored has such a facet, or such a value of it.
    """
    values = _values(db)
    keys = {key for (key,) in db.execute(EVERY)}
    for facet, value in wanted.items():
        keys &= _having(db, _meant(values, facet, value))
    return _sorted(node for node in by_keys(db, keys).values() if node.node in (nodes or NODES))


def facet_counts(db: "apsw.Connection", nodes: Collection[NodeKind] = ()) -> list[FacetCount]:
    """Every value of every facet and how many have it, by facet, the frequent ones first."""
    rows = db.execute(COUNTS, (kinds_of(nodes),))
    return [FacetCount(facet=facet, value=value, count=count) for facet, value, count in rows]


def authored_by(db: "apsw.Connection", creator: str) -> list[Node]:
    """What somebody made, by id. Capitals do not count.

    Raises:
        OperatorError: nobody who made anything is called so.
    """
    names = [name for name, _count in creators(db)]
    meant = [name for name in names if folded(name) == folded(creator)]
    if not meant:
        raise OperatorError(f"nobody called {shown(creator)} made any of this", near(creator, names) or _those(names))
    return _sorted(by_keys(db, (key for name in meant for (key,) in db.execute(MADE, (name,)))).values())


def creators(db: "apsw.Connection") -> list[tuple[str, int]]:
    """Who made how many things, the busiest first."""
    return cast("list[tuple[str, int]]", db.execute(CREATORS).fetchall())


def _values(db: "apsw.Connection") -> dict[str, list[tuple[str, str]]]:
    """Facets and values as they are written, by the facet without its capitals."""
    values = defaultdict(list)
    for facet, value in db.execute(VALUES):
        values[folded(facet)].append((facet, value))
    return dict(values)


def _meant(values: Mapping[str, list[tuple[str, str]]], facet: str, value: str) -> list[tuple[str, str]]:
    """Every way in which a wanted value is written."""
    there = values.get(folded(facet))
    if there is None:
        raise OperatorError(f"nothing has a facet {shown(facet)}", _those(values))
    meant = [each for each in there if folded(each[1]) == folded(value)]
    if not meant:
        written = [name for _facet, name in there]
        raise OperatorError(f"no {shown(facet)} is {shown(value)}", near(value, written) or _those(written))
    return meant


def _having(db: "apsw.Connection", meant: Iterable[tuple[str, str]]) -> set[int]:
    return {key for each in meant for (key,) in db.execute(HAVING, each)}


def _those(names: Iterable[str]) -> str:
    """A hint that says what there is."""
    some = sorted(set(names))
    more = f" and {len(some) - SOME} more" if len(some) > SOME else ""
    return f"those there are: {listed(some[:SOME])}{more}" if some else "there is none at all"


def _sorted(nodes: Iterable[Node]) -> list[Node]:
    return sorted(nodes, key=place_of)
