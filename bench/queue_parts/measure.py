"""What is measured, how much of it, and the goals it is held against."""

import os
from argparse import Namespace
from collections.abc import Callable
from typing import Any, NamedTuple

import claim
import drain
import enqueue
import start
from place import Ground
from report import Goal, print_claims, print_drains

STORES = {"sqlite": ("sqlite",), "postgres": ("postgres",), "both": ("sqlite", "postgres")}
FLAT, START_MS, IDLE_PERCENT, BULK, GROWTH_MB = 1.3, 3.0, 1.0, 10.0, 4.0
WARM = 10_000
"""Tasks after which caches are full."""


class Size(NamedTuple):
    """How much is measured."""

    tasks: int
    """Of a drain; slow engines get a share of it."""
    rounds: int
    rows: int
    """Of every state, for claims."""
    claims: int
    starts: int
    idle_s: float
    single: int
    bulk: int
    memory: int
    """Tasks of the drain that memory is read in."""


FULL = Size(1000, 7, 1_000_000, 300, 150, 10.0, 1000, 5000, 100_000)
QUICK = Size(400, 1, 50_000, 60, 40, 3.0, 200, 2000, 20_000)


class Run(NamedTuple):
    """One run of the bench: where, what was asked for, and what was found so far."""

    ground: Ground
    options: Namespace
    told: dict[str, Any]
    goals: list[Goal]

    @property
    def size(self) -> Size:
        """How much."""
        return QUICK if self.options.quick else FULL

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which stores."""
        return STORES[self.options.store]


def measure_drains(run: Run) -> None:
    """One worker process of ours beside one of everybody else's."""
    drains, peers = drain.Drains(run.ground, run.size.tasks), not run.options.no_peers
    pairs = [each for each in drain.PAIRS if each.one.kind in run.kinds and (peers or each.other.verb != "peer")]
    beside = drain.BESIDE if run.options.quick else drain.BESIDE + drain.BARE
    chosen = [each for each in beside if each.kind in run.kinds and (peers or each.verb != "peer")]
    drains.measure(pairs, chosen, run.size.rounds)
    run.told["drain"] = drains.summary()
    print_drains(run.told["drain"])
    for pair in pairs:
        name = f"drain on {pair.one.kind}, one worker: {pair.one.name} / {pair.other.name}"
        run.goals.append(Goal(name, drains.ratio(pair), ">=", pair.goal))


def measure_scale(run: Run) -> None:
    """Four worker processes against one, on PostgreSQL."""
    if "postgres" not in run.kinds:
        return
    drains, pair = drain.Drains(run.ground, run.size.tasks), drain.SCALE
    drains.measure([pair], [], run.size.rounds)
    run.told["scale"] = drains.summary()
    print_drains(run.told["scale"])
    name = f"drain on postgres, {os.cpu_count()} cores for all: {drain.CREW} workers / one, one thread each"
    run.goals.append(Goal(name, drains.ratio(pair), ">=", pair.goal))


def measure_claims(run: Run) -> None:
    """A claim beside few rows and many."""
    rows = run.size.rows
    found = {kind: claim.measure(run.ground, kind, rows, run.size.claims) for kind in run.kinds}
    run.told["claim"] = found
    print_claims(found, rows)
    for kind, states in found.items():
        for row in states:
            name = f"claim on {kind}: beside {rows:,} {row['state']} tasks / {claim.FEW:,}"
            run.goals.append(Goal(name, row["ratio"], "<=", FLAT))


def measure_starts(run: Run) -> None:
    """How soon an idle runner starts a task, and what it costs while it waits."""
    found = {kind: start.measure(run.ground, kind, run.size.starts, run.size.idle_s) for kind in run.kinds}
    run.told["start"] = found
    print(f"\n{'start':10}{'tasks':>7}{'p50 ms':>9}{'p95 ms':>9}{'idle CPU %':>12}")
    for kind, row in found.items():
        print(f"{kind:10}{row['tasks']:7}{row['p50_ms']:9.2f}{row['p95_ms']:9.2f}{row['idle_percent']:12.2f}")
        run.goals.append(Goal(f"enqueue to start on {kind}, idle runner, median ms", row["p50_ms"], "<", START_MS))
        run.goals.append(Goal(f"idle runner on {kind}, % of a processor", row["idle_percent"], "<", IDLE_PERCENT))


def measure_bulk(run: Run) -> None:
    """Many tasks in one commit against one a commit."""
    single, bulk = run.size.single, run.size.bulk
    found = {kind: enqueue.measure(run.ground, kind, single, bulk) for kind in run.kinds}
    run.told["bulk"] = found
    print(f"\n{'enqueue':10}{'one by one /s':>15}{f'{bulk:,} at once /s':>20}")
    for kind, row in found.items():
        print(f"{kind:10}{row['single']:15.0f}{row['bulk']:20.0f}")
        ratio = row["bulk"] / row["single"]
        run.goals.append(Goal(f"enqueue on {kind}: {bulk:,} at once / one by one", ratio, ">=", BULK))


def measure_memory(run: Run) -> None:
    """What a worker holds after many tasks, against what it held when its caches were full."""
    tasks = run.size.memory
    found = {kind: drain.memory(run.ground, kind, tasks, WARM) for kind in run.kinds}
    run.told["memory"] = found
    for kind, marks in found.items():
        print(f"\nmemory on {kind}: " + ", ".join(f"{held:.1f} MB after {done:,}" for done, held in marks))
        growth = marks[-1][1] - marks[0][1]
        name = f"memory on {kind}: MB more after {tasks:,} tasks than after {WARM:,}"
        run.goals.append(Goal(name, growth, "<=", GROWTH_MB))


MEASURES: dict[str, Callable[[Run], None]] = {
    "drain": measure_drains,
    "scale": measure_scale,
    "claim": measure_claims,
    "start": measure_starts,
    "bulk": measure_bulk,
    "memory": measure_memory,
}
