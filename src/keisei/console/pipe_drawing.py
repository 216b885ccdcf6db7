"""Pipes drawn: boxes in columns, what waits stands to the right of what it waits for. Numbers only; the page draws."""

from collections.abc import Sequence
from typing import Final, Literal

from msgspec import Struct

from keisei.records.pipe_plan import PipePlan

WIDE, HIGH = 210, 52
"""Of a box."""
APART, BELOW, MARGIN = 60, 18, 8
"""Between columns, between rows, and around all."""
MOST: Final = 200
"""Steps of a drawing; a larger pipe is told by its table alone."""


class PipeBox(Struct, frozen=True, kw_only=True):
    """A step in the drawing."""

    name: str
    """The step's."""
    atom: str
    """What it calls."""
    state: str
    """Where it has come to; `planned` where it does not run."""
    x: int
    """Its left edge."""
    y: int
    """Its upper edge."""


class PipeLine(Struct, frozen=True, kw_only=True):
    """What one step waits for."""

    source: str
    """The step that comes first."""
    target: str
    """The step that waits."""
    kind: Literal["needs", "stream", "after"]
    """It takes its result, its items one by one, or only its turn."""
    path: str
    """The line, as SVG writes it."""


class PipeDrawing(Struct, frozen=True, kw_only=True):
    """A pipe, drawn."""

    width: int
    """Of the drawing."""
    height: int
    """Of the drawing."""
    boxes: tuple[PipeBox, ...]
    """The steps, in the order of the file."""
    lines: tuple[PipeLine, ...]
    """What waits for what."""


def drawing(plan: PipePlan, states: dict[str, str] | None = None) -> PipeDrawing | None:
    """The picture of a plan, with the states of a run; None for one that is too large to be looked at."""
    if len(plan.steps) > MOST:
        return None
    places = _places(plan)
    boxes = tuple(
        PipeBox(
            name=step.name,
            atom=step.spec.id,
            state="planned" if states is None else states.get(step.name, "waiting"),
            x=MARGIN + places[step.position][0] * (WIDE + APART),
            y=MARGIN + places[step.position][1] * (HIGH + BELOW),
        )
        for step in plan.steps
    )
    return PipeDrawing(
        width=max(box.x for box in boxes) + WIDE + MARGIN,
        height=max(box.y for box in boxes) + HIGH + MARGIN,
        boxes=boxes,
        lines=tuple(_lines(plan, boxes)),
    )


def _places(plan: PipePlan) -> dict[int, tuple[int, int]]:
    """Column and row of every step: a column behind everything it waits for."""
    columns: dict[int, int] = {}
    taken: dict[int, int] = {}
    found: dict[int, tuple[int, int]] = {}
    for position in plan.order:
        step = plan.steps[position]
        column = max((columns[each] + 1 for each in (*step.needs, *step.after) if each in columns), default=0)
        columns[position] = column
        found[position] = column, taken.get(column, 0)
        taken[column] = taken.get(column, 0) + 1
    return found


def _lines(plan: PipePlan, boxes: Sequence[PipeBox]) -> list[PipeLine]:
    found = []
    for step in plan.steps:
        own = boxes[step.position]
        found += [_line(boxes[each], own, "stream" if each == step.consumes else "needs") for each in step.needs]
        found += [_line(boxes[each], own, "after") for each in step.after if each not in step.needs]
    return found


def _line(first: PipeBox, then: PipeBox, kind: Literal["needs", "stream", "after"]) -> PipeLine:
    left, top, right, bottom = first.x + WIDE, first.y + HIGH // 2, then.x, then.y + HIGH // 2
    bend = APART // 2
    turn = max(left, right - APART)  # along its own row, and into another one only just before the box
    path = f"M{left} {top} H{turn} C{turn + bend} {top} {right - bend} {bottom} {right} {bottom}"
    return PipeLine(source=first.name, target=then.name, kind=kind, path=path)
