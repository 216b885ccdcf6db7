"""Notes: writing events, and their end."""

from collections.abc import Sequence
from datetime import datetime

import apsw

from keisei.records.move import NewEvent
from keisei.records.request import KEPT_S
from keisei.store.clock import microseconds
from keisei.store.row import json, maybe_text
from keisei.store.sqlite import Sqlite, fetched
from keisei.store.step import ALWAYS, CLOCK, EVENTS, Executor, chain, event_params

_INSERT = "INSERT INTO events (event_type, task_id, attempt_id, detail, created_at) VALUES (?, ?, ?, ?, ?)"
_NOTE = chain(CLOCK, ALWAYS, EVENTS)
# Some thousands at once, so that nobody waits long for it. They stand in the order of time, so only the oldest are
# looked at, and no index on the time is needed.
_PRUNE = """
DELETE FROM events WHERE created_at < :before AND id IN (SELECT id FROM events ORDER BY id LIMIT 5000) RETURNING 1
"""
# Likewise. Sensor events stay: what was observed once must be known for ever, or it starts something twice.
_PRUNE_SLOTS = """
DELETE FROM slots WHERE recorded_at < :before AND seq IN (SELECT seq FROM slots ORDER BY seq LIMIT 5000) RETURNING 1
"""
_PRUNE_REQUESTS = """
DELETE FROM requests WHERE (actor, key) IN (
    SELECT actor, key FROM requests WHERE began_at < :old ORDER BY began_at LIMIT 5000
)
"""
_KEPT_US = round(KEPT_S * 1_000_000)
_FORGET = """
DELETE FROM runners WHERE ended_at < :before
    AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.runner_id = runners.runner_id AND a.ended_at IS NULL) RETURNING 1
"""


def write_events(cursor: apsw.Cursor, events: Sequence[NewEvent], now_us: int) -> None:
    """Write events inside a transaction of SQLite."""
    for event in events:
        cursor.execute(
            _INSERT,
            (event.event_type, maybe_text(event.task_id), maybe_text(event.attempt_id), json(event.detail), now_us),
        )


def note_sqlite(db: Sqlite, events: Sequence[NewEvent]) -> None:
    """Write events that belong to no other move."""
    if events:
        with db.write() as cursor:
            write_events(cursor, events, db.now_us())


def note_postgres(db: Executor, events: Sequence[NewEvent]) -> None:
    """As `note_sqlite`."""
    if events:
        db.execute(_NOTE, event_params(events))


def prune_sqlite(db: Sqlite, before: datetime) -> int:
    """Remove events and slots older than that, of the oldest 5000 each, and runners gone by then. How many.

    Requests have an age of their own.
    """
    params = {"before": microseconds(before)}
    with db.write() as cursor:
        fetched(cursor, _FORGET, params)
        fetched(cursor, _PRUNE_REQUESTS, {"old": db.now_us() - _KEPT_US})
        return len(fetched(cursor, _PRUNE, params)) + len(fetched(cursor, _PRUNE_SLOTS, params))


def prune_postgres(db: Executor, before: datetime) -> int:
    """As `prune_sqlite`."""
    params = {"before": microseconds(before)}
    db.execute(_FORGET, params)
    db.execute(_PRUNE_REQUESTS, {"old": db.now_us() - _KEPT_US})
    return len(db.execute(_PRUNE, params)) + len(db.execute(_PRUNE_SLOTS, params))
