"""pgqueuer: its default batch of ten in one process, on asyncpg and uvloop; rows by a pool of ten connections."""

import asyncpg
import rows as our
import uvloop
from meter import Meter
from pgqueuer import PgQueuer, Queries
from pgqueuer.types import QueueExecutionMode

FILL = 1000


def drain(_store: str, place: str, tasks: list[str], meter: Meter, rows: our.Rows | None) -> None:
    """Queue every task and drain them."""
    uvloop.run(_drain(place, tasks, meter, wants_rows=rows is not None))


async def _drain(place: str, tasks: list[str], meter: Meter, *, wants_rows: bool) -> None:
    connection = await asyncpg.connect(place)
    # without `reset` the pool would ask the server to forget everything after each use, which costs a round trip
    size = {"min_size": our.CONNECTIONS, "max_size": our.CONNECTIONS, "reset": _keep}
    pool = await asyncpg.create_pool(place, **size)
    queue = PgQueuer.from_asyncpg_connection(connection)
    queries = Queries.from_asyncpg_connection(connection)
    await queries.install()
    for start in range(0, len(tasks), FILL):
        some = [task.encode() for task in tasks[start : start + FILL]]
        await queries.enqueue(["work"] * len(some), some, [0] * len(some))
    count = 0

    @queue.entrypoint("work")
    async def work(job: object) -> None:
        nonlocal count
        meter.begin()
        if wants_rows:
            task = job.payload.decode()
            async with pool.acquire() as own:
                await own.execute(our.BEGIN_POSTGRES, *our.begin_params(task))
                await own.execute(our.END_POSTGRES, *our.end_params(task))
                count += 1
                if count % our.LOOK_EVERY == 0:
                    await own.fetch(our.LOOK)
        meter.end()

    await queue.qm.run(mode=QueueExecutionMode.drain)
    await pool.close()
    await connection.close()


async def _keep(_: object) -> None:
    """Nothing was left that must be forgotten."""
