"""The real stores beside a model of them, on a clock that a machine moves: every answer and every table must agree.

The machine plays all parts at once: producers, runners, zombies with an old fence, sweepers, operators, and whoever
sets clocks. A handle that was given out once is used again at any later time, whatever has happened since.
"""

from collections import Counter
from contextlib import ExitStack
from datetime import timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec.structs import replace

from keisei.records.move import (
    CancelOrder,
    Claimed,
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
from tests.store.desk import PostgresDesks, SqliteDesks
from tests.store.model import Model

LEASE_S = 15
SECONDS = (0.000_001, 1, 5, 14.999_999, 15, 16, 60, 1000)
INDEX = st.integers(0, 1_000_000)
"""Which of the things there are: any number, taken modulo how many there are."""

LIVES = {"task_enqueued", "task_claimed", "task_started", "task_attempt_finished", "task_retry_scheduled"}
LIVES |= {"rate_limit_rescheduled", "task_finished", "operator_ordered", "task_operator_canceled"}


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
        self.handles: list[Claimed] = []
        self.settlements = []
        self.swept: list[Claimed] = []

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
                self.pause(0, everybody=True, paused=False)
            self.enqueue([0, 0], 0, None, 2, None)
            self._claim(self.active(), 2, ())
        return [handle for handle in self.handles if self.model.holds(handle)]

    # time

    @rule(seconds=st.sampled_from(SECONDS))
    def time_passes(self, seconds):
        self.clock.advance(seconds)

    @rule(seconds=st.sampled_from((-3600, -5, 5, 3600)))
    def the_wall_clock_jumps(self, seconds):
        self.clock.jump(seconds)

    @precondition(lambda self: not self.desk.wall_leases and self.model.runners)
    @rule()
    def the_machine_starts_again(self):
        self.clock.reboot()

    @rule(which=INDEX, edge=st.sampled_from((-0.000_001, 0, 0.000_001)))
    def a_lease_is_about_to_end(self, which, edge):
        """To the microsecond: it holds until its last moment, and is taken after it."""
        living = [self.active(), *(name for name, runner in self.model.runners.items() if not runner.gone)]
        runner = self.model.runners[living[which % len(living)]]
        left = (runner.heard - self.model.lease_time()) / 1_000_000 + runner.lease_s + edge
        self.clock.advance(max(0, left))
        self._sweep(Sweep(runner_id=None))

    @precondition(lambda self: self.model.next_due())
    @rule(early=st.booleans())
    def a_task_is_about_to_be_due(self, early):
        left = (self.model.next_due() - self.clock.now()).total_seconds()
        self.clock.advance(max(0, left - 0.000_001 * early))
        self.wake_due()

    # intake

    @rule(
        delays=st.lists(st.sampled_from((-60, 0, 0, 0, 1, 15, 60)), min_size=1, max_size=4),
        priority=st.integers(-1, 1),
        key=st.sampled_from((None, None, "a", "b")),
        tries=st.integers(1, 3),
        breaker=st.sampled_from((None, None, "codex")),
    )
    def enqueue(self, delays, priority, key, tries, breaker):
        now = self.clock.now()
        new = [
            self.desk.task(
                priority=priority,
                idempotency_key=key,
                max_attempts=tries,
                breaker_id=breaker,
                available_at=now + timedelta(seconds=delay),
            )
            for delay in delays
        ]

        answers = self.store.enqueue(new)

        assert [(answer.task_id, answer.created) for answer in answers] == self.model.enqueue(new)

    @precondition(lambda self: self.model.tasks)
    @rule(which=INDEX)
    def enqueue_a_known_id(self, which):
        new = self.desk.task()
        new = replace(new, task=replace(new.task, task_id=self.task(which)))

        (answer,) = self.store.enqueue([new])

        assert [(answer.task_id, answer.created)] == self.model.enqueue([new])

    @rule()
    def wake_due(self):
        assert self.store.wake_due() == self.model.wake_due()

    # runners

    @precondition(lambda self: len(self.model.runners) < 6)
    @rule(lease_s=st.sampled_from((LEASE_S, LEASE_S, 100)))
    def register(self, lease_s):
        record = new_runner(self.desk.name("runner"), self.clock, lease_s)
        self.store.register(record)
        self.model.register(record)

    @precondition(lambda self: self.model.runners)
    @rule(which=INDEX)
    def beat(self, which):
        name = self.runner(which)

        beat = self.store.beat(name)

        assert (beat.alive, set(beat.canceled)) == self.model.beat(name)
        assert not beat.alive or beat.draining == (self.model.runners[name].state == "draining")
        assert not beat.alive or (beat.paused is not None) == bool(self.model.pauses & {"all", name})

    @precondition(lambda self: self.model.runners)
    @rule(which=INDEX)
    def drain(self, which):
        name = self.runner(which)
        assert self.store.drain(name) == self.model.drain(name)

    @precondition(lambda self: self.model.runners)
    @rule(which=INDEX)
    def leave(self, which):
        name = self.runner(which)
        self.store.leave(name)
        self.model.leave(name)

    @rule(which=INDEX, able=st.booleans(), number=st.integers(0, 4), without=st.sampled_from(((), (), ("codex",))))
    def claim(self, which, able, number, without):
        self._claim(self.active() if able or not self.model.runners else self.runner(which), number, without)

    def _claim(self, runner, number, without):
        names = tuple(self.desk.name("attempt") for _ in range(number))
        order = ClaimOrder(runner_id=runner, attempt_ids=names, without_adapters=without)

        claimed = self.store.claim(order)

        expected = self.model.claim(order)
        assert [one.attempt for one in claimed] == [one.record for one in expected]
        self.handles += claimed
        self._agree(claimed, expected)

    def _agree(self, claimed, expected):
        """What a store hands out says of each task what the model does."""
        for one, attempt in zip(claimed, expected, strict=True):
            assert differences(replace(one.task, lease=None), attempt.task.record) == {}
            assert (one.returned, one.postponed) == (attempt.stage == "returned", attempt.task.postponed)

    def handle(self, which, late):
        """One that holds, or any that was ever given out."""
        handles = self.handles if late and self.handles else self.held()
        return handles[which % len(handles)]

    @rule(which=INDEX, late=st.booleans(), stage=st.sampled_from(("started", "returned")))
    def progress(self, which, late, stage):
        handle = self.handle(which, late)
        attempt = self.model.attempts[handle.attempt.attempt_id].record
        now = replace(attempt, fence=handle.attempt.fence, ended_at=None, exit_status=None, pid=which % 9 + 1)
        told = ()
        if stage == "started":
            told = (NewEvent(event_type="task_started", task_id=now.task_id, attempt_id=now.attempt_id),)
        step = Progress(stage=stage, attempt=now, events=told)

        assert self.store.progress(step) == self.model.progress(step)

    @rule(which=INDEX, late=st.booleans(), status=st.sampled_from(ENDS), wait=st.sampled_from((-1, 0, 5, 60)))
    def settle(self, which, late, status, wait):
        self._settle_as(self.handle(which, late), status, wait)

    def _settle_as(self, handle, status, wait):
        if status == "retryable_failure" and handle.task.attempt_count >= handle.task.max_attempts:
            status = "blocked"
        now = self.clock.now()
        attempt = self.model.attempts[handle.attempt.attempt_id].record
        handle = replace(handle, attempt=replace(attempt, fence=handle.attempt.fence, ended_at=None, exit_status=None))
        outbox = (new_item(handle, now), new_item(handle, now, "follow_up_task")) if status == "completed" else ()
        settlement = ending(handle, status, now, at=now + timedelta(seconds=wait), outbox=outbox)
        self.settlements.append(settlement)

        self._settle(settlement)

    @precondition(lambda self: self.settlements)
    @rule(which=INDEX)
    def settle_again(self, which):
        self._settle(self.settlements[which % len(self.settlements)])

    def _settle(self, settlement):
        assert self.store.settle(settlement) == self.model.settle(settlement)

    # recovery

    @rule(which=INDEX, nobody=st.booleans(), dead=st.booleans(), lost=st.booleans())
    def sweep(self, which, nobody, dead, lost):
        busy = sorted({self.model.attempts[one.attempt.attempt_id].record.runner_id for one in self.held()})
        killed = (busy[which % len(busy)],) if dead else ()
        living = [name for name, runner in self.model.runners.items() if not runner.gone and name not in killed]
        sweeper = living[which % len(living)] if living and not nobody else None
        mine = [one for one in self.model.attempts.values() if one.end is None and one.record.runner_id == sweeper]
        self._sweep(Sweep(runner_id=sweeper, dead=killed, unknown=tuple(one.record.attempt_id for one in mine[:lost])))

    def _sweep(self, order):
        claimed = sorted(self.store.sweep(order), key=lambda one: one.attempt.attempt_id)

        expected = sorted(self.model.sweep(order), key=lambda one: one.record.attempt_id)
        assert [one.attempt for one in claimed] == [one.record for one in expected]
        self._agree(claimed, expected)
        self.handles += claimed
        self.swept += claimed

    @precondition(lambda self: self.swept and self.model.runners)
    @rule(which=INDEX, whom=INDEX, late=st.booleans())
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

    @precondition(lambda self: self.model.tasks)
    @rule(which=INDEX, everything=st.booleans())
    def request_cancel(self, which, everything):
        task_id = None if everything and which % 4 == 0 else self.task(which)

        asked = self.store.request_cancel(CancelOrder(task_id=task_id, reason="stop", actor="ann"))

        assert set(asked) == self.model.request_cancel(task_id, "stop")

    @precondition(lambda self: self.model.tasks)
    @rule(which=INDEX, late=st.booleans(), order=st.sampled_from(("cancel", "free")))
    def move(self, which, late, order):
        record = self.model.tasks[self.task(which)].record
        legal = {
            "cancel": rules.MOVES[record.status] & {"operator_canceled"},
            "free": rules.MOVES[record.status] & {"pending"},
        }
        if record.status == "running" or not legal[order]:
            return
        after = self._ordered(record, order)
        kind = "task_operator_canceled" if order == "cancel" else "operator_ordered"
        move = TaskMove(
            task=after,
            was="blocked" if late and record.status != "blocked" else record.status,
            events=(NewEvent(event_type=kind, task_id=record.task_id),),
            ledger=(NewEntry(kind="ordered", actor="ann", subject=record.task_id, body={}),),
        )

        assert self.store.move(move) == self.model.move(move)

    def _ordered(self, record, order):
        if order == "free":
            return rules.free(record, self.clock.now())
        return rules.cancel(record, new_outcome("operator_canceled"), "stop", self.clock.now())

    @rule(which=INDEX, everybody=st.booleans(), paused=st.booleans())
    def pause(self, which, everybody, paused):
        scope = "all" if everybody or not self.model.runners else self.runner(which)

        self.store.pause(PauseOrder(scope=scope, paused=paused, reason="tea", actor="ann"))

        (self.model.pauses.add if paused else self.model.pauses.discard)(scope)

    @rule(which=INDEX)
    def deliver(self, which):
        if not self.model.outbox:
            self._settle_as(self.held()[0], "completed", 0)
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
    def tasks_agree(self):
        stored = {task.task_id: task for task in every_task(self.store)}
        assert list(stored) == [task.record.task_id for task in sorted(self.model.tasks.values(), key=lambda t: -t.seq)]
        for name, task in self.model.tasks.items():
            assert differences(replace(stored[name], lease=None), task.record) == {}
            lease, held = stored[name].lease, task.open
            assert (lease is None) == (held is None)
            if held is not None:
                assert (lease.attempt_id, lease.runner_id, lease.fence) == (
                    held.record.attempt_id,
                    held.record.runner_id,
                    held.record.fence,
                )

    @invariant()
    def attempts_agree(self):
        stored = {name: [] for name in self.model.tasks}
        for attempt in reversed(self.store.attempts(None, 1000)):
            stored[attempt.task_id].append(attempt)
        for name, task in self.model.tasks.items():
            assert stored[name] == [attempt.record for attempt in task.attempts]
            assert len(task.attempts) == task.record.attempt_count + task.postponed
            assert sum(attempt.end is None for attempt in task.attempts) == (task.record.status == "running")

    @invariant()
    def events_agree(self):
        lives = {name: [] for name in self.model.tasks}
        for event in self.store.events(EventQuery(limit=10_000)):
            if event.task_id is not None and event.event_type in LIVES:
                lives[event.task_id].append(event.event_type)
        assert {name: [one for one in life if one != "operator_ordered"] for name, life in lives.items()} == {
            name: [one for one in task.life if one != "operator_ordered"] for name, task in self.model.tasks.items()
        }

    @invariant()
    def nothing_is_lost(self):
        """Every task is claimable, due later, in somebody's hands, over, or parked; the store counts the same."""
        counts = Counter(task.record.status for task in self.model.tasks.values())
        assert {status: number for status, number in self.store.counts().items() if number} == counts
        assert self.store.claimable() == self.model.claimable()
        assert self.store.next_due() == self.model.next_due()
        for task in self.model.tasks.values():
            assert task.record.attempt_count <= task.record.max_attempts
            assert (task.ready == 3) == (task.record.status in TERMINAL)

    @invariant()
    def the_outbox_agrees(self):
        assert {item.key: item.status for item in self.store.outbox(None, 1000)} == self.model.outbox


def follow(desks, examples, steps=40, **more):
    """Run the machine so often; raises what the first disagreement raises."""
    run_state_machine_as_test(
        lambda: StoreMachine(desks),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            **more,
        ),
    )


def test_sqlite_follows_the_model(tmp_path):
    follow(SqliteDesks(tmp_path), 60)


def test_postgres_follows_the_model(postgres_url):
    follow(PostgresDesks(postgres_url), 15)
