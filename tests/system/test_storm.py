"""A small storm on each store, a runner that is stopped beyond its lease, a server that goes away for a while.

`make soak` lets a large storm rage.
"""

import os
import random
import signal
import tempfile
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from keisei.records.id import TaskId
from keisei.records.move import NewTask
from keisei.store import open_store
from keisei.testing.postgres import server
from tests.system.storm import Field, Weather, history_of, new_task, place, storm

PATIENCE_S = 60


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_runners_that_are_killed_lose_nothing(kind):
    with place(kind) as (folder, url):
        figures = storm(folder, url, Weather(kills=12, seed=7, runners=2))

    assert figures.complaints == ()
    assert figures.orphans == 0
    assert figures.starts >= figures.tasks


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.soak)])
def test_a_runner_that_is_stopped_loses_its_tree_and_then_its_lease_and_settles_nothing(kind):
    with place(kind) as (folder, url), calm(folder, url) as (field, store):
        queue(store, "10")  # longer than a lease and the look for it, or the tree would end by itself
        field.start_runner(1)
        until(lambda: starts(field) == 1)
        first = field.runners[0].pid
        tree = set(field.processes()) - {first}

        os.kill(first, signal.SIGSTOP)
        until(lambda: not any(lives(pid) for pid in tree))
        assert starts(field) == 1
        field.start_runner(1)
        until(lambda: starts(field) == 2)
        os.kill(first, signal.SIGCONT)
        until(lambda: store.task(TaskId("task")).status == "completed")

        assert [each.exit_status for each in store.attempts(TaskId("task"))] == ["lost", "ok"]


def test_a_server_that_goes_away_for_a_while_costs_no_work():
    with (
        tempfile.TemporaryDirectory(prefix="storm-", ignore_cleanup_errors=True) as name,
        tempfile.TemporaryDirectory(prefix="storm-pg-", ignore_cleanup_errors=True) as data,
        server(Path(data)) as postgres,
        calm(Path(name), postgres.database()) as (field, store),
    ):
        queue(store, "1")
        field.start_runner(1)
        until(lambda: starts(field) == 1)

        postgres.kill()
        time.sleep(0.2)  # long enough for a beat or a settlement to meet nobody
        postgres.start()
        until(lambda: is_completed(store))

        ended = [each.exit_status for each in store.attempts(TaskId("task"))]
        assert ended[-1] == "ok"
        assert set(ended[:-1]) <= {"lost"}


class calm:  # noqa: N801 - reads as a word where it is used
    """A field and its store, with every runner gone at the end."""

    def __init__(self, folder, url):
        self.field = Field(folder, url)
        self.store = open_store(url, bell_folder=folder / "b")

    def __enter__(self):
        return self.field, self.store

    def __exit__(self, *_):
        for runner in self.field.runners:
            runner.kill()
            runner.wait()
        self.store.close()


def queue(store, seconds):
    task = replace(new_task(TaskId("task"), store, random.Random(1)), payload={"args": [seconds]})
    store.enqueue([NewTask(task=task)])


def starts(field):
    return sum(line.kind == "S" for line in history_of(field.history))


def is_completed(store):
    try:
        return store.task(TaskId("task")).status == "completed"
    except Exception:  # noqa: BLE001 - the server is not there yet
        return False


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (OSError, IndexError):
        return False


def until(holds):
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
