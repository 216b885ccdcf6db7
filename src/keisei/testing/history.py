"""History: what happened outside the database, a line an occurrence, and what the tables hold at the end.

A history is text, appended by whoever did it; the order of its lines is the order of the world. Its lines say nothing
of how the run was made: by processes that are killed, or by plain objects on a virtual clock.

    Q TASK - PID TIME                somebody is about to queue the task
    A TASK - PID TIME                the store has said that it is queued
    S TASK ATTEMPT PID TIME          a harness starts; written before its work
    L TASK ATTEMPT PID TIME          it is still at work
    E TASK ATTEMPT PID TIME          it has ended by itself; written after its work
    W TASK ATTEMPT PID TIME STATUS   the store has said `settled`, and the task is now that
    X TASK ATTEMPT PID TIME KEY      an effect that the outbox row KEY asks for has reached the outside
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, Self

from keisei.engine.ports import Outbox, View
from keisei.records.attempt import TaskAttempt
from keisei.records.event import RuntimeEvent
from keisei.records.id import TaskId
from keisei.records.move import EventQuery, TaskQuery
from keisei.records.outbox import OutboxItem
from keisei.records.task import TaskRecord

PAGE = 1000
"""How many rows are read at once."""

NOTHING = "-"
"""What stands in a line where there is no attempt."""


class Line(NamedTuple):
    """One occurrence outside the database."""

    kind: str
    task: str
    attempt: str
    pid: int
    time: float
    word: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """A line of a history. Raises ValueError for anything else."""
        kind, task, attempt, pid, time, *rest = text.split()
        if kind not in {"Q", "A", "S", "L", "E", "W", "X"} or len(rest) != (kind in {"W", "X"}):
            message = f"not a line of a history: {text!r}"
            raise ValueError(message)
        return cls(kind, task, attempt, int(pid), float(time), *rest)

    def render(self) -> str:
        """The line as it stands in a file, without its end."""
        return f"{self.kind} {self.task} {self.attempt} {self.pid} {self.time:.6f} {self.word}".rstrip()


class Tables(NamedTuple):
    """What the database holds at the end."""

    tasks: Sequence[TaskRecord]
    attempts: Sequence[TaskAttempt]
    """Of one task: oldest first."""
    events: Sequence[RuntimeEvent]
    """Oldest first."""
    outbox: Sequence[OutboxItem]
    postponed: Mapping[TaskId, int] | None = None
    """How many attempts of a task were not counted; None where nobody has looked."""
    damage: Sequence[str] = ()
    """What the database's own check of its files complains of."""


class Readable(View, Outbox, Protocol):
    """A store, as far as the checker reads it."""


def read_tables(store: Readable, postponed: Mapping[TaskId, int] | None = None, damage: Sequence[str] = ()) -> Tables:
    """Everything a store holds, page by page."""
    tasks = list(every_task(store))
    attempts = [attempt for task in tasks for attempt in store.attempts(task.task_id, limit=PAGE)]
    return Tables(tasks, attempts, list(every_event(store)), store.outbox(None, limit=PAGE * PAGE), postponed, damage)


def every_task(store: View) -> Iterator[TaskRecord]:
    """Every task, newest first."""
    page = store.tasks(TaskQuery(limit=PAGE))
    while page:
        yield from page
        page = store.tasks(TaskQuery(limit=PAGE, before=page[-1].task_id))


def every_event(store: View) -> Iterator[RuntimeEvent]:
    """Every event, oldest first."""
    page = store.events(EventQuery(limit=PAGE))
    while page:
        yield from page
        page = store.events(EventQuery(limit=PAGE, after=page[-1].id))
