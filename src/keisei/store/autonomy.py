"""What begins, holds and ends work by itself, for both stores: each move is one transaction, written once."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

from msgspec.structs import replace

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
from keisei.store import approval, budget, decide, landing, outbox, posting, restore, schedule, sensor, workflow
from keisei.store.view import Driver
from keisei.store.work import Work, write_beside

T = TypeVar("T")


class Autonomy(ABC):
    """The Autonomy port. A store inherits it and says how a transaction is done and what it reads from."""

    _reader: Driver

    @abstractmethod
    def _do(self, action: Callable[[Work], T]) -> T:
        """One transaction."""

    def put_schedule(self, order: ScheduleOrder) -> bool:
        """Make or change a schedule. False: it has another version, or its name is taken."""
        return self._do(lambda work: schedule.put_schedule(work, order))

    def drop_schedule(self, schedule_id: ScheduleId, was: int, beside: Beside) -> bool:
        """Delete a schedule; its slots stay. False: it has another version."""
        return self._do(lambda work: schedule.drop_schedule(work, schedule_id, was, beside))

    def fire(self, firing: Firing) -> bool:
        """Write what became of due moments. False: it has another version."""
        return self._do(lambda work: schedule.fire(work, firing))

    def schedules(self) -> list[Schedule]:
        """All schedules by name."""
        return schedule.read_schedules(self._reader)

    def schedule(self, name: str) -> Schedule | None:
        """A schedule by its id, else by its name."""
        return schedule.read_schedule(self._reader, name)

    def due_schedules(self, limit: int = 100) -> list[Schedule]:
        """Schedules that are enabled and due by now, longest due first."""
        return schedule.read_due_schedules(self._reader, self._reader.now_us(), limit)

    def next_slot(self) -> datetime | None:
        """When the next enabled schedule is due."""
        return schedule.read_next_slot(self._reader)

    def slots(self, schedule_id: ScheduleId | None, limit: int = 50) -> list[Slot]:
        """Slots of one schedule, or of all, newest first."""
        return schedule.read_slots(self._reader, schedule_id, limit)

    def find_slots(self, query: SlotQuery) -> SlotPage:
        """A page of slots, newest first, and where the next one begins."""
        return schedule.find_slots(self._reader, query)

    def observe(self, observation: Observation) -> Observed:
        """Record an event with everything it starts, once."""
        try:
            return self._do(lambda work: sensor.observe(work, observation))
        except sensor.Raced:
            return Observed(status="raced")

    def put_sensor(self, state: SensorState, beside: Beside) -> bool:
        """Remember what is known of a sensor. False: it has another version."""
        return self._do(lambda work: sensor.put_sensor(work, state, beside))

    def seen(self, query: SeenQuery) -> list[Seen]:
        """Sensor events, newest first."""
        return sensor.read_seen(self._reader, query)

    def find_seen(self, query: SeenQuery) -> SeenPage:
        """A page of sensor events, newest first, and where the next one begins."""
        return sensor.find_seen(self._reader, query)

    def sensor(self, sensor_id: str) -> SensorState | None:
        """What is remembered of a sensor."""
        return sensor.read_sensor(self._reader, sensor_id)

    def sensors(self) -> list[SensorState]:
        """All sensors that are remembered, by id."""
        return sensor.read_sensors(self._reader)

    def start_workflow(self, start: WorkflowStart) -> bool:
        """A workflow begins. False: its instance key or its id is known."""
        return self._do(lambda work: workflow.start_workflow(work, start))

    def move_workflow(self, move: WorkflowMove) -> bool:
        """A workflow moves. False: it has another version."""
        return self._do(lambda work: workflow.move_workflow(work, move))

    def workflow(self, workflow_id: WorkflowId) -> Workflow | None:
        """One workflow, by its id."""
        return workflow.read_workflow(self._reader, workflow_id)

    def instance(self, instance_key: str) -> Workflow | None:
        """One workflow, by its key."""
        return workflow.read_instance(self._reader, instance_key)

    def workflows(self, query: WorkflowQuery) -> list[Workflow]:
        """Workflows, newest first."""
        return workflow.read_workflows(self._reader, query)

    def stirred(self, limit: int = 100) -> list[Workflow]:
        """Workflows that something has happened to, longest unmoved first."""
        return workflow.read_stirred(self._reader, limit)

    def visits(self, workflow_id: WorkflowId) -> list[Visit]:
        """The stays of a workflow, in order."""
        return workflow.read_visits(self._reader, workflow_id)

    def ask(self, beside: Beside) -> int:
        """Write approvals, messages and events that belong to no other move. How many approvals were new."""
        return self._do(lambda work: _asked(work, beside))

    def announce(self, approval_id: ApprovalId, deadline: datetime, beside: Beside) -> bool:
        """Give an approval the deadline it has not. False: it was decided, or has one."""
        return self._do(lambda work: decide.announce(work, approval_id, deadline, beside))

    def approval(self, approval_id: ApprovalId) -> ApprovalRecord | None:
        """One approval."""
        return approval.read_approval(self._reader, approval_id)

    def approvals(self, query: ApprovalQuery) -> list[ApprovalRecord]:
        """Approvals, newest first."""
        return approval.read_approvals(self._reader, query)

    def unreadable(self, limit: int = 1000) -> list[str]:
        """Names of open approvals, of open landings and of outbox rows that cannot be read."""
        rooms = (approval, landing, outbox)
        return [each for room in rooms for each in room.read_unreadable(self._reader, limit)]

    def decide(self, decision: Decision) -> bool:
        """Write a decision with what follows. False: it was decided before, or its task has moved."""
        try:
            return self._do(lambda work: decide.decide(work, decision))
        except decide.TaskHasMovedError:
            return False

    def remind(self, approval_id: ApprovalId, beside: Beside) -> bool:
        """Note that somebody was told again. False: it was decided, or noted before."""
        return self._do(lambda work: decide.remind(work, approval_id, beside))

    def tallies(self, since: datetime) -> list[Tally]:
        """What attempts that began since then have reserved and spent."""
        return budget.read_tallies(self._reader, since)

    def spent_by(self, task_id: TaskId) -> Tally:
        """What all attempts of one task have reserved and spent."""
        return budget.read_spent_by(self._reader, task_id)

    def grant(self, grant: Grant, beside: Beside) -> bool:
        """Allow more. False: its id is known."""
        return self._do(lambda work: budget.grant(work, grant, beside))

    def grants(self, day: str | None, task_id: TaskId | None = None) -> list[Grant]:
        """What was granted for a day, or for a task."""
        return budget.read_grants(self._reader, day, task_id)

    def outbox_item(self, key: str) -> OutboxItem | None:
        """One outbox row."""
        return posting.read_outbox_item(self._reader, key)

    def take(self, key: str, tries: int, until: datetime) -> bool:
        """Speak for a pending outbox row. False: somebody was quicker."""
        return self._do(lambda work: posting.take(work, key, tries, until))

    def redeliver(self, key: str, beside: Beside) -> bool:
        """Put a dead or refused outbox row back. False: it is neither."""
        return self._do(lambda work: posting.redeliver(work, key, beside))

    def give_up(self, key: str, reason: str, beside: Beside) -> bool:
        """End a pending outbox row as dead. False: it is not pending."""
        return self._do(lambda work: posting.give_up(work, key, reason, beside))

    def followed_since(self, task_type: str | None, since: datetime) -> int:
        """How many tasks were asked for by tasks since then."""
        return posting.read_followed_since(self._reader, task_type, since)

    def restore(self, tasks: Sequence[TaskRecord], beside: Beside) -> list[bool]:
        """Write tasks that were made elsewhere, as they were. Which were new."""
        return self._do(lambda work: restore.restore(work, tasks, beside))


def _asked(work: Work, beside: Beside) -> int:
    new = approval.write_approvals(work, beside.approvals)
    if new or not beside.approvals:
        write_beside(work, replace(beside, approvals=()))
    return new
