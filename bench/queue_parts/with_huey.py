"""huey: one consumer with one thread, SQLite with fsync, as its own documentation sets it up."""

import logging
from pathlib import Path

from huey import SqliteHuey
from meter import Meter
from rows import Rows

PATIENCE_S = 300.0


def drain(_store: str, place: str, tasks: list[str], meter: Meter, rows: Rows | None) -> None:
    """Queue every task and drain them."""
    logging.disable(logging.INFO)
    huey = SqliteHuey("bench", filename=str(Path(place).with_name("huey.db")), fsync=True)

    @huey.task()
    def work(task: str) -> None:
        meter.begin()
        if rows is not None:
            rows.begin(task)
            rows.end(task)
        meter.end()

    for task in tasks:
        work(task)
    consumer = huey.create_consumer(workers=1, periodic=False)
    consumer.start()
    assert meter.done.wait(PATIENCE_S)
    consumer.stop(graceful=True)
