"""Seeded bugs: real stores, each with one fault, to prove that the proofs can fail.

A mutant stands before a store and spoils one call, with the store's own tables where the ports do not reach. `seen_by`
names who must find it; a database that refuses the faulty rows counts as found.
"""

from datetime import timedelta
from itertools import count

from msgspec.structs import replace

from keisei.records.move import Delivery

MUTANTS = {}
"""Every mutant by the name of its fault."""

MODEL, FLEET = "model", "fleet"
"""The state machine beside the model; the simulated fleet with its checker."""


class Mutant:
    """A store with nothing wrong."""

    seen_by = (MODEL, FLEET)

    def __init__(self, store, sql):
        self.store, self.sql = store, sql
        self.numbers = count(1)

    def __getattr__(self, name):
        return getattr(self.store, name)

    def __init_subclass__(cls):
        MUTANTS[cls.__name__] = cls

    def due_us(self, seconds=0):
        return int((self.store.now() + timedelta(seconds=seconds)).timestamp() * 1_000_000)


# the ten of the research


class SettleWithoutFence(Mutant):
    """Whoever had the task once may end it, whoever has it now."""

    def settle(self, settlement):
        task_id = settlement.task.task_id
        where = "task_id = ? AND ended_at IS NULL"
        for attempt_id, fence in self.sql(f"SELECT attempt_id, fence FROM attempts WHERE {where}", task_id):  # noqa: S608
            settlement = replace(settlement, attempt=replace(settlement.attempt, attempt_id=attempt_id, fence=fence))
        return self.store.settle(settlement)


class SweepForgets(Mutant):
    """Runners are given up, and what they held with them."""

    def sweep(self, sweep):
        self.store.sweep(sweep)
        return []


class RecoveryIgnoresTries(Mutant):
    """A task that has used up its attempts goes back to the queue all the same."""

    def settle(self, settlement):
        task = settlement.task
        if task.status == "blocked" and task.attempt_count >= task.max_attempts:
            settlement = replace(settlement, task=replace(task, status="retryable_failure"))
        return self.store.settle(settlement)


class LeaseOffByOne(Mutant):
    """A lease ends a moment before it should."""

    seen_by = (MODEL,)  # a fleet is safe with any lease that outlasts its harnesses

    def register(self, runner):
        self.store.register(replace(runner, lease_s=runner.lease_s - 0.000_001))


class LeaseTooShort(Mutant):
    """A lease ends while its harness still runs."""

    def register(self, runner):
        self.store.register(replace(runner, lease_s=runner.lease_s / 3))


class ClaimByAge(Mutant):
    """Priority is forgotten."""

    seen_by = (MODEL,)  # no law says in which order a fleet of several runners works

    def enqueue(self, tasks):
        answers = self.store.enqueue(tasks)
        self.sql("UPDATE tasks SET rank = available_at WHERE ready < 2")
        return answers


class ClaimOfRunningTasks(Mutant):
    """A task in somebody's hands is given to the next one too."""

    def claim(self, order):
        self.sql("UPDATE tasks SET status = 'pending', ready = 1 WHERE ready = 2 AND attempt_count < max_attempts")
        return self.store.claim(order)


class ClaimWithoutAttempt(Mutant):
    """No row tells of the run."""

    def claim(self, order):
        claimed = self.store.claim(order)
        for one in claimed:
            self.sql("DELETE FROM attempts WHERE attempt_id = ?", one.attempt.attempt_id)
        return claimed


class ClaimWithoutEvent(Mutant):
    """The claim is not told."""

    def claim(self, order):
        claimed = self.store.claim(order)
        self.sql("DELETE FROM events WHERE event_type = 'task_claimed'")
        return claimed


class AwakeTooEarly(Mutant):
    """Delayed tasks are claimable before their moment."""

    def wake_due(self):
        woken = self.store.wake_due()
        self.sql("UPDATE tasks SET ready = 1 WHERE ready = 0 AND available_at <= ?", self.due_us(4))
        return woken


class DelayIgnored(Mutant):
    """A delayed task is claimable from the beginning."""

    def enqueue(self, tasks):
        answers = self.store.enqueue(tasks)
        self.sql("UPDATE tasks SET ready = 1 WHERE ready = 0 AND status = 'pending'")
        return answers


# what this design adds


class SettleIgnoresCancel(Mutant):
    """An operator's order is overtaken by a success."""

    seen_by = (MODEL,)  # a success that was quicker than the order is no fault, and a fleet cannot tell

    def settle(self, settlement):
        self.sql("UPDATE tasks SET cancel_at = NULL WHERE task_id = ?", settlement.task.task_id)
        return self.store.settle(settlement)


class SweepKeepsFence(Mutant):
    """What was taken from a runner can still be settled by it."""

    seen_by = (MODEL,)  # whoever is first settles, and a fleet cannot tell who should have been

    def sweep(self, sweep):
        claimed = []
        for one in self.store.sweep(sweep):
            attempt = replace(one.attempt, fence=one.attempt.fence - 1)
            self.sql("UPDATE tasks SET fence = fence - 1 WHERE task_id = ?", attempt.task_id)
            self.sql("UPDATE attempts SET fence = fence - 1 WHERE attempt_id = ?", attempt.attempt_id)
            claimed.append(replace(one, attempt=attempt))
        return claimed


class AdoptKeepsFence(Mutant):
    """Whoever swept it can still settle what another has adopted."""

    seen_by = (MODEL,)  # in a fleet the sweeper and the adopter are one

    def adopt(self, claimed, runner_id):
        adopted = self.store.adopt(claimed, runner_id)
        if adopted is None:
            return None
        self.sql("UPDATE tasks SET fence = fence - 1 WHERE task_id = ?", adopted.task.task_id)
        self.sql("UPDATE attempts SET fence = fence - 1 WHERE attempt_id = ?", adopted.attempt.attempt_id)
        return replace(adopted, attempt=replace(adopted.attempt, fence=adopted.attempt.fence - 1))


class TerminalOverwritten(Mutant):
    """A late word on a finished task counts."""

    def settle(self, settlement):
        answer = self.store.settle(settlement)
        if answer == "lost":
            where = "task_id = ? AND ready = 3 AND status <> ?"
            status = settlement.task.status
            self.sql(f"UPDATE tasks SET status = ? WHERE {where}", status, settlement.task.task_id, status)  # noqa: S608
        return answer


class PostponedCounted(Mutant):
    """A rate limit uses up an attempt."""

    def settle(self, settlement):
        task = settlement.task
        if settlement.postponed and task.attempt_count + 1 < task.max_attempts:
            settlement = replace(settlement, task=replace(task, attempt_count=task.attempt_count + 1))
        return self.store.settle(settlement)


class KeysIgnored(Mutant):
    """The same key makes a second task."""

    seen_by = (MODEL,)  # a fleet's history does not tell which tasks were meant to be one

    def enqueue(self, tasks):
        return self.store.enqueue([replace(new, task=self._renamed(new.task)) for new in tasks])

    def _renamed(self, task):
        key = task.idempotency_key
        return task if key is None else replace(task, idempotency_key=f"{key}-{next(self.numbers)}")


class DeliveredTwice(Mutant):
    """A row that has left can leave again, as something new."""

    def deliver(self, delivery):
        self.sql("UPDATE outbox SET status = 'pending' WHERE key = ?", delivery.item.key)
        task = delivery.task and replace(delivery.task, task=replace(delivery.task.task, idempotency_key=None))
        return self.store.deliver(Delivery(item=delivery.item, task=task, events=delivery.events))

    def pending(self, limit, _after=None):
        return [replace(item, status="pending") for item in self.store.outbox(None, min(limit, 2))]


class AcceptedAndLost(Mutant):
    """A task is accepted and never written."""

    def enqueue(self, tasks):
        answers = self.store.enqueue(tasks)
        for answer in answers:
            if answer.created and next(self.numbers) % 5 == 0:
                self.sql("DELETE FROM tasks WHERE task_id = ?", answer.task_id)
        return answers


class SettledAndForgotten(Mutant):
    """The answer is `settled` and nothing was written."""

    def settle(self, settlement):
        return "settled" if next(self.numbers) % 3 == 0 else self.store.settle(settlement)


class SettledHalf(Mutant):
    """The task moves and the attempt stays open."""

    def settle(self, settlement):
        answer = self.store.settle(settlement)
        if answer == "settled":
            what = "UPDATE attempts SET ended_at = NULL, exit_status = NULL WHERE attempt_id = ?"
            self.sql(what, settlement.attempt.attempt_id)
        return answer


class OutboxForgotten(Mutant):
    """What an outcome asks for is not written."""

    seen_by = (MODEL,)  # a fleet's history does not tell what outcomes asked for

    def settle(self, settlement):
        return self.store.settle(replace(settlement, outbox=()))


class EndNotTold(Mutant):
    """The end of an attempt leaves no event."""

    def settle(self, settlement):
        return self.store.settle(replace(settlement, events=()))


class LostRunnersReturn(Mutant):
    """A heartbeat brings back a runner whose attempts were taken."""

    seen_by = (MODEL,)  # fences keep a fleet safe from it

    def beat(self, runner_id):
        self.sql("UPDATE runners SET state = 'active', ended_at = NULL WHERE runner_id = ?", runner_id)
        return self.store.beat(runner_id)


class ReturnForgotten(Mutant):
    """An agent that has returned is run again."""

    seen_by = (MODEL,)  # safe, and a waste

    def sweep(self, sweep):
        return [replace(one, returned=False) for one in self.store.sweep(sweep)]


class PauseIgnored(Mutant):
    """Claims go on while an operator has stopped them."""

    seen_by = (MODEL,)  # the fleet has no such operator

    def claim(self, order):
        pauses = self.sql("SELECT scope, reason, actor, since FROM pauses")
        self.sql("DELETE FROM pauses")
        claimed = self.store.claim(order)
        for pause in pauses:
            self.sql("INSERT INTO pauses (scope, reason, actor, since) VALUES (?, ?, ?, ?)", *pause)
        return claimed


class DrainIgnored(Mutant):
    """A draining runner takes new work."""

    seen_by = (MODEL,)  # it may: the fleet is safe all the same

    def claim(self, order):
        state, mine = "UPDATE runners SET state = ? WHERE runner_id = ?", order.runner_id
        draining = self.sql("SELECT 1 FROM runners WHERE runner_id = ? AND state = 'draining'", mine)
        if not draining:
            return self.store.claim(order)
        self.sql(state, "active", mine)
        claimed = self.store.claim(order)
        self.sql(state, "draining", mine)
        return claimed
