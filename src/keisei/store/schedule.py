"""Schedules: rows that decide when work should exist, and what became of their moments."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from keisei.records.beside import Beside
from keisei.records.error import ContractViolation
from keisei.records.id import ScheduleId
from keisei.records.schedule import RecurringScheduleRecord
from keisei.records.slot import Firing, Schedule, ScheduleOrder, Slot, SlotPage, SlotQuery
from keisei.store.ask import bounded, known, whole
from keisei.store.clock import maybe_microseconds, microseconds, moment
from keisei.store.document import document, number, opened
from keisei.store.queued import real_id, real_ids
from keisei.store.reader import Reader
from keisei.store.row import Row, maybe_name, maybe_text, name
from keisei.store.work import Work, write_beside

KIND = "schedule.record"
FIRST, LAST = microseconds(datetime.min.replace(tzinfo=UTC)), microseconds(datetime.max.replace(tzinfo=UTC))
"""The moments there are in UTC; the first hours of the first year have none in zones ahead of it."""

_INSERT = """
INSERT INTO schedules (schedule_id, name, enabled, next_run_at, last_run_at, task_id, version, record)
VALUES (:schedule_id, :name, :enabled, :next_run_at, :last_run_at, :task_id, :version, :record)
ON CONFLICT DO NOTHING RETURNING 1
"""
_UPDATE = """
UPDATE schedules SET enabled = :enabled, next_run_at = :next_run_at, last_run_at = :last_run_at, record = :record,
    version = version + 1
WHERE schedule_id = :schedule_id AND version = :was AND name = :name RETURNING 1
"""
_SWITCH_OFF = """
UPDATE schedules SET enabled = 0, version = version + 1 WHERE schedule_id = :schedule_id AND version = :was RETURNING 1
"""
_TAKE_OUT = """
DELETE FROM schedules WHERE schedule_id = :schedule_id AND version = :was
RETURNING schedule_id, name, enabled, next_run_at, last_run_at, task_id, version, record
"""
_COLUMNS = ("schedule_id", "name", "enabled", "next_run_at", "last_run_at", "task_id", "version", "record")
_TASK = "UPDATE schedules SET task_id = :task_id WHERE schedule_id = :schedule_id"
_SLOT = """
INSERT INTO slots (schedule_id, status, first_due_at, due_at, count, reason, task_id, recorded_at)
VALUES (:schedule_id, :status, :first_due_at, :due_at, :count, :reason, :task_id, :recorded_at)
"""
_READ = "SELECT schedule_id, name, record, task_id, version FROM schedules"
_BY_ID = f"{_READ} WHERE schedule_id = :name"
_BY_NAME = f"{_READ} WHERE name = :name"
_DUE = f"""
{_READ} WHERE enabled = 1 AND (next_run_at <= :now_us OR last_run_at > :now_us)
ORDER BY next_run_at, schedule_id LIMIT :limit
"""
_NEXT = "SELECT next_run_at FROM schedules WHERE enabled = 1 ORDER BY next_run_at LIMIT 1"
_SLOTS = "SELECT schedule_id, status, first_due_at, due_at, count, reason, task_id, recorded_at, seq FROM slots"

_record = msgspec.json.Decoder(RecurringScheduleRecord).decode


def put_schedule(work: Work, order: ScheduleOrder) -> bool:
    """Make or change a schedule with what is written beside it. False: another version, or its name is taken."""
    values = _values(order.record)
    if order.was is None:
        done = bool(work.run(_INSERT, {**values, "task_id": None, "version": 1}))
    else:
        was = whole(order.was)
        done = bool(work.run(_UPDATE, {**values, "was": was})) or _renamed(work, values, was)
    if done:
        write_beside(work, order.beside)
    return done


def drop_schedule(work: Work, schedule_id: ScheduleId, was: int, beside: Beside) -> bool:
    """Delete a schedule; its slots stay. False: it has another version."""
    if not work.run(_TAKE_OUT, {"schedule_id": known(schedule_id), "was": whole(was)}):
        return False
    write_beside(work, beside)
    return True


def fire(work: Work, firing: Firing) -> bool:
    """Write what became of due moments, with the task and the next moment. False: it has another version."""
    slots = [_slot_values(firing, slot) for slot in firing.slots]
    if not _fired(work, firing):
        return False
    real = real_ids(firing.beside.tasks, write_beside(work, firing.beside))
    for values in slots:
        work.run(_SLOT, values | {"task_id": real_id(values["task_id"], real)})
    task_id = real_id(firing.task_id, real)
    if task_id is not None:
        work.run(_TASK, {"schedule_id": firing.schedule_id, "task_id": name(task_id)})
    return True


def read_schedules(reader: Reader) -> list[Schedule]:
    """All of them by name. Sorted here: databases sort text each in their own way."""
    return sorted(map(_schedule, reader.read(_READ, {})), key=lambda schedule: schedule.name)


def read_schedule(reader: Reader, name: str) -> Schedule | None:
    """By its id, else by its name."""
    asked = {"name": known(name)}
    return next(map(_schedule, reader.read(_BY_ID, asked) or reader.read(_BY_NAME, asked)), None)


def read_due_schedules(reader: Reader, now_us: int, limit: int) -> list[Schedule]:
    """Those that are enabled and due, or ran in the future; longest due first."""
    return list(map(_schedule, reader.read(_DUE, {"now_us": now_us, "limit": bounded(limit)})))


def read_next_slot(reader: Reader) -> datetime | None:
    """When the next enabled schedule is due."""
    return next((_moment(us) for (us,) in reader.read(_NEXT, {})), None)


def read_slots(reader: Reader, schedule_id: ScheduleId | None, limit: int) -> list[Slot]:
    """Slots of one schedule, or of all, newest first."""
    return list(find_slots(reader, SlotQuery(schedule_id=schedule_id, limit=limit)).slots)


def find_slots(reader: Reader, query: SlotQuery) -> SlotPage:
    """A page of slots, newest first, and where the next one begins."""
    limit = bounded(query.limit)
    asked: dict[str, Any] = {"limit": limit + 1}
    narrow = ["TRUE"]
    if query.schedule_id is not None:
        narrow.append("schedule_id = :schedule_id")
        asked["schedule_id"] = known(query.schedule_id)
    if query.before is not None:
        narrow.append("seq < :before")
        asked["before"] = whole(query.before)
    rows = reader.read(f"{_SLOTS} WHERE {' AND '.join(narrow)} ORDER BY seq DESC LIMIT :limit", asked)
    more = 0 < limit < len(rows)
    return SlotPage(slots=tuple(map(_slot, rows[:limit])), next=rows[limit - 1][-1] if more else None)


def _renamed(work: Work, values: Mapping[str, Any], was: int) -> bool:
    """Put a schedule under another name; where that is taken the row goes back as it was.

    It is taken out and put in again, so that whoever wants the same name waits, as those do who make a schedule.
    """
    found = work.run(_TAKE_OUT, {"schedule_id": values["schedule_id"], "was": was})
    if not found:
        return False
    before = dict(zip(_COLUMNS, found[0], strict=True))
    if work.run(_INSERT, {**values, "task_id": before["task_id"], "version": was + 1}):
        return True
    work.run(_INSERT, before)
    return False


def _fired(work: Work, firing: Firing) -> bool:
    if firing.record is None:
        return bool(work.run(_SWITCH_OFF, {"schedule_id": known(firing.schedule_id), "was": whole(firing.was)}))
    if firing.record.schedule_id != firing.schedule_id:
        raise ContractViolation(KIND, ["it is the record of another schedule"])
    return bool(work.run(_UPDATE, {**_values(firing.record), "was": whole(firing.was)}))


def _values(record: RecurringScheduleRecord) -> dict[str, Any]:
    written = document(KIND, record, _record)
    return {
        "schedule_id": name(record.schedule_id),
        "name": name(record.name),
        "enabled": int(record.enabled),
        "next_run_at": microseconds(record.next_run_at),
        "last_run_at": maybe_microseconds(record.last_run_at),
        "record": written,
    }


def _slot_values(firing: Firing, slot: Slot) -> dict[str, Any]:
    if slot.schedule_id != firing.schedule_id:
        raise ContractViolation("slot", ["it is the slot of another schedule"])
    return {
        "schedule_id": name(slot.schedule_id),
        "status": slot.status,
        "first_due_at": microseconds(slot.first_due_at),
        "due_at": microseconds(slot.due_at),
        "count": number("slot", slot.count),
        "reason": maybe_text(slot.reason),
        "task_id": maybe_name(slot.task_id),
        "recorded_at": microseconds(slot.recorded_at),
    }


def _schedule(row: Row) -> Schedule:
    record, fault = opened(row[2], _record)
    return Schedule(
        schedule_id=ScheduleId(row[0]), name=row[1], record=record, fault=fault, task_id=row[3], version=row[4]
    )


def _slot(row: Row) -> Slot:
    return Slot(
        schedule_id=ScheduleId(row[0]),
        status=row[1],
        first_due_at=_moment(row[2]),
        due_at=_moment(row[3]),
        count=row[4],
        reason=row[5],
        task_id=row[6],
        recorded_at=moment(row[7]),
    )


def _moment(us: int) -> datetime:
    """The moment, or the nearest that there is: whoever makes a schedule chooses its moments."""
    return moment(max(FIRST, min(us, LAST)))
