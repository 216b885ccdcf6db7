"""Where an authored thing has a page of its own, and where the graph begins with it."""

from typing import Final
from urllib.parse import quote

from keisei.records.sage import FOLDERS, Node, NodeKind

PLACES: Final[dict[NodeKind, str]] = {
    "atom": "/atoms/",
    "capability": "/capabilities/",
    "role": "/roles/",
    "workflow": "/workflows/definitions/",
}


def page_of(node: Node) -> str | None:
    """Its page; None where things of its kind have none."""
    place = PLACES.get(node.node)
    return None if place is None else place + address(node.id.removeprefix(f"{FOLDERS[node.node]}/"))


def graph_of(name: str) -> str:
    """The graph around something."""
    return f"/graph?id={address(name)}"


def address(text: str) -> str:
    """A text as a part of an address; what UTF-8 cannot hold is replaced, and leads nowhere."""
    return quote(text, safe=":", errors="replace")
