"""Sensor events: something was observed, perhaps work is proposed."""

from keisei.records.form import JsonObject, Record, Text, Timestamp
from keisei.records.id import SensorEventId
from keisei.records.intent import TaskIntent


class ProposedWorkflow(Record, frozen=True, kw_only=True):
    """A workflow to create, or to wake where it exists."""

    template: Text
    """The workflow type."""
    instance_key: Text
    """Which instance; the same key wakes the same one."""
    state: str | None = None
    """Start here instead of at the initial state."""
    context: JsonObject | None = None
    """What the workflow knows."""


class SensorEvent(Record, frozen=True, kw_only=True):
    """One observation."""

    sensor_id: Text
    """Which sensor."""
    event_id: SensorEventId
    """Its own id for the observation."""
    observed_at: Timestamp
    """When it saw it."""
    source_ref: Text
    """Where to look for oneself."""
    dedupe_key: Text
    """Owned by the sensor and stable: the same key is the same event."""
    freshness_deadline: Timestamp | None = None
    """After this moment the event starts nothing."""
    payload: JsonObject
    """What was seen."""
    proposed_task: TaskIntent | None = None
    """Work it proposes."""
    proposed_workflow: ProposedWorkflow | None = None
    """A workflow it creates or wakes."""
