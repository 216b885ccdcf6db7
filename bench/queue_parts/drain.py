"""Drains: who gets how many tasks that do nothing through its queue, with the same records and fsync, in one run.

Everybody leaves a task, an attempt that is written before the work, three events, and a look at the outbox for every
ten tasks; we write a ledger row on top. Every run has a fresh database. What is compared runs one after the other, time
and again, and the median of those ratios counts: a busy machine is busy for both. A drain is timed from the first
task's start to the last one's end.
"""

import random
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from crew import drained_by, peer_drained
from place import Ground, Place
from work import fill

SLOTS = 10
"""Tasks that a worker of ours claims at once, as many as pgqueuer by default."""
THREADS = 4
"""Of a worker on PostgreSQL, so that commits reach the disk together, as the peers' do. SQLite has one writer."""
CREW = 4


class Engine(NamedTuple):
    """Somebody who drains."""

    name: str
    kind: str
    """The store: `sqlite` or `postgres`."""
    verb: str
    """`drain` and `raw` are ours; `peer` is not."""
    share: float
    """How many tasks it is given, of the full number: slow ones are given fewer."""
    end: str = "settle"
    slots: int = SLOTS
    threads: int = 1
    workers: int = 1


class Pair(NamedTuple):
    """Two that run one after the other, so that the machine is the same for both."""

    one: Engine
    other: Engine
    goal: float
    """How many times as quick the one must be as the other."""


SQLITE = Engine("keisei", "sqlite", "drain", 1.0)
POSTGRES = Engine("keisei", "postgres", "drain", 1.0, threads=THREADS)
SERIAL = Engine("keisei, one thread", "postgres", "drain", 1.0)
FOUR = Engine("keisei, 4 workers of one thread", "postgres", "drain", 2.0, workers=CREW)
PEERS = (
    Engine("dbos", "sqlite", "peer", 0.3),
    Engine("huey", "sqlite", "peer", 0.5),
    Engine("dbos", "postgres", "peer", 0.3),
    Engine("pgqueuer", "postgres", "peer", 1.0),
    Engine("procrastinate", "postgres", "peer", 0.3),
)
BARE = tuple(each._replace(name=f"{each.name}, own rows only", end="bare") for each in PEERS)

SCALE = Pair(FOUR, SERIAL, 1.6)
PAIRS = (
    Pair(SQLITE, PEERS[0], 4.0),
    Pair(POSTGRES, PEERS[2], 4.0),
    Pair(POSTGRES, PEERS[3], 1.2),
    Pair(SQLITE, Engine("raw statements", "sqlite", "raw", 1.0), 0.7),
    Pair(SERIAL, Engine("raw statements", "postgres", "raw", 1.0), 0.7),
)
"""What is held against a goal. Raw statements have one thread, and so have we beside them."""
BESIDE = (
    SQLITE._replace(name="keisei, one at a time", share=0.5, slots=1),
    SQLITE._replace(name="keisei, whole attempts", share=0.5, end="whole"),
    SERIAL._replace(name="keisei, one at a time", share=0.5, slots=1),
    POSTGRES._replace(name="keisei, whole attempts", share=0.5, end="whole"),
    PEERS[1],
    PEERS[4],
)
"""What is told and not judged."""


class Drains:
    """Every run so far."""

    def __init__(self, ground: Ground, tasks: int) -> None:
        self._ground, self._tasks = ground, tasks
        self._runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._ratios: dict[Pair, list[float]] = {}
        self._order = random.Random(7)

    def measure(self, pairs: Sequence[Pair], beside: Sequence[Engine], rounds: int) -> None:
        """In every round every pair, one after the other; in every second one the others too."""
        for number in range(rounds):
            for pair in self._order.sample(pairs, len(pairs)):
                rates = {each: self._run(each) for each in self._order.sample([pair.one, pair.other], 2)}
                self._ratios.setdefault(pair, []).append(rates[pair.one] / rates[pair.other])
            if number % 2 == 0:
                for each in self._order.sample(beside, len(beside)):
                    self._run(each)

    def ratio(self, pair: Pair) -> float:
        """The median of the rounds."""
        return statistics.median(self._ratios[pair])

    def summary(self) -> dict[tuple[str, str], dict[str, Any]]:
        """By store and name: tasks a second and processor time a task."""
        return {key: _summary(self._runs[key]) for key in sorted(self._runs, key=lambda key: (key[0] != "sqlite", key))}

    def _run(self, engine: Engine) -> float:
        found = _run(self._ground, engine, _number(self._tasks, engine))
        self._runs.setdefault((engine.kind, engine.name), []).append(found)
        return float(found["rate"])


def _number(tasks: int, engine: Engine) -> int:
    """Whole batches."""
    return max(1, int(tasks * engine.share) // SLOTS) * SLOTS


def _run(ground: Ground, engine: Engine, tasks: int) -> dict[str, Any]:
    with ground.place(engine.kind) as place, ground.place(engine.kind) as lesson:
        store = place.open()
        fill(store, tasks)
        store.close()
        if engine.verb == "peer":
            rows = "own" if engine.end == "bare" else "ours"
            found = peer_drained(ground, engine.name.partition(",")[0], place, tasks, rows)
        else:
            order = _order(engine, place) | {"lesson": lesson._asdict(), "tasks": tasks}
            found = drained_by(ground, engine.verb, [order] * engine.workers)
        if engine.end != "bare":
            _check(place, tasks)
    return found


def _order(engine: Engine, place: Place) -> dict[str, Any]:
    chosen = {"slots": engine.slots, "threads": engine.threads, "end": engine.end}
    return {"place": place._asdict(), "every": 0, **chosen}


def _check(place: Place, tasks: int) -> None:
    """Every task is over, and left what it must leave."""
    store = place.open()
    assert store.counts()["completed"] == tasks, f"{store.counts()} of {tasks} tasks"
    attempts = store.attempts(None, limit=SLOTS)
    assert all(each.ended_at is not None and each.exit_status == "ok" for each in attempts)
    store.close()


def _summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    rates = [run["rate"] for run in runs]
    return {
        "tasks": runs[0]["tasks"],
        "runs": len(runs),
        "per_s": statistics.median(rates),
        "min_per_s": min(rates),
        "max_per_s": max(rates),
        "cpu_us": statistics.median(run["cpu_us"] for run in runs),
    }


def memory(ground: Ground, kind: str, tasks: int, every: int) -> list[tuple[int, float]]:
    """What one worker holds after so many tasks, in megabytes."""
    with ground.place(kind) as place:
        store = place.open()
        fill(store, tasks)
        store.close()
        engine = SQLITE if kind == "sqlite" else SERIAL
        found = drained_by(ground, "drain", [_order(engine, place) | {"every": every}])["memory"]
        _check(place, tasks)
    return [(done, held) for done, held in found]
