"""Due: delayed tasks become claimable when their moment has come."""

from datetime import datetime

from keisei.store.clock import maybe_moment
from keisei.store.reader import Reader
from keisei.store.sqlite import Sqlite
from keisei.store.step import CLOCK, Executor, chain

# At most some thousands at once, so that nobody waits long for it.
_NEXT = "SELECT min(available_at) FROM tasks WHERE ready = 0"
_SQLITE = """
UPDATE tasks SET ready = 1
WHERE seq IN (SELECT seq FROM tasks WHERE ready = 0 AND available_at <= ? ORDER BY available_at LIMIT 5000)
"""
_POSTGRES = chain(
    CLOCK,
    """found AS MATERIALIZED (
    SELECT t.seq FROM tasks t WHERE t.ready = 0 AND t.available_at <= (SELECT us FROM clock)
    ORDER BY t.available_at LIMIT 5000 FOR UPDATE SKIP LOCKED
), done AS (
    UPDATE tasks t SET ready = 1 WHERE t.seq = ANY(ARRAY(SELECT seq FROM found)) RETURNING 1
)""",
    result="SELECT count(*) FROM done",
)


def wake_due_sqlite(db: Sqlite) -> int:
    """Make them claimable, at most 5000 at once. How many. Looks before it takes a turn."""
    now_us = db.now_us()
    (first,) = db.read(_NEXT)[0]
    if first is None or first > now_us:
        return 0
    with db.write() as cursor:
        cursor.execute(_SQLITE, (now_us,))
        return cursor.connection.changes()


def wake_due_postgres(db: Executor) -> int:
    """As `wake_due_sqlite`, in one statement."""
    return int(db.execute(_POSTGRES, {})[0][0])


def next_due(db: Reader) -> datetime | None:
    """When the next delayed task becomes due; None where nothing is delayed."""
    return maybe_moment(db.read(_NEXT, {})[0][0])
