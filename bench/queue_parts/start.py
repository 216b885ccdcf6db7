"""Idle runners cost nothing and start at once: the real runner in a process of its own, waiting at the doorbell.

From before `enqueue` is called to the attempt's first step in the runner: the commit, the ring, the claim and a thread.
"""

import random
import statistics
import time
from pathlib import Path
from typing import Any

from crew import workers
from place import Ground
from work import fresh

WARM_S = 2.0
GAP_S = (0.03, 0.08)
"""Long enough for the runner to be idle again, and for the doorbell of PostgreSQL, which rings once in 20 ms."""


def measure(ground: Ground, kind: str, tasks: int, idle_s: float) -> dict[str, Any]:
    """Milliseconds to start, median and 95th percentile; and the runner's share of a processor while it waits."""
    gaps = random.Random(5)
    with ground.place(kind) as place:
        store = place.open()
        with workers("run", [{"place": place._asdict(), "slots": 2}]) as (runner,):
            runner.go()
            time.sleep(WARM_S)
            idle = _idle(runner.process.pid, idle_s)
            asked = {}
            for _ in range(tasks):
                task = fresh(store)
                asked[task.task.task_id] = time.monotonic()
                store.enqueue([task])
                store.ring()
                time.sleep(gaps.uniform(*GAP_S))
            time.sleep(1.0)
            begun = runner.result()
        assert begun.keys() == asked.keys(), f"{len(begun)} of {len(asked)} tasks began"
        assert store.counts()["completed"] == tasks
        store.close()
    waits = sorted((begun[each] - asked[each]) * 1000 for each in asked)
    return {
        "p50_ms": statistics.median(waits),
        "p95_ms": waits[int(tasks * 0.95)],
        "idle_percent": idle,
        "tasks": tasks,
    }


def _idle(pid: int, seconds: float) -> float:
    before, started = _cpu_s(pid), time.monotonic()
    time.sleep(seconds)
    return (_cpu_s(pid) - before) / (time.monotonic() - started) * 100


def _cpu_s(pid: int) -> float:
    """Processor time of all threads of a process, to the nanosecond."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in threads) / 1e9
