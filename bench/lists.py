"""What people look at comes at once: an overview in 10 ms, a list in 50 ms, beside 100,000 tasks and a million events.

    .venv/bin/python bench/lists.py [--tasks 100000] [--times 60] [--folder /some/disk]

A store after a month of work is made (`keisei.testing.plenty`), then each question is asked time and again, in turn
with all the others, so that none finds its rows warm from the time before. Times are told, not judged; a wrong number
fails.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from keisei.engine.ports import Store
from keisei.records.answer import ApprovalQuery
from keisei.records.move import AttemptQuery, EntryQuery, EventQuery, LandingQuery, TaskQuery
from keisei.store import open_store
from keisei.testing.plenty import RARE_AGENT, RARE_PROFILE, RARE_TYPE, fill

Question = Callable[[], object]


def questions(store: Store) -> dict[str, Question]:
    """Everything a page asks, the ways that could be slow above all."""
    now = store.now()
    oldest = store.find_tasks(TaskQuery(task_type=RARE_TYPE)).tasks[0].task_id
    deep = store.find_attempts(AttemptQuery(limit=1000))[-1].attempt_id
    event = store.find_events(EventQuery(limit=1))[0].id
    lists = {
        "tasks": TaskQuery(),
        "tasks, the last page": TaskQuery(before=oldest),
        "tasks, a rare status": TaskQuery(statuses=("blocked",)),
        "tasks, pending": TaskQuery(statuses=("pending", "retryable_failure")),
        "tasks, all statuses but one": TaskQuery(
            statuses=("pending", "running", "completed", "permanent_failure", "operator_canceled")
        ),
        "tasks, a rare type": TaskQuery(task_type=RARE_TYPE),
        "tasks, no such type": TaskQuery(task_type="nothing"),
        "tasks, no such type, completed": TaskQuery(task_type="nothing", statuses=("completed",)),
        "tasks, a rare type, completed": TaskQuery(task_type=RARE_TYPE, statuses=("completed",)),
        "tasks, a common type, failed": TaskQuery(task_type="fix", statuses=("permanent_failure",)),
        "tasks, a rare profile": TaskQuery(profile=RARE_PROFILE),
        "tasks, a rare agent, completed": TaskQuery(agent=RARE_AGENT, statuses=("completed",)),
        "tasks, a week ago": TaskQuery(created_until=now - timedelta(days=7)),
        "tasks, no such source": TaskQuery(source="nothing"),
        "tasks, a text that is common": TaskQuery(text="login"),
        "tasks, a text that is nowhere": TaskQuery(text="nowhere to be found"),
        "tasks, such a text, completed": TaskQuery(text="nowhere to be found", statuses=("completed",)),
        "tasks, such a text, a type, completed": TaskQuery(text="nowhere", task_type="fix", statuses=("completed",)),
    }
    ask: dict[str, Question] = {"overview": lambda: store.overview(now - timedelta(days=1))}
    ask |= {name: lambda query=query: store.find_tasks(query) for name, query in lists.items()}  # type: ignore[misc]
    return ask | {
        "attempts": lambda: store.find_attempts(AttemptQuery()),
        "attempts, a deep page": lambda: store.find_attempts(AttemptQuery(before=deep)),
        "attempts, open": lambda: store.find_attempts(AttemptQuery(open=True)),
        "attempts of a task": lambda: store.find_attempts(AttemptQuery(task_id=oldest)),
        "events": lambda: store.find_events(EventQuery()),
        "events, a deep page": lambda: store.find_events(EventQuery(before=event // 2)),
        "events, a rare type": lambda: store.find_events(EventQuery(event_type="gate_denied")),
        "events, no such type": lambda: store.find_events(EventQuery(event_type="loop_detected")),
        "events, a common type": lambda: store.find_events(EventQuery(event_type="task_finished")),
        "events of a task": lambda: store.find_events(EventQuery(task_id=oldest)),
        "ledger": lambda: store.find_entries(EntryQuery()),
        "ledger, a deep page": lambda: store.find_entries(EntryQuery(before=1000)),
        "ledger, a common kind": lambda: store.find_entries(EntryQuery(kind="attempt_settled")),
        "approvals": lambda: store.approvals(ApprovalQuery(statuses=())),
        "landings": lambda: store.landings(LandingQuery()),
        "landings, rejected": lambda: store.landings(LandingQuery(statuses=("rejected",))),
    }


def measured(ask: dict[str, Question], times: int) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds of each, in turn: on the wall, and of the processor, which others on the machine do not lengthen."""
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in ask}
    for _ in range(times):
        for name, question in ask.items():
            wall, processor = time.perf_counter(), time.process_time()
            question()
            took[name].append(((time.perf_counter() - wall) * 1000, (time.process_time() - processor) * 1000))
    return took


def told(took: list[tuple[float, float]]) -> str:
    """Median and last hundredth of both."""
    wall, processor = zip(*took, strict=True)
    return "   ".join(
        f"{name} p50 {statistics.median(times):7.2f} p99 {statistics.quantiles(times, n=100)[98]:7.2f} ms"
        for name, times in (("wall", wall), ("processor", processor))
    )


def main() -> int:
    """Make, ask, tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument("--folder", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path, began = Path(folder) / "state.db", time.perf_counter()
        fill(path, tasks=given.tasks, events=given.tasks * 10)
        print(f"{given.tasks:,} tasks and {given.tasks * 10:,} events made in {time.perf_counter() - began:.1f} s")
        with closing(open_store(f"sqlite://{path}")) as store:
            for name, took in measured(questions(store), given.times).items():
                print(f"{name:40} {told(took)}")
            return 0 if sum(store.counts().values()) == given.tasks else 1


if __name__ == "__main__":
    sys.exit(main())
