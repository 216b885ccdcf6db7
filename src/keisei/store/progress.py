"""Progress: an attempt is about to start, or its harness has returned. Written only while its fence holds.

Said twice, because an answer was lost, it is written once: the second time nothing would change. The stage never falls,
so that an agent that has returned is never run again.
"""

from typing import Any

from keisei.records.move import Progress
from keisei.store import ledger
from keisei.store.note import write_events
from keisei.store.row import json, maybe_text, rest_of, text
from keisei.store.sqlite import Sqlite, fetched
from keisei.store.step import CLOCK, EVENTS, LEDGER, Executor, chain, event_params, ledger_params

STAGES = {"started": 1, "returned": 2}
"""How far an attempt has come; 0 is claimed."""

_HELD = "attempt_id = :attempt_id AND task_id = :task_id AND fence = :fence AND ended_at IS NULL"
_WRITTEN = "stage, adapter_id, adapter_kind, model, bundle_id, record"
_SET = """adapter_id = :adapter_id, adapter_kind = :adapter_kind, model = :model,
    bundle_id = :bundle_id, record = :record"""

_READ_SQLITE = f"SELECT {_WRITTEN} FROM attempts WHERE {_HELD}"  # noqa: S608 - constants
_UPDATE_SQLITE = f"""
UPDATE attempts
SET {_SET}, stage = max(stage, :stage), returned_at = COALESCE(returned_at, CASE WHEN :stage = 2 THEN :now END)
WHERE {_HELD}
"""  # noqa: S608 - constants
_BUNDLE_SQLITE = """
INSERT INTO bundles (bundle_id, attempt_id, task_id, record) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING
"""

_SAID = ":stage::smallint, :adapter_id::text, :adapter_kind::text, :model::text, :bundle_id::text, :record::text"
_DONE = f"""done AS (
    UPDATE attempts
    SET {_SET}, stage = greatest(stage, :stage::smallint),
        returned_at = COALESCE(returned_at, CASE WHEN :stage::smallint = 2 THEN clock.us END)
    FROM clock WHERE {_HELD} AND ({_WRITTEN}) IS DISTINCT FROM ({_SAID}) RETURNING 1
)"""  # noqa: S608 - constants
_BUNDLE_POSTGRES = """bundled AS (
    INSERT INTO bundles (bundle_id, attempt_id, task_id, record)
    SELECT :of_bundle, :attempt_id, :task_id, :bundle FROM done ON CONFLICT DO NOTHING
)"""
_RESULT = f"""SELECT EXISTS (SELECT 1 FROM done)
    OR EXISTS (SELECT 1 FROM attempts WHERE {_HELD} AND ({_WRITTEN}) IS NOT DISTINCT FROM ({_SAID}))"""  # noqa: S608


def progress_sqlite(db: Sqlite, progress: Progress) -> bool:
    """Write how far an attempt has come. False: its fence does not hold, nothing was written."""
    now_us, said = db.now_us(), _said(progress)
    with db.write() as cursor:
        found = fetched(cursor, _READ_SQLITE, said)
        if not found or found[0] == tuple(said[column] for column in _WRITTEN.split(", ")):
            return bool(found)
        cursor.execute(_UPDATE_SQLITE, {**said, "now": now_us})
        if progress.bundle is not None:
            row = (progress.bundle.bundle_id, said["attempt_id"], said["task_id"], json(progress.bundle))
            cursor.execute(_BUNDLE_SQLITE, row)
        write_events(cursor, progress.events, now_us)
        ledger.insert(cursor, progress.ledger, now_us)
    return True


def progress_postgres(db: Executor, progress: Progress) -> bool:
    """As `progress_sqlite`, in one statement."""
    params = {**_said(progress), **event_params(progress.events)}
    if progress.bundle is not None:
        params |= {"of_bundle": progress.bundle.bundle_id, "bundle": json(progress.bundle)}
    if progress.ledger:
        params |= ledger_params(progress.ledger, db.now_us())
    steps = (
        _BUNDLE_POSTGRES if progress.bundle is not None else "",
        EVENTS if progress.events else "",
        LEDGER if progress.ledger else "",
    )
    statement = chain(CLOCK, _DONE, *steps, result=_RESULT)
    return bool(db.execute(statement, params)[0][0])


def _said(progress: Progress) -> dict[str, Any]:
    attempt = progress.attempt
    return {
        "attempt_id": attempt.attempt_id,
        "task_id": attempt.task_id,
        "fence": attempt.fence,
        "stage": STAGES[progress.stage],
        "adapter_id": text(attempt.adapter_id),
        "adapter_kind": text(attempt.adapter_kind),
        "model": maybe_text(attempt.model),
        "bundle_id": attempt.bundle_id,
        "record": rest_of(attempt),
    }
