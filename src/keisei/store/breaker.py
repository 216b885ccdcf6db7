"""Breakers: what settling learns of an adapter, and an operator's order to forget it."""

from typing import Any

import apsw

from keisei.records.breaker import Breaker
from keisei.records.id import AdapterId
from keisei.records.move import NewEntry
from keisei.store import ledger
from keisei.store.ask import known
from keisei.store.clock import maybe_microseconds, maybe_moment, microseconds, moment
from keisei.store.reader import Reader
from keisei.store.row import maybe_text
from keisei.store.sqlite import Sqlite, fetched
from keisei.store.step import LEDGER, Executor, chain, ledger_params

_COLUMNS = "adapter_id, failures, kind, reason, open_until, needs_person, updated_at"
_NEWER = """ON CONFLICT (adapter_id) DO UPDATE SET failures = excluded.failures, kind = excluded.kind,
    reason = excluded.reason, open_until = excluded.open_until, needs_person = excluded.needs_person,
    updated_at = excluded.updated_at
    WHERE excluded.updated_at >= breakers.updated_at"""
"""Two runners may learn at once: what was learnt later stays."""

_READ = f"SELECT {_COLUMNS} FROM breakers ORDER BY adapter_id"  # noqa: S608 - constants
_LEARN = f"""
INSERT INTO breakers ({_COLUMNS})
VALUES (:b_adapter, :b_failures, :b_kind, :b_reason, :b_until, :b_person, :b_at) {_NEWER}
"""  # noqa: S608 - constants
LEARNT = f"""learnt AS (
    INSERT INTO breakers ({_COLUMNS})
    SELECT :b_adapter, :b_failures, :b_kind, :b_reason, :b_until, :b_person, :b_at FROM done {_NEWER}
)"""  # noqa: S608 - constants
"""The step of PostgreSQL."""

_FORGET_SQLITE = "DELETE FROM breakers WHERE adapter_id = ? RETURNING 1"
_FORGET_POSTGRES = chain("done AS (DELETE FROM breakers WHERE adapter_id = :adapter_id RETURNING 1)", LEDGER)


def breakers(db: Reader) -> list[Breaker]:
    """What is known of adapters that failed."""
    return [
        Breaker(
            adapter_id=AdapterId(row[0]),
            failures=row[1],
            kind=row[2],
            reason=row[3],
            open_until=maybe_moment(row[4]),
            needs_person=bool(row[5]),
            updated_at=moment(row[6]),
        )
        for row in db.read(_READ, {})
    ]


def breaker_params(breaker: Breaker) -> dict[str, Any]:
    """What `LEARNT` writes."""
    return {
        "b_adapter": breaker.adapter_id,
        "b_failures": breaker.failures,
        "b_kind": breaker.kind,
        "b_reason": maybe_text(breaker.reason),
        "b_until": maybe_microseconds(breaker.open_until),
        "b_person": breaker.needs_person,
        "b_at": microseconds(breaker.updated_at),
    }


def learn(cursor: apsw.Cursor, breaker: Breaker) -> None:
    """Write it inside a transaction of SQLite."""
    cursor.execute(_LEARN, breaker_params(breaker))


def reset_breaker_sqlite(db: Sqlite, adapter_id: AdapterId, actor: str) -> bool:
    """Forget an adapter's failures, with a ledger row. False where there were none."""
    with db.write() as cursor:
        found = bool(fetched(cursor, _FORGET_SQLITE, (known(adapter_id),)))
        if found:
            ledger.insert(cursor, (_entry(adapter_id, actor),), db.now_us())
    return found


def reset_breaker_postgres(db: Executor, adapter_id: AdapterId, actor: str) -> bool:
    """As `reset_breaker_sqlite`."""
    entries = ledger_params((_entry(adapter_id, actor),), db.now_us())
    return bool(db.execute(_FORGET_POSTGRES, {"adapter_id": known(adapter_id), **entries}))


def _entry(adapter_id: AdapterId, actor: str) -> NewEntry:
    return NewEntry(kind="adapter_breaker_reset", actor=actor, subject=adapter_id, body={"adapter_id": adapter_id})
