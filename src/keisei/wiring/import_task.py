"""Tasks of the original's database as ours: in the same status, save those that it would never have touched again."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from keisei.contracts.check import build, data_of
from keisei.contracts.dialect import translate
from keisei.records.error import KeiseiError, OperatorError
from keisei.records.intent import EvidenceRequirements
from keisei.records.outcome import TaskOutcome
from keisei.records.task import TERMINAL, TaskRecord
from keisei.wiring.compat_payload import declared_artifacts, substrate_fault
from keisei.wiring.compat_registry import RuntimeRegistry

OPEN: Final = ("pending", "running", "retryable_failure")
"""What the original would run, or runs."""
COPIED: Final = (
    *("task_id", "kind", "source", "subject", "description", "priority", "requested_adapter", "attempt_count"),
    *("created_at", "updated_at", "available_at", "started_at", "last_error"),
)
TIMES: Final = ("created_at", "updated_at", "available_at", "started_at", "finished_at")
SAID: Final = ("status", "machine_status", "operator_summary", "raw_output", "workflow_signal")
"""Parts of an outcome that stand for themselves, where the whole cannot be read."""


class Taken(NamedTuple):
    """A task of the original's."""

    task: TaskRecord
    note: str | None = None
    """What is different from the row, and why."""


def task_of(row: Mapping[str, Any], registry: RuntimeRegistry) -> Taken:
    """The task of a row. Raises KeiseiError for one that cannot be taken over."""
    payload = json_of(row, "payload_json")
    if not isinstance(payload, dict):
        raise OperatorError("its payload_json is no object")
    status = row["status"]
    fault = substrate_fault(str(row["source"]), payload)
    if fault is not None and status not in TERMINAL:
        raise OperatorError(fault)
    task = _record(row, payload, status)
    if status in OPEN:
        return _claimable(task, row, registry)
    return Taken(task)


def json_of(row: Mapping[str, Any], column: str) -> Any:  # noqa: ANN401 - JSON
    """What a column says; None where it is empty. Raises OperatorError for what is not JSON."""
    text = row[column]
    if text is None or text == "":
        return None
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise OperatorError(f"its {column} is not JSON") from error


def _record(row: Mapping[str, Any], payload: dict[str, Any], status: object) -> TaskRecord:
    outcome, needs = _outcome(row), tuple(declared_artifacts(payload))
    data = {name: row[name] for name in COPIED} | {
        "payload": payload,
        "requested_profile": row["requested_profile"],
        "status": "pending" if status == "running" else status,
        "max_attempts": max(1, _whole(row["max_attempts"]), _whole(row["attempt_count"])),
        "finished_at": (row["finished_at"] or row["updated_at"]) if status in TERMINAL else None,
        "outcome": None if outcome is None else data_of(outcome),
    }
    stored = {"requested_adapter_id": None} | translate("task.record", data).data
    task: TaskRecord = build("task.record", stored)
    return replace(
        task,
        evidence_requirements=EvidenceRequirements(required_artifacts=needs) if needs else None,
        **{name: _utc(getattr(task, name)) for name in TIMES},
    )


def _whole(value: object) -> int:
    """A number of the original's, which takes anything for one; 0 for what is none."""
    return value if isinstance(value, int) else 0


def _utc(moment: datetime | None) -> datetime | None:
    try:
        return None if moment is None else moment.astimezone(UTC)
    except OverflowError as error:
        raise OperatorError(f"the moment {moment} is beyond the years 1 to 9999 in UTC") from error


def _outcome(row: Mapping[str, Any]) -> TaskOutcome | None:
    """What the row says of its end, whole or in part. A completed task has one, if only one that says so."""
    try:
        said = json_of(row, "outcome_json")
    except OperatorError:
        said = None
    outcome = _read_outcome(said) if isinstance(said, dict) else None
    if row["status"] in TERMINAL and outcome is not None and outcome.status != row["status"]:
        outcome = None
    if outcome is None and row["status"] == "completed":
        told = "The original recorded this task as completed; its outcome cannot be read."
        outcome = TaskOutcome(status="completed", machine_status="ok", operator_summary=told)
    return outcome


def _read_outcome(said: dict[str, Any]) -> TaskOutcome | None:
    for each in (said, {name: said[name] for name in SAID if name in said}):
        try:
            found: TaskOutcome = build("task.outcome", translate("task.outcome", each).data)
        except KeiseiError:
            continue
        return found
    return None


def _claimable(task: TaskRecord, row: Mapping[str, Any], registry: RuntimeRegistry) -> Taken:
    """A task that the original would run: pending if it ran, blocked if nobody could ever run it again."""
    most = _whole(row["max_attempts"])
    if task.attempt_count >= most:
        used = f"{task.attempt_count} of {most}"
        return _blocked(task, f"the original would never have claimed it again: {used} attempts were used")
    try:
        profile = registry.profile(task.requested_profile_id)
        registry.adapter(task.requested_adapter_id or profile.default_adapter_id)
    except KeiseiError as error:
        return _blocked(task, error.message)
    note = "it ran when the database was read; it is pending now" if row["status"] == "running" else None
    return Taken(task, note)


def _blocked(task: TaskRecord, reason: str) -> Taken:
    error = reason if not task.last_error else f"{reason}; its last error: {task.last_error}"
    return Taken(replace(task, status="blocked", last_error=error), f"it is blocked: {reason}")
