"""Progression: workflows on their way through their states. Internal: no published schema."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from keisei.records.beside import NOTHING, Beside
from keisei.records.id import TaskId, WorkflowId
from keisei.records.workflow import WorkflowDefinition, WorkflowRecord

Awaited = Literal["entry", "task", "signal", "person", "nothing"]
"""What a workflow waits for: to enter its state, its task, a signal that no task gives, a person, or nothing more."""


class Workflow(Struct, frozen=True, kw_only=True):
    """A workflow as the store has it."""

    record: WorkflowRecord
    """What it says."""
    definition: WorkflowDefinition
    """The definition it began with; a file that changes later does not change it."""
    awaits: Awaited
    """What it waits for."""
    task_id: TaskId | None = None
    """The task it waits for, or the one whose end has blocked it."""
    asks: int = 0
    """How many tasks this visit has asked for; a second one is a re-ask."""
    version: int = 1
    """Grows with every move; who writes says which one it has seen."""

    @property
    def visit(self) -> int:
        """The number of this visit to the current state; 0 before the first."""
        return self.record.visits.get(self.record.current_state, 0)


class Visit(Struct, frozen=True, kw_only=True):
    """One stay in a state. The key is (workflow, state, visit)."""

    workflow_id: WorkflowId
    """Which workflow."""
    state: str
    """Which state."""
    visit: int
    """The how-manieth stay in it, from 1."""
    entered_at: datetime
    """When it began."""
    task_id: TaskId | None = None
    """The newest task it has asked for."""
    left_at: datetime | None = None
    """When it ended."""
    signal: str | None = None
    """By which signal it ended."""
    actor: str | None = None
    """Who gave the signal: `task:<id>`, an operator, a sensor."""


class WorkflowStart(Struct, frozen=True, kw_only=True):
    """A workflow begins. Where its instance key is known nothing is written."""

    workflow: Workflow
    """As it begins."""
    visits: tuple[Visit, ...] = ()
    """The first stay."""
    beside: Beside = NOTHING
    """Its first task, its event."""


class WorkflowMove(Struct, frozen=True, kw_only=True):
    """A workflow moves: any number of transitions at once."""

    workflow: Workflow
    """After the move; the store counts its version."""
    was: int
    """The version it must have; otherwise nothing is written."""
    visits: tuple[Visit, ...] = ()
    """Stays that began or ended; one that is known is replaced."""
    beside: Beside = NOTHING
    """Tasks, events, ledger rows, approvals."""


class WorkflowQuery(Struct, frozen=True, kw_only=True):
    """Which workflows to list, newest first."""

    statuses: tuple[str, ...] = ()
    """Only these; empty means all."""
    workflow_type: str | None = None
    """Only of this type."""
    before: WorkflowId | None = None
    """Older than this one: the next page."""
    limit: int = 50
    """At most so many."""
