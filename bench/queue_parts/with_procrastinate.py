"""procrastinate: one worker with ten jobs at once; rows by a pool of ten connections."""

import asyncio
import logging

import psycopg
import rows as our
from meter import Meter
from procrastinate import App, PsycopgConnector
from psycopg_pool import AsyncConnectionPool

AT_ONCE = 10
FILL = 1000
OPTIONS = {**our.OPTIONS, "cursor_factory": psycopg.AsyncRawCursor}


def drain(_store: str, place: str, tasks: list[str], meter: Meter, rows: our.Rows | None) -> None:
    """Queue every task and drain them."""
    logging.disable(logging.INFO)
    asyncio.run(_drain(place, tasks, meter, wants_rows=rows is not None))


async def _drain(place: str, tasks: list[str], meter: Meter, *, wants_rows: bool) -> None:
    app = App(connector=PsycopgConnector(conninfo=place, min_size=AT_ONCE, max_size=AT_ONCE))
    pool = AsyncConnectionPool(place, min_size=AT_ONCE, max_size=AT_ONCE, kwargs=OPTIONS, open=False)
    count = 0

    @app.task(name="work")
    async def work(task: str) -> None:
        nonlocal count
        meter.begin()
        if wants_rows:
            async with pool.connection() as connection:
                await connection.execute(our.BEGIN_POSTGRES, our.begin_params(task))
                await connection.execute(our.END_POSTGRES, our.end_params(task))
                count += 1
                if count % our.LOOK_EVERY == 0:
                    await (await connection.execute(our.LOOK)).fetchall()
        meter.end()

    async with app.open_async(), pool:
        await app.schema_manager.apply_schema_async()
        for start in range(0, len(tasks), FILL):
            await work.batch_defer_async(*({"task": task} for task in tasks[start : start + FILL]))
        await app.run_worker_async(concurrency=AT_ONCE, wait=False, listen_notify=False)
