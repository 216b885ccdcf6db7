"""Follow: a follow-up that an outcome asks for becomes a task, waits, or is a dead letter that says why."""

from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from keisei.engine.budget import is_shared, remaining
from keisei.engine.delegate import check_authority, check_file, rate_used_up
from keisei.engine.intake import PRIORITY, Origin, accept, read_intent
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.records.error import AuthorError, KeiseiError, Refused, WorldFault
from keisei.records.id import TaskId
from keisei.records.intent import Budget
from keisei.records.move import Delivery, NewEvent, NewTask
from keisei.records.outbox import OutboxItem
from keisei.records.task import TaskRecord
from keisei.rules.budget import lowered, used_up
from keisei.rules.delivery import number_of
from keisei.rules.follow_up import check_place, curbed

WAIT: Final = timedelta(minutes=5)
"""How long a follow-up waits before it is looked at again."""


class _Later(Exception):
    """Not now; its text says why."""


def followed(item: OutboxItem, office: Office, rate: int) -> Delivery:
    """What becomes of the row. Raises WorldFault where the store is away, and nothing else."""
    now = office.store.now()
    try:
        task = _task(item, office, rate, now)
    except _Later as wait:
        return Delivery(item=replace(item, reason=str(wait), tries=item.tries + 1, next_try_at=now + WAIT))
    except WorldFault:
        raise
    except KeiseiError as error:
        return _dead(item, error.message)
    except Exception as error:  # noqa: BLE001 - what an agent wrote must not keep the rows behind it
        return _dead(item, f"this is a bug in keisei: {error!r}"[:500])
    done = replace(item, status="delivered", reason=None, tries=item.tries + 1, next_try_at=None, delivered_at=now)
    return Delivery(item=done, task=task, events=(_event(item, created_task_id=task.task.task_id),))


def _task(item: OutboxItem, office: Office, rate: int, now: datetime) -> NewTask:
    store = office.store
    parent = store.task(item.task_id) if item.task_id is not None else None
    if parent is None:
        raise Refused("a follow-up without a task has nobody to follow")
    depth = store.depth(parent.task_id) + 1
    check_place(depth, number_of(item.key))
    # What an agent says of where its wish comes from is not asked, and not even read.
    said = {name: value for name, value in item.payload.items() if name not in ("idempotency_key", "workflow_ref")}
    wish = read_intent(said | {"source": "agent"})
    usual = office.defaults.max_attempts
    intent = curbed(wish, parent, key=item.key, priority=PRIORITY, max_attempts=usual)
    if is_shared(store, parent):
        intent = replace(intent, budget=_paid(intent.budget, parent, store))
    if (why := rate_used_up(parent, store, rate, now)) is not None:
        raise _Later(f"{why}: it waits")
    origin = Origin(parent_task_id=parent.task_id, depth=depth)
    try:
        registry = office.registry()
        task = accept(intent, registry, office.defaults, origin=origin, task_id=TaskId(office.new_id()), now=now)
        check_authority(task.task, parent, registry)
        check_file(task.task, parent, registry)
    except (AuthorError, WorldFault) as error:  # somebody may be editing the files just now
        raise _Later(f"the authored files cannot be read: {error.message}"[:2000]) from error
    return task


def _paid(asked: Budget | None, parent: TaskRecord, store: Store) -> Budget | None:
    """What of its parent's budget a follow-up is given where a running attempt pays for all of it. Raises Refused.

    The limits of the project stand in the parent's budget already.
    """
    left = remaining(store, parent, None)
    if used_up(left) is not None:
        raise Refused(f"nothing is left of the budget that task {parent.task_id} was given for itself and all below it")
    return lowered(asked, left)


def _dead(item: OutboxItem, reason: str) -> Delivery:
    dead = replace(item, status="dead", reason=reason, tries=item.tries + 1, next_try_at=None)
    event = _event(item, reason=reason)
    return Delivery(item=dead, events=(replace(event, event_type="delivery_failed"),))


def _event(item: OutboxItem, **detail: object) -> NewEvent:
    told = {"key": item.key, "kind": item.kind, **detail}
    return NewEvent(event_type="delivery_made", task_id=item.task_id, attempt_id=item.attempt_id, detail=told)
