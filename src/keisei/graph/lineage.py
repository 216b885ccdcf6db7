"""Families: what something was made from, and what was made from it."""

from typing import TYPE_CHECKING

from keisei.graph.vault_node import by_keys, packed, standing
from keisei.records.sage import Ancestor, Node

if TYPE_CHECKING:
    import apsw

PARENTS = """
SELECT target, goal FROM links WHERE key IN (SELECT value FROM json_each(?)) AND kind = 'lineage' ORDER BY target
"""
CHILDREN = """
SELECT nodes.id, nodes.key FROM links JOIN nodes ON nodes.key = links.key
WHERE links.goal IN (SELECT value FROM json_each(?)) AND links.kind = 'lineage' ORDER BY nodes.id, nodes.node
"""
Member = tuple[str, int | None, int]
"""Name, key and generation."""


def lineage(db: "apsw.Connection", node: Node) -> list[Ancestor]:
    """Ancestors, parents first, then descendants, children first; by name within a generation, each once.

    Whoever is both stands in both places; the node itself in none, although a family may be a circle.
    """
    start = standing(db, node)
    members = [*_generations(db, PARENTS, start, 1), *_generations(db, CHILDREN, start, -1)]
    told = by_keys(db, {key for _name, key, _generation in members if key is not None})
    return [
        Ancestor(name=name, node=None if key is None else told.get(key), generation=generation)
        for name, key, generation in members
    ]


def _generations(db: "apsw.Connection", statement: str, start: int, step: int) -> list[Member]:
    members: list[Member] = []
    known: set[int | str] = {start}
    near, generation = [start], step
    while near:
        fresh: dict[int | str, Member] = {}
        for name, key in db.execute(statement, (packed(near),)):
            fresh.setdefault(name if key is None else key, (name, key, generation))
        fresh = {each: member for each, member in fresh.items() if each not in known}
        known |= fresh.keys()
        members += fresh.values()
        near, generation = [key for _name, key, _generation in fresh.values() if key is not None], generation + step
    return members
