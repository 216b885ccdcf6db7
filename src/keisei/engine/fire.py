"""Fire: what becomes of one schedule's due moments, as one value that the store writes or does not.

What cannot be read or queued any more leaves a row that says so; after some of them in a row the schedule is switched
off and a person is asked.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from keisei.engine.intake import Defaults, Origin, Registry, accept
from keisei.engine.ports import Store
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import NOTHING, Beside
from keisei.records.error import KeiseiError, WorldFault
from keisei.records.event import EventType
from keisei.records.id import ApprovalId, TaskId
from keisei.records.move import NewEntry, NewEvent, NewTask
from keisei.records.schedule import RecurringScheduleRecord
from keisei.records.slot import Firing, Schedule, Slot, SlotStatus
from keisei.records.task import TERMINAL
from keisei.rules.schedule import Due, brought_forward, due_moments, following, patience, realigned, slot_stamp

UNACCEPTABLE: Final = "its task cannot be queued: "
SWITCHED_OFF: Final = "switched off after {} in a row: "
"""Begins differently, so that a schedule that is switched on again has all its patience again."""
FIRED: Final = "it fires once, and has"


class Evaluation(NamedTuple):
    """What an evaluation works with."""

    store: Store
    registry: Registry
    defaults: Defaults
    new_id: Callable[[], str]
    now: datetime
    at: datetime | None = None
    """Evaluate as if it were then."""


class _Moments(NamedTuple):
    """A schedule whose moments have come, and what it says when they are counted."""

    schedule: Schedule
    due: Due
    after: RecurringScheduleRecord


def firing_of(schedule: Schedule, desk: Evaluation) -> Firing | None:
    """What became of the schedule's moments; None where nothing is due and nothing has to be put right.

    Raises nothing for anything that stands in the schedule, or in its newest task; WorldFault where the store is away.
    """
    record = schedule.record
    if record is None:
        return _given_up(schedule, desk)
    if not record.enabled:
        return firing(schedule, record)
    until = desk.now if desk.at is None else min(desk.at, desk.now)
    due = due_moments(record, until)
    early = brought_forward(record, desk.at, desk.now) if due is None and desk.at is not None else None
    due = due or early
    if due is None:
        return _put_right(schedule, record, desk)
    # The next moment is one interval from the evaluation, as in the original, or from the slot that came early.
    soon = following(max(until, due.last), record.interval_seconds)
    moments = _Moments(schedule, due, replace(record, next_run_at=soon, last_run_at=desk.now, updated_at=desk.now))
    try:
        busy = _busy(desk.store, schedule, record)
        if busy is not None:
            return None if early else _skipped(moments, busy, desk)  # what is not due yet is not lost either
        return _enqueued(moments, record, desk)
    except KeiseiError as error:
        if isinstance(error, WorldFault) and error.retryable:
            raise
        return _refused(moments, error.message, desk)
    except Exception as error:  # noqa: BLE001 - whatever one row brings about, the others go on
        return _refused(moments, f"{type(error).__name__}: {error}", desk)


def _put_right(schedule: Schedule, record: RecurringScheduleRecord, desk: Evaluation) -> Firing | None:
    """A schedule with nothing due: the clock was set back, or the row says another moment than its record."""
    soon = realigned(record, desk.now)
    if soon is not None:
        return firing(schedule, replace(record, next_run_at=soon, updated_at=desk.now))
    ahead = record.last_run_at is not None and record.last_run_at > desk.now
    return None if ahead or desk.at is not None else firing(schedule, record)


def firing(
    schedule: Schedule,
    record: RecurringScheduleRecord | None,
    slots: tuple[Slot, ...] = (),
    task_id: TaskId | None = None,
    beside: Beside = NOTHING,
) -> Firing:
    """A change of a schedule as it was read, with its rows."""
    return Firing(
        schedule_id=schedule.schedule_id,
        was=schedule.version,
        record=record,
        slots=slots,
        task_id=task_id,
        beside=beside,
    )


def schedule_event(kind: EventType, schedule: Schedule, **detail: Any) -> NewEvent:  # noqa: ANN401 - JSON
    """An event that names the schedule."""
    names = {"schedule_id": schedule.schedule_id, "schedule_name": schedule.name}
    return NewEvent(event_type=kind, detail=names | detail)


def _busy(store: Store, schedule: Schedule, record: RecurringScheduleRecord) -> str | None:
    """Why the slot is skipped: the newest task is not finished."""
    if record.overlap == "queue" or schedule.task_id is None:
        return None
    task = store.task(schedule.task_id)
    if task is None or task.status in TERMINAL:
        return None
    return f"task {task.task_id} of an earlier slot is {task.status}"


def _enqueued(moments: _Moments, record: RecurringScheduleRecord, desk: Evaluation) -> Firing:
    schedule, due, after = moments
    task = _task(record, due, desk, schedule.version)
    task_id, stamp = task.task.task_id, slot_stamp(due.last)
    if record.once:
        after = replace(after, enabled=False, disabled_reason=FIRED)
    slots = [_slot(moments, "enqueued", desk.now, first=due.last, task_id=task_id)]
    created = schedule_event("schedule_task_created", schedule, due_at=stamp)
    events = [NewEvent(event_type=created.event_type, task_id=task_id, detail=created.detail)]
    if due.times > 1:
        reason, count = f"missed, and one with {stamp}", due.times - 1
        last = due.last - timedelta(seconds=record.interval_seconds)
        slots.insert(0, _slot(moments, "coalesced", desk.now, last=last, count=count, reason=reason))
        told = {"due_at": slot_stamp(last), "count": count, "reason": reason}
        events.insert(0, schedule_event("schedule_slots_coalesced", schedule, **told))
    return firing(schedule, after, tuple(slots), task_id, Beside(tasks=(task,), events=tuple(events)))


def _task(record: RecurringScheduleRecord, due: Due, desk: Evaluation, version: int) -> NewTask:
    stamp = slot_stamp(due.last)
    key = f"schedule:{record.schedule_id}:{stamp}"
    if record.last_run_at is not None and record.last_run_at >= due.last:
        key = f"{key}:{version}"  # the clock was set back: this moment may have been there before
    intent = replace(record.task, source=f"{record.task.source}:{stamp}", idempotency_key=key)
    origin = Origin(schedule_id=record.schedule_id)
    return accept(intent, desk.registry, desk.defaults, origin=origin, task_id=TaskId(desk.new_id()), now=desk.now)


def _skipped(moments: _Moments, reason: str, desk: Evaluation) -> Firing:
    slot = _slot(moments, "skipped", desk.now, count=moments.due.times, reason=reason)
    events = (_skip_event(moments.schedule, slot),)
    return firing(moments.schedule, moments.after, (slot,), beside=Beside(events=events))


def _refused(moments: _Moments, why: str, desk: Evaluation) -> Firing:
    """The task cannot be queued any more: a row, and after some of them in a row a person is asked."""
    most = patience(moments.after.interval_seconds)
    before = desk.store.slots(moments.schedule.schedule_id, most - 1)
    if len(before) < most - 1 or not all(_is_unacceptable(each) for each in before):
        return _skipped(moments, f"{UNACCEPTABLE}{why}", desk)
    reason = f"{SWITCHED_OFF.format(most)}{UNACCEPTABLE}{why}"
    slot = _slot(moments, "skipped", desk.now, count=moments.due.times, reason=reason)
    off = replace(moments.after, enabled=False, disabled_reason=reason)
    return firing(moments.schedule, off, (slot,), beside=_asking(moments.schedule, slot, reason, desk))


def _is_unacceptable(slot: Slot) -> bool:
    return slot.status == "skipped" and (slot.reason or "").startswith(UNACCEPTABLE)


def _given_up(schedule: Schedule, desk: Evaluation) -> Firing:
    """A row that cannot be read is switched off."""
    reason = f"switched off: the row cannot be read: {schedule.fault or 'nobody knows why'}"
    slot = Slot(
        schedule_id=schedule.schedule_id,
        status="skipped",
        first_due_at=desk.now,
        due_at=desk.now,
        reason=reason,
        recorded_at=desk.now,
    )
    return firing(schedule, None, (slot,), beside=_asking(schedule, slot, reason, desk))


def _asking(schedule: Schedule, slot: Slot, reason: str, desk: Evaluation) -> Beside:
    approval = ApprovalRecord(
        approval_id=ApprovalId(desk.new_id()),
        kind="schedule",
        key=f"schedule:{schedule.schedule_id}",
        reason=f"schedule `{schedule.name}` was {reason}",
        schedule_id=schedule.schedule_id,
        created_at=desk.now,
        decided_at=None,
    )
    events = (_skip_event(schedule, slot), schedule_event("schedule_paused", schedule, reason=reason))
    body = {"name": schedule.name, "reason": reason}
    entry = NewEntry(kind="schedule_paused", actor="engine:schedule", subject=schedule.schedule_id, body=body)
    return Beside(events=events, approvals=(approval,), ledger=(entry,))


def _skip_event(schedule: Schedule, slot: Slot) -> NewEvent:
    detail = {"due_at": slot_stamp(slot.due_at), "count": slot.count, "reason": slot.reason}
    return schedule_event("schedule_slots_skipped", schedule, **detail)


def _slot(  # noqa: PLR0913 - a row has this many columns
    moments: _Moments,
    status: SlotStatus,
    now: datetime,
    *,
    first: datetime | None = None,
    last: datetime | None = None,
    count: int = 1,
    reason: str | None = None,
    task_id: TaskId | None = None,
) -> Slot:
    return Slot(
        schedule_id=moments.schedule.schedule_id,
        status=status,
        first_due_at=first or moments.due.first,
        due_at=last or moments.due.last,
        count=count,
        reason=reason,
        task_id=task_id,
        recorded_at=now,
    )
