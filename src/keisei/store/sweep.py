"""Sweep: runners whose lease has ended are given up, and the open attempts of every runner that is gone change hands.

Whoever sweeps gets them with a higher fence, so whoever had them settles nothing any more. Until one is settled or
adopted it stays open under the runner that is gone, and the next sweep finds it again.
"""

from typing import Any

from msgspec.structs import replace

from keisei.records.id import RunnerId
from keisei.records.move import Claimed, NewEvent, Sweep
from keisei.store.ask import known
from keisei.store.note import write_events
from keisei.store.progress import STAGES
from keisei.store.row import ATTEMPT, TASK, TASK_WIDTH, Row, attempt_of, json, task_of
from keisei.store.sqlite import Sqlite, fetched
from keisei.store.step import CLOCK, Executor, chain

_FOUND = f"{TASK}, {ATTEMPT}, a.stage, t.postponed, t.depth, t.seq"
_EXPIRED = "(beat_boot_id <> :boot_id OR beat_us + lease_us < :boot_us)"
_OTHERS = "ended_at IS NULL AND runner_id IS NOT :me"

_ANYTHING_SQLITE = f"""
SELECT EXISTS (SELECT 1 FROM runners WHERE {_OTHERS} AND {_EXPIRED}) OR EXISTS (
    SELECT 1 FROM attempts a JOIN runners r ON r.runner_id = a.runner_id
    WHERE a.exit_status IS NULL AND r.ended_at IS NOT NULL AND a.runner_id IS NOT :me
)
"""  # noqa: S608 - constants
_LOST_SQLITE = f"""
UPDATE runners SET state = 'lost', ended_at = :now
WHERE {_OTHERS} AND (runner_id IN (SELECT value FROM json_each(:dead)) OR {_EXPIRED})
"""  # noqa: S608 - constants
_FOUND_SQLITE = f"""
SELECT {_FOUND} FROM attempts a JOIN tasks t ON t.task_id = a.task_id JOIN runners r ON r.runner_id = a.runner_id
WHERE a.exit_status IS NULL AND (
    (r.ended_at IS NOT NULL AND a.runner_id IS NOT :me)
    OR (a.runner_id = :me AND a.attempt_id IN (SELECT value FROM json_each(:unknown)))
) ORDER BY t.seq
"""  # noqa: S608 - constants
_TASK_SQLITE = "UPDATE tasks SET fence = fence + 1 WHERE task_id = ?"
_ATTEMPT_SQLITE = "UPDATE attempts SET fence = fence + 1 WHERE attempt_id = ?"

# Rows that another sweep holds are left to it; a row that was settled meanwhile has another fence or is not running.
_POSTGRES = chain(
    CLOCK,
    f"""gone AS (
    UPDATE runners r SET state = 'lost', ended_at = clock.us FROM clock
    WHERE r.ended_at IS NULL AND r.runner_id IS DISTINCT FROM :me
        AND (r.runner_id = ANY(:dead::text[]) OR r.heartbeat_at + r.lease_us < clock.us)
    RETURNING r.runner_id
), found AS MATERIALIZED (
    SELECT t.seq, a.seq AS attempt_seq FROM attempts a JOIN tasks t ON t.task_id = a.task_id
    WHERE a.exit_status IS NULL AND t.status = 'running' AND t.fence = a.fence AND (
        (a.runner_id IS DISTINCT FROM :me AND (
            a.runner_id IN (SELECT runner_id FROM gone)
            OR EXISTS (SELECT 1 FROM runners r WHERE r.runner_id = a.runner_id AND r.ended_at IS NOT NULL)
        )) OR (a.runner_id = :me AND a.attempt_id = ANY(:unknown::text[]))
    ) FOR UPDATE OF t SKIP LOCKED
), a AS (
    UPDATE attempts SET fence = fence + 1 WHERE seq = ANY(ARRAY(SELECT attempt_seq FROM found)) RETURNING *
), taken AS (
    UPDATE tasks t SET fence = t.fence + 1 FROM a WHERE t.task_id = a.task_id RETURNING {_FOUND}
), told AS (
    INSERT INTO events (event_type, detail, created_at)
    SELECT 'boot_sweep_reclaimed', json_build_object('runner_id', :me::text, 'tasks_reclaimed', count(*),
        'attempts_reclaimed', count(*))::text, max(clock.us)
    FROM found, clock HAVING count(*) > 0
)""",  # noqa: S608 - constants
    result="SELECT * FROM taken ORDER BY seq",
)

_ALIVE = "EXISTS (SELECT 1 FROM runners WHERE runner_id = :runner_id AND ended_at IS NULL)"
_OPEN = "attempt_id = :attempt_id AND task_id = :task_id AND fence = :fence AND ended_at IS NULL"
_ADOPT_SQLITE = f"""
UPDATE attempts SET fence = fence + 1, runner_id = :runner_id WHERE {_OPEN} AND {_ALIVE}
"""  # noqa: S608 - constants
_ADOPT_POSTGRES = chain(
    f"""done AS (
    UPDATE tasks SET fence = fence + 1
    WHERE task_id = :task_id AND status = 'running' AND fence = :fence AND {_ALIVE}
        AND EXISTS (SELECT 1 FROM attempts WHERE {_OPEN})
    RETURNING 1
), adopted AS (UPDATE attempts SET fence = fence + 1, runner_id = :runner_id FROM done WHERE {_OPEN})"""  # noqa: S608
)


def sweep_sqlite(db: Sqlite, sweep: Sweep) -> list[Claimed]:
    """Give up who is gone and take its attempts. Looks before it takes a turn."""
    params = _sqlite_params(db, sweep)
    if not sweep.dead and not sweep.unknown and not db.read(_ANYTHING_SQLITE, params)[0][0]:
        return []
    with db.write() as cursor:
        cursor.execute(_LOST_SQLITE, params)
        rows = fetched(cursor, _FOUND_SQLITE, params)
        cursor.executemany(_TASK_SQLITE, [(row[0],) for row in rows])
        cursor.executemany(_ATTEMPT_SQLITE, [(row[TASK_WIDTH],) for row in rows])
        if rows:
            write_events(cursor, [_event(sweep, len(rows))], params["now"])
    return [_higher(_claimed(row)) for row in rows]


def sweep_postgres(db: Executor, sweep: Sweep) -> list[Claimed]:
    """As `sweep_sqlite`, in one statement. Sweeps at the same time share the work."""
    params = {"me": _me(sweep), "dead": list(map(known, sweep.dead)), "unknown": list(map(known, sweep.unknown))}
    return [_claimed(row) for row in db.execute(_POSTGRES, params)]


def adopt_sqlite(db: Sqlite, claimed: Claimed, runner_id: RunnerId) -> Claimed | None:
    """Put an attempt that sweep found under a living runner. None: too late, or the runner is gone."""
    params = _adopt_params(claimed, runner_id)
    with db.write() as cursor:
        cursor.execute(_ADOPT_SQLITE, params)
        if not cursor.connection.changes():
            return None
        cursor.execute(_TASK_SQLITE, (claimed.task.task_id,))
    return _adopted(claimed, runner_id)


def adopt_postgres(db: Executor, claimed: Claimed, runner_id: RunnerId) -> Claimed | None:
    """As `adopt_sqlite`."""
    done = db.execute(_ADOPT_POSTGRES, _adopt_params(claimed, runner_id))
    return _adopted(claimed, runner_id) if done else None


def _sqlite_params(db: Sqlite, sweep: Sweep) -> dict[str, Any]:
    return {
        "me": _me(sweep),
        "dead": json(list(map(known, sweep.dead))),
        "unknown": json(list(map(known, sweep.unknown))),
        "now": db.now_us(),
        "boot_id": db.clock.boot_id,
        "boot_us": round(db.clock.boottime() * 1_000_000),
    }


def _me(sweep: Sweep) -> str | None:
    return None if sweep.runner_id is None else known(sweep.runner_id)


def _event(sweep: Sweep, found: int) -> NewEvent:
    detail = {"runner_id": sweep.runner_id, "tasks_reclaimed": found, "attempts_reclaimed": found}
    return NewEvent(event_type="boot_sweep_reclaimed", detail=detail)


def _claimed(row: Row) -> Claimed:
    stage, postponed, depth, _ = row[-4:]
    attempt = attempt_of(row[TASK_WIDTH:])
    return Claimed(
        task=task_of(row), attempt=attempt, returned=stage == STAGES["returned"], postponed=postponed, depth=depth
    )


def _higher(claimed: Claimed) -> Claimed:
    """The row was read before its fence grew."""
    return replace(claimed, attempt=replace(claimed.attempt, fence=(claimed.attempt.fence or 0) + 1))


def _adopt_params(claimed: Claimed, runner_id: RunnerId) -> dict[str, Any]:
    attempt = claimed.attempt
    return {
        "task_id": attempt.task_id,
        "attempt_id": attempt.attempt_id,
        "fence": attempt.fence,
        "runner_id": runner_id,
    }


def _adopted(claimed: Claimed, runner_id: RunnerId) -> Claimed:
    higher = _higher(claimed)
    return replace(higher, attempt=replace(higher.attempt, runner_id=runner_id))
