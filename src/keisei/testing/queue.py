"""Queue: a store at work, with the tasks, runners and settlements that a test needs around it.

`Desk` is the shortest way to drive a store through its ports; `keisei.testing.promise` holds what every store promises,
as functions that take a desk. Neither needs a test framework.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from msgspec.structs import replace

from keisei.engine.ports import Store
from keisei.records.answer import ApprovalQuery
from keisei.records.attempt import ExitStatus, TaskAttempt
from keisei.records.error import KeiseiError
from keisei.records.event import EventType
from keisei.records.id import AdapterId, AttemptId, ProfileId, RunnerId, TaskId
from keisei.records.move import (
    Claimed,
    ClaimOrder,
    EventQuery,
    LandingQuery,
    NewEvent,
    NewTask,
    Settled,
    Settlement,
    Sweep,
)
from keisei.records.observation import SeenQuery
from keisei.records.outbox import OutboxItem, OutboxKind
from keisei.records.outcome import MachineStatus, OutcomeStatus, TaskOutcome
from keisei.records.progression import WorkflowQuery
from keisei.records.runner import RunnerRecord
from keisei.records.task import TERMINAL, TaskRecord, TaskStatus
from keisei.rules import task as rules
from keisei.testing.clock import VirtualClock
from keisei.testing.history import every_event, every_task

LEASE_S = 15.0
"""How long the runners of a desk may be silent."""

MACHINE: dict[OutcomeStatus, MachineStatus] = {
    "completed": "ok",
    "retryable_failure": "needs_retry",
    "permanent_failure": "failed",
    "blocked": "blocked",
    "operator_canceled": "canceled",
}
"""What the machine says with each outcome."""

EXITS: dict[TaskStatus, ExitStatus] = {"completed": "ok", "operator_canceled": "canceled"}
"""How the harness ended with each status; otherwise in error."""


class Desk:
    """A store, its clock, and names for everything a test makes."""

    def __init__(
        self, store: Store, clock: VirtualClock, another: Callable[[], Store], *, wall_leases: bool = False
    ) -> None:
        self.store = store
        self.clock = clock
        self.another = another
        """A second way into the same database, as another process has it."""
        self.wall_leases = wall_leases
        """Leases go by the wall clock, as a server's do, and not by the machine's boot clock."""
        self._numbers = count(1)

    def name(self, kind: str) -> str:
        """A name that was not there before."""
        return f"{kind}-{next(self._numbers):04}"

    def task(self, **changes: Any) -> NewTask:  # noqa: ANN401 - fields of TaskRecord
        """A task that is due now, unless the changes say otherwise; `breaker_id` and `depth` go beside it."""
        beside = {key: changes.pop(key) for key in ("breaker_id", "depth") if key in changes}
        return NewTask(task=new_task(TaskId(self.name("task")), self.clock.now(), **changes), **beside)

    def queue(self, number: int = 1, **changes: Any) -> list[TaskId]:  # noqa: ANN401 - fields of TaskRecord
        """Queue so many alike; their ids in the order of intake."""
        return [done.task_id for done in self.store.enqueue([self.task(**changes) for _ in range(number)])]

    def runner(self, lease_s: float = LEASE_S) -> RunnerId:
        """A runner that has just registered."""
        runner_id = RunnerId(self.name("runner"))
        self.store.register(new_runner(runner_id, self.clock, lease_s))
        return runner_id

    def claim(self, runner: RunnerId, number: int = 1, without: Sequence[str] = ()) -> list[Claimed]:
        """Claim as that runner."""
        attempts = tuple(AttemptId(self.name("attempt")) for _ in range(number))
        apart = tuple(AdapterId(adapter) for adapter in without)
        return self.store.claim(ClaimOrder(runner_id=runner, attempt_ids=attempts, without_adapters=apart))

    def running(self, runner: RunnerId | None = None, **changes: Any) -> Claimed:  # noqa: ANN401 - fields of TaskRecord
        """A fresh task in the hands of a runner. The queue must be empty."""
        (task_id,) = self.queue(**changes)
        (claimed,) = self.claim(runner or self.runner())
        assert claimed.task.task_id == task_id
        return claimed

    def ending(self, claimed: Claimed, status: TaskStatus, **beside: Any) -> Settlement:  # noqa: ANN401 - of Settlement
        """The settlement that gives a task this status now; `pending` postpones it."""
        return ending(claimed, status, self.store.now(), **beside)

    def settle(self, claimed: Claimed, status: TaskStatus, **beside: Any) -> Settled:  # noqa: ANN401 - of Settlement
        """Settle so, now."""
        return self.store.settle(self.ending(claimed, status, **beside))

    def blocked(self) -> TaskRecord:
        """A task that waits for a person."""
        claimed = self.running()
        assert self.settle(claimed, "blocked") == "settled"
        return self.read(claimed.task.task_id)

    def sweep(self, runner: RunnerId | None = None, **more: Any) -> list[Claimed]:  # noqa: ANN401 - fields of Sweep
        """Look for lost leases."""
        return self.store.sweep(Sweep(runner_id=runner, **more))

    def read(self, task_id: TaskId) -> TaskRecord:
        """A task that is there."""
        task = self.store.task(task_id)
        assert task is not None, task_id
        return task

    def attempt(self, attempt_id: AttemptId) -> TaskAttempt:
        """An attempt that is there."""
        attempt = self.store.attempt(attempt_id)
        assert attempt is not None, attempt_id
        return attempt

    def life(self, task_id: TaskId | None) -> list[EventType]:
        """The events of a task, in order."""
        return [event.event_type for event in self.store.events(EventQuery(task_id=task_id, limit=1000))]

    def ledger(self) -> list[tuple[str, str]]:
        """Kind and subject of everything in the ledger, in order."""
        self.store.unsealed()
        return [(entry.kind, entry.subject) for entry in self.store.entries(limit=1000)]

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Whatever happens in the block, every table looks the same after it as before."""
        before = self._everything()
        yield
        assert self._everything() == before

    def _everything(self) -> list[Any]:
        tasks = list(every_task(self.store))
        attempts = [self.store.attempts(task.task_id, limit=1000) for task in tasks]
        events = list(every_event(self.store))
        outbox, breakers = self.store.outbox(None, 1000), self.store.breakers()
        return [tasks, attempts, events, outbox, self.ledger(), breakers, *self._autonomy()]

    def _autonomy(self) -> list[Any]:
        workflows = self.store.workflows(WorkflowQuery(limit=1000))
        visits = [self.store.visits(workflow.record.workflow_id) for workflow in workflows]
        schedules, slots = self.store.schedules(), self.store.slots(None, 1000)
        seen, sensors = self.store.seen(SeenQuery(limit=1000)), self.store.sensors()
        approvals = self.store.approvals(ApprovalQuery(statuses=(), limit=1000))
        landings = self.store.landings(LandingQuery(limit=1000))
        return [workflows, visits, schedules, slots, seen, sensors, approvals, landings]


@contextmanager
def refused() -> Iterator[None]:
    """Whatever the block asks for is refused in one sentence: a KeiseiError, never another exception, never silence."""
    said = ""
    try:
        yield
    except KeiseiError as error:
        said = error.message
    assert said.strip(), "nothing was refused, or nothing was said"


def new_task(task_id: TaskId, now: datetime, **changes: Any) -> TaskRecord:  # noqa: ANN401 - fields of TaskRecord
    """A pending task, due now."""
    fields: dict[str, Any] = {
        "task_type": "note",
        "source": "test",
        "subject": None,
        "description": None,
        "priority": 0,
        "payload": {},
        "requested_profile_id": ProfileId("profile"),
        "requested_adapter_id": None,
        "requested_model": None,
        "status": "pending",
        "max_attempts": 3,
        "attempt_count": 0,
        "available_at": now,
        "created_at": now,
        "updated_at": now,
        "started_at": None,
        "finished_at": None,
        "outcome": None,
        "last_error": None,
    }
    return TaskRecord(task_id=task_id, **(fields | changes))


def new_runner(runner_id: RunnerId, clock: VirtualClock, lease_s: float = LEASE_S) -> RunnerRecord:
    """A runner on the clock's machine."""
    return RunnerRecord(
        runner_id=runner_id,
        host="host",
        boot_id=clock.boot_id,
        pid=1,
        born="1",
        version="0",
        slots=4,
        lease_s=lease_s,
        started_at=clock.now(),
        heartbeat_at=clock.now(),
    )


def new_outcome(status: OutcomeStatus, summary: str = "so it went") -> TaskOutcome:
    """An outcome the machine does not contradict."""
    return TaskOutcome(status=status, machine_status=MACHINE[status], operator_summary=summary)


def new_item(claimed: Claimed, now: datetime, kind: OutboxKind = "external_message", number: int = 0) -> OutboxItem:
    """Something the outcome of this attempt asks for."""
    attempt_id = claimed.attempt.attempt_id
    return OutboxItem(
        key=f"{attempt_id}/{kind}/{number}",
        kind=kind,
        task_id=claimed.task.task_id,
        attempt_id=attempt_id,
        payload={"number": number},
        created_at=now,
    )


def ending(  # noqa: PLR0913 - everything a settlement can differ in
    claimed: Claimed,
    status: TaskStatus,
    now: datetime,
    *,
    at: datetime | None = None,
    error: str = "no",
    exit_status: ExitStatus | None = None,
    **beside: Any,  # noqa: ANN401 - fields of Settlement
) -> Settlement:
    """The settlement that gives a task this status, by the rules; `pending` postpones it until `at`."""
    task = moved(claimed.task, status, now, at or now + timedelta(seconds=30), error)
    exit_status = exit_status or EXITS.get(status, "error")
    retry_class = {"completed": "none", "retryable_failure": "retryable", "pending": "retryable"}.get(
        status, "permanent"
    )
    attempt = replace(claimed.attempt, ended_at=now, exit_status=exit_status, retry_class=retry_class)
    beside.setdefault("events", ending_events(task, attempt))
    return Settlement(task=task, attempt=attempt, postponed=status == "pending", **beside)


def moved(task: TaskRecord, status: TaskStatus, now: datetime, at: datetime, error: str) -> TaskRecord:
    """The task after the move to this status, by the rules. Raises IllegalMove where they know none."""
    if status == "completed":
        return rules.complete(task, new_outcome(status), now)
    if status == "retryable_failure":
        return rules.retry(task, new_outcome(status), error, at, now)
    if status == "permanent_failure":
        return rules.fail(task, new_outcome(status), error, now)
    if status == "blocked":
        return rules.block(task, new_outcome(status), error, now)
    if status == "operator_canceled":
        return rules.cancel(task, new_outcome(status), error, now)
    return rules.postpone(task, error, at, now)


def ending_events(task: TaskRecord, attempt: TaskAttempt) -> tuple[NewEvent, ...]:
    """What an engine tells of the end of an attempt."""
    kinds: list[EventType] = ["task_attempt_finished"]
    if task.status in TERMINAL:
        kinds.append("task_finished")
    elif task.status == "retryable_failure":
        kinds.append("task_retry_scheduled")
    elif task.status == "pending":
        kinds.append("rate_limit_rescheduled")
    return tuple(NewEvent(event_type=kind, task_id=task.task_id, attempt_id=attempt.attempt_id) for kind in kinds)
