"""Orders: what operators say about tasks and dispatch, each with its event and its ledger row."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from keisei.records.error import IllegalMove
from keisei.records.id import TaskId
from keisei.records.move import CancelOrder, NewEntry, NewEvent, Pause, PauseOrder, TaskMove
from keisei.store import ledger
from keisei.store.approval import resolve
from keisei.store.clock import moment
from keisei.store.column import MOVED, moved_params
from keisei.store.note import write_events
from keisei.store.reader import Reader
from keisei.store.row import fits, json, name, text
from keisei.store.sqlite import Sqlite, fetched
from keisei.store.step import CLOCK, EVENTS, LEDGER, Executor, chain, event_params, ledger_params

if TYPE_CHECKING:
    from keisei.store.line import Line
    from keisei.store.postgres import Postgres

ENGINE = "engine"
"""Who decided, where no ledger row says it."""

# A task that was tried since it was looked at is another one, even if it has the same status again.
MOVE = f"""UPDATE tasks SET {MOVED}
WHERE task_id = :task_id AND status = :was AND attempt_count = :attempt_count RETURNING 1"""  # noqa: S608 - constants
"""The move of a task that nobody runs."""

_RUNNING = "SELECT task_id FROM tasks WHERE ready = 2 AND cancel_at IS NULL ORDER BY seq"
_CANCEL_SQLITE = """
UPDATE tasks SET cancel_at = :now, cancel_reason = :reason, last_error = :reason, updated_at = max(updated_at, :now)
WHERE task_id = :task_id AND ready = 2 AND cancel_at IS NULL RETURNING 1
"""
_CANCEL_POSTGRES = chain(
    CLOCK,
    """asked AS (
    UPDATE tasks t SET cancel_at = clock.us, cancel_reason = :reason, last_error = :reason,
        updated_at = greatest(t.updated_at, clock.us)
    FROM clock, unnest(:task_ids::text[], :kinds::text[], :subjects::text[], :contents::bytea[], :leaves::bytea[])
        AS e (task_id, kind, subject, content, leaf_hash)
    WHERE t.task_id = e.task_id AND t.status = 'running' AND t.cancel_at IS NULL
    RETURNING t.seq, t.task_id, e.kind, e.subject, e.content, e.leaf_hash
), told AS (
    INSERT INTO events (event_type, task_id, detail, created_at)
    SELECT 'operator_ordered', task_id, :detail, clock.us FROM asked, clock ORDER BY seq
), entered AS (
    INSERT INTO ledger (kind, subject, content, leaf_hash)
    SELECT kind, subject, content, leaf_hash FROM asked ORDER BY seq RETURNING entry_id
), unsealed_too AS (INSERT INTO unsealed (entry_id) SELECT entry_id FROM entered)""",
    result="SELECT task_id FROM asked ORDER BY seq",
)

_PAUSES = "SELECT scope, reason, since FROM pauses ORDER BY scope"
_AGAIN = """ON CONFLICT (scope) DO UPDATE SET reason = excluded.reason, actor = excluded.actor, since = excluded.since
    RETURNING 1"""
_PAUSE_SQLITE = f"""
INSERT INTO pauses (scope, reason, actor, since) VALUES (:scope, :reason, :actor, :now) {_AGAIN}
"""  # noqa: S608 - constants
_RESUME = "DELETE FROM pauses WHERE scope = :scope RETURNING 1"
_PAUSE_POSTGRES = chain(
    CLOCK,
    f"""done AS (
    INSERT INTO pauses (scope, reason, actor, since) SELECT :scope, :reason, :actor, clock.us FROM clock {_AGAIN}
)""",  # noqa: S608 - constants
    EVENTS,
    LEDGER,
)
_RESUME_POSTGRES = chain(CLOCK, f"done AS ({_RESUME})", EVENTS, LEDGER)


def move_sqlite(db: Sqlite, move: TaskMove) -> bool:
    """Move a task that nobody runs. False: it has another status by now. Raises IllegalMove for a move that is none.

    What a person was asked about the task is answered by it.
    """
    now_us = db.now_us()
    params = move_params(move, now_us)
    with db.write() as cursor:
        if not fetched(cursor, MOVE, params):
            return False
        resolve(partial(fetched, cursor), move.task.task_id, actor_of(move.ledger), now_us)
        write_events(cursor, move.events, now_us)
        ledger.insert(cursor, move.ledger, now_us)
    return True


def move_postgres(db: "Postgres", move: TaskMove) -> bool:
    """As `move_sqlite`: one statement, and what a person was asked."""
    now_us = db.now_us()
    steps = (EVENTS if move.events else "", LEDGER if move.ledger else "")
    statement = chain(CLOCK, f"done AS ({MOVE})", *steps)
    params = {
        "now": now_us,
        **move_params(move, now_us),
        **event_params(move.events),
        **ledger_params(move.ledger, now_us),
    }

    def moved(line: "Line") -> bool:
        if not line.execute_inside(statement, params):
            return False
        resolve(line.execute_inside, move.task.task_id, actor_of(move.ledger), now_us)
        return True

    return db.transaction(moved)


def request_cancel_sqlite(db: Sqlite, order: CancelOrder) -> tuple[TaskId, ...]:
    """Ask the runners of running tasks to end them. The tasks that were asked for, and were not before."""
    now_us, asked = db.now_us(), []
    with db.write() as cursor:
        wanted = _named(order) if order.task_id else fetched(cursor, _RUNNING)
        for (task_id,) in wanted:
            params = {"task_id": task_id, "reason": text(order.reason), "now": now_us}
            if fetched(cursor, _CANCEL_SQLITE, params):
                asked.append(TaskId(task_id))
        write_events(cursor, [_cancel_event(order, task_id) for task_id in asked], now_us)
        ledger.insert(cursor, [_cancel_entry(order, task_id) for task_id in asked], now_us)
    return tuple(asked)


def request_cancel_postgres(db: Executor, order: CancelOrder) -> tuple[TaskId, ...]:
    """As `request_cancel_sqlite`. Where every task is meant, a first statement finds out which there are."""
    found = _named(order) if order.task_id else db.execute(_RUNNING, {})
    wanted = [TaskId(task_id) for (task_id,) in found]
    params = {
        "task_ids": wanted,
        "reason": text(order.reason),
        "detail": json(_cancel_detail(order)),
        **ledger_params([_cancel_entry(order, task_id) for task_id in wanted], db.now_us()),
    }
    return tuple(TaskId(task_id) for (task_id,) in db.execute(_CANCEL_POSTGRES, params)) if wanted else ()


def pause_sqlite(db: Sqlite, order: PauseOrder) -> None:
    """Stop or resume claiming. Resuming what is not stopped writes nothing."""
    now_us = db.now_us()
    with db.write() as cursor:
        params = {**_pause_params(order), "now": now_us}
        if fetched(cursor, _PAUSE_SQLITE if order.paused else _RESUME, params):
            write_events(cursor, [_pause_event(order)], now_us)
            ledger.insert(cursor, [_pause_entry(order)], now_us)


def pause_postgres(db: Executor, order: PauseOrder) -> None:
    """As `pause_sqlite`, in one statement."""
    rows = {**event_params([_pause_event(order)]), **ledger_params([_pause_entry(order)], db.now_us())}
    db.execute(_PAUSE_POSTGRES if order.paused else _RESUME_POSTGRES, {**_pause_params(order), **rows})


def pauses(db: Reader) -> list[Pause]:
    """Where claiming is stopped."""
    return [Pause(scope=scope, reason=reason, since=moment(since)) for scope, reason, since in db.read(_PAUSES, {})]


def move_params(move: TaskMove, now_us: int) -> dict[str, Any]:
    """What `MOVE` writes. Raises IllegalMove for a move that is none."""
    if "running" in (move.was, move.task.status):
        raise IllegalMove(f"task {move.task.task_id}: only claim and settle begin and end running")
    return {**moved_params(move.task, now_us), "task_id": move.task.task_id, "was": move.was}


def actor_of(entries: Sequence[NewEntry]) -> str:
    """Who is behind a move, by its ledger rows."""
    return entries[0].actor if entries else ENGINE


def _named(order: CancelOrder) -> list[tuple[TaskId]]:
    """The task that the order names, unless nothing can have that name."""
    return [(order.task_id,)] if order.task_id and fits(order.task_id) else []


def _cancel_detail(order: CancelOrder) -> dict[str, Any]:
    return {"order": "cancel", "actor": order.actor, "reason": order.reason}


def _cancel_event(order: CancelOrder, task_id: TaskId) -> NewEvent:
    return NewEvent(event_type="operator_ordered", task_id=task_id, detail=_cancel_detail(order))


def _cancel_entry(order: CancelOrder, task_id: TaskId) -> NewEntry:
    body = {"task_id": task_id, "reason": order.reason}
    return NewEntry(kind="task_cancel_requested", actor=order.actor, subject=task_id, body=body)


def _pause_params(order: PauseOrder) -> dict[str, Any]:
    return {"scope": name(order.scope), "reason": text(order.reason), "actor": text(order.actor)}


def _pause_event(order: PauseOrder) -> NewEvent:
    detail = {"scope": order.scope, "reason": order.reason, "actor": order.actor}
    return NewEvent(event_type="dispatch_pause_enabled" if order.paused else "dispatch_pause_cleared", detail=detail)


def _pause_entry(order: PauseOrder) -> NewEntry:
    kind = "dispatch_paused" if order.paused else "dispatch_resumed"
    body = {"scope": order.scope, "reason": order.reason}
    return NewEntry(kind=kind, actor=order.actor, subject=order.scope, body=body)
