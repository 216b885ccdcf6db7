"""How the picture is styled: by classes, for light and dark pages, without anything from elsewhere."""

from collections.abc import Iterable, Iterator
from typing import Final

from keisei.records.sage import EdgeKind, NodeKind
from keisei.rules.drawing.palette import PAINTS, STROKES

MONOSPACED: Final = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace"
LIGHT: Final = {"paper": "#ffffff", "ink": "#1a202c", "rim": "#2d3748"}
DARK: Final = {"paper": "#14181f", "ink": "#e6eaf0", "rim": "#dde3ec"}
WIDE: Final = {"uses": 2.0}
"""Widths of lines, where they are not the usual one."""


def style(nodes: Iterable[NodeKind], edges: Iterable[EdgeKind]) -> Iterator[str]:
    """The rules for the kinds that occur."""
    kinds = list(edges)
    yield "<style>"
    yield f".sage text{{font:11.5px {MONOSPACED};stroke-width:3.5px;stroke-linejoin:round;paint-order:stroke;"
    yield "direction:ltr;unicode-bidi:isolate;dominant-baseline:central}"
    yield ".sage .line{fill:none;stroke-width:1.3;stroke-opacity:.8}"
    yield ".sage .node circle{stroke-width:1}.sage .start circle{stroke-width:3.5}.sage .start text{font-weight:bold}"
    yield from (f".sage .{kind} circle{{fill:{PAINTS[kind].fill}}}" for kind in nodes)
    yield from (_line(kind) for kind in kinds)
    yield from _colours(LIGHT)
    yield from (
        f".sage .{kind}{{stroke:{STROKES[kind].light}}}.sage .{kind}-head{{fill:{STROKES[kind].light}}}"
        for kind in kinds
    )
    yield "@media (prefers-color-scheme:dark){"
    yield from _colours(DARK)
    yield from (
        f".sage .{kind}{{stroke:{STROKES[kind].dark}}}.sage .{kind}-head{{fill:{STROKES[kind].dark}}}" for kind in kinds
    )
    yield "}"
    yield "</style>"


def heads(edges: Iterable[EdgeKind]) -> Iterator[str]:
    """The heads of arrows, one a kind, in its colour."""
    yield "<defs>"
    for kind in edges:
        size = 'viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse"'
        yield f'<marker id="sage-{kind}" {size} orient="auto-start-reverse">'
        yield f'<path class="{kind}-head" d="M0 .8L8 4L0 7.2z"/></marker>'
    yield "</defs>"


def _line(kind: EdgeKind) -> str:
    dashes = f"stroke-dasharray:{STROKES[kind].dashes};" if STROKES[kind].dashes else ""
    return f".sage .{kind}{{{dashes}stroke-width:{WIDE.get(kind, 1.3)};stroke-linecap:{_cap(kind)}}}"


def _cap(kind: EdgeKind) -> str:
    return "round" if STROKES[kind].style == "dotted" else "butt"


def _colours(theme: dict[str, str]) -> Iterator[str]:
    yield f".sage .paper{{fill:{theme['paper']}}}"
    yield f".sage text{{fill:{theme['ink']};stroke:{theme['paper']}}}.sage .node circle{{stroke:{theme['rim']}}}"
