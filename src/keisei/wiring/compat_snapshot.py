"""Snapshots of the original: how things stand, and what differs between two of them."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from keisei.engine.ports import Store
from keisei.records.error import OperatorError
from keisei.records.move import TaskQuery
from keisei.records.progression import WorkflowQuery
from keisei.records.task import TaskRecord, TaskStatus
from keisei.wiring.compat import Runtime
from keisei.wiring.compat_shape import stamp, status_of, whole_workflow

QUEUED: Final[tuple[TaskStatus, ...]] = ("pending", "retryable_failure", "running", "blocked")
WAITING: Final = ("blocked", "retryable_failure")
FOLDER: Final = "snapshots"
COMPLETED: Final = 15
PAGE: Final = 500
MOST: Final = 10_000
"""Workflows and tasks that a snapshot lists."""


def taken(store: Store, runtime: Runtime) -> dict[str, Any]:
    """How things stand now."""
    workflows = [whole_workflow(each) for each in reversed(store.workflows(WorkflowQuery(limit=MOST)))]
    return {
        "captured_at": stamp(store.now()),
        "runtime_name": runtime.home.name,
        "status": status_of(store),
        "workflows": workflows,
        "active_workflows": [each for each in workflows if each["completed_at"] is None],
        "queued_tasks": [_queued(each) for each in _in_order(store)],
        "recent_completed": [_completed(each) for each in _newest_completed(store)],
        "artifact_files": sorted(_files(runtime.artifacts)),
    }


def snapshot_file(runtime: Runtime, label: str, now: datetime) -> Path:
    """Where a snapshot stands, by its time and its label. Raises OperatorError where an agent has put a link there."""
    folder = runtime.artifacts / FOLDER
    if not folder.resolve().is_relative_to(runtime.artifacts.resolve()):
        raise OperatorError(f"`{folder}` leads out of the artifact folder", "remove the link")
    name = f"{re.sub('[:.]', '-', stamp(now))}-{re.sub('[^a-zA-Z0-9-_]', '-', label or 'runtime')[:100]}.json"
    return folder / name


def _in_order(store: Store) -> list[TaskRecord]:
    """What is not finished, in the order of the queue."""
    return sorted(_tasks(store, QUEUED), key=lambda each: (-each.priority, each.created_at, each.task_id))


def _tasks(store: Store, statuses: tuple[TaskStatus, ...]) -> list[TaskRecord]:
    found: list[TaskRecord] = []
    while len(found) < MOST:
        before = found[-1].task_id if found else None
        page = store.tasks(TaskQuery(statuses=statuses, before=before, limit=PAGE))
        found += page
        if len(page) < PAGE:
            break
    return found


def _newest_completed(store: Store) -> list[TaskRecord]:
    found = store.tasks(TaskQuery(statuses=("completed",), limit=PAGE))
    return sorted(found, key=lambda each: each.updated_at, reverse=True)[:COMPLETED]


def _queued(task: TaskRecord) -> dict[str, Any]:
    return {
        "task_id": task.task_id,
        "kind": task.task_type,
        "source": task.source,
        "subject": task.subject,
        "status": task.status,
        "priority": task.priority,
        "created_at": stamp(task.created_at),
    }


def _completed(task: TaskRecord) -> dict[str, Any]:
    return {
        "task_id": task.task_id,
        "kind": task.task_type,
        "source": task.source,
        "subject": task.subject,
        "updated_at": stamp(task.updated_at),
        "operator_summary": task.outcome.operator_summary if task.outcome else "",
        "artifact_paths": list(task.outcome.artifact_paths) if task.outcome else [],
    }


def _files(root: Path) -> Iterator[str]:
    """Files below the artifact folder, snapshots left out. Links to folders are not followed."""
    for folder, names, files in os.walk(root):
        if Path(folder) == root and FOLDER in names:
            names.remove(FOLDER)
        yield from (_name(os.path.relpath(os.path.join(folder, each), root)) for each in files)  # noqa: PTH118 - many


def _name(path: str) -> str:
    """A file's name as text, whatever bytes it has."""
    return os.fsencode(path).decode("utf-8", "replace")


def _is_rows(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


SHAPE: Final[Mapping[str, Callable[[Any], bool]]] = {
    "captured_at": lambda value: isinstance(value, str),
    "status": lambda value: isinstance(value, dict) and _is_rows(value.get("counts")),
    "workflows": lambda value: _is_rows(value) and all(isinstance(each.get("instance_key"), str) for each in value),
    "queued_tasks": _is_rows,
    "artifact_files": lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
}
"""What a report needs of a snapshot."""


def read_snapshot(data: object, file: str) -> dict[str, Any]:
    """A snapshot, ours or the original's. Raises OperatorError for anything else."""
    wrong = [name for name, fits in SHAPE.items() if not isinstance(data, dict) or not fits(data.get(name))]
    if wrong or not isinstance(data, dict):
        raise OperatorError(f"`{file}` is no snapshot: `{wrong[0]}` is not as it should be", "`snapshot` writes them")
    return data


def compared(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What happened between two snapshots."""
    known = set(before["artifact_files"])
    earlier, later = _by_key(before), _by_key(after)
    last = after["status"].get("lastEvent")
    return {
        "runtime_name": after.get("runtime_name"),
        "before_captured_at": before["captured_at"],
        "after_captured_at": after["captured_at"],
        "completed_task_delta": _delta(count_of(before, "completed"), count_of(after, "completed")),
        "queued_task_delta": _delta(len(before["queued_tasks"]), len(after["queued_tasks"])),
        "new_artifacts_created": [each for each in after["artifact_files"] if each not in known],
        "workflow_counts": _delta(len(earlier), len(later)),
        "workflow_state_changes": [
            each for key, row in later.items() if (each := _change(key, earlier.get(key), row)) is not None
        ],
        "blocked_or_retryable_tasks": [each for each in after["queued_tasks"] if each.get("status") in WAITING],
        "ended_idle": isinstance(last, dict) and last.get("event_type") == "dispatch_idle",
        "ended_idle_from_event": last,
    }


def _by_key(snapshot: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["instance_key"]: each for each in snapshot["workflows"]}


def count_of(snapshot: dict[str, Any], status: str) -> int:
    """How many tasks had a status."""
    counts = (each.get("count") for each in snapshot["status"]["counts"] if each.get("status") == status)
    return next((each for each in counts if isinstance(each, int)), 0)


def _delta(before: int, after: int) -> dict[str, int]:
    return {"before": before, "after": after, "delta": after - before}


def _change(key: str, before: dict[str, Any] | None, after: dict[str, Any]) -> dict[str, Any] | None:
    told = {"instance_key": key}
    if before is None:
        state = after.get("current_state")
        return {**told, "change": "new", "template": after.get("template"), "state": state}
    if all(before.get(name) == after.get(name) for name in ("current_state", "completed_at")):
        return None
    return {
        **told,
        "change": "completed" if after.get("completed_at") else "advanced",
        "template": after.get("template"),
        "from_state": before.get("current_state"),
        "to_state": after.get("current_state"),
        "completed_at": after.get("completed_at"),
    }
