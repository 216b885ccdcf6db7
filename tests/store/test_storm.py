"""Many threads at one store at once: the database itself must keep them apart, and the checker sees what it did.

`KEISEI_STORM=1000` lets each of them play so many rounds instead of a few.
"""

import os
import random
import threading
from contextlib import suppress

import pytest
from msgspec.structs import replace

from keisei.records.error import IllegalMove
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
from keisei.testing.checker import check
from keisei.testing.history import NOTHING, Line, read_tables
from keisei.testing.promise.book import at_once
from keisei.testing.queue import ending, new_item, new_outcome, new_runner, new_task
from tests.store.desk import PostgresDesks, SqliteDesks, damage, postponements

PARTIES = 6
ROUNDS = int(os.environ.get("KEISEI_STORM", "40"))
STATUSES = ("completed", "completed", "retryable_failure", "pending", "blocked", "permanent_failure")


class Storm:
    """What all parties share: the history, and names that nobody else has."""

    def __init__(self, desk):
        self.desk = desk
        self.history = []
        self.runners = []
        self._lock = threading.Lock()

    def tell(self, *lines):
        with self._lock:
            self.history += lines

    def line(self, kind, task, attempt=NOTHING, word=""):
        return Line(kind, task, attempt, 1, 0.0, word)


class Party:
    """Somebody who does everything: a producer, a runner, a sweeper that calls others dead at will, an operator."""

    def __init__(self, storm, number):
        self.storm, self.number = storm, number
        self.store, self.random = storm.desk.another(), random.Random(number)
        self.held, self.lost, self.names = [], [], 0
        self.register()

    def name(self, kind):
        self.names += 1
        return f"{kind}-{self.number}-{self.names}"

    def register(self):
        self.runner_id = self.name("runner")
        self.store.register(new_runner(self.runner_id, self.storm.desk.clock, 1000))
        self.storm.runners.append(self.runner_id)

    def play(self):
        acts = (self.produce, self.claim, self.claim, self.settle, self.settle, self.sweep, self.order, self.deliver)
        for _ in range(ROUNDS):
            self.random.choice(acts)()

    def produce(self):
        now = self.store.now()
        keys = [self.random.choice((None, None, f"key-{self.random.randint(0, 20)}")) for _ in range(4)]
        new = [NewTask(task=new_task(self.name("task"), now, idempotency_key=key)) for key in keys]
        self.storm.tell(*(self.storm.line("Q", one.task.task_id) for one in new))
        self.storm.tell(*(self.storm.line("A", one.task_id) for one in self.store.enqueue(new)))

    def claim(self):
        if not self.store.beat(self.runner_id).alive:
            self.register()
        self.store.wake_due()
        names = tuple(self.name("attempt") for _ in range(3))
        self.held += self.store.claim(ClaimOrder(runner_id=self.runner_id, attempt_ids=names))

    def settle(self):
        while self.lost:
            self.end(self.lost.pop(), "retryable_failure", exit_status="lost")
        while self.held:
            one = self.held.pop(self.random.randrange(len(self.held)))
            task_id, attempt_id = one.task.task_id, one.attempt.attempt_id
            told = NewEvent(event_type="task_started", task_id=task_id, attempt_id=attempt_id)
            if not one.returned and self.store.progress(Progress(stage="started", attempt=one.attempt, events=(told,))):
                # The harness runs in no time: what is told here is its start and its end, whoever has the fence by now.
                self.storm.tell(*(self.storm.line(kind, task_id, attempt_id) for kind in "SE"))
                if self.store.progress(Progress(stage="returned", attempt=one.attempt)):
                    self.end(one, self.random.choice(STATUSES))
            elif one.returned and (adopted := self.store.adopt(one, self.runner_id)):
                self.end(adopted, self.random.choice(STATUSES))

    def end(self, one, status, **more):
        now = self.store.now()
        outbox = ()
        if status == "completed" and one.depth == 0:
            outbox = (new_item(one, now), new_item(one, now, "follow_up_task"))
        try:
            settlement = ending(one, status, now, at=now, outbox=outbox, **more)
        except IllegalMove:
            settlement = ending(one, "blocked", now, **more)
        answer = self.store.settle(settlement)
        if answer == "canceled":
            settlement = ending(one, "operator_canceled", now)
            answer = self.store.settle(settlement)
        if answer == "settled":
            task = settlement.task
            self.storm.tell(self.storm.line("W", task.task_id, one.attempt.attempt_id, task.status))

    def sweep(self):
        dead = self.random.choice(self.storm.runners) if self.random.random() < 0.5 else self.runner_id
        for one in self.store.sweep(Sweep(runner_id=self.runner_id, dead=(dead,) if dead != self.runner_id else ())):
            # taken up later, by a fence that may be too old then
            (self.held if one.returned else self.lost).append(one)

    def order(self):
        tasks = self.store.tasks(TaskQuery(limit=20))
        if not tasks:
            return
        task = self.random.choice(tasks)
        if task.status == "running":
            self.store.request_cancel(CancelOrder(task_id=task.task_id, reason="stop", actor="ann"))
            return
        with suppress(IllegalMove):
            now = self.store.now()
            free = self.random.random() < 0.8
            after = rules.free(task, now) if free else rules.cancel(task, new_outcome("operator_canceled"), "stop", now)
            kind = "operator_ordered" if free else "task_operator_canceled"
            self.store.move(
                TaskMove(task=after, was=task.status, events=(NewEvent(event_type=kind, task_id=task.task_id),))
            )

    def deliver(self):
        for item in self.store.pending(3):
            done = replace(item, status="delivered", tries=item.tries + 1, delivered_at=self.store.now())
            follow_up = None
            if item.kind == "follow_up_task":
                record = new_task(self.name("task"), self.store.now(), parent_task_id=item.task_id)
                follow_up = NewTask(task=record, depth=1)
            self.store.deliver(Delivery(item=done, task=follow_up))


def calm(party):
    """Everybody else is gone; one runner ends what is left."""
    store, storm = party.store, party.storm
    party.register()
    for _ in range(1000):
        dead = tuple(name for name in storm.runners if name != party.runner_id)
        for one in store.sweep(Sweep(runner_id=party.runner_id, dead=dead)):
            party.end(one, "blocked", exit_status="lost")
        store.wake_due()
        party.held = []
        names = tuple(party.name("attempt") for _ in range(50))
        claimed = store.claim(ClaimOrder(runner_id=party.runner_id, attempt_ids=names))
        for one in claimed:
            party.end(one, "permanent_failure")
        party.deliver()
        if not claimed and not store.pending(1):
            return


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_storm_of_threads_leaves_every_task_told_and_over(store, request):
    if store == "sqlite":
        desks = SqliteDesks(request.getfixturevalue("tmp_path"))
    else:
        desks = PostgresDesks(request.getfixturevalue("postgres_url"))
    with desks() as desk:
        storm = Storm(desk)
        parties = [Party(storm, number) for number in range(PARTIES)]

        at_once(Party.play, parties)
        calm(parties[0])

        tables = read_tables(desk.store, postponements(desk), damage(desk))
        assert len(tables.tasks) > 50
        assert check(storm.history, tables) == []
