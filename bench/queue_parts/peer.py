"""Drain one peer's queue, once: peer.py ENGINE STORE PLACE TASKS SERVER ROWS; one line of JSON comes back.

PLACE is a database that holds our tables with the tasks `task-000000` and so on; a peer that keeps its own on SQLite
puts them into a file beside it. SERVER is the process of the database server, 0 without one. ROWS is `ours`, or `own`
for the peer alone. Runs in .tools/bench, where the peers are and nothing of keisei is.
"""

import importlib
import json
import sys

from meter import Meter
from rows import open_rows


def main() -> None:
    """Drain and report."""
    engine, store, place, count, server, wanted = sys.argv[1:]
    tasks = [f"task-{number:06}" for number in range(int(count))]
    meter = Meter(len(tasks), int(server))
    rows = open_rows(store, place) if wanted == "ours" else None
    importlib.import_module(f"with_{engine}").drain(store, place, tasks, meter, rows)
    print(json.dumps(meter.report()))


if __name__ == "__main__":
    main()
