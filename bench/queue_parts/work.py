"""Work that does nothing, and everything the engine does around it."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from keisei.engine.attempt import Judged, Prepared, Ran, Stand, carry
from keisei.engine.ports import Store
from keisei.engine.settle import Chance, Ended, settlement
from keisei.records.bundle import BundleRecord
from keisei.records.id import AdapterId, BundleId, RunnerId, TaskId
from keisei.records.move import Claimed, ClaimOrder, NewTask
from keisei.records.outcome import TaskOutcome
from keisei.records.runner import RunnerRecord
from keisei.rules.retry import Backoff
from keisei.testing.queue import new_task
from keisei.wiring.runner import boot_id, born, host, new_id

LEASE_S = 3600.0
LOOK = 50
"""Outbox rows that a runner looks for at once."""
PAYLOAD = {"question": "What is the answer?", "context": "c" * 200}
OUTCOME = TaskOutcome(
    status="completed", machine_status="ok", operator_summary="nothing was asked for, nothing was done"
)
HASH = "0" * 64
PAGE = 1000


class Drained(NamedTuple):
    """What one worker did; moments are of the clock that all processes share."""

    tasks: int
    first: float
    last: float
    cpu_s: float
    memory: list[tuple[int, float]]
    """After so many tasks, megabytes."""


class Plan(NamedTuple):
    """How a worker drains."""

    slots: int
    """Tasks that a thread claims at once."""
    threads: int
    """As a runner's attempts begin and end in threads of their own."""
    end: Callable[[Store, Claimed], None]
    every: int = 0
    """Memory is read after so many tasks; 0 for never."""


def task_name(number: int) -> TaskId:
    """The id of a task, as the peers' programs make it too."""
    return TaskId(f"task-{number:06}")


def fill(store: Store, tasks: int) -> None:
    """Queue so many."""
    for start in range(0, tasks, PAGE):
        numbers = range(start, min(tasks, start + PAGE))
        store.enqueue([fresh(store, task_name(number)) for number in numbers])


def fresh(store: Store, task_id: TaskId | None = None, **changes: object) -> NewTask:
    """A task that is due now."""
    name = task_id or TaskId(new_id())
    return NewTask(task=new_task(name, store.now(), payload=PAYLOAD, subject="nothing", **changes))


def register(store: Store, slots: int = 1, runner_id: RunnerId | None = None) -> RunnerId:
    """A runner that is this process."""
    now, runner_id = store.now(), runner_id or RunnerId(new_id())
    beside = {"started_at": now, "heartbeat_at": now, "version": "bench", "slots": slots, "lease_s": LEASE_S}
    pid = os.getpid()
    store.register(RunnerRecord(runner_id=runner_id, host=host(), boot_id=boot_id(), pid=pid, born=born(pid), **beside))
    return runner_id


def claimed_by(store: Store, runner_id: RunnerId, slots: int) -> list[Claimed]:
    """Claim as that runner."""
    return store.claim(ClaimOrder(runner_id=runner_id, attempt_ids=tuple(new_id() for _ in range(slots))))


def settle(store: Store, claimed: Claimed) -> None:
    """The end of an attempt that went well: attempt, task, two events and a ledger row, as the engine writes them."""
    ended = Ended(claimed=claimed, exit_status="ok", outcome=OUTCOME)
    assert store.settle(settlement(ended, chance(store))) == "settled"


def carry_whole(store: Store, claimed: Claimed) -> None:
    """The whole way of an attempt: its bundle and two more writes between claim and settlement."""
    stand = Stand(store=store, workshop=NoWork(), chance=lambda: chance(store), stopping=lambda: False)
    assert carry(stand, claimed) == "settled"


def chance(store: Store) -> Chance:
    """Now, without chance."""
    return Chance(backoff=Backoff(), jitter=0.0, now=store.now(), new_id=new_id)


def drain(store: Store, plan: Plan) -> Drained:
    """Claim, end and look at the outbox until nothing is left, in every thread; they are one runner."""
    runner_id = register(store, plan.slots)
    cpu = time.process_time()
    with ThreadPoolExecutor(plan.threads) as pool:
        done = list(pool.map(lambda _: _drained(store, plan, runner_id), range(plan.threads)))
    busy = [each for each in done if each.tasks]
    first, last = min(each.first for each in busy), max(each.last for each in busy)
    return Drained(sum(each.tasks for each in busy), first, last, time.process_time() - cpu, done[0].memory)


def _drained(store: Store, plan: Plan, runner_id: RunnerId) -> Drained:
    done, memory = 0, []
    first = last = 0.0
    for batch in iter(lambda: claimed_by(store, runner_id, plan.slots), []):
        first = first or time.monotonic()
        for claimed in batch:
            plan.end(store, claimed)
        store.pending(LOOK)
        done += len(batch)
        last = time.monotonic()
        if plan.every and done // plan.every > len(memory):
            memory.append((done, resident_mb()))
    return Drained(done, first, last, 0.0, memory)


def resident_mb() -> float:
    """What this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class NoWork:
    """A workshop whose harness does nothing and says that all is well."""

    def __init__(self, begun: Callable[[TaskId], None] = lambda _: None) -> None:
        """`begun` hears of every attempt that begins."""
        self._begun = begun

    def prepare(self, claimed: Claimed) -> Prepared:
        """A bundle of an ordinary size, not compiled from anything."""
        self._begun(claimed.task.task_id)
        bundle = _bundle(claimed)
        attempt = replace(
            claimed.attempt, bundle_id=bundle.bundle_id, adapter_id=bundle.adapter_id, adapter_kind="script"
        )
        return Prepared(attempt=attempt, bundle=bundle)

    def run(self, _: Claimed, prepared: Prepared) -> Ran:
        """Nothing."""
        return Ran(attempt=prepared.attempt)

    def judge(self, _: Claimed) -> Judged:
        """All is well."""
        return Judged(exit_status="ok", outcome=OUTCOME)

    def clear(self, _: Claimed) -> None:
        """Nothing was left."""


def _bundle(claimed: Claimed) -> BundleRecord:
    attempt = claimed.attempt
    return BundleRecord(
        bundle_id=BundleId(f"bundle-{attempt.attempt_id}"),
        task_id=attempt.task_id,
        attempt_id=attempt.attempt_id,
        bundle_hash=HASH,
        inputs_hash=HASH,
        agent_id=None,
        constitution=None,
        profile_id=claimed.task.requested_profile_id,
        role="edit-local",
        adapter_id=AdapterId("script"),
        model=None,
        policy_digest=HASH,
        prompt_hash=HASH,
        replay_grade="inputs_frozen",
        relative_path=f"attempts/{attempt.attempt_id}/bundle.json",
        prompt_relative_path=f"attempts/{attempt.attempt_id}/prompt.md",
        created_at=attempt.started_at,
    )
