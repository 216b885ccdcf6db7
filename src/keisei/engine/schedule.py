"""Schedules: due moments become rows and ordinary tasks; operators make, change, stop and delete schedules."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from keisei.engine.control import ALL, RACES
from keisei.engine.fire import Evaluation, firing, firing_of, schedule_event
from keisei.engine.intake import Defaults, Origin, Registry, accept, refuse_reserved
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.engine.resolve import resolve
from keisei.records.approval import ApprovalStatus
from keisei.records.beside import Beside
from keisei.records.error import KeiseiError, OperatorError, Refused, WorldFault
from keisei.records.id import ScheduleId, TaskId
from keisei.records.move import NewEntry, NewEvent
from keisei.records.schedule import RecurringScheduleRecord
from keisei.records.slot import Firing, Schedule, ScheduleOrder
from keisei.rules.schedule import resumed, slot_stamp
from keisei.rules.timetable import read_timetable, timetable

BATCH: Final = 100
"""Schedules that are looked at in one go."""

Warn = Callable[[str], None]


class Ticked(Struct, frozen=True, kw_only=True):
    """What one look at the schedules did."""

    evaluated: int
    """Schedules whose due moments were written down."""
    task_ids: tuple[TaskId, ...] = ()
    """Tasks that were queued."""


def tick(office: Office, *, at: datetime | None = None) -> Ticked:
    """Write down what became of every moment that is due, each with its task. Nothing while all runners are paused.

    `at` looks as if it were then. In the past only moments up to it count. In the future each schedule that would be
    due by then fires the one slot that comes next, and only where that is at most one interval away: no look ahead
    moves a schedule by more than a slot. What is written is dated now in any case.
    """
    store = office.store
    if any(each.scope == ALL for each in store.pauses()):
        return Ticked(evaluated=0)
    found = store.due_schedules(BATCH) if at is None else [each for each in store.schedules() if _is_on(each)]
    if not found:
        return Ticked(evaluated=0)
    try:
        desk = Evaluation(store, office.registry(), office.defaults, office.new_id, store.now(), at)
    except KeiseiError:  # files that cannot be read at all are no fault of any schedule: they stay due
        return Ticked(evaluated=0)
    fired = [due for each in found if (due := firing_of(each, desk)) and _written(store, due)]
    counted = [each for each in fired if each.slots]
    tasks = tuple(each.task_id for each in counted if each.task_id is not None)
    if tasks:
        store.ring()
    return Ticked(evaluated=len(counted), task_ids=tasks)


def look(office: Office, actor: str, *, at: datetime | None = None) -> Ticked:
    """As `tick`, ordered by somebody: the ledger knows of it before anything is written."""
    body = {} if at is None else {"at": slot_stamp(at)}
    office.store.append(NewEntry(kind="schedule_ticked", actor=actor, subject=ALL, body=body))
    return tick(office, at=at)


def _is_on(schedule: Schedule) -> bool:
    return schedule.record is not None and schedule.record.enabled


def _written(store: Store, firing: Firing) -> bool:
    """False: another runner was quicker, or this row cannot be written, which is no matter of the others."""
    try:
        return store.fire(firing)
    except KeiseiError as error:
        if isinstance(error, WorldFault) and error.retryable:
            raise
        return False


# --- orders -----------------------------------------------------------------------------------------------------------


def upsert(office: Office, data: object, actor: str, warn: Warn = lambda _sentence: None) -> Schedule:
    """Make a schedule, or change the one of that name or id. The schedule as it is then.

    `data` is a schedule.record without what the store fills in: `name`, `interval_seconds` and `task`, and where wanted
    `enabled`, `next_run_at`, `schedule_id`, `overlap`, `once`; `delay` is seconds until the first slot. A task without
    `source` gets `schedule:<name>`. Whatever could not be queued later is refused now: ContractViolation,
    OperatorError; Refused for a name that another schedule has, or a source that only the runtime gives.

    A schedule that is there keeps its id, and its next slot too unless a `next_run_at` that was not evaluated yet, a
    `delay` or another interval is given, or it is switched on again: saying the same twice fires nothing.
    """
    given = read_timetable(data, warn)
    store, known = office.store, office.registry()
    for _ in range(RACES):
        now = store.now()
        before = _before(store, given)
        schedule_id = before.schedule_id if before else ScheduleId(given.get("schedule_id") or office.new_id())
        record = timetable(given, before.record if before else None, schedule_id, now)
        _check_task(record, known, office.defaults, now)
        verb = "changed" if before else "made"
        facts = {"name": record.name, "enabled": record.enabled, "task_type": record.task.task_type, "verb": verb}
        facts |= {"interval_seconds": record.interval_seconds, "next_run_at": slot_stamp(record.next_run_at)}
        detail = {"name": record.name, "schedule_id": record.schedule_id}
        beside = Beside(
            events=(NewEvent(event_type="schedule_upserted", detail=detail),),
            ledger=(_entry("schedule_upserted", record.schedule_id, actor, facts),),
        )
        if store.put_schedule(ScheduleOrder(record=record, was=before.version if before else None, beside=beside)):
            store.ring()
            return _known(store, record.schedule_id)
    raise _restless(str(given["name"]))


def pause(store: Store, name: str, reason: str, actor: str) -> Schedule:
    """Switch a schedule off; what it has queued stays queued. The schedule as it is then."""

    def after(schedule: Schedule, now: datetime) -> RecurringScheduleRecord | None:
        record = schedule.record
        return record and replace(record, enabled=False, disabled_reason=reason, updated_at=now)

    return _ordered(store, name, "schedule_paused", reason, actor, after)


def resume(store: Store, name: str, reason: str, actor: str, status: ApprovalStatus = "resolved") -> Schedule:
    """Switch a schedule on again, in step with before: moments that passed meanwhile were not due.

    `status` is what becomes of the approval about it.
    """

    def after(schedule: Schedule, now: datetime) -> RecurringScheduleRecord | None:
        record = schedule.record
        if record is None:
            raise Refused(f"schedule `{schedule.name}` cannot be read: {schedule.fault}", "delete it and add it again")
        soon = resumed(record, now)
        return replace(record, enabled=True, disabled_reason=None, next_run_at=soon, updated_at=now)

    schedule = _ordered(store, name, "schedule_resumed", reason, actor, after)
    resolve(store, f"schedule:{schedule.schedule_id}", reason, actor, status)
    return schedule


def delete(store: Store, name: str, reason: str, actor: str) -> Schedule:
    """Delete a schedule; its slots and its tasks stay. The schedule as it was."""
    for _ in range(RACES):
        schedule = _known(store, name)
        beside = Beside(
            events=(schedule_event("schedule_deleted", schedule, reason=reason),),
            ledger=(
                _entry("schedule_deleted", schedule.schedule_id, actor, {"name": schedule.name, "reason": reason}),
            ),
        )
        if store.drop_schedule(schedule.schedule_id, schedule.version, beside):
            return schedule
    raise _restless(name)


def _ordered(  # noqa: PLR0913, PLR0917 - what, why, who, and what follows
    store: Store,
    name: str,
    kind: str,
    reason: str,
    actor: str,
    after: Callable[[Schedule, datetime], RecurringScheduleRecord | None],
) -> Schedule:
    for _ in range(RACES):
        schedule = _known(store, name)
        record = after(schedule, store.now())
        event = (
            schedule_event("schedule_paused", schedule, reason=reason)
            if kind == "schedule_paused"
            else schedule_event("operator_ordered", schedule, order="resume", reason=reason)
        )
        entry = _entry(kind, schedule.schedule_id, actor, {"name": schedule.name, "reason": reason})
        if store.fire(firing(schedule, record, beside=Beside(events=(event,), ledger=(entry,)))):
            store.ring()
            return _known(store, schedule.schedule_id)
    raise _restless(name)


def _before(store: Store, given: Mapping[str, Any]) -> Schedule | None:
    """The schedule that is meant. Raises Refused where id and name are those of two."""
    known = store.schedules()
    by_name = next((each for each in known if each.name == given["name"]), None)
    if "schedule_id" not in given:
        return by_name
    by_id = next((each for each in known if each.schedule_id == given["schedule_id"]), None)
    if by_name is not None and by_name.schedule_id != given["schedule_id"]:
        hint = "leave `schedule_id` out to change that one, or choose another name"
        raise Refused(f"schedule {by_name.schedule_id} is called `{given['name']}` already", hint)
    return by_id


def _check_task(record: RecurringScheduleRecord, registry: Registry, defaults: Defaults, now: datetime) -> None:
    """Raises for a task that could not be queued when its moment comes: it is accepted once, for nothing."""
    if record.task.available_at is not None:
        raise OperatorError("the task of a schedule has no `available_at`", "say `next_run_at`, or a delay")
    if record.task.idempotency_key is not None:
        message = "the task of a schedule has no `idempotency_key`: each slot has its own"
        raise OperatorError(message, "leave it out")
    refuse_reserved(record.task)
    dry = TaskId("00000000-0000-0000-0000-000000000000")
    accept(record.task, registry, defaults, origin=Origin(schedule_id=record.schedule_id), task_id=dry, now=now)


def _known(store: Store, name: str) -> Schedule:
    found = store.schedule(name)
    if found is None:
        raise OperatorError(f"no schedule is called `{name}`", "`keisei schedule list` shows all")
    return found


def _entry(kind: str, schedule_id: ScheduleId, actor: str, body: dict[str, Any]) -> NewEntry:
    return NewEntry(kind=kind, actor=actor, subject=schedule_id, body=body)


def _restless(name: str) -> Refused:
    return Refused(f"schedule `{name}` changed under the order {RACES} times", "try again")
