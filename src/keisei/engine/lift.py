"""Lift: what an approval stands for, whether it still does, and how that is undone."""

from contextlib import suppress

from keisei.engine.control import free
from keisei.engine.land import approve as approve_landing
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.engine.post import redeliver
from keisei.engine.schedule import resume as resume_schedule
from keisei.engine.sensor import resume as resume_sensor
from keisei.engine.steer import unblock
from keisei.records.approval import ApprovalRecord
from keisei.records.error import Refused
from keisei.records.id import AdapterId, LandingId, TaskId
from keisei.records.move import PauseOrder, TaskQuery
from keisei.records.task import TaskRecord
from keisei.rules.approval import OF_TASK
from keisei.rules.loop import HELD, lineage_of

MOST = 1000
"""Tasks of one lineage that are freed with it."""


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
    if approval.kind == "landing":
        landing = store.landing(landing_of(approval))
        return landing is not None and landing.status == "held"
    workflow = store.workflow(approval.workflow_id) if approval.workflow_id is not None else None
    return workflow is not None and workflow.record.status == "blocked"


def lift(office: Office, approval: ApprovalRecord, reason: str, actor: str) -> None:
    """Undo a hold that is no task's; an order that does it closes the approval as approved.

    Raises Refused where it cannot be undone as things are, or was undone before.
    """
    store, subject = office.store, _subject(approval)
    if approval.kind == "loop":
        _end_loop(store, approval, reason, actor)
    elif approval.kind == "adapter":
        store.reset_breaker(AdapterId(subject), actor)
    elif approval.kind == "schedule":
        resume_schedule(store, approval.schedule_id or subject, reason, actor, "approved")
    elif approval.kind == "sensor":
        resume_sensor(store, subject, reason, actor, "approved")
    elif approval.kind == "message":
        redeliver(store, subject, reason, actor, "approved")
    elif approval.kind == "landing":
        approve_landing(store, landing_of(approval), reason, actor)
    elif approval.workflow_id is not None:
        unblock(office, approval.workflow_id, reason=reason, actor=actor, status="approved")


def blocked_task(store: Store, approval: ApprovalRecord) -> TaskRecord:
    """The task that waits for the decision. Raises Refused where it does not wait any more."""
    task = _task(store, approval)
    if task is None or task.status != "blocked":
        status = "gone" if task is None else task.status
        raise Refused(f"task {approval.task_id} is {status}: there is nothing to decide any more")
    return task


def landing_of(approval: ApprovalRecord) -> LandingId:
    """The landing that waits for the decision."""
    return LandingId(_subject(approval))


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
