"""Node-link JSON, as networkx and the libraries that draw in browsers read it."""

import json

from keisei.records.sage import Drawn, Picture


def node_link(picture: Picture) -> str:
    """A directed multigraph; an edge's key is its kind. The start and what was left out are facts of the graph."""
    data = {
        "directed": True,
        "multigraph": True,
        "graph": {"start": picture.start, "left_out": picture.left_out},
        "nodes": [_node(each) for each in picture.nodes],
        "edges": [
            {"source": each.source, "target": each.target, "key": each.kind, "kind": each.kind} for each in picture.ties
        ],
    }
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def _node(drawn: Drawn) -> dict[str, object]:
    node = drawn.node
    return {
        "id": node.id,
        "node": node.node,
        "kind": node.kind,
        "title": node.title,
        "depth": drawn.depth,
        "rank": drawn.rank,
    }
