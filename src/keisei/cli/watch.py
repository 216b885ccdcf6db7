"""`keisei task wait` and `watch`: stay until a task is over, silently or with everything it says on the way."""

import json
import math
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

from keisei.cli.desk import desk, first_line, known_attempt, known_task
from keisei.cli.event import event_line
from keisei.cli.output import emit_json, json_option
from keisei.records.error import OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from keisei.cli.desk import Desk
    from keisei.engine.ports import Store
    from keisei.records.event import RuntimeEvent
    from keisei.records.id import AttemptId
    from keisei.records.task import TaskRecord

F = TypeVar("F", bound=Callable[..., Any])
EXITS = {"completed": 0, "blocked": 3}
"""How both end, by status; every other end is 2."""
VIOLATED, BUDGET, LATE = 2, 4, 5
MOST = 1000
"""Attempts of one task that are looked at."""
LOOK_S = 0.2
STREAMS = {"stdout.log": ("stdout", "|"), "stderr.log": ("stderr", "!")}
"""What is followed: the stream of each file, and the mark before its lines."""
LONGEST_LINE = 65_536
"""Bytes that are kept back until a line ends."""


def timeout_option(command: F) -> F:
    """`--timeout`."""
    return click.option(
        "--timeout",
        "timeout_s",
        type=click.FloatRange(0),
        callback=_number,
        help="Seconds; without it, for as long as it takes.",
    )(command)


def _number(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is no number of seconds.")
    return value


@click.command("wait")
@click.argument("task_ids", nargs=-1, required=True)
@timeout_option
@json_option
def wait(task_ids: tuple[str, ...], timeout_s: float | None, as_json: bool) -> int:
    """Wait until tasks are over or blocked.

    Exit 0 all completed, 2 one failed, 3 one is blocked, 4 by its budget, 5 time-out.
    """
    from keisei.contracts.check import data_of

    with desk() as opened:
        for late in _looks(timeout_s):
            tasks = [known_task(opened.store, each) for each in task_ids]
            if late or not any(map(_goes_on, tasks)):
                break
        code = _exit_code(opened.store, tasks)
    if as_json:
        emit_json([data_of(each) for each in tasks])
    else:
        for each in tasks:
            click.echo(_end_line(each))
    return code


@click.command("watch")
@click.argument("task_id")
@timeout_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def watch(task_id: str, timeout_s: float | None, as_json: bool) -> int:
    """Follow a task until it is over or blocked: its events, and what its attempt prints. Exit as `wait`."""
    from keisei.contracts.check import data_of

    with desk() as opened:
        watcher = _Watcher(opened, known_task(opened.store, task_id), as_json=as_json)
        for late in _looks(timeout_s):
            task = known_task(opened.store, task_id)
            watcher.look(task)
            if late or not _goes_on(task):
                break
        code = _exit_code(opened.store, [task])
    if as_json:
        _json_line({"task": data_of(task)})
    else:
        click.echo(_end_line(task))
    return code


def _looks(timeout_s: float | None) -> Iterator[bool]:
    """Look again and again; True where it is the last time."""
    until = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while True:
        late = time.monotonic() >= until
        yield late
        time.sleep(min(LOOK_S, max(0.0, until - time.monotonic())))


def _goes_on(task: "TaskRecord") -> bool:
    from keisei.records.task import TERMINAL

    return task.status not in TERMINAL and task.status != "blocked"


def _exit_code(store: "Store", tasks: "Sequence[TaskRecord]") -> int:
    return LATE if any(map(_goes_on, tasks)) else max(exit_code(store, each) for each in tasks)


def exit_code(store: "Store", task: "TaskRecord") -> int:
    """How a task has ended, or what it waits for: 0 verified, 2 violated or failed, 3 a person, 4 a budget, 5 time.

    What its last attempt came to says more than that somebody is asked about it now.
    """
    from keisei.records.answer import ApprovalQuery
    from keisei.records.move import LandingQuery
    from keisei.rules.landing import rejecting

    if task.status == "completed":
        landing = next(iter(store.landings(LandingQuery(task_id=task.task_id, limit=1))), None)
        return VIOLATED if landing is not None and landing.status == "rejected" else EXITS["completed"]
    waiting = store.approvals(ApprovalQuery(task_id=task.task_id))
    if any(each.kind == "budget" for each in waiting):
        return BUDGET
    attempts = store.attempts(task.task_id, MOST)
    last = attempts[-1] if attempts and task.status != "operator_canceled" else None
    if last is not None and last.exit_status == "timeout":
        return LATE
    against = rejecting(store.findings(last.attempt_id)) if last is not None else []
    if any(each.status == "violated" for each in against):
        return VIOLATED
    return EXITS.get(task.status, VIOLATED)


def _end_line(task: "TaskRecord") -> str:
    error = f": {first_line(task.last_error)}" if task.last_error and task.status != "completed" else ""
    return f"{task.task_id} {task.status}{error}"


class _Watcher:
    """What was told of one task already. Output is followed of the attempt that is open, and of all that come."""

    def __init__(self, opened: "Desk", task: "TaskRecord", *, as_json: bool) -> None:
        self._opened, self._task_id, self._as_json = opened, task.task_id, as_json
        self._last, self._begun = 0, False
        self._outputs: list[_Output] = []

    def look(self, task: "TaskRecord") -> None:
        """Tell what is new. What an attempt printed stands before the event of its end."""
        from keisei.records.move import EventQuery

        if task.lease is not None:
            self._follow(task.lease.attempt_id)
        query = EventQuery(after=self._last, task_id=self._task_id, limit=1000)
        for event in self._opened.store.events(query):
            self._last = event.id
            self._meet(event)
            self._tell_event(event)
        self._begun = True
        for output in self._outputs:
            output.read()

    def _meet(self, event: "RuntimeEvent") -> None:
        """An attempt begins, maybe to end before anybody looks again; or it ends."""
        if event.attempt_id is None:
            return
        if event.event_type == "task_started" and self._begun:
            self._follow(event.attempt_id)
        elif event.event_type == "task_attempt_finished":
            self._finish(event.attempt_id)

    def _follow(self, attempt_id: "AttemptId") -> None:
        if all(each.attempt_id != attempt_id for each in self._outputs):
            self._outputs += [_Output(self._opened, attempt_id, name, self._tell_line) for name in STREAMS]

    def _finish(self, attempt_id: "AttemptId") -> None:
        for output in [each for each in self._outputs if each.attempt_id == attempt_id]:
            output.read(ended=True)
            self._outputs.remove(output)

    def _tell_event(self, event: "RuntimeEvent") -> None:
        from keisei.contracts.check import data_of

        if self._as_json:
            _json_line(data_of(event))
        else:
            click.echo(event_line(event))

    def _tell_line(self, attempt_id: "AttemptId", name: str, text: str) -> None:
        stream, mark = STREAMS[name]
        if self._as_json:
            _json_line({"attempt_id": attempt_id, "stream": stream, "text": text})
        else:
            click.echo(f"  {mark} {printable(text)}")


class _Output:
    """One stream of an attempt, line by line, while it grows and after."""

    def __init__(
        self, opened: "Desk", attempt_id: "AttemptId", name: str, tell: "Callable[[AttemptId, str, str], None]"
    ) -> None:
        self.attempt_id = attempt_id
        self._opened, self._name, self._tell = opened, name, tell
        self._place = 0
        self._rest = b""

    def read(self, *, ended: bool = False) -> None:
        """Tell every line that is whole by now; the last one too where nothing follows."""
        while piece := self._piece():
            self._place += len(piece)
            *lines, self._rest = (self._rest + piece).replace(b"\r\n", b"\n").split(b"\n")
            for line in lines:
                self._say(line)
            if len(self._rest) > LONGEST_LINE:
                self._say(self._rest)
                self._rest = b""
        if ended and self._rest:
            self._say(self._rest)
            self._rest = b""

    def _piece(self) -> bytes:
        """What has come since; nothing where the attempt left nothing, or its folder goes away just now."""
        from keisei.wiring.shop import read_evidence

        try:
            attempt = known_attempt(self._opened.store, self.attempt_id)
            return read_evidence(self._opened.home, attempt, self._name, self._place)
        except (OperatorError, OSError):
            return b""

    def _say(self, line: bytes) -> None:
        self._tell(self.attempt_id, self._name, line.decode("utf-8", "replace"))


def _json_line(value: object) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))
