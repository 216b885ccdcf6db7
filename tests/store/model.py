"""The queue in plain Python: what a store must answer, and what its tables must hold after every call."""

from dataclasses import dataclass, field

from msgspec.structs import replace

from keisei.records.attempt import TaskAttempt
from keisei.records.move import Settlement
from keisei.records.task import TaskRecord
from keisei.rules import task as rules


@dataclass
class Task:
    """A task, with what the tables know beside its record."""

    record: TaskRecord
    seq: int
    rank: int
    ready: int
    breaker: str | None
    fence: int = 0
    postponed: int = 0
    canceled: bool = False
    life: list[str] = field(default_factory=lambda: ["task_enqueued"])
    attempts: list["Attempt"] = field(default_factory=list)

    @property
    def open(self):
        return next((attempt for attempt in self.attempts if attempt.end is None), None)


@dataclass
class Attempt:
    """An attempt; closed once it has an end."""

    record: TaskAttempt
    task: Task
    stage: str | None = None
    end: Settlement | None = None


@dataclass
class Runner:
    """A runner and when it was last heard, on the clock that leases go by."""

    lease_s: float
    heard: int
    boot: str
    state: str = "active"

    @property
    def gone(self):
        return self.state in ("lost", "stopped")


class Model:
    """Everything the store should hold."""

    def __init__(self, clock, *, wall_leases):
        self.clock = clock
        self.wall_leases = wall_leases
        self.tasks: dict[str, Task] = {}
        self.attempts: dict[str, Attempt] = {}
        self.runners: dict[str, Runner] = {}
        self.keys: dict[str, str] = {}
        self.pauses: set[str] = set()
        self.outbox: dict[str, str] = {}
        self.ledger = 0

    def lease_time(self):
        """The time that leases go by, in whole microseconds."""
        seconds = self.clock.now().timestamp() if self.wall_leases else self.clock.boottime()
        return round(seconds * 1_000_000)

    def enqueue(self, new):
        """The answers to an intake: id and whether it was made."""
        return [self._enqueue(one) for one in new]

    def _enqueue(self, new):
        task, key = new.task, new.task.idempotency_key
        if key is not None and key in self.keys:
            return self.keys[key], False
        if task.task_id in self.tasks:
            return task.task_id, False
        if key is not None:
            self.keys[key] = task.task_id
        self.tasks[task.task_id] = Task(
            record=task,
            seq=len(self.tasks),
            rank=rules.rank(task.priority, task.available_at),
            ready=rules.ready(task, self.clock.now()),
            breaker=new.breaker_id,
        )
        return task.task_id, True

    def wake_due(self):
        due = [task for task in self.tasks.values() if task.ready == 0 and self._is_due(task)]
        for task in due:
            task.ready = 1
        return len(due)

    def claimable(self):
        """How many are awake, or could be."""
        return sum(task.ready == 1 or (task.ready == 0 and self._is_due(task)) for task in self.tasks.values())

    def _is_due(self, task):
        return task.record.available_at <= self.clock.now()

    def next_due(self):
        return min((task.record.available_at for task in self.tasks.values() if task.ready == 0), default=None)

    def claim(self, order):
        """Which tasks go to which attempts."""
        runner = self.runners.get(order.runner_id)
        if runner is None or runner.state != "active" or self.pauses & {"all", order.runner_id}:
            return []
        free = [task for task in self.tasks.values() if task.ready == 1 and task.breaker not in order.without_adapters]
        best = sorted(free, key=lambda task: (task.rank, task.seq))
        return [self._claim(task, order.runner_id, name) for task, name in zip(best, order.attempt_ids, strict=False)]

    def _claim(self, task, runner_id, attempt_id):
        now = self.clock.now()
        task.ready, task.fence = 2, task.fence + 1
        task.record = replace(
            task.record,
            status="running",
            attempt_count=task.record.attempt_count + 1,
            started_at=task.record.started_at or now,
            updated_at=max(now, task.record.updated_at),
        )
        record = TaskAttempt(
            attempt_id=attempt_id,
            task_id=task.record.task_id,
            adapter_id="unresolved",
            adapter_kind="unresolved",
            model=None,
            runner_id=runner_id,
            started_at=now,
            ended_at=None,
            exit_status=None,
            retry_class="none",
            fence=task.fence,
        )
        attempt = Attempt(record=record, task=task)
        task.attempts.append(attempt)
        self.attempts[attempt_id] = attempt
        task.life.append("task_claimed")
        return attempt

    def holds(self, handle):
        """Whether a fence that was given out is still good."""
        attempt = self.attempts[handle.attempt.attempt_id]
        return attempt.end is None and attempt.record.fence == handle.attempt.fence

    def progress(self, progress):
        attempt = self.attempts[progress.attempt.attempt_id]
        if attempt.end is not None or attempt.record.fence != progress.attempt.fence:
            return False
        if (attempt.stage, attempt.record) == (progress.stage, progress.attempt):
            return True
        attempt.record = progress.attempt
        attempt.stage = "returned" if attempt.stage == "returned" else progress.stage
        attempt.task.life += [event.event_type for event in progress.events]
        return True

    def settle(self, settlement):
        attempt = self.attempts[settlement.attempt.attempt_id]
        if attempt.end is not None:
            same = ("fence", "ended_at", "exit_status")
            ours = all(getattr(attempt.end.attempt, name) == getattr(settlement.attempt, name) for name in same)
            return "settled" if ours else "lost"
        if attempt.record.fence != settlement.attempt.fence:
            return "lost"
        if attempt.task.canceled and settlement.task.status != "operator_canceled":
            return "canceled"
        self._settle(attempt, settlement)
        return "settled"

    def _settle(self, attempt, settlement):
        task = attempt.task
        attempt.end, attempt.record = settlement, settlement.attempt
        task.canceled = False
        task.postponed += settlement.postponed
        self._become(task, settlement.task)
        task.life += [event.event_type for event in settlement.events]
        self.outbox |= {item.key: item.status for item in settlement.outbox}

    def _become(self, task, record):
        task.record = record
        task.ready = rules.ready(record, self.clock.now())

    def move(self, move):
        task = self.tasks[move.task.task_id]
        if task.record.status != move.was:
            return False
        self._become(task, move.task)
        task.life += [event.event_type for event in move.events]
        self.ledger += len(move.ledger)
        return True

    def request_cancel(self, task_id, reason):
        """The tasks that are asked for, and were not before."""
        asked = {name: task for name, task in self.tasks.items() if task.ready == 2 and task_id in (None, name)}
        fresh = {name for name, task in asked.items() if not task.canceled}
        for name in fresh:
            task = asked[name]
            task.canceled = True
            moment = max(task.record.updated_at, self.clock.now())
            task.record = replace(task.record, updated_at=moment, last_error=reason)
        return fresh

    def register(self, record):
        self.runners[record.runner_id] = Runner(record.lease_s, self.lease_time(), record.boot_id)

    def beat(self, runner_id):
        """Alive, draining, paused, and which tasks are to be ended."""
        runner = self.runners[runner_id]
        if runner.gone:
            return False, set()
        runner.heard, runner.boot = self.lease_time(), self.clock.boot_id
        asked = {one.task.record.task_id for one in self._held({runner_id}) if one.task.canceled}
        return True, asked

    def drain(self, runner_id):
        runner = self.runners[runner_id]
        was, runner.state = runner.state, "draining" if runner.state == "active" else runner.state
        return was == "active"

    def leave(self, runner_id):
        if not self.runners[runner_id].gone:
            self.runners[runner_id].state = "stopped"

    def expired(self, runner):
        if not self.wall_leases and runner.boot != self.clock.boot_id:
            return True
        return self.lease_time() - runner.heard > round(runner.lease_s * 1_000_000)

    def sweep(self, sweep):
        """The attempts that are taken, each with a new fence."""
        for name, runner in self.runners.items():
            late = self.expired(runner) and name != sweep.runner_id
            if not runner.gone and (late or name in sweep.dead):
                runner.state = "lost"
        gone = {name for name, runner in self.runners.items() if runner.gone and name != sweep.runner_id}
        taken = self._held(gone)
        taken += [one for one in self._held({sweep.runner_id}) if one.record.attempt_id in sweep.unknown]
        for attempt in taken:
            self._refence(attempt)
        return taken

    def adopt(self, handle, runner_id):
        runner = self.runners[runner_id]
        if not self.holds(handle) or runner.gone:
            return None
        attempt = self.attempts[handle.attempt.attempt_id]
        self._refence(attempt, runner_id=runner_id)
        return attempt

    def _refence(self, attempt, **changes):
        attempt.task.fence += 1
        attempt.record = replace(attempt.record, fence=attempt.task.fence, **changes)

    def _held(self, runners):
        return [one for one in self.attempts.values() if one.end is None and one.record.runner_id in runners]
