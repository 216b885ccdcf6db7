"""The list of tasks: every filter, every status counted, page by page."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from keisei.console.asking import Cursor, Key, Limit
from keisei.console.cursor import lost
from keisei.console.premises import Premises
from keisei.records.id import AgentId, ProfileId, TaskId
from keisei.records.move import TaskQuery
from keisei.records.task import TaskRecord, TaskStatus

Text = Annotated[str, Meta(max_length=200)]
"""What is searched for."""
STATUSES: Final[tuple[TaskStatus, ...]] = (
    "pending",
    "running",
    "blocked",
    "retryable_failure",
    "completed",
    "permanent_failure",
    "operator_canceled",
)
"""In the order in which people look for them."""


class TasksAsk(Struct, frozen=True, kw_only=True):
    """Which tasks."""

    status: tuple[TaskStatus, ...] = ()
    """Only these; all where none is named."""
    task_type: Key | None = None
    """Only this type."""
    source: Key | None = None
    """Only from this source."""
    profile: Key | None = None
    """Only under this profile."""
    agent: Key | None = None
    """Only of this agent."""
    text: Text = ""
    """Only those whose id, subject, source or type holds this."""
    after: Cursor | None = None
    """Where to go on: the `next` of the answer before."""
    limit: Limit = 50
    """At most so many."""


class TasksPage(Struct, frozen=True, kw_only=True):
    """Tasks."""

    items: tuple[TaskRecord, ...]
    """Newest first."""
    next: str | None
    """Where older ones begin; None where there are none."""
    stopped: bool
    """The search for a text ended before the oldest task: `next` goes on with it."""
    counts: dict[TaskStatus, int]
    """How many tasks of all have which status, whatever was asked for."""


def show_tasks(premises: Premises, asks: TasksAsk) -> TasksPage:
    """Tasks, newest first, by status, type, source, profile, agent or a text."""
    after = None if asks.after is None else TaskId(asks.after)
    query = TaskQuery(
        statuses=asks.status,
        task_type=asks.task_type,
        source=asks.source,
        profile=None if asks.profile is None else ProfileId(asks.profile),
        agent=None if asks.agent is None else AgentId(asks.agent),
        text=asks.text.strip() or None,
        before=after,
        limit=asks.limit,
    )
    found, counts = premises.store.find_tasks(query), premises.store.counts()
    if after is not None and not found.tasks and premises.store.task(after) is None:
        raise lost()
    ordered = {status: counts[status] for status in STATUSES}
    return TasksPage(items=found.tasks, next=found.next, stopped=found.stopped, counts=ordered)
