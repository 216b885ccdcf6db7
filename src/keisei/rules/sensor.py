"""Sensors: what their programs say, when they run again, and when they are left alone. Pure."""

from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from keisei.records.form import JsonObject
from keisei.records.observation import SensorState
from keisei.records.project import ProjectSensor

PATIENCE: Final = 5
"""So many failures in a row pause a sensor, and a person is asked."""
LONGEST_WAIT_S: Final = 3600.0
"""The longest wait after a failure, unless the sensor is run more rarely than that anyway."""
MARGIN_S: Final = 15.0
"""How much longer than its deadline a run is waited for: its tree is ended, its events are written."""
DEEPEST: Final = 100
"""Levels of lists and objects; this keeps whoever walks through them from falling over."""
SHOWN: Final = 500
"""Characters of what a program says of its failure."""


class Said(NamedTuple):
    """What the program of a sensor has written."""

    events: list[object]
    """Events as they came; what is none is refused one by one."""
    cursor: JsonObject | None
    """What it wants to be given the next time; None where it said nothing of it."""


class Unreadable(NamedTuple):
    """A line that is no JSON. It stands where an event would, and is refused as one."""

    why: str


class OutputFault(ValueError):
    """The output as a whole is not what a sensor writes; the text says why."""


def said(output: bytes) -> Said:
    """The events and the cursor: one JSON array, one object, or one a line. Raises OutputFault.

    An object with no other keys than `events` and `cursor` is no event but carries them.
    """
    if not output.strip():
        return Said([], None)
    try:
        whole = _json(output)
    except ValueError as error:
        return _collected(_lines(output, error))
    return _collected(whole if isinstance(whole, list) else [whole])


def _lines(output: bytes, whole: ValueError) -> list[object]:
    lines = [line for line in output.split(b"\n") if line.strip()]
    found = [_line(line) for line in lines]
    if all(isinstance(each, Unreadable) for each in found):
        raise OutputFault(f"its output is not JSON: {whole}")
    return found


def _line(line: bytes) -> object:
    try:
        return _json(line)
    except ValueError as error:
        return Unreadable(f"this line is not JSON: {error}")


def _json(text: bytes) -> object:
    try:
        data: object = msgspec.json.decode(text)
    except RecursionError:
        raise ValueError(f"it is nested more than {DEEPEST} levels") from None
    if is_deep(data):
        raise ValueError(f"it is nested more than {DEEPEST} levels")
    return data


def is_deep(value: object) -> bool:
    """Whether it is nested too deeply; walks level by level, so that depth costs no stack."""
    level = [value]
    for _ in range(DEEPEST + 1):
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [item for items in inner for item in items]
    return bool(level)


def _collected(items: list[Any]) -> Said:
    events: list[object] = []
    cursor: JsonObject | None = None
    for item in items:
        if isinstance(item, dict) and item and item.keys() <= {"events", "cursor"}:
            cursor = _cursor(item.get("cursor"), cursor)
            events.extend(_events(item.get("events", [])))
        else:
            events.append(item)
    return Said(events, cursor)


def _cursor(found: object, before: JsonObject | None) -> JsonObject | None:
    if found is None:
        return before
    if not isinstance(found, dict):
        raise OutputFault("its cursor is not an object")
    return found


def _events(found: object) -> list[object]:
    if not isinstance(found, list):
        raise OutputFault("its `events` are not a list")
    return found


# --- when it runs -----------------------------------------------------------------------------------------------------


def is_due(state: SensorState | None, table: ProjectSensor, now: datetime) -> bool:
    """Whether it is to be run now. A moment further ahead than any wait means that the clock was set back."""
    if state is None:
        return True
    ahead = (state.next_run_at - now).total_seconds()
    return not state.paused and (ahead <= 0 or ahead > _furthest_s(table))


def _furthest_s(table: ProjectSensor) -> float:
    return max(LONGEST_WAIT_S, table.every_s, table.deadline_s + MARGIN_S)


def claimed(state: SensorState | None, sensor_id: str, table: ProjectSensor, now: datetime) -> SensorState:
    """As it is while it runs: nobody else runs it before its run must be over."""
    known = state or SensorState(sensor_id=sensor_id, next_run_at=now)
    wait = max(table.every_s, table.deadline_s + MARGIN_S)
    return replace(known, next_run_at=now + timedelta(seconds=wait), last_run_at=now)


def succeeded(state: SensorState, table: ProjectSensor, cursor: JsonObject | None, began: datetime) -> SensorState:
    """After a run that ended well; a cursor that was not said stays."""
    soon = began + timedelta(seconds=table.every_s)
    kept = state.cursor if cursor is None else cursor
    reason = state.reason if state.paused else None
    return replace(state, cursor=kept, failures=0, reason=reason, next_run_at=soon)


def failed(state: SensorState, table: ProjectSensor, reason: str, now: datetime) -> SensorState:
    """After a run that failed: it waits twice as long every time, and after some failures for a person."""
    failures = state.failures + 1
    doubled = table.every_s * 2.0 ** min(failures, 20)
    wait = max(table.every_s, min(doubled, LONGEST_WAIT_S))
    return replace(
        state,
        failures=failures,
        reason=reason,
        paused=state.paused or failures >= PATIENCE,
        next_run_at=now + timedelta(seconds=wait),
    )


def held_back(state: SensorState, table: ProjectSensor, reason: str, now: datetime) -> SensorState:
    """While the queue is deep: looked at again after its usual wait."""
    return replace(state, reason=reason, next_run_at=now + timedelta(seconds=table.every_s))


def tail(text: str) -> str:
    """The end of what a program says, where the error stands."""
    bare = text.strip()
    return bare if len(bare) <= SHOWN else f"…{bare[-SHOWN:]}"
