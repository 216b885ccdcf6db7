"""What a name means: any name that an authored thing answers to, as it is written or in other capitals."""

import unicodedata
from collections.abc import Collection, Iterable
from heapq import nlargest
from typing import TYPE_CHECKING, NoReturn, cast

from keisei.contracts.words import MANY, nearest, shown
from keisei.graph.vault_node import by_keys, packed, place_of
from keisei.graph.vault_table import NODES
from keisei.records.error import OperatorError
from keisei.records.problem import printable
from keisei.records.sage import FOLDERS, Node, NodeKind

if TYPE_CHECKING:
    import apsw

LONGEST = 64
"""So much of a name is compared with those there are."""
EXACT = "SELECT DISTINCT key FROM names WHERE name = ? AND turn IN (SELECT value FROM json_each(?))"
ALL = "SELECT name, key FROM names WHERE turn IN (SELECT value FROM json_each(?))"


def find(db: "apsw.Connection", text: str, nodes: Collection[NodeKind] = ()) -> Node:
    """What is called so, among some kinds of nodes or all. An atom goes before a capability of the same name.

    Raises:
        OperatorError: nothing is called so, or several things are.
    """
    turns = packed(NODES.index(each) for each in nodes or NODES)
    found = _nodes(db, _exact(db, text, turns))
    if not found:
        names = cast("list[tuple[str, int]]", db.execute(ALL, (turns,)).fetchall())
        wanted = folded(text)
        found = _nodes(db, {key for name, key in names if folded(name) == wanted})
        if not found:
            _missing(text, (name for name, _key in names))
    return found[0] if len(found) == 1 else _only(text, found)


def folded(text: str) -> str:
    """A text as it is compared where capitals and the way of writing accents do not count."""
    return unicodedata.normalize("NFC", text.strip().casefold())


def near(text: str, names: Iterable[str]) -> str | None:
    """`did you mean ...?`, where any of many names is near enough."""
    word = folded(text[:LONGEST])
    parts = {word[at : at + 2] for at in range(len(word) - 1)}

    def likeness(name: str) -> tuple[int, int]:
        other = folded(name)
        return sum(part in other for part in parts), -abs(len(other) - len(word))

    likely = nlargest(MANY, names, key=likeness)
    hint = nearest(text.strip(), likely) or nearest(word, map(folded, likely))
    return printable(hint) if hint else None


def _exact(db: "apsw.Connection", text: str, turns: str) -> Iterable[int]:
    try:
        text.encode()
    except UnicodeEncodeError:  # no name is like that, and the database cannot be asked
        return ()
    return [key for (key,) in db.execute(EXACT, (text, turns))]


def _nodes(db: "apsw.Connection", keys: Iterable[int]) -> list[Node]:
    """Nodes by id, without capabilities whose name an atom among them has."""
    found = sorted(by_keys(db, keys).values(), key=place_of)
    atoms = {node.id for node in found if node.node == "atom"}
    return [node for node in found if node.node != "capability" or node.id not in atoms]


def _only(text: str, found: list[Node]) -> Node:
    """The one whose id this is, among several of one kind: the others are merely called so as well."""
    exact = [node for node in found if node.id == text]
    if len(exact) == 1 and len({node.node for node in found}) == 1:
        return exact[0]
    ids = ", ".join(shown(qualified(node)) for node in found[:MANY])
    raise OperatorError(f"{shown(text)} is what several things are called", f"say which: {ids}")


def qualified(node: Node) -> str:
    """A name that nothing of another kind has."""
    folder = f"{FOLDERS[node.node]}/"
    return node.id if node.id.startswith(folder) else folder + node.id


def _missing(text: str, names: Iterable[str]) -> NoReturn:
    search = "`kei-sage search` looks for words"
    hint = near(text, names)
    raise OperatorError(f"there is no {shown(text)} among what is authored", f"{hint} {search}" if hint else search)
