"""Timetables: what people hand over as a schedule, and the schedule that follows from it. Pure."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from keisei.contracts.check import build
from keisei.contracts.dialect import translate
from keisei.records.error import ContractViolation, OperatorError
from keisei.records.id import ScheduleId
from keisei.records.schedule import RecurringScheduleRecord
from keisei.rules.schedule import LONGEST_S, following, resumed

LONGEST: Final = 128
"""Characters of a name or an id."""
FIELDS: Final = ("name", "interval_seconds", "task", "enabled", "next_run_at", "schedule_id", "overlap", "once")
"""What can be handed over; the rest is ours to fill in."""
OURS: Final = ("created_at", "updated_at", "last_run_at")
"""What a record that was read elsewhere may bring along, and is not asked."""
LONG_AGO: Final = "1970-01-01T00:00:00Z"


def read_timetable(data: object, warn: Callable[[str], None]) -> dict[str, Any]:
    """The fields that were handed over, in our form, and `delay`. Raises ContractViolation, OperatorError."""
    translation = translate("schedule.record", data)
    if translation.notes:
        warn(f"schedule.record: {'; '.join(translation.notes)}")
    if not isinstance(translation.data, dict):
        raise ContractViolation("schedule.record", ["document: must be an object"])
    given = {key: value for key, value in translation.data.items() if value is not None and key not in OURS}
    delay = given.pop("delay", None)
    if delay is not None and not _is_delay(delay):
        raise ContractViolation("schedule.record", ["delay: must be a number of seconds, 0 or more"])
    shape = {"schedule_id": "new", "enabled": True, "next_run_at": LONG_AGO, "last_run_at": None}
    dates = {"created_at": LONG_AGO, "updated_at": LONG_AGO}
    record: RecurringScheduleRecord = build("schedule.record", {**shape, **dates, **_with_source(given)})
    _check_names(record)
    return {field: getattr(record, field) for field in FIELDS if field in given} | {"delay": delay}


def timetable(
    given: Mapping[str, Any], before: RecurringScheduleRecord | None, schedule_id: ScheduleId, now: datetime
) -> RecurringScheduleRecord:
    """The schedule after the order. What it does not name stays as it was. Raises OperatorError."""
    old = before or RecurringScheduleRecord(
        schedule_id=schedule_id,
        name=given["name"],
        enabled=True,
        interval_seconds=given["interval_seconds"],
        next_run_at=now,
        last_run_at=None,
        task=given["task"],
        created_at=now,
        updated_at=now,
    )
    changes = {key: given[key] for key in ("name", "interval_seconds", "task", "overlap", "once") if key in given}
    enabled = given.get("enabled", old.enabled)
    after = replace(
        old,
        **changes,
        enabled=enabled,
        disabled_reason=None if enabled else old.disabled_reason,
        # A moment ahead would be taken for a clock that was set back, and undo what is ordered now.
        last_run_at=None if old.last_run_at is None else min(old.last_run_at, now),
        updated_at=now,
    )
    return replace(after, next_run_at=_next(given, before, after, now))


def _next(
    given: Mapping[str, Any], before: RecurringScheduleRecord | None, after: RecurringScheduleRecord, now: datetime
) -> datetime:
    if "next_run_at" in given:
        moment = _utc(given["next_run_at"])
        # A file that is handed over again names a moment that was evaluated long ago: that one does not come back.
        if before is None or after.last_run_at is None or moment > after.last_run_at:
            return moment
    if given["delay"] is not None:
        return now + timedelta(seconds=given["delay"])
    if before is None:
        return following(now, after.interval_seconds) if after.once else now
    if before.interval_seconds != after.interval_seconds or before.once != after.once:
        return following(now, after.interval_seconds)
    return resumed(before, now) if after.enabled and not before.enabled else before.next_run_at


def _is_delay(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LONGEST_S


def _with_source(given: dict[str, Any]) -> dict[str, Any]:
    name, task = given.get("name"), given.get("task")
    if isinstance(task, dict) and task.get("source") is None and isinstance(name, str):
        return {**given, "task": {**task, "source": f"schedule:{name}"}}
    return given


def _check_names(record: RecurringScheduleRecord) -> None:
    for what, text in (("name", record.name), ("schedule_id", record.schedule_id)):
        if len(text) > LONGEST or not text.isprintable() or text != text.strip():
            message = f"`{what}` must be one line of at most {LONGEST} characters, with no blank around it"
            raise OperatorError(message, "choose a shorter, plainer one")


def _utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        message = f"next_run_at {moment.isoformat()} is beyond the years 1 to 9999 in UTC"
        raise OperatorError(message, "say a moment that can come") from error
