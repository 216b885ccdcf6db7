"""Ports of what begins, holds and ends work by itself: schedules, sensors, workflows, approvals, budgets.

Every method that writes is one transaction. Whoever writes says which version it has seen; where another one stands
there by now the method returns False, and nothing was written.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from keisei.records.answer import ApprovalQuery, Decision
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import Beside
from keisei.records.budget import Grant, Tally
from keisei.records.id import ApprovalId, ScheduleId, TaskId, WorkflowId
from keisei.records.observation import Observation, Observed, Seen, SeenPage, SeenQuery, SensorState
from keisei.records.outbox import OutboxItem
from keisei.records.progression import Visit, Workflow, WorkflowMove, WorkflowQuery, WorkflowStart
from keisei.records.slot import Firing, Schedule, ScheduleOrder, Slot, SlotPage, SlotQuery
from keisei.records.task import TaskRecord


class Schedules(Protocol):
    """Rows that decide when work should exist."""

    def put_schedule(self, order: ScheduleOrder) -> bool:
        """Make or change a schedule. False: it has another version, or its name is taken."""

    def drop_schedule(self, schedule_id: ScheduleId, was: int, beside: Beside) -> bool:
        """Delete a schedule; the rows of its slots stay. False: it has another version."""

    def schedules(self) -> list[Schedule]:
        """All of them by name; a row that cannot be read is there, with its fault."""

    def schedule(self, name: str) -> Schedule | None:
        """By its id, else by its name."""

    def due_schedules(self, limit: int = 100) -> list[Schedule]:
        """Those that are enabled and due by now, longest due first.

        The clock may have been set back: those that last ran in the future are among them too, to be put right.
        """

    def next_slot(self) -> datetime | None:
        """When the next enabled schedule is due; None where there is none."""

    def fire(self, firing: Firing) -> bool:
        """Write what became of due moments. False: it has another version."""

    def slots(self, schedule_id: ScheduleId | None, limit: int = 50) -> list[Slot]:
        """Slots of one schedule, or of all, newest first."""

    def find_slots(self, query: SlotQuery) -> SlotPage:
        """A page of slots, newest first, and where the next one begins."""


class Sensors(Protocol):
    """What was observed."""

    def observe(self, observation: Observation) -> Observed:
        """Record an event with everything it starts.

        One whose key or id its sensor had before only counts a repeat, with its `sensor_event_deduped` event.
        """

    def seen(self, query: SeenQuery) -> list[Seen]:
        """Events, newest first."""

    def find_seen(self, query: SeenQuery) -> SeenPage:
        """A page of events, newest first, and where the next one begins."""

    def sensor(self, sensor_id: str) -> SensorState | None:
        """What is remembered of a sensor."""

    def sensors(self) -> list[SensorState]:
        """All that are remembered, by id."""

    def put_sensor(self, state: SensorState, beside: Beside) -> bool:
        """Remember. Its `version` is the one it must have, 0 where it must not be there; it is counted by the store."""


class Workflows(Protocol):
    """Many tasks in order."""

    def start_workflow(self, start: WorkflowStart) -> bool:
        """A workflow begins. False: its instance key or its id is known."""

    def move_workflow(self, move: WorkflowMove) -> bool:
        """A workflow moves. False: it has another version."""

    def workflow(self, workflow_id: WorkflowId) -> Workflow | None:
        """One workflow, by its id."""

    def instance(self, instance_key: str) -> Workflow | None:
        """One workflow, by its key."""

    def workflows(self, query: WorkflowQuery) -> list[Workflow]:
        """Workflows, newest first."""

    def stirred(self, limit: int = 100) -> list[Workflow]:
        """Workflows that something has happened to, longest unmoved first.

        They await entry; their task is finished or blocked; or they await a person, and the task that had blocked them
        is not blocked any more.
        """

    def visits(self, workflow_id: WorkflowId) -> list[Visit]:
        """The stays of a workflow, in order."""


class Approvals(Protocol):
    """What needs a person."""

    def ask(self, beside: Beside) -> int:
        """Write approvals, messages, events that belong to no other move. How many approvals were new.

        Where it has approvals and none was new, nothing else is written either.
        """

    def announce(self, approval_id: ApprovalId, deadline: datetime, beside: Beside) -> bool:
        """Give it the deadline it has not. False: it was decided, or has one."""

    def approval(self, approval_id: ApprovalId) -> ApprovalRecord | None:
        """One of them. Raises OperatorError for a row that cannot be read."""

    def approvals(self, query: ApprovalQuery) -> list[ApprovalRecord]:
        """Them, newest first; a row that cannot be read is left out."""

    def unreadable(self, limit: int = 1000) -> list[str]:
        """Names of open approvals, open landings and outbox rows that cannot be read, the newest of each status."""

    def decide(self, decision: Decision) -> bool:
        """Write a decision with what follows. False: it was decided before, or its task has moved."""

    def remind(self, approval_id: ApprovalId, beside: Beside) -> bool:
        """Note that somebody was told again. False: it was decided, or noted before."""


class Budgets(Protocol):
    """What may be spent and what was."""

    def tallies(self, since: datetime) -> list[Tally]:
        """What attempts that began since then have reserved and spent, by agent and adapter."""

    def spent_by(self, task_id: TaskId) -> Tally:
        """What all attempts of one task have reserved and spent; agent and adapter are the task's."""

    def grant(self, grant: Grant, beside: Beside) -> bool:
        """Allow more, and let tasks that wait for a budget be looked at again. False: its id is known."""

    def grants(self, day: str | None, task_id: TaskId | None = None) -> list[Grant]:
        """What was granted for a day, or for a task."""


class Posting(Protocol):
    """The outbox, as deliveries and operators use it."""

    def outbox_item(self, key: str) -> OutboxItem | None:
        """One row. Raises OperatorError for one that cannot be read."""

    def take(self, key: str, tries: int, until: datetime) -> bool:
        """Speak for a pending row that was tried so often: nobody else takes it before `until`. Its tries grow by one.

        False: somebody was quicker.
        """

    def redeliver(self, key: str, beside: Beside) -> bool:
        """Put a dead or refused row back, as if never tried. False: it is neither."""

    def give_up(self, key: str, reason: str, beside: Beside) -> bool:
        """End a pending row as dead. False: it is not pending."""

    def followed_since(self, task_type: str | None, since: datetime) -> int:
        """How many tasks were asked for by tasks since then; by those of this type, or by all.

        Follow-ups that were delivered, and what attempts have queued themselves.
        """


class Importing(Protocol):
    """Rows that were made elsewhere."""

    def restore(self, tasks: Sequence[TaskRecord], beside: Beside) -> list[bool]:
        """Write tasks as they were, in any status but running, without events of their own. Which were new.

        Ids and keys that are known write nothing.
        """


class Autonomy(Schedules, Sensors, Workflows, Approvals, Budgets, Posting, Importing, Protocol):
    """All of it, behind one database."""
