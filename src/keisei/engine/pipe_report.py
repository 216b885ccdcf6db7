"""Reports of pipe runs: what became of each step, piece by piece, so that many outputs are never one text."""

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from keisei.engine.pipe_order import PipeEnd, StepEnd
from keisei.engine.pipe_value import members_of
from keisei.engine.ports import PipeRuns
from keisei.records.error import OperatorError
from keisei.records.invocation import InvocationError
from keisei.records.pipe import PipeDefinition
from keisei.records.pipe_run import PipeMember, PipeRun

FINE = frozenset({"done", "skipped"})
WORST = ("failed", "undo_failed", "unknown", "running", "undone")
"""States of members by which a step is called, the first that is there."""


class Told(NamedTuple):
    """A step of a run, as far as its rows go."""

    name: str
    """As references call it."""
    atom: str
    """What it calls."""
    is_list: bool
    """It runs once for each item."""


class Found(NamedTuple):
    """What became of a step."""

    told: Told
    state: str
    error: InvocationError | None
    note: str | None
    source: str | None
    duration_ms: float | None
    counts: dict[str, int] | None
    """Of a fan-out: how many members are in each state."""


def steps_of(run: PipeRun) -> list[Told]:
    """The steps of the pipe as it was kept. Raises OperatorError where somebody else changed it."""
    try:
        steps = msgspec.convert(run.definition, PipeDefinition).steps
    except msgspec.ValidationError as error:
        raise OperatorError(f"the stored pipe of run {run.run_id} cannot be read: {error}") from error
    return [
        Told(step.capture_as or f"step-{number}", step.atom, step.for_each is not None)
        for number, step in enumerate(steps, start=1)
    ]


def found(runs: PipeRuns, run: PipeRun, end: PipeEnd | None = None) -> list[Found]:
    """What became of each step: as this session saw it, else as its rows say."""
    counts: dict[str, dict[str, int]] = {}
    for (step, state), count in runs.member_counts(run.run_id).items():
        counts.setdefault(step, {})[state] = count
    return [_found(runs, run, told, counts.get(told.name, {}), end) for told in steps_of(run)]


def _found(runs: PipeRuns, run: PipeRun, told: Told, counts: dict[str, int], end: PipeEnd | None) -> Found:
    first = next(iter(runs.members(run.run_id, told.name, -1, 1)), None)
    seen = end.steps.get(told.name) if end is not None else None
    state = _state(run, told, counts, first, seen)
    row = None if told.is_list else first
    why = row if row is not None and row.state == state else seen
    took = seen.duration_ms if seen is not None else None
    source = row.source if row is not None and row.state == state == "done" else None
    error, note = (why.error, why.note) if why is not None else (None, None)
    return Found(told, state, error, note, source, took, counts if told.is_list else None)


def _state(run: PipeRun, told: Told, counts: dict[str, int], first: PipeMember | None, seen: StepEnd | None) -> str:
    is_left = seen is not None and seen.state == "skipped"  # then an earlier session's failure is history
    if worst := next((state for state in WORST if counts.get(state) and not (is_left and state == "failed")), None):
        return worst
    if seen is not None:
        return seen.state
    if not told.is_list:
        return first.state if first is not None else "waiting"
    if run.status == "completed":
        return "done" if "done" in counts or not counts else "skipped"
    return "unfinished" if counts else "waiting"


def report(runs: PipeRuns, run: PipeRun, end: PipeEnd | None = None) -> Iterator[str]:
    """One JSON object, in pieces: run, status, every step with its result, and the result of the last one."""
    steps = found(runs, run, end)
    head = {"run_id": run.run_id, "status": run.status, "name": run.name, "error": run.error}
    yield f'{_json(head)[:-1]}, "steps": ['
    for number, step in enumerate(steps):
        yield ", " if number else ""
        yield from _step(runs, run, step)
    yield '], "final_result": '
    yield from _result(runs, run, steps[-1])
    yield "}"


def _step(runs: PipeRuns, run: PipeRun, step: Found) -> Iterator[str]:
    head = {"id": step.told.name, "atom": step.told.atom, "ok": step.state in FINE, "state": step.state}
    rest: dict[str, Any] = {
        "error": _error(step.error),
        "source": step.source,
        "duration_ms": step.duration_ms,
    }
    rest |= {"note": step.note} if step.note else {}
    rest |= {"members": step.counts} if step.counts is not None else {}
    return chain([f'{_json(head)[:-1]}, "result": '], _result(runs, run, step), [f", {_json(rest)[1:]}"])


def _result(runs: PipeRuns, run: PipeRun, step: Found) -> Iterator[str]:
    """What came out; null where it did not come to an end."""
    if step.state != "done":
        yield "null"
        return
    outputs = (_json(each.output) for each in members_of(runs, run.run_id, step.told.name) if each.state == "done")
    if not step.told.is_list:
        yield next(outputs, "null")
        return
    yield "["
    for number, output in enumerate(outputs):
        yield f", {output}" if number else output
    yield "]"


def _error(error: InvocationError | None) -> dict[str, str | None] | None:
    return None if error is None else {"kind": error.kind, "code": error.code, "message": error.message}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
