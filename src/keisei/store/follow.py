"""Following events on PostgreSQL, where a number is given before its row can be seen.

A statement that is slower than a later one leaves a gap, and whoever has read past it would never see what fills it. So
where a page has gaps, those who were writing then are waited for; what is missing after that is missing for ever.
"""

import time
from collections.abc import Callable

from keisei.records.event import RuntimeEvent
from keisei.records.move import EventQuery
from keisei.store.reader import Reader

PATIENCE_S, PAUSE_S = 1.0, 0.002
"""How long writers are waited for before only the rows in front of the first gap are told."""

# The table's lock is taken before a number is, and given back after the row can be seen.
_WRITERS = """
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND relation = 'events'::regclass AND mode = 'RowExclusiveLock'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""

Page = Callable[[EventQuery], list[RuntimeEvent]]


def follow(db: Reader, query: EventQuery, page: Page) -> list[RuntimeEvent]:
    """A page of events behind which no smaller number can appear."""
    found = page(query)
    if not found or query.newest or query.task_id is not None or _whole(query, found):
        return found
    last = found[-1].id
    drained = _drained(db)
    found = [event for event in page(query) if event.id <= last]
    return found if drained else found[: _in_front_of_gap(query, found)]


def _drained(db: Reader) -> bool:
    """Wait until everybody who writes now has ended."""
    writing = _writers(db)
    deadline = time.monotonic() + PATIENCE_S
    while writing and time.monotonic() < deadline:
        time.sleep(PAUSE_S)
        writing &= _writers(db)
    return not writing


def _writers(db: Reader) -> set[str]:
    return {transaction for (transaction,) in db.read(_WRITERS, {})}


def _whole(query: EventQuery, found: list[RuntimeEvent]) -> bool:
    return query.event_type is None and found[-1].id - query.after == len(found)


def _in_front_of_gap(query: EventQuery, found: list[RuntimeEvent]) -> int:
    """How many follow each other from the beginning; none where only some kinds are asked for."""
    if query.event_type is not None:
        return 0
    return next((n for n, event in enumerate(found) if event.id != query.after + n + 1), len(found))
