"""What is authored, from an atom: found by words, related, ranked, drawn; and its taxonomy and its family."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from keisei.records.error import OperatorError
from keisei.records.sage import Ancestor, EdgeKind, Kin, Node, NodeKind
from keisei.settings import Settings
from keisei.wiring.atom_runtime import working_directory
from keisei.wiring.sage import LINKED, WRITTEN, Sage, open_sage
from keisei.wiring.verb_error import VerbError, as_code, outside_attempts

LONGEST: Final = 1_000_000
"""Characters of a drawing in an answer: an agent reads no more of one, and an answer is held in memory whole."""
MOST_COUNTS: Final = 500
"""Values of facets in one answer."""


class _Desk(NamedTuple):
    """The index, brought up to date."""

    sage: Sage
    unread: int
    """How many authored files could not be read."""


def searched(given: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    """What some words find, the best first. Raises VerbError, AuthorError, WorldFault."""
    kinds = (given["kind"],) if "kind" in given else ()
    with _desk(settings) as (sage, unread):
        found = sage.search(given["text"], nodes=_nodes(given), kinds=kinds, limit=given.get("limit", 20))
    hits = [
        {**_told(hit.node), "snippet": hit.snippet, "marks": list(map(list, hit.marks)), "score": hit.score}
        for hit in found.hits
    ]
    repaired = {word: list(others) for word, others in found.repaired.items()}
    return {"hits": hits, "repaired": repaired, "unknown": list(found.unknown), "unread": unread}


def kin(given: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    """What one thing is tied to. Raises VerbError, AuthorError, WorldFault."""
    with _desk(settings) as (sage, unread), as_code("UnknownNode", OperatorError):
        found = sage.related(
            given["id"],
            depth=given.get("depth", 2),
            edges=_edges(given, WRITTEN),
            nodes=_nodes(given),
            direction=given.get("direction", "both"),
            by=given.get("by", "links"),
            limit=given.get("limit", 50),
        )
    return {"related": list(map(_kin, found)), "unread": unread}


def ranked(given: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    """Things of one sort by how much leads to them. Raises VerbError, AuthorError, WorldFault."""
    with _desk(settings) as (sage, unread):
        found = sage.ranked(nodes=_nodes(given) or ("atom",), edges=_edges(given, LINKED))
    first = [
        {"id": each.node.id, "node": each.node.node, "rank": each.rank} for each in found[: given.get("limit", 20)]
    ]
    return {"ranked": first, "among": len(found), "unread": unread}


def drawing(given: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    """A drawing around one thing. Raises VerbError, also where it is too long; AuthorError, WorldFault."""
    form = given.get("format", "mermaid")
    with _desk(settings) as (sage, unread), as_code("UnknownNode", OperatorError):
        found = sage.picture(
            given["id"],
            depth=given.get("depth", 2),
            edges=_edges(given, WRITTEN),
            nodes=_nodes(given),
            direction=given.get("direction", "both"),
            most=given.get("most", 60),
        )
        text, found = sage.drawn(found, form)
    if len(text) > LONGEST:
        message = f"the drawing has {len(found.nodes)} things and {len(text)} characters; {LONGEST} are the most"
        raise VerbError("TooLarge", message, "ask for fewer with `most`, or for less `depth` or fewer `edges`")
    counts = {"nodes": len(found.nodes), "ties": len(found.ties), "left_out": found.left_out}
    return {"format": form, "text": text, **counts, "unread": unread}


def taxonomy(given: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    """Values of facets, and what has those that are wanted. Raises VerbError, AuthorError, WorldFault."""
    wanted, nodes = given.get("wanted", {}), _nodes(given)
    with _desk(settings) as (sage, unread), as_code("UnknownFacet", OperatorError):
        found = sage.facets(wanted, nodes) if wanted else []
        counts = sage.facet_counts(nodes)
    told = [{"facet": each.facet, "value": each.value, "count": each.count} for each in counts[:MOST_COUNTS]]
    return {"counts": told, "found": list(map(_told, found[: given.get("limit", 100)])), "unread": unread}


def family(given: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    """What one thing was made from, and what was made from it. Raises VerbError, AuthorError, WorldFault."""
    with _desk(settings) as (sage, unread), as_code("UnknownNode", OperatorError):
        found = sage.lineage(given["id"])
    return {"family": list(map(_member, found)), "unread": unread}


@contextmanager
def _desk(settings: Settings | None) -> Iterator[_Desk]:
    """What is authored around here, as it is now. Raises VerbError inside an attempt, which knows of its role alone."""
    hint = "the tool atoms_search finds the atoms that the role has"
    own = outside_attempts(settings, "only what its role has is told of", hint)
    with as_code("StoreAway", OperatorError), open_sage(own, start=working_directory(), fresh=False) as sage:
        yield _Desk(sage, len(sage.refresh().problems))


def _nodes(given: dict[str, Any]) -> tuple[NodeKind, ...]:
    return (given["node"],) if "node" in given else ()


def _edges(given: dict[str, Any], usual: tuple[EdgeKind, ...]) -> tuple[EdgeKind, ...]:
    return tuple(given.get("edges", usual))


def _told(node: Node) -> dict[str, Any]:
    return {"id": node.id, "node": node.node, "kind": node.kind, "title": node.title}


def _kin(each: Kin) -> dict[str, Any]:
    way = {"depth": each.depth, "by": list(each.by), "direction": each.direction, "rank": each.rank}
    return {**_told(each.node), **way}


def _member(each: Ancestor) -> dict[str, Any]:
    node = each.node
    known = (
        {"id": node.id, "node": node.node, "title": node.title} if node else {"id": None, "node": None, "title": None}
    )
    return {"name": each.name, "generation": each.generation, **known}
