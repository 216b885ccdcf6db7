"""The nodes of graph.db, as they are told. Keys are numbers of this file alone and never leave this room."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, cast

import msgspec

from keisei.contracts.words import shown
from keisei.graph.vault_table import NODES
from keisei.records.error import OperatorError
from keisei.records.sage import Node, NodeKind

if TYPE_CHECKING:
    import apsw

TOLD = "SELECT nodes.key, nodes.id, node, kind, title, nodes.path, layer, stability, deprecated"
BY_KEY = f"{TOLD} FROM json_each(?) CROSS JOIN nodes ON nodes.key = value"
BY_KIND = f"{TOLD} FROM nodes WHERE node IN (SELECT value FROM json_each(?)) ORDER BY nodes.id, node"  # noqa: S608 - constants
BY_NAME = """
SELECT nodes.key FROM names JOIN nodes ON nodes.key = names.key
WHERE names.name = ?1 AND nodes.node = ?2 ORDER BY nodes.id = ?1 DESC, nodes.key LIMIT 1
"""
BY_ID = "SELECT key FROM nodes WHERE node = ? AND id = ?"


def packed(values: Iterable[object]) -> str:
    """Values as the one argument of a statement that reads them with `json_each`."""
    return msgspec.json.encode(list(values)).decode()


def kinds_of(nodes: Collection[NodeKind]) -> str:
    """The kinds of nodes that are asked for, packed. None named: all."""
    return packed(nodes or NODES)


def place_of(node: Node) -> tuple[str, int]:
    """How nodes are sorted: by id, and by kind where two share it."""
    return node.id, NODES.index(node.node)


def by_keys(db: "apsw.Connection", keys: Iterable[int]) -> dict[int, Node]:
    """Nodes by their keys. A key that nobody has any more is left out."""
    return _told(db, BY_KEY, packed(sorted(keys)))


def of_kinds(db: "apsw.Connection", nodes: Collection[NodeKind]) -> dict[int, Node]:
    """All nodes of some kinds by their keys, in the order of their ids."""
    return _told(db, BY_KIND, kinds_of(nodes))


def _told(db: "apsw.Connection", statement: str, value: str) -> dict[int, Node]:
    return {
        key: Node(
            id=id_, node=node, kind=kind, title=title, path=path, layer=layer, stability=stability, deprecated=old
        )
        for key, id_, node, kind, title, path, layer, stability, old in db.execute(statement, (value,))
    }


def key_of(db: "apsw.Connection", node: Node) -> int | None:
    """The key of a node that was told earlier; None where it is gone since."""
    for statement, values in ((BY_NAME, (node.id, node.node)), (BY_ID, (node.node, node.id))):
        row = db.execute(statement, values).fetchone()
        if row is not None:
            return cast("int", row[0])
    return None


def standing(db: "apsw.Connection", node: Node) -> int:
    """The key of a node that was told earlier. Raises OperatorError where it is gone since."""
    key = key_of(db, node)
    if key is None:
        raise OperatorError(f"there is no {shown(node.id)} any more", "ask again")
    return key
