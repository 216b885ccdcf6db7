"""A workflow's states and ways laid out on a plane: columns by how far a state is from the beginning. Pure.

Ways to the next column run straight through the gap between the two. All others leave on the right, run in a lane of
their own above or below all states, and arrive on the left, so that no line crosses a state.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from keisei.records.workflow import WorkflowDefinition, WorkflowState
from keisei.rules.progression import emits

MOST_STATES: Final = 40
"""A definition with more is told as a table only: nobody reads such a drawing."""
MOST_WAYS: Final = 160
END: Final = ""
"""The name of the end that completion signals lead to; no state can have it."""
LETTER, SMALL_LETTER = 7.6, 6.6
LONGEST_NAME, LONGEST_LABEL = 26, 30
"""Characters that are drawn of a name, and of the signals of a way."""
HEIGHT, ROW_GAP, LANE, MARGIN, STEP, PORT, ROUND = 46, 30, 22, 16, 9, 11, 7
END_GAP: Final = 8
"""Between the side of the end's box and its circle."""


class DrawnState(Struct, frozen=True, kw_only=True):
    """A state, drawn as a box."""

    name: str
    """The state."""
    label: str
    """Its name, cut where it is long."""
    note: str
    """What it asks for, and how often it was entered."""
    x: float
    """Its left side."""
    y: float
    """Its upper side."""
    width: float
    """How wide it is."""
    height: float
    """How high it is."""
    kind: Literal["state", "current", "visited", "last", "end"]
    """What it is: where the workflow stands, where it was, a state without a way out, or the end itself."""


class DrawnWay(Struct, frozen=True, kw_only=True):
    """A way from a state to another, drawn as a line."""

    path: str
    """The line, as SVG says it."""
    label: str
    """The signals that lead there."""
    x: float
    """Where the middle of the label is."""
    y: float
    """Its base line."""


class Drawing(Struct, frozen=True, kw_only=True):
    """A workflow, laid out."""

    width: float
    """How wide all of it is."""
    height: float
    """How high all of it is."""
    start: str
    """The line that leads to where it begins, as SVG says it."""
    states: tuple[DrawnState, ...]
    """The boxes."""
    ways: tuple[DrawnWay, ...]
    """The lines."""


class _Box(NamedTuple):
    x: float
    y: float
    width: float
    column: int

    @property
    def middle(self) -> float:
        return self.y + HEIGHT / 2


def drawing(
    definition: WorkflowDefinition, current: str | None = None, visits: Mapping[str, int] | None = None
) -> Drawing | None:
    """The definition laid out, the state it stands in marked and visits counted; None where it is too large."""
    states = {each.state_id: each for each in definition.states}
    ways = _ways(states)
    if len(states) > MOST_STATES or len(ways) > MOST_WAYS or definition.initial_state not in states:
        return None
    columns = _columns(definition.initial_state, states, ways)
    routes = _Routes(columns, {name: _note(state, visits) for name, state in states.items()}, ways)
    boxes = routes.boxes
    drawn = tuple(
        DrawnState(
            name=name or "end",
            label=cut(name or "end", LONGEST_NAME),
            note=routes.notes.get(name, ""),
            x=box.x,
            y=box.y,
            width=box.width,
            height=HEIGHT,
            kind=_kind(states.get(name), current, visits or {}),
        )
        for name, box in boxes.items()
    )
    first = boxes[definition.initial_state]
    lines = tuple(routes.drawn(pair, label) for pair, label in ways.items())
    return Drawing(
        width=routes.width,
        height=routes.height,
        start=f"M{MARGIN / 2:g} {first.middle:g}H{first.x - 2:g}",
        states=drawn,
        ways=lines,
    )


def cut(text: str, most: int) -> str:
    """As much of a name as is drawn."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _ways(states: Mapping[str, WorkflowState]) -> dict[tuple[str, str], str]:
    """From where to where, with the signals that lead there. A way into a state that is not there is not drawn."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, state in states.items():
        for way in state.transitions:
            if way.next_state in states:
                found.setdefault((name, way.next_state), []).append(way.signal)
        for signal in state.completion_signals:
            found.setdefault((name, END), []).append(signal)
    return {pair: cut(", ".join(signals), LONGEST_LABEL) for pair, signals in found.items()}


def _columns(initial: str, states: Mapping[str, WorkflowState], ways: Mapping[tuple[str, str], str]) -> list[list[str]]:
    """Names by their distance from the beginning; what cannot be reached stands in a last column, the end behind."""
    depths = _depths(initial, ways)
    last = max(depths.values())
    depths |= {name: last + 1 for name in states if name not in depths}
    if any(target == END for _, target in ways):
        depths[END] = max(depths.values()) + 1
    columns: list[list[str]] = [[] for _ in range(max(depths.values()) + 1)]
    for name in (*states, END):
        if name in depths:
            columns[depths[name]].append(name)
    return columns


def _depths(initial: str, ways: Mapping[tuple[str, str], str]) -> dict[str, int]:
    """How far each state that can be reached is from the beginning, by the longest way that never turns back."""
    onward: dict[str, list[str]] = {}
    for source, target in ways:
        if target not in (END, source):
            onward.setdefault(source, []).append(target)
    done: list[str] = []
    on_way: set[str] = set()
    kept: list[tuple[str, str]] = []

    def visit(name: str) -> None:
        on_way.add(name)
        for target in onward.get(name, ()):
            if target not in on_way:  # a way to where it came from turns back
                kept.append((name, target))
                if target not in done:
                    visit(target)
        on_way.discard(name)
        done.append(name)

    visit(initial)
    depths = dict.fromkeys(reversed(done), 0)
    for name in depths:  # whoever leads to a state stands before it
        for source, target in kept:
            if source == name:
                depths[target] = max(depths[target], depths[name] + 1)
    return depths


class _Routes:
    """Where everything is."""

    def __init__(self, columns: list[list[str]], notes: dict[str, str], ways: Mapping[tuple[str, str], str]) -> None:
        self.notes = notes
        self._columns = {name: number for number, names in enumerate(columns) for name in names}
        above = [pair for pair in ways if self._way(pair) == "above"]
        below = [pair for pair in ways if self._way(pair) == "below"]
        self._lanes = {pair: number for side in (above, below) for number, pair in enumerate(side)}
        self._out, self._in = self._tracks(0), self._tracks(1)
        top = MARGIN + len(above) * LANE
        rows = max(map(len, columns))
        bottom = top + rows * HEIGHT + (rows - 1) * ROW_GAP
        self._top, self._bottom = top, bottom
        self.boxes = dict(self._placed(columns, ways, top, bottom))
        last = max(box.x + box.width for box in self.boxes.values())
        self.width = (
            last + MARGIN + STEP * (1 + sum(1 for pair in self._out if self._columns[pair[0]] == len(columns) - 1))
        )
        self.height = bottom + MARGIN + len(below) * LANE

    def _way(self, pair: tuple[str, str]) -> Literal["next", "above", "below"]:
        step = self._columns[pair[1]] - self._columns[pair[0]]
        return "next" if step == 1 else "above" if step > 1 else "below"

    def _tracks(self, end: int) -> dict[tuple[str, str], int]:
        """Where in the gap beside its column each way through a lane turns, counted from the states."""
        counted: dict[int, int] = {}
        found = {}
        for pair in self._lanes:
            column = self._columns[pair[end]]
            counted[column] = found[pair] = counted.get(column, 0) + 1
        return found

    def _placed(
        self, columns: list[list[str]], ways: Mapping[tuple[str, str], str], top: float, bottom: float
    ) -> Iterator[tuple[str, _Box]]:
        x = MARGIN * 2.0 + STEP * self._count(self._in, 1, 0)
        for number, names in enumerate(columns):
            width = max(_width(name, self.notes.get(name, "")) for name in names)
            high = len(names) * HEIGHT + (len(names) - 1) * ROW_GAP
            y = top + (bottom - top - high) / 2
            for name in names:
                yield name, _Box(x, y, width, number)
                y += HEIGHT + ROW_GAP
            labels = [
                label for pair, label in ways.items() if self._columns[pair[0]] == number and self._way(pair) == "next"
            ]
            turns = self._count(self._out, 0, number) + self._count(self._in, 1, number + 1)
            x += width + 44 + STEP * turns + max((len(label) * SMALL_LETTER for label in labels), default=0)

    def _count(self, tracks: Mapping[tuple[str, str], int], end: int, column: int) -> int:
        return sum(self._columns[pair[end]] == column for pair in tracks)

    def drawn(self, pair: tuple[str, str], label: str) -> DrawnWay:
        """One way."""
        source, target = self.boxes[pair[0]], self.boxes[pair[1]]
        if self._way(pair) == "next":
            return self._straight(source, target, label, END_GAP if pair[1] == END else 0)
        above = self._way(pair) == "above"
        lane = self._lanes[pair]
        y = self._top - (lane + 0.5) * LANE - 4 if above else self._bottom + (lane + 0.5) * LANE + 6
        port, ends, tip = -PORT if above else PORT, -PORT if above else PORT, target.x - 2
        if pair[1] == END:
            ends, tip = 0, tip + END_GAP
        out = source.x + source.width + STEP * self._out[pair]
        back = target.x - 4 - STEP * self._in[pair]
        path = _lane(_Turns(source.x + source.width, source.middle + port, out, y, back, target.middle + ends, tip))
        return DrawnWay(path=path, label=label, x=(out + back) / 2, y=y - 4)

    def _straight(self, source: _Box, target: _Box, label: str, gap: float) -> DrawnWay:
        left, right = source.x + source.width, target.x - 2 + gap
        bend = (right - left) / 2
        path = (
            f"M{left:g} {source.middle:g}C{left + bend:g} {source.middle:g} "
            f"{right - bend:g} {target.middle:g} {right:g} {target.middle:g}"
        )
        return DrawnWay(path=path, label=label, x=(left + right) / 2, y=(source.middle + target.middle) / 2 - 5)


class _Turns(NamedTuple):
    """The corners of a way through a lane."""

    x0: float
    y0: float
    out: float
    lane: float
    back: float
    y1: float
    x1: float


def _lane(at: _Turns) -> str:
    """Right, to the lane, along it, back, and right again, with round corners."""
    down = ROUND if at.lane > at.y0 else -ROUND
    side = ROUND if at.back > at.out else -ROUND
    return (
        f"M{at.x0:g} {at.y0:g}H{at.out - ROUND / 2:g}Q{at.out:g} {at.y0:g} {at.out:g} {at.y0 + down:g}"
        f"V{at.lane - down:g}Q{at.out:g} {at.lane:g} {at.out + side:g} {at.lane:g}"
        f"H{at.back - side:g}Q{at.back:g} {at.lane:g} {at.back:g} {at.lane - down:g}"
        f"V{at.y1 + down:g}Q{at.back:g} {at.y1:g} {at.back + ROUND / 2:g} {at.y1:g}H{at.x1:g}"
    )


def _width(name: str, note: str) -> float:
    if name == END:
        return HEIGHT
    letters = max(len(cut(name, LONGEST_NAME)) * LETTER, len(note) * SMALL_LETTER * 0.94)
    return max(96.0, letters + 28)


def _note(state: WorkflowState, visits: Mapping[str, int] | None) -> str:
    asks = cut(state.task_type or "", LONGEST_NAME) if emits(state) else "no task"
    if visits is None:
        return asks
    most = f" of {state.max_visits}" if state.max_visits is not None else ""
    return f"{asks} · {visits.get(state.state_id, 0)}{most} visits"


def _kind(
    state: WorkflowState | None, current: str | None, visits: Mapping[str, int]
) -> Literal["state", "current", "visited", "last", "end"]:
    if state is None:
        return "end"
    if state.state_id == current:
        return "current"
    if visits.get(state.state_id):
        return "visited"
    return "state" if state.transitions or state.completion_signals else "last"
