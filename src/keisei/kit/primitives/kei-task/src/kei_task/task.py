"""Tasks as rows: what there is, what may be written."""

import json
from datetime import UTC, datetime
from typing import Any

import apsw

from kei_task.context import Context, Data

STATUSES = ("pending", "in_progress", "completed", "cancelled", "blocked")
PRIORITIES = ("low", "medium", "high", "critical")
LISTS = ("depends_on", "needed_by", "open_dependencies")


def now() -> str:
    """This moment, RFC 3339, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def rows(db: apsw.Connection, statement: str, given: Data) -> list[Data]:
    """What a query finds, by column name."""
    cursor = db.execute(statement, given)
    return [{column[0]: value for column, value in zip(cursor.description, row, strict=True)} for row in cursor]


def pages(db: apsw.Connection, statement: str, given: Data) -> list[Data]:
    """Tasks as every verb shows them; the statement reads `task_pages`."""
    return [row | {name: json.loads(row[name]) for name in LISTS} for row in rows(db, statement, given)]


def task(context: Context, db: apsw.Connection, task_id: int) -> Data:
    """One task. Raises TaskNotFound."""
    found = pages(db, "SELECT * FROM task_pages WHERE id = :id", {"id": task_id})
    if not found:
        raise context.error("TaskNotFound", f"task {task_id} does not exist")
    return found[0]


def check(context: Context, given: Data) -> None:
    """Raise InvalidPriority, InvalidStatus: schemas say it first, but not every caller validates."""
    for name, code, known in (
        ("priority", "InvalidPriority", PRIORITIES),
        ("status", "InvalidStatus", STATUSES),
    ):
        if name in given and given[name] not in known:
            raise context.error(code, f"{name} must be one of: {', '.join(known)}; not {given[name]!r}")


def check_place(context: Context, db: apsw.Connection, wanted: Data) -> None:
    """Raise MilestoneNotFound, or DuplicateTitle where another task of the milestone has the title."""
    milestone = wanted["milestone_id"]
    if milestone is not None and not _has(db, "SELECT 1 FROM milestones WHERE id = ?", milestone):
        raise context.error("MilestoneNotFound", f"milestone {milestone} does not exist")
    other = "SELECT id FROM tasks WHERE coalesce(milestone_id, 0) = coalesce(?, 0) AND title = ? AND id IS NOT ?"
    if taken := _has(db, other, milestone, wanted["title"], wanted.get("id")):
        place = "without a milestone" if milestone is None else f"in milestone {milestone}"
        raise context.error("DuplicateTitle", f"task {taken[0]} {place} already has the title {wanted['title']!r}")


def _has(db: apsw.Connection, statement: str, *given: Any) -> tuple[Any, ...] | None:  # noqa: ANN401 - a column's value
    return next(iter(db.execute(statement, given)), None)
