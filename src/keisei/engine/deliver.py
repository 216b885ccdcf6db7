"""Deliver: what verified outcomes ask for leaves the outbox, each row once."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from keisei.engine.intake import Defaults, Origin, Registry, accept, read_intent
from keisei.engine.ports import Store
from keisei.records.error import KeiseiError, Refused
from keisei.records.id import TaskId
from keisei.records.move import Delivery, NewEvent, NewTask
from keisei.records.outbox import OutboxItem

DEEPEST: Final = 5
"""Follow-ups of follow-ups: deeper ones are dead letters, so that work does not breed."""
BATCH: Final = 50


def deliver(store: Store, registry: Callable[[], Registry], defaults: Defaults, new_id: Callable[[], TaskId]) -> int:
    """Deliver follow-up tasks, some dozens at once. How many rows left. Messages wait for a channel and stay rows."""
    left = 0
    for item in store.pending(BATCH):
        if item.kind == "follow_up_task":
            left += store.deliver(_followed(item, store, registry(), defaults, new_id))
    if left:
        store.ring()
    return left


def _followed(
    item: OutboxItem, store: Store, registry: Registry, defaults: Defaults, new_id: Callable[[], TaskId]
) -> Delivery:
    now = store.now()
    try:
        task = _task(item, store, registry, defaults, new_id())
    except KeiseiError as error:
        return Delivery(item=replace(item, status="dead", reason=error.message, tries=item.tries + 1))
    event = NewEvent(
        event_type="delivery_made",
        task_id=item.task_id,
        attempt_id=item.attempt_id,
        detail={"key": item.key, "kind": item.kind, "created_task_id": task.task.task_id},
    )
    return Delivery(item=_done(item, now), task=task, events=(event,))


def _done(item: OutboxItem, now: datetime) -> OutboxItem:
    return replace(item, status="delivered", tries=item.tries + 1, delivered_at=now)


def _task(item: OutboxItem, store: Store, registry: Registry, defaults: Defaults, task_id: TaskId) -> NewTask:
    depth = store.depth(item.task_id) + 1
    if depth > DEEPEST:
        raise Refused(f"a follow-up {depth} tasks deep is not queued; {DEEPEST} is the deepest")
    intent = read_intent(item.payload)
    if intent.available_at is not None:
        raise Refused("a follow-up names no `available_at`", "delay it with `schedule`")
    # What an agent says of where its wish comes from is not asked: the source is the task, and the key the row's.
    named = replace(intent, source=f"task:{item.task_id}", idempotency_key=item.key)
    origin = Origin(parent_task_id=item.task_id, depth=depth)
    return accept(named, registry, defaults, origin=origin, task_id=task_id, now=store.now())
