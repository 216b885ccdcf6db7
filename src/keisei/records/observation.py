"""Observations: sensor events on their way into the store, and what became of them. Internal: no published schema."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from keisei.records.beside import NOTHING, Beside
from keisei.records.form import JsonObject
from keisei.records.id import SensorEventId, TaskId, WorkflowId
from keisei.records.progression import WorkflowMove, WorkflowStart
from keisei.records.sensor import SensorEvent

ObservationStatus = Literal["accepted", "stale"]
"""Stale: its freshness deadline had passed, so it is kept and starts nothing."""


class Observation(Struct, frozen=True, kw_only=True):
    """One event with everything it starts, in one transaction."""

    event: SensorEvent
    """What was seen. Its `dedupe_key`, and its `event_id`, are known once per sensor."""
    status: ObservationStatus = "accepted"
    """Whether it starts anything."""
    reason: str | None = None
    """Why it starts nothing."""
    task_id: TaskId | None = None
    """The task it starts, which stands in `beside`."""
    start: WorkflowStart | None = None
    """The workflow it creates."""
    wake: WorkflowMove | None = None
    """The workflow it wakes, or tells something."""
    beside: Beside = NOTHING
    """Written with it, and only where the event is new."""


class Observed(Struct, frozen=True, kw_only=True):
    """What became of an event."""

    status: Literal["recorded", "deduped", "raced"]
    """Raced: the workflow it starts or wakes has moved meanwhile, nothing was written; ask again."""
    reason: str | None = None
    """By which key it was known."""
    task_id: TaskId | None = None
    """The task; of the earlier event where it was known."""
    workflow_id: WorkflowId | None = None
    """The workflow; likewise."""


class Seen(Struct, frozen=True, kw_only=True):
    """A sensor event as the store has it."""

    event: SensorEvent
    """What was seen."""
    status: ObservationStatus
    """Whether it started anything."""
    reason: str | None = None
    """Why it started nothing."""
    task_id: TaskId | None = None
    """The task it started."""
    workflow_id: WorkflowId | None = None
    """The workflow it created or woke."""
    repeats: int = 0
    """How often the same event came again and started nothing."""
    repeated_at: datetime | None = None
    """When it last did."""
    recorded_at: datetime
    """When it came first."""


class SensorState(Struct, frozen=True, kw_only=True):
    """What is remembered of a sensor between its runs."""

    sensor_id: str
    """Which: the name of its skill, or `webhook:<name>`."""
    cursor: JsonObject | None = None
    """What it asked to be given the next time."""
    next_run_at: datetime
    """When it is run again."""
    last_run_at: datetime | None = None
    """When it last ran."""
    failures: int = 0
    """How often it failed in a row; its breaker goes by it."""
    reason: str | None = None
    """What went wrong last, or why it is paused."""
    paused: bool = False
    """An operator, or its breaker, has switched it off."""
    version: int = 0
    """Grows with every change; 0 where it was never stored."""


class SeenQuery(Struct, frozen=True, kw_only=True):
    """Which sensor events to list, newest first."""

    sensor_id: str | None = None
    """Only of this sensor."""
    event_id: SensorEventId | None = None
    """Only with this id of the sensor's own."""
    before: int | None = None
    """Older than this place: the `next` of the page before."""
    limit: int = 50
    """At most so many."""


class SeenPage(Struct, frozen=True, kw_only=True):
    """A page of sensor events."""

    events: tuple[Seen, ...]
    """Newest first; one that cannot be read is left out."""
    next: int | None = None
    """Where older ones begin; None where there are none. It stays good when events come and go."""
