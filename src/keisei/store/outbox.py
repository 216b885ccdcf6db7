"""Outbox: what outcomes ask for. Settling writes the rows, delivering writes what became of them."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import apsw

from keisei.records.id import AttemptId, TaskId
from keisei.records.move import Delivery
from keisei.records.outbox import OutboxItem, OutboxStatus
from keisei.store.ask import known
from keisei.store.clock import maybe_microseconds, maybe_moment, microseconds, moment
from keisei.store.document import opened, required
from keisei.store.enqueue import ADDED, insert, task_params, task_rows
from keisei.store.note import write_events
from keisei.store.reader import Reader
from keisei.store.row import Row, json, maybe_text, name, parsed
from keisei.store.sqlite import Sqlite, fetched
from keisei.store.step import CLOCK, EVENTS, Executor, chain, event_params

if TYPE_CHECKING:
    from keisei.store.work import Work

COLUMNS = {
    "key": "text",
    "kind": "text",
    "task_id": "text",
    "attempt_id": "text",
    "payload": "text",
    "status": "text",
    "reason": "text",
    "tries": "bigint",
    "created_at": "bigint",
    "next_try_at": "bigint",
    "delivered_at": "bigint",
}
"""What is written of a row, and PostgreSQL's types for it."""

_names = ", ".join(COLUMNS)
_lists = ", ".join(f":o_{column}::{kind}[]" for column, kind in COLUMNS.items())
_values = ", ".join(f":{column}" for column in COLUMNS)
_INSERT = f"INSERT INTO outbox ({_names}) VALUES ({_values}) ON CONFLICT DO NOTHING"  # noqa: S608 - constants
ASKED = f"""asked AS (
    INSERT INTO outbox ({_names})
    SELECT {_names} FROM done, unnest({_lists}) WITH ORDINALITY AS o ({_names}, n) ORDER BY n ON CONFLICT DO NOTHING
)"""  # noqa: S608 - constants
"""The step of PostgreSQL that writes rows."""

# Who says "delivered" must have seen the last try; who says "tried once more" must be the first to say so, or must have
# taken the row, which counts the try: then only the moment of the next one is new. IS TRUE keeps a plan from reading
# all pending rows to find one.
_UPDATE = """
UPDATE outbox SET status = :status, reason = :reason, tries = :tries, next_try_at = :next_try_at,
    delivered_at = :delivered_at
WHERE key = :key AND (status = 'pending') IS TRUE
    AND (tries < :tries OR (tries = :tries AND (:status <> 'pending' OR next_try_at <> :next_try_at)))
RETURNING 1
"""
_DONE = f"done AS ({_UPDATE})"
_PENDING = f"""SELECT {_names} FROM outbox WHERE status = 'pending' AND (next_try_at IS NULL OR next_try_at <= :now_us)
    AND seq > COALESCE((SELECT o.seq FROM outbox o WHERE o.key = :after), 0) ORDER BY seq LIMIT :limit"""  # noqa: S608 - constants
ONE = f"SELECT {_names} FROM outbox WHERE key = :key"  # noqa: S608 - constants
"""The row with this key, for `item_of`."""
_NEWEST = f"SELECT {_names} FROM outbox ORDER BY seq DESC LIMIT :limit"  # noqa: S608 - constants
_OF_STATUS = f"SELECT {_names} FROM outbox WHERE status = :status ORDER BY seq DESC LIMIT :limit"  # noqa: S608


def ask(cursor: apsw.Cursor, items: Sequence[OutboxItem]) -> None:
    """Write rows inside a transaction of SQLite. A key that is known is the same effect, and writes nothing."""
    cursor.executemany(_INSERT, map(_named, items))


def write_outbox(work: "Work", items: Sequence[OutboxItem]) -> None:
    """As `ask`, in a transaction of either store."""
    for item in items:
        work.run(_INSERT, _named(item))


def ask_params(items: Sequence[OutboxItem]) -> dict[str, Any]:
    """What `ASKED` writes."""
    rows = [_row(item) for item in items]
    return {f"o_{column}": [row[index] for row in rows] for index, column in enumerate(COLUMNS)}


def pending(db: Reader, now_us: int, limit: int, after: str | None = None) -> list[OutboxItem]:
    """Rows that wait for delivery and may be tried by now, oldest first; with `after` those behind that key.

    A row that cannot be read is left out, and keeps none behind it from being read.
    """
    params = {"now_us": now_us, "limit": max(0, limit), "after": known(after or "")}
    while rows := db.read(_PENDING, params):
        if found := _readable(rows):
            return found
        params["after"] = rows[-1][0]
    return []


def outbox(db: Reader, status: OutboxStatus | None, limit: int) -> list[OutboxItem]:
    """Rows, newest first; one that cannot be read is left out."""
    return _readable(_rows(db, status, limit))


def read_unreadable(db: Reader, limit: int) -> list[str]:
    """Names of rows that cannot be read, among the newest of each status."""
    rows = (row for status in get_args(OutboxStatus) for row in _rows(db, status, limit))
    return [f"outbox row {row[0]}" for row in rows if opened(row[4], partial(_item, row))[0] is None]


def _rows(db: Reader, status: OutboxStatus | None, limit: int) -> list[Row]:
    statement = _NEWEST if status is None else _OF_STATUS
    return db.read(statement, {"limit": max(0, limit)} | ({} if status is None else {"status": status}))


def deliver_sqlite(db: Sqlite, delivery: Delivery) -> bool:
    """Write what became of a row, with the task it leads to. False: somebody was quicker, nothing was written."""
    now_us = db.now_us()
    tasks = task_rows([delivery.task] if delivery.task else [], now_us)
    with db.write() as cursor:
        if not fetched(cursor, _UPDATE, _params(delivery.item)):
            return False
        insert(cursor, tasks, now_us)
        write_events(cursor, delivery.events, now_us)
    return True


def deliver_postgres(db: Executor, delivery: Delivery) -> bool:
    """As `deliver_sqlite`, in one statement."""
    rows = task_rows([delivery.task] if delivery.task else [], db.now_us())
    statement = chain(CLOCK, _DONE, ADDED if rows else "", EVENTS if delivery.events else "")
    params = {**_params(delivery.item), **task_params(rows), **event_params(delivery.events)}
    return bool(db.execute(statement, params))


def _params(item: OutboxItem) -> dict[str, Any]:
    return {
        "key": item.key,
        "status": item.status,
        "reason": maybe_text(item.reason),
        "tries": item.tries,
        "next_try_at": maybe_microseconds(item.next_try_at),
        "delivered_at": maybe_microseconds(item.delivered_at),
    }


def _named(item: OutboxItem) -> dict[str, Any]:
    return dict(zip(COLUMNS, _row(item), strict=True))


def _row(item: OutboxItem) -> Row:
    return (
        name(item.key),
        item.kind,
        item.task_id,
        item.attempt_id,
        json(item.payload),
        item.status,
        maybe_text(item.reason),
        item.tries,
        microseconds(item.created_at),
        maybe_microseconds(item.next_try_at),
        maybe_microseconds(item.delivered_at),
    )


def item_of(row: Row) -> OutboxItem:
    """A row out of the columns `COLUMNS`. Raises OperatorError for one that cannot be read."""
    return required(f"outbox row {row[0]}", row[4], partial(_item, row))


def _readable(rows: Iterable[Row]) -> list[OutboxItem]:
    return [item for row in rows if (item := opened(row[4], partial(_item, row))[0]) is not None]


def _item(row: Row, payload: str) -> OutboxItem:
    return OutboxItem(
        key=row[0],
        kind=row[1],
        task_id=None if row[2] is None else TaskId(row[2]),
        attempt_id=None if row[3] is None else AttemptId(row[3]),
        payload=parsed(payload),
        status=row[5],
        reason=row[6],
        tries=row[7],
        created_at=moment(row[8]),
        next_try_at=maybe_moment(row[9]),
        delivered_at=maybe_moment(row[10]),
    )
