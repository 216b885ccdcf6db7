"""GraphML, as networkx, Gephi and yEd read it."""

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple
from xml.sax.saxutils import escape, quoteattr  # writes, reads nothing

from keisei.records.sage import Drawn, Picture

BREAKS: Final = {"\r": "&#13;"}
"""A reader turns a bare one into a line's end."""


class _Key(NamedTuple):
    owner: Literal["graph", "node", "edge"]
    name: str
    type: Literal["string", "int", "double"]

    @property
    def id(self) -> str:
        return f"{self.owner}_{self.name}"


KEYS: Final = (
    _Key("graph", "start", "string"),
    _Key("graph", "left_out", "int"),
    _Key("node", "node", "string"),
    _Key("node", "kind", "string"),
    _Key("node", "title", "string"),
    _Key("node", "depth", "int"),
    _Key("node", "rank", "double"),
    _Key("edge", "kind", "string"),
)


def graphml(picture: Picture) -> str:
    """A directed graph; every edge has an id, since two nodes can be tied in more than one way."""
    return "\n".join(_document(picture)) + "\n"


def _document(picture: Picture) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for key in KEYS:
        yield f'  <key id="{key.id}" for="{key.owner}" attr.name="{key.name}" attr.type="{key.type}"/>'
    yield '  <graph id="G" edgedefault="directed">'
    yield f"    {_data('graph_start', picture.start)}{_data('graph_left_out', picture.left_out)}"
    yield from (_node(each) for each in picture.nodes)
    for number, tie in enumerate(picture.ties):
        ends = f"source={quoteattr(tie.source)} target={quoteattr(tie.target)}"
        yield f'    <edge id="e{number}" {ends}>{_data("edge_kind", tie.kind)}</edge>'
    yield "  </graph>"
    yield "</graphml>"


def _node(drawn: Drawn) -> str:
    node = drawn.node
    facts = _data("node_node", node.node) + ("" if node.kind is None else _data("node_kind", node.kind))
    facts += _data("node_title", node.title) + _data("node_depth", drawn.depth) + _data("node_rank", drawn.rank)
    return f"    <node id={quoteattr(node.id)}>{facts}</node>"


def _data(key: str, value: str | float) -> str:
    text = escape(value, BREAKS) if isinstance(value, str) else repr(value)
    return f'<data key="{key}">{text}</data>'
