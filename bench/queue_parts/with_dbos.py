"""DBOS, tuned: a queue that is polled every 10 ms, thirty workflows at once. Its default polls every second.

Rows are written by the workflow itself and not by steps, whose checkpoints would be two more rows.
"""

from pathlib import Path

from dbos import DBOS, DBOSConfig
from meter import Meter
from rows import Rows

POLL_S, SLOTS = 0.01, 30
PATIENCE_S = 300.0


def drain(store: str, place: str, tasks: list[str], meter: Meter, rows: Rows | None) -> None:
    """Queue every task and drain them."""
    url = f"sqlite:///{Path(place).with_name('dbos.db')}" if store == "sqlite" else place
    config: DBOSConfig = {"name": "bench", "system_database_url": url, "log_level": "ERROR", "executor_id": "bench"}
    DBOS(config=config)

    @DBOS.workflow()
    def work(task: str) -> None:
        meter.begin()
        if rows is not None:
            rows.begin(task)
            rows.end(task)
        meter.end()

    DBOS.listen_queues(["later"])
    DBOS.launch()
    DBOS.register_queue("bench", worker_concurrency=SLOTS, polling_interval_sec=POLL_S)
    for task in tasks:
        DBOS.enqueue_workflow("bench", work, task)
    DBOS.destroy()
    DBOS(config=config)
    DBOS.listen_queues(["bench"])
    DBOS.launch()
    assert meter.done.wait(PATIENCE_S)
    DBOS.destroy(workflow_completion_timeout_sec=10)
