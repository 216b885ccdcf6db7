"""A store beside the model of it, driven by random steps: every answer and every table must agree after each.

The machine plays all parts at once: producers, runners, zombies with an old fence, sweepers, operators, and whoever
sets clocks. A handle that was given out once is used again at any later time, whatever has happened since. Hypothesis
drives it to find the shortest disagreement; a walk drives it by a seed, quickly and evenly.
"""

import random
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from typing import NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from msgspec.structs import replace

from keisei.records.move import (
    CancelOrder,
    ClaimOrder,
    Delivery,
    EventQuery,
    NewEntry,
    NewEvent,
    PauseOrder,
    Progress,
    Sweep,
    TaskMove,
)
from keisei.records.task import TERMINAL
from keisei.rules import task as rules
from keisei.testing.history import every_task
from keisei.testing.promise.settle import ENDS
from keisei.testing.queue import ending, new_item, new_outcome, new_runner
from tests.store.model import Model

LEASE_S = 15
MICROSECOND = 0.000_001
BOTH = (False, True)
ANY = range(1000)
"""Which of the things there are: a number, taken modulo how many there are."""

UNTOLD = {"operator_ordered", "boot_sweep_reclaimed", "dispatch_pause_enabled", "dispatch_pause_cleared"}
"""Events that orders leave beside the lives of tasks."""


class Step(NamedTuple):
    """What a walk must know of a step."""

    when: object
    choices: dict
    weight: int


STEPS: dict[str, Step] = {}


def step(weight=1, when=None, **choices):
    """Enter a method as a step, for Hypothesis as a rule; each argument is one of its choices."""

    def enter(act):
        STEPS[act.__name__] = Step(when, choices, weight)
        ruled = rule(**{name: st.sampled_from(values) for name, values in choices.items()})(act)
        return precondition(when)(ruled) if when else ruled

    return enter


def differences(found, meant):
    """Field by field what was found and what was meant, where they differ."""
    pairs = {name: (getattr(found, name), getattr(meant, name)) for name in meant.__struct_fields__}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


class StoreMachine(RuleBasedStateMachine):
    """Random orders to a store and to the model of it."""

    def __init__(self, desks):
        super().__init__()
        self._stack = ExitStack()
        self.desk = self._stack.enter_context(desks())
        self.store, self.clock = self.desk.store, self.desk.clock
        self.model = Model(self.clock, wall_leases=self.desk.wall_leases)
        self.handles, self.swept, self.settlements = [], [], []

    def teardown(self):
        self._stack.close()

    def runner(self, which):
        return sorted(self.model.runners)[which % len(self.model.runners)]

    def task(self, which):
        return sorted(self.model.tasks)[which % len(self.model.tasks)]

    def active(self):
        """A runner that may claim, made where there is none."""
        for name, runner in self.model.runners.items():
            if runner.state == "active" and name not in self.model.pauses:
                return name
        self.register(LEASE_S)
        return list(self.model.runners)[-1]

    def held(self):
        """The handles whose fence is good, made where there are none."""
        if not any(self.model.holds(handle) for handle in self.handles):
            if "all" in self.model.pauses:
                self._pause("all", paused=False)
            self._enqueue([self.desk.task(max_attempts=tries) for tries in (1, 3)])
            self._claim(self.active(), 2)
        return [handle for handle in self.handles if self.model.holds(handle)]

    def handle(self, which, late):
        """One that holds, or any that was ever given out."""
        handles = self.handles if late and self.handles else self.held()
        return handles[which % len(handles)]

    # time

    @step(seconds=(MICROSECOND, 1, 5, 16, 60, 1000))
    def time_passes(self, seconds):
        self.clock.advance(seconds)

    @step(seconds=(-3600, -5, 5, 3600))
    def the_wall_clock_jumps(self, seconds):
        self.clock.jump(seconds)

    @step(when=lambda self: not self.desk.wall_leases)
    def the_machine_starts_again(self):
        self.clock.reboot()

    @step(2, which=ANY, edge=(-MICROSECOND, 0, MICROSECOND))
    def a_lease_is_about_to_end(self, which, edge):
        """To the microsecond: it holds until its last moment, and is taken after it."""
        living = [self.active(), *(name for name, runner in self.model.runners.items() if not runner.gone)]
        runner = self.model.runners[living[which % len(living)]]
        left = (runner.heard - self.model.lease_time()) * MICROSECOND + runner.lease_s + edge
        self.clock.advance(max(0, left))
        self._sweep(Sweep(runner_id=None))

    @step(when=lambda self: self.model.next_due(), early=BOTH)
    def a_task_is_about_to_be_due(self, early):
        left = (self.model.next_due() - self.clock.now()).total_seconds()
        self.clock.advance(max(0, left - MICROSECOND * early))
        self.wake_due()

    # intake

    @step(
        2,
        delays=((0,), (0, 0), (5,), (-60, 0, 15), (1, 60, 0)),
        priorities=((0, 0, 0), (0, 1, -1), (-1, 0, 1)),
        key=(None, None, None, "a", "b"),
        tries=(1, 2, 3),
        breaker=(None, None, "codex"),
    )
    def enqueue(self, delays, priorities, key, tries, breaker):
        now = self.clock.now()
        more = {"idempotency_key": key, "max_attempts": tries, "breaker_id": breaker}
        moments = [now + timedelta(seconds=delay) for delay in delays]
        pairs = zip(moments, priorities, strict=False)
        self._enqueue([self.desk.task(available_at=at, priority=priority, **more) for at, priority in pairs])

    @step(when=lambda self: self.model.tasks, which=ANY)
    def enqueue_a_known_id(self, which):
        new = self.desk.task()
        self._enqueue([replace(new, task=replace(new.task, task_id=self.task(which)))])

    def _enqueue(self, new):
        answers = self.store.enqueue(new)

        assert [(answer.task_id, answer.created) for answer in answers] == self.model.enqueue(new)

    @step()
    def wake_due(self):
        assert self.store.wake_due() == self.model.wake_due()

    # runners

    @step(lease_s=(LEASE_S, LEASE_S, 100))
    def register(self, lease_s):
        record = new_runner(self.desk.name("runner"), self.clock, lease_s)
        self.store.register(record)
        self.model.register(record)

    @step(2, when=lambda self: self.model.runners, which=ANY)
    def beat(self, which):
        name = self.runner(which)

        beat = self.store.beat(name)

        assert (beat.alive, set(beat.canceled)) == self.model.beat(name)
        if beat.alive:
            assert beat.draining == (self.model.runners[name].state == "draining")
            assert (beat.paused is not None) == bool(self.model.pauses & {"all", name})

    @step(when=lambda self: self.model.runners, which=ANY)
    def drain(self, which):
        self._drain(self.runner(which))

    def _drain(self, name):
        assert self.store.drain(name) == self.model.drain(name)

    @step(when=lambda self: self.model.runners, which=ANY)
    def leave(self, which):
        self._leave(self.runner(which))

    def _leave(self, name):
        self.store.leave(name)
        self.model.leave(name)

    # attempts

    @step(4, which=ANY, able=BOTH, number=(0, 1, 2, 4), without=((), (), ("codex",)))
    def claim(self, which, able, number, without):
        self._claim(self.active() if able or not self.model.runners else self.runner(which), number, without)

    @step(2, why=("draining", "stopped", "lost", "paused", "all paused"))
    def claim_although(self, why):
        """Somebody claims who may not, with work at hand."""
        self._enqueue([self.desk.task(max_attempts=1)])
        runner = self.active()
        if why == "draining":
            self._drain(runner)
        elif why == "stopped":
            self._leave(runner)
        elif why == "lost":
            self._sweep(Sweep(runner_id=None, dead=(runner,)))
        else:
            self._pause("all" if why == "all paused" else runner, paused=True)
        self._claim(runner, 2)

    def _claim(self, runner, number, without=()):
        names = tuple(self.desk.name("attempt") for _ in range(number))
        order = ClaimOrder(runner_id=runner, attempt_ids=names, without_adapters=without)

        claimed = self.store.claim(order)

        self._agree(claimed, self.model.claim(order))

    def _agree(self, claimed, expected):
        """What a store hands out says of each task and attempt what the model does."""
        assert [one.attempt for one in claimed] == [one.record for one in expected]
        for one, attempt in zip(claimed, expected, strict=True):
            assert differences(replace(one.task, lease=None), attempt.task.record) == {}
            assert (one.returned, one.postponed) == (attempt.stage == "returned", attempt.task.postponed)
        self.handles += claimed

    @step(2, which=ANY, late=BOTH, stage=("started", "returned"))
    def progress(self, which, late, stage):
        handle = self.handle(which, late)
        attempt = self.model.attempts[handle.attempt.attempt_id].record
        now = replace(attempt, fence=handle.attempt.fence, ended_at=None, exit_status=None, pid=which % 2 + 1)
        told = NewEvent(event_type="task_started", task_id=now.task_id, attempt_id=now.attempt_id)
        said = Progress(stage=stage, attempt=now, events=(told,) if stage == "started" else ())

        assert self.store.progress(said) == self.model.progress(said)

    @step(6, which=ANY, late=(False, False, True), status=ENDS, wait=(-1, 0, 5, 60))
    def settle(self, which, late, status, wait):
        self._end(self.handle(which, late), status, wait)

    def _end(self, handle, status, wait):
        if status == "retryable_failure" and handle.task.attempt_count >= handle.task.max_attempts:
            status = "blocked"
        now = self.clock.now()
        attempt = self.model.attempts[handle.attempt.attempt_id].record
        handle = replace(handle, attempt=replace(attempt, fence=handle.attempt.fence, ended_at=None, exit_status=None))
        outbox = (new_item(handle, now), new_item(handle, now, "follow_up_task")) if status == "completed" else ()
        self.settlements.append(ending(handle, status, now, at=now + timedelta(seconds=wait), outbox=outbox))
        self._settle(self.settlements[-1])

    @step(2, when=lambda self: self.settlements, which=ANY)
    def settle_again(self, which):
        self._settle(self.settlements[which % len(self.settlements)])

    def _settle(self, settlement):
        assert self.store.settle(settlement) == self.model.settle(settlement)

    # recovery

    @step(4, which=ANY, nobody=BOTH, dead=BOTH, lost=BOTH)
    def sweep(self, which, nobody, dead, lost):
        busy = sorted({self.model.attempts[one.attempt.attempt_id].record.runner_id for one in self.held()})
        killed = (busy[which % len(busy)],) if dead else ()
        living = [name for name, runner in self.model.runners.items() if not runner.gone and name not in killed]
        sweeper = living[which % len(living)] if living and not nobody else None
        mine = [one for one in self.model.attempts.values() if one.end is None and one.record.runner_id == sweeper]
        self._sweep(Sweep(runner_id=sweeper, dead=killed, unknown=tuple(one.record.attempt_id for one in mine[:lost])))

    def _sweep(self, order):
        claimed = sorted(self.store.sweep(order), key=lambda one: one.attempt.attempt_id)

        self._agree(claimed, sorted(self.model.sweep(order), key=lambda one: one.record.attempt_id))
        self.swept += claimed

    @step(2, when=lambda self: self.swept, which=ANY, whom=ANY, late=BOTH)
    def adopt(self, which, whom, late):
        held = [handle for handle in self.swept if late or self.model.holds(handle)] or self.swept
        living = [name for name, one in self.model.runners.items() if late or not one.gone] or list(self.model.runners)
        handle, runner = held[which % len(held)], living[whom % len(living)]

        adopted = self.store.adopt(handle, runner)

        expected = self.model.adopt(handle, runner)
        assert (adopted is None) == (expected is None)
        if adopted is not None:
            told = adopted.attempt
            assert (told.attempt_id, told.runner_id, told.fence) == (
                handle.attempt.attempt_id,
                runner,
                expected.task.fence,
            )
            self.handles.append(adopted)

    # operators

    @step(2, when=lambda self: self.model.tasks, which=ANY, everything=(False, False, False, True))
    def request_cancel(self, which, everything):
        task_id = None if everything else self.handle(which, late=False).task.task_id

        asked = self.store.request_cancel(CancelOrder(task_id=task_id, reason="stop", actor="ann"))

        assert set(asked) == self.model.request_cancel(task_id, "stop")

    @step(2, when=lambda self: self.model.tasks, which=ANY, late=(False, False, True), order=("cancel", "free"))
    def move(self, which, late, order):
        to = "operator_canceled" if order == "cancel" else "pending"
        movable = [
            one.record for one in self.model.tasks.values() if one.ready != 2 and to in rules.MOVES[one.record.status]
        ]
        if not movable:
            return
        record = movable[which % len(movable)]
        move = TaskMove(
            task=self._ordered(record, order),
            was="blocked" if late and record.status != "blocked" else record.status,
            events=(
                NewEvent(
                    event_type="task_operator_canceled" if order == "cancel" else "operator_ordered",
                    task_id=record.task_id,
                ),
            ),
            ledger=(NewEntry(kind="ordered", actor="ann", subject=record.task_id, body={}),),
        )

        assert self.store.move(move) == self.model.move(move)

    def _ordered(self, record, order):
        if order == "free":
            return rules.free(record, self.clock.now())
        return rules.cancel(record, new_outcome("operator_canceled"), "stop", self.clock.now())

    @step(which=ANY, everybody=BOTH, paused=BOTH)
    def pause(self, which, everybody, paused):
        self._pause("all" if everybody or not self.model.runners else self.runner(which), paused=paused)

    def _pause(self, scope, *, paused):
        self.store.pause(PauseOrder(scope=scope, paused=paused, reason="tea", actor="ann"))
        (self.model.pauses.add if paused else self.model.pauses.discard)(scope)

    @step(2, which=ANY)
    def deliver(self, which):
        if not self.model.outbox:
            self._end(self.held()[0], "completed", 0)
        if not self.model.outbox:
            return  # an operator was quicker
        key = sorted(self.model.outbox)[which % len(self.model.outbox)]
        item = next(one for one in self.store.outbox(None, 1000) if one.key == key)
        done = replace(item, status="delivered", tries=item.tries + 1, delivered_at=self.clock.now())
        follow_up = self.desk.task(parent_task_id=item.task_id) if item.kind == "follow_up_task" else None
        fresh = self.model.outbox[key] == "pending"

        assert self.store.deliver(Delivery(item=done, task=follow_up)) == fresh

        self.model.outbox[key] = "delivered"
        if fresh and follow_up is not None:
            self.model.enqueue([follow_up])

    # what must hold after every step

    @invariant()
    def agree(self):
        self._tasks_agree()
        self._attempts_agree()
        self._events_agree()
        self._places_agree()
        states = {one.runner_id: one.state for one in self.store.runners(gone=True)}
        assert states == {name: runner.state for name, runner in self.model.runners.items()}
        assert {pause.scope for pause in self.store.pauses()} == self.model.pauses
        assert {item.key: item.status for item in self.store.outbox(None, 1000)} == self.model.outbox

    def _tasks_agree(self):
        stored = {task.task_id: task for task in every_task(self.store)}
        assert list(stored) == list(reversed(self.model.tasks))
        for name, task in self.model.tasks.items():
            assert differences(replace(stored[name], lease=None), task.record) == {}
            lease, held = stored[name].lease, task.open
            told = lease and (lease.attempt_id, lease.runner_id, lease.fence)
            assert told == (held and (held.record.attempt_id, held.record.runner_id, held.record.fence))

    def _attempts_agree(self):
        """One row a claim, one open attempt a running task; the counter is their number."""
        stored = {name: [] for name in self.model.tasks}
        for attempt in reversed(self.store.attempts(None, 1000)):
            stored[attempt.task_id].append(attempt)
        for name, task in self.model.tasks.items():
            assert stored[name] == [attempt.record for attempt in task.attempts]
            assert len(task.attempts) == task.record.attempt_count + task.postponed
            assert sum(attempt.end is None for attempt in task.attempts) == (task.record.status == "running")

    def _events_agree(self):
        lives = {name: [] for name in self.model.tasks}
        for event in self.store.events(EventQuery(limit=10_000)):
            if event.event_type not in UNTOLD:
                lives[event.task_id].append(event.event_type)
        for name, task in self.model.tasks.items():
            assert lives[name] == [one for one in task.life if one not in UNTOLD]

    def _places_agree(self):
        """Every task is claimable, due later, in somebody's hands, over, or parked; the store counts the same."""
        counts = Counter(task.record.status for task in self.model.tasks.values())
        assert {status: number for status, number in self.store.counts().items() if number} == counts
        assert self.store.claimable() == self.model.claimable()
        assert self.store.next_due() == self.model.next_due()
        for task in self.model.tasks.values():
            assert task.record.attempt_count <= task.record.max_attempts
            assert (task.ready == 3) == (task.record.status in TERMINAL)


def follow(desks, examples, steps=40):
    """Let Hypothesis drive so many machines; raises what the shortest disagreement raises."""
    run_state_machine_as_test(
        lambda: StoreMachine(desks),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def walk(desks, seed, steps=100):
    """Drive one machine by a seed; raises what the first disagreement raises, with the seed."""
    chance = random.Random(seed)
    machine = StoreMachine(desks)
    taken = []
    try:
        for _ in range(steps):
            taken.append(_step(machine, chance))
            machine.agree()
    except Exception as error:
        error.add_note(f"seed {seed}, after {len(taken)} steps, of which the last were {taken[-5:]}")
        raise
    finally:
        machine.teardown()


def _step(machine, chance):
    able = [name for name, one in STEPS.items() for _ in range(one.weight) if one.when is None or one.when(machine)]
    name = chance.choice(able)
    arguments = {argument: chance.choice(values) for argument, values in STEPS[name].choices.items()}
    getattr(machine, name)(**arguments)
    return name, arguments
