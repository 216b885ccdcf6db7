"""Many runners, producers and an operator on one store, in virtual time, with all their bad luck from one seed.

Every part is a generator that yields how long its next step takes; between any two steps the nemesis may kill its
process, stop it and let it go on, take away the answer of a call, or set the wall clock. A harness is a process of its
own with a lease that its runner renews, as a keeper has it. What happens outside the database goes to a history.
"""

import heapq
import random
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from math import ceil

from msgspec.structs import replace

from keisei.records.error import IllegalMove, WorldFault
from keisei.records.id import AttemptId, RunnerId, TaskId
from keisei.records.move import (
    CancelOrder,
    ClaimOrder,
    Delivery,
    NewEvent,
    NewTask,
    Progress,
    Sweep,
    TaskMove,
    TaskQuery,
)
from keisei.rules import task as rules
from keisei.testing.history import NOTHING, Line
from keisei.testing.queue import ending, new_item, new_outcome, new_runner, new_task

LEASE_S = 15.0
KEPT_S = 12.0
"""How long after a heartbeat a harness may run: it ends before the lease does."""
POLL_S = 6.0
SLOTS = 3
PLANS = ("completed",) * 6 + ("retryable_failure",) * 3 + ("pending", "blocked", "permanent_failure")
"""What becomes of a harness, so often."""


@dataclass
class Process:
    """Something that can be killed or stopped, with everything that runs inside it."""

    pid: int
    alive: bool = True
    stopped: bool = False
    waiting: list = field(default_factory=list)


@dataclass
class Harness:
    """An agent at work, in a process of its own; it ends when its keeper's lease does."""

    runner: "Runner"
    claimed: object
    pid: int
    plan: str
    state: str = "running"


class Lost(Exception):
    """The runner learns that it holds nothing any more."""


class Simulation:
    """One run. The same seed and sizes give the same run, to the last line."""

    def __init__(self, desk, seed, *, tasks=40, runners=4, trouble_s=400.0, jumps=True):
        self.random = random.Random(seed)
        self.clock = desk.clock
        self.stores = [desk.store, *(desk.another() for _ in range(runners - 1))]
        self.desk = desk
        self.history: list[Line] = []
        self.tasks, self.trouble_s = tasks, trouble_s
        self.trouble = True
        self.evidence: dict[str, str] = {}
        # Where leases go by the wall clock, setting it forwards ends them at once, and a harness cannot know.
        self.steady = desk.wall_leases or not jumps
        self._steps, self._order, self._numbers = [], count(), count(1)
        self._begun = self.clock.boottime()
        self.runners: list[Runner | None] = [None] * runners
        self._produced = 0

    def run(self, end_s=4000.0):
        """Trouble for a while, then peace until everything is over."""
        self.spawn(Process(self.number()), self.produce())
        self.spawn(Process(self.number()), self.operate())
        self.spawn(Process(self.number()), self.disturb())
        for place in range(len(self.runners)):
            self.start(place)
        while self._steps and self.elapsed() < end_s and not self.is_over():
            self._step()

    def moment(self):
        """The time of the world in whole microseconds, which is as fine as the clock is."""
        return round(self.clock.boottime() * 1_000_000)

    def elapsed(self):
        return self.clock.boottime() - self._begun

    def is_over(self):
        """Peace, everything queued, nothing under way, nothing to deliver."""
        if self.trouble or self._produced < self.tasks or any(runner.busy for runner in self.runners if runner):
            return False
        counts = self.stores[0].counts()
        waiting = counts["pending"] + counts["running"] + counts["retryable_failure"]
        return waiting == 0 and not self.stores[0].pending(1)

    def _step(self):
        at, _, process, part = heapq.heappop(self._steps)
        if at > self.moment():
            self.clock.advance((at - self.moment()) / 1_000_000)
        if not process.alive:
            part.close()
        elif process.stopped:
            process.waiting.append(part)
        else:
            self._advance(process, part)

    def _advance(self, process, part):
        try:
            self._push(next(part), process, part)
        except StopIteration:
            return

    def _push(self, seconds, process, part):
        heapq.heappush(self._steps, (self.moment() + ceil(seconds * 1_000_000), next(self._order), process, part))

    def spawn(self, process, part, seconds=0.0):
        self._push(seconds, process, part)

    def number(self):
        return next(self._numbers)

    def tell(self, kind, task, attempt, pid, word=""):
        self.history.append(Line(kind, task, attempt, pid, self.clock.boottime(), word))

    def disk(self):
        """How long a call waits before or after it: mostly nothing, sometimes longer than a lease."""
        if not self.trouble:
            return 0.001
        return self.random.choices((0.001, 0.3, 4.0, 25.0), (900, 80, 15, 5))[0]

    def call(self, act, *values):
        """Ask the store, and perhaps lose the question or the answer. Raises WorldFault then; crashes come between."""
        yield self.disk()
        if self.trouble and self.random.random() < 0.01:
            raise WorldFault("the question was lost", retryable=True)
        answer = act(*values)
        if self.trouble and self.random.random() < 0.01:
            raise WorldFault("the answer was lost", retryable=True)
        yield self.disk()
        return answer

    def insist(self, act, *values):
        """Ask until there is an answer."""
        while True:
            try:
                return (yield from self.call(act, *values))
            except WorldFault:
                yield 0.5

    # the parts

    def produce(self):
        """Queue tasks, some later, some more important, some with a key that was there before."""
        pid = self.number()
        while self._produced < self.tasks:
            new = [self.fresh() for _ in range(self.random.choice((1, 1, 2, 5)))]
            for one in new:
                self.tell("Q", one.task.task_id, NOTHING, pid)
            for answer in (yield from self.insist(self.stores[0].enqueue, new)):
                self.tell("A", answer.task_id, NOTHING, pid)
            self._produced += len(new)
            yield self.random.uniform(0, 2 * self.trouble_s / self.tasks)

    def fresh(self):
        number = self.number()
        now = self.clock.now()
        later = self.random.choice((0, 0, 0, 5, 30))
        return NewTask(
            task=new_task(
                TaskId(f"task-{number}"),
                now,
                priority=self.random.randint(-2, 2),
                max_attempts=self.random.randint(1, 4),
                available_at=now + timedelta(seconds=later),
                idempotency_key=self.random.choice((None, None, f"key-{self.random.randint(0, 99)}")),
            )
        )

    def operate(self):
        """Cancel, free and drain what comes along."""
        store = self.stores[-1]
        while self.trouble:
            yield self.random.uniform(1, 30)
            tasks = store.tasks(TaskQuery(limit=1000))
            if not tasks:
                continue
            task = self.random.choice(tasks)
            if task.status == "running" and self.random.random() < 0.3:
                yield from self.insist(
                    store.request_cancel, CancelOrder(task_id=task.task_id, reason="stop", actor="ann")
                )
            elif task.status in ("pending", "retryable_failure") and self.random.random() < 0.1:
                after = rules.cancel(task, new_outcome("operator_canceled"), "stop", self.clock.now())
                yield from self.insist(store.move, ordered(task, after, "task_operator_canceled"))
            elif task.status == "blocked":
                yield from self.insist(
                    store.move, ordered(task, rules.free(task, self.clock.now()), "operator_ordered")
                )
            elif (runner := self.random.choice(self.runners)) and self.random.random() < 0.05:
                yield from self.insist(store.drain, runner.runner_id)

    def disturb(self):
        """Kill, stop, let go on, set the wall clock; then stop doing so and repair."""
        while self.elapsed() < self.trouble_s:
            yield self.random.expovariate(1 / 8)
            runner = self.random.choice(self.runners)
            what = self.random.choices(("kill", "stop", "jump"), (4, 4, 1))[0]
            if what == "jump" and not self.steady:
                self.clock.jump(self.random.choice((-300, -5, 5, 300)))
            elif runner is not None and what == "kill":
                self.kill(runner)
            elif runner is not None and not runner.process.stopped:
                runner.process.stopped = True
                self.spawn(Process(self.number()), self.let_go_on(runner), self.random.choice((1, 16, 30, 60)))
        self.trouble = False

    def let_go_on(self, runner):
        runner.process.stopped = False
        for part in runner.process.waiting:
            self.spawn(runner.process, part)
        runner.process.waiting.clear()
        yield 0

    def kill(self, runner):
        """A runner dies, and with it every harness it has: keepers see the end of their pipe."""
        runner.process.alive = False
        runner.end_harnesses()
        self.runners[runner.place] = None
        self.spawn(Process(self.number()), self.restart(runner), self.random.uniform(0.1, 30))

    def restart(self, before):
        known = self.random.random() < 0.5
        self.start(before.place, (before.runner_id,) if known else ())
        yield 0

    def start(self, place, dead=()):
        runner = Runner(self, place, RunnerId(f"runner-{self.number()}"), dead)
        self.runners[place] = runner
        self.spawn(runner.process, runner.live())


def ordered(before, after, kind):
    return TaskMove(task=after, was=before.status, events=(NewEvent(event_type=kind, task_id=before.task_id),))


class Runner:
    """One start of one runner: it recovers, claims, runs, settles and delivers, a step at a time."""

    def __init__(self, simulation, place, runner_id, dead):
        self.simulation, self.place, self.runner_id = simulation, place, runner_id
        self.store = simulation.stores[place]
        self.process = Process(simulation.number())
        self.dead = dead
        self.kept_until = 0.0
        self.hands: dict[str, Harness | None] = {}
        self.doubtful: set[str] = set()

    @property
    def busy(self):
        return bool(self.hands or self.doubtful)

    def end_harnesses(self):
        for harness in self.hands.values():
            if harness is not None and harness.state == "running":
                harness.state = "killed"

    def live(self):
        """Register, beat in a part of its own, and go round until the lease is gone."""
        sim = self.simulation
        yield from sim.insist(self.store.register, new_runner(self.runner_id, sim.clock, LEASE_S))
        sim.spawn(self.process, self.beat())
        while True:
            try:
                yield from self.tick()
            except WorldFault:
                yield 1.0
            yield sim.random.uniform(0.5, 1.5) * POLL_S

    def beat(self):
        """Renew the lease; without it, end every tree and begin anew under another name."""
        sim = self.simulation
        while True:
            sent = sim.clock.boottime()
            try:
                beat = yield from sim.call(self.store.beat, self.runner_id)
            except WorldFault:
                continue
            if not beat.alive or (beat.draining and not self.busy):
                if beat.alive:
                    yield from sim.insist(self.store.leave, self.runner_id)
                sim.kill(self)
                return
            self.kept_until = sent + KEPT_S
            for task_id in beat.canceled:
                self.end_task(task_id)
            yield LEASE_S / 3

    def end_task(self, task_id):
        for harness in self.hands.values():
            if harness is not None and harness.claimed.task.task_id == task_id and harness.state == "running":
                harness.state = "canceled"

    def tick(self):
        sim = self.simulation
        asked = set(self.doubtful)
        sweep = Sweep(runner_id=self.runner_id, dead=self.dead, unknown=tuple(sorted(asked)))
        swept = yield from sim.call(self.store.sweep, sweep)
        self.doubtful -= asked
        for claimed in sorted(swept, key=lambda one: one.attempt.attempt_id):
            self.take(claimed, self.recover(claimed))
        yield from sim.call(self.store.wake_due)
        free = SLOTS - len(self.hands)
        if free > 0:
            yield from self.claim(free)
        yield from self.deliver()

    def claim(self, free):
        sim = self.simulation
        names = tuple(AttemptId(f"attempt-{sim.number()}") for _ in range(free))
        self.doubtful |= set(names)
        for claimed in (yield from sim.call(self.store.claim, ClaimOrder(runner_id=self.runner_id, attempt_ids=names))):
            self.take(claimed, self.work(claimed))
        self.doubtful -= set(names)

    def take(self, claimed, part):
        self.hands[claimed.attempt.attempt_id] = None
        self.simulation.spawn(self.process, self.held(claimed, part))

    def held(self, claimed, part):
        """One attempt, until it is settled or let go; what was let go may still stand under this runner's name."""
        try:
            yield from part
        except Lost:
            self.doubtful.add(claimed.attempt.attempt_id)
        self.hands.pop(claimed.attempt.attempt_id, None)

    def work(self, claimed):
        """Run the harness; store what it returned; settle."""
        sim, store = self.simulation, self.store
        task_id, attempt_id = claimed.task.task_id, claimed.attempt.attempt_id
        told = NewEvent(event_type="task_started", task_id=task_id, attempt_id=attempt_id)
        if not (
            yield from sim.insist(store.progress, Progress(stage="started", attempt=claimed.attempt, events=(told,)))
        ):
            raise Lost
        harness = Harness(self, claimed, sim.number(), sim.random.choice(PLANS))
        if sim.clock.boottime() >= self.kept_until:
            raise Lost
        self.hands[attempt_id] = harness
        sim.tell("S", task_id, attempt_id, harness.pid)
        sim.spawn(Process(harness.pid), self.at_work(harness))
        while harness.state == "running":
            yield 0.5
        yield from self.judge(claimed, harness)

    def at_work(self, harness):
        """The harness: a process of its own, ended by its keeper when the runner is silent for too long."""
        sim = self.simulation
        task_id, attempt_id = harness.claimed.task.task_id, harness.claimed.attempt.attempt_id
        end = sim.clock.boottime() + sim.random.choice((0.1, 2.0, 10.0, 40.0))
        while sim.clock.boottime() < end:
            yield min(2.0, end - sim.clock.boottime())
            if harness.state == "running" and sim.clock.boottime() >= harness.runner.kept_until:
                harness.state = "killed"
            if harness.state != "running":
                return
            sim.tell("L", task_id, attempt_id, harness.pid)
        if harness.state == "running":
            sim.tell("E", task_id, attempt_id, harness.pid)
            harness.state = "ended"

    def judge(self, claimed, harness):
        sim = self.simulation
        if harness.state == "ended":
            yield sim.disk()
            sim.evidence[claimed.attempt.attempt_id] = harness.plan
            if not (yield from sim.insist(self.store.progress, Progress(stage="returned", attempt=claimed.attempt))):
                raise Lost
            yield sim.random.choice((0.1, 3.0, 20.0))  # verifying
            yield from self.settle(claimed, harness.plan)
        elif harness.state == "canceled":
            yield from self.settle(claimed, "operator_canceled")
        else:
            yield from self.settle(claimed, "retryable_failure", exit_status="error")

    def recover(self, claimed):
        """What a sweep found: judged where the harness had returned, tried again or blocked where it had not."""
        sim = self.simulation
        if not claimed.returned:
            yield from self.settle(claimed, "retryable_failure", exit_status="lost")
            return
        adopted = yield from sim.insist(self.store.adopt, claimed, self.runner_id)
        if adopted is None:
            raise Lost
        yield from self.settle(adopted, sim.evidence[claimed.attempt.attempt_id])

    def settle(self, claimed, status, **more):
        sim = self.simulation
        now = self.store.now()
        settlement = self.end(claimed, status, now, **more)
        answer = yield from sim.insist(self.store.settle, settlement)
        if answer == "canceled":
            settlement = ending(claimed, "operator_canceled", now, exit_status="canceled")
            answer = yield from sim.insist(self.store.settle, settlement)
        if answer == "lost":
            raise Lost
        if answer == "settled":
            task, attempt = settlement.task, settlement.attempt
            sim.tell("W", task.task_id, attempt.attempt_id, self.process.pid, task.status)

    def end(self, claimed, status, now, **more):
        """The settlement; a task whose tries are used up waits for a person."""
        sim = self.simulation
        at = now + timedelta(seconds=sim.random.choice((0, 3, 20)))
        outbox = ()
        if status == "completed" and claimed.depth == 0:
            outbox = (new_item(claimed, now), new_item(claimed, now, "follow_up_task"))
        try:
            return ending(claimed, status, now, at=at, outbox=outbox, **more)
        except IllegalMove:
            return ending(claimed, "blocked", now, error="its attempts are used up", **more)

    def deliver(self):
        """Send what waits: a message before its row is closed, a follow-up together with it."""
        sim = self.simulation
        for item in (yield from sim.call(self.store.pending, 5)):
            done = replace(item, status="delivered", tries=item.tries + 1, delivered_at=self.store.now())
            follow_up = None
            if item.kind == "follow_up_task":
                name = TaskId(f"task-{sim.number()}")
                record = new_task(name, self.store.now(), parent_task_id=item.task_id, idempotency_key=item.key)
                follow_up = NewTask(task=record, depth=1)
            else:
                sim.tell("X", item.task_id, item.attempt_id, self.process.pid, item.key)
            yield from sim.call(self.store.deliver, Delivery(item=done, task=follow_up))
