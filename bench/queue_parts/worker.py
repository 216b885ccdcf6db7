"""A worker process: worker.py VERB ORDER, the order as JSON. It says `ready`, waits for a line, works, and reports."""

import json
import sys
import threading
import time
from typing import Any

import raw
from place import Place
from work import NoWork, Plan, carry_whole, drain, register, settle

from keisei.engine.intake import Defaults
from keisei.engine.office import Office
from keisei.records.id import RunnerId, TaskId
from keisei.records.project import ProjectApprovals, ProjectFile, ProjectRunner
from keisei.wiring.channel import ProjectChannels
from keisei.wiring.chores import Chores, Trade
from keisei.wiring.runner import Hall, Options, Runner, new_id

ENDS = {"settle": settle, "whole": carry_whole}


def drain_ours(order: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Drain through the store."""
    store = Place(**order["place"]).open()
    ready()
    drained = drain(store, Plan(order["slots"], order["threads"], ENDS[order["end"]], order["every"]))
    store.close()
    return drained._asdict()


def drain_raw(order: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """Drain with bare statements, learnt before."""
    place, slots, runner_id = Place(**order["place"]), order["slots"], RunnerId(new_id())
    lesson = raw.learn(Place(**order["lesson"]), runner_id, slots)
    store = place.open()
    register(store, slots, runner_id)
    store.close()
    ready()
    return raw.drain(place, lesson, order["tasks"], slots)._asdict()


def run(order: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
    """The real runner, whose attempts do nothing, until its input ends; when each began comes back."""
    begun: dict[TaskId, float] = {}
    store = Place(**order["place"]).open()
    trade = Trade(
        office=Office(store, lambda: None, Defaults(), new_id),
        runner=ProjectRunner(),
        approvals=ProjectApprovals(),
        channels=ProjectChannels(ProjectFile(), {}, lambda *_: None),
        sensing=None,
    )
    hall = Hall(
        store=store,
        workshop=lambda *_: NoWork(lambda task_id: begun.setdefault(task_id, time.monotonic())),
        salvage=lambda _: None,
        held=lambda _: None,
        chores=Chores(trade),
        tell=lambda _: None,
    )
    runner = Runner(hall, Options(jobs=order["slots"]))
    ready()
    threading.Thread(target=lambda: (sys.stdin.read(), runner.stop()), daemon=True).start()
    runner.run()
    store.close()
    return begun


def ready() -> None:
    """Say so, and wait for the word."""
    print("ready", flush=True)
    sys.stdin.readline()


VERBS = {"drain": drain_ours, "raw": drain_raw, "run": run}

if __name__ == "__main__":
    print(json.dumps(VERBS[sys.argv[1]](json.loads(sys.argv[2]))), flush=True)
