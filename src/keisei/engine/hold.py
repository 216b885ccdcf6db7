"""Holds: what an approval stands for, whether it still does, and how it is lifted."""

from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from keisei.engine import budget as budgets
from keisei.engine.control import free, freeing
from keisei.engine.intake import Defaults, Registry
from keisei.engine.ports import Store
from keisei.engine.schedule import resume as resume_schedule
from keisei.engine.sensor import resume as resume_sensor
from keisei.engine.steer import unblock
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import Beside
from keisei.records.budget import BudgetPolicy
from keisei.records.error import Refused
from keisei.records.id import AdapterId, TaskId
from keisei.records.move import NewEntry, NewEvent, PauseOrder, TaskMove, TaskQuery
from keisei.records.task import TaskRecord
from keisei.rules.approval import OF_TASK
from keisei.rules.loop import HELD, lineage_of

RACES = 5
"""How often an order is tried again when a row moves under it."""
MOST = 1000
"""Tasks of one lineage that are freed with it."""


class Means(Struct, frozen=True, kw_only=True):
    """What lifting needs beside the store."""

    registry: Callable[[], Registry]
    """The authored files as they are now."""
    defaults: Defaults
    """What a project gives to tasks that say nothing."""
    new_id: Callable[[], str]
    """Ids nobody has had."""
    budget: BudgetPolicy | None = None
    """The project's limits."""


def stands(store: Store, approval: ApprovalRecord) -> bool:
    """Whether there is still something to decide; otherwise another order has done it."""
    subject = _subject(approval)
    if approval.kind in OF_TASK:
        task = _task(store, approval)
        return task is not None and task.status == "blocked"
    if approval.kind == "adapter":
        return any(each.adapter_id == subject and each.needs_person for each in store.breakers())
    if approval.kind == "loop":
        return any(each.scope == approval.key for each in store.pauses())
    if approval.kind == "schedule":
        schedule = store.schedule(approval.schedule_id or subject)
        return schedule is not None and (schedule.record is None or not schedule.record.enabled)
    if approval.kind == "sensor":
        sensor = store.sensor(subject)
        return sensor is not None and sensor.paused
    if approval.kind == "message":
        item = store.outbox_item(subject)
        return item is not None and item.status in ("dead", "refused")
    workflow = store.workflow(approval.workflow_id) if approval.workflow_id is not None else None
    return workflow is not None and workflow.record.status == "blocked"


def lift(store: Store, approval: ApprovalRecord, reason: str, actor: str, means: Means) -> TaskMove | None:
    """Undo the hold. Raises Refused where it cannot be undone as things are.

    A task's move comes back unwritten, to be written with the decision. All else is done at once, and doing it twice is
    doing it once.
    """
    subject = _subject(approval)
    if approval.kind in OF_TASK:
        task = blocked_task(store, approval)
        if approval.kind == "budget":
            budgets.grant_again(store, approval, task, means.budget, reason, actor)
        return freeing(task, reason, actor, store.now())
    if approval.kind == "loop":
        _end_loop(store, approval, reason, actor)
    elif approval.kind == "adapter":
        store.reset_breaker(AdapterId(subject), actor)
    elif approval.kind == "schedule":
        resume_schedule(store, approval.schedule_id or subject, reason, actor)
    elif approval.kind == "sensor":
        resume_sensor(store, subject, reason, actor)
    elif approval.kind == "message":
        _redeliver(store, subject, reason, actor)
    elif approval.workflow_id is not None:
        unblock(store, means.registry, means.defaults, means.new_id, approval.workflow_id, reason=reason, actor=actor)
    return None


def blocked_task(store: Store, approval: ApprovalRecord) -> TaskRecord:
    """The task that waits for the decision. Raises Refused where it does not wait any more."""
    task = _task(store, approval)
    if task is None or task.status != "blocked":
        status = "gone" if task is None else task.status
        raise Refused(f"task {approval.task_id} is {status}: there is nothing to decide any more")
    return task


def _subject(approval: ApprovalRecord) -> str:
    """What the key names."""
    return approval.key.partition(":")[2]


def _task(store: Store, approval: ApprovalRecord) -> TaskRecord | None:
    return store.task(approval.task_id or TaskId(_subject(approval)))


def _end_loop(store: Store, approval: ApprovalRecord, reason: str, actor: str) -> None:
    """The pause is lifted, what it held is claimable, the schedule that fed it is switched on."""
    if any(each.scope == approval.key for each in store.pauses()):
        store.pause(PauseOrder(scope=approval.key, paused=False, reason=reason, actor=actor))
    for task in store.tasks(TaskQuery(statuses=("blocked",), task_type=approval.detail.get("task_type"), limit=MOST)):
        if (task.last_error or "").startswith(HELD) and lineage_of(task).scope == approval.key:
            with suppress(Refused):  # it has moved by another order
                free(store, task.task_id, reason, actor)
    schedule = store.schedule(approval.schedule_id) if approval.schedule_id is not None else None
    if schedule is not None and schedule.record is not None and not schedule.record.enabled:
        resume_schedule(store, schedule.schedule_id, reason, actor)


def _redeliver(store: Store, key: str, reason: str, actor: str) -> None:
    told = {"key": key, "reason": reason}
    event = NewEvent(event_type="delivery_retried", detail=told)
    entry = NewEntry(kind="delivery_retried", actor=actor, subject=key, body=told)
    store.redeliver(key, Beside(events=(event,), ledger=(entry,)))
