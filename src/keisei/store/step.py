"""Steps of a PostgreSQL statement: a move is one chain of them, so it is one round trip and one transaction.

The step called `done` has one row where the move applies and none where it does not; what else is written hangs on it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from keisei.records.move import NewEntry, NewEvent
from keisei.store.ledger import ledger_values
from keisei.store.row import Row, json, maybe_text

SERVER_US = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
NOW = f"COALESCE(:now::bigint, {SERVER_US})"
"""The time a statement writes: the clock that was handed in, else the server's."""
CLOCK = f"clock AS MATERIALIZED (SELECT {NOW} AS us)"
ALWAYS = "done AS (SELECT 1)"

EVENTS = """told AS (
    INSERT INTO events (event_type, task_id, attempt_id, detail, created_at)
    SELECT e.event_type, e.task_id, e.attempt_id, e.detail, clock.us
    FROM done, clock, unnest(
        :event_types::text[], :event_tasks::text[], :event_attempts::text[], :event_details::text[]
    ) WITH ORDINALITY AS e (event_type, task_id, attempt_id, detail, n)
    ORDER BY e.n
)"""

LEDGER = """entered AS (
    INSERT INTO ledger (kind, subject, content, leaf_hash)
    SELECT e.kind, e.subject, e.content, e.leaf_hash
    FROM done, unnest(:kinds::text[], :subjects::text[], :contents::bytea[], :leaves::bytea[])
        WITH ORDINALITY AS e (kind, subject, content, leaf_hash, n)
    ORDER BY e.n RETURNING entry_id
), unsealed_too AS (INSERT INTO unsealed (entry_id) SELECT entry_id FROM entered)"""


class Executor(Protocol):
    """The PostgreSQL driver, as the moves see it."""

    def now_us(self) -> int:
        """The time, close to the server's."""

    def execute(self, sql: str, params: Mapping[str, Any], /) -> list[Row]:
        """Run one statement, its own transaction, and return its rows."""


def chain(*steps: str, result: str = "SELECT 1 FROM done") -> str:
    """The statement that takes the steps, left out ones left out, and answers with the result."""
    return "\n".join(("WITH", ",\n".join(step for step in steps if step), result))


def event_params(events: Sequence[NewEvent]) -> dict[str, Any]:
    """What `EVENTS` writes."""
    return {
        "event_types": [event.event_type for event in events],
        "event_tasks": [maybe_text(event.task_id) for event in events],
        "event_attempts": [maybe_text(event.attempt_id) for event in events],
        "event_details": [json(event.detail) for event in events],
    }


def ledger_params(entries: Sequence[NewEntry], now_us: int) -> dict[str, Any]:
    """What `LEDGER` writes."""
    kinds, subjects, contents, leaves = ledger_values(entries, now_us)
    return {"kinds": kinds, "subjects": subjects, "contents": contents, "leaves": leaves}
