"""Milestones as rows."""

from datetime import UTC, datetime

import apsw

from kei_milestone.context import Context, Data

COUNTS = ("pending", "in_progress", "blocked", "completed", "cancelled")
SELECT = """
SELECT milestones.id, name, milestones.description, target_date, milestones.created_at, count(tasks.id) AS total,
  sum(tasks.status IS 'pending') AS pending, sum(tasks.status IS 'in_progress') AS in_progress,
  sum(tasks.status IS 'blocked') AS blocked, sum(tasks.status IS 'completed') AS completed,
  sum(tasks.status IS 'cancelled') AS cancelled
FROM milestones LEFT JOIN tasks ON tasks.milestone_id = milestones.id
WHERE milestones.id > :after AND (:id IS NULL OR milestones.id = :id)
GROUP BY milestones.id
ORDER BY milestones.id
LIMIT :limit
"""


def now() -> str:
    """This moment, RFC 3339, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milestones(db: apsw.Connection, *, after: int = 0, limit: int = 1, only: int | None = None) -> list[Data]:
    """Milestones by id behind one of them, with the number of their tasks in each status."""
    cursor = db.execute(SELECT, {"after": after, "limit": limit, "id": only})
    return [{column[0]: value for column, value in zip(cursor.description, row, strict=True)} for row in cursor]


def milestone(context: Context, db: apsw.Connection, milestone_id: int) -> Data:
    """One milestone. Raises MilestoneNotFound."""
    found = milestones(db, only=milestone_id)
    if not found:
        raise context.error("MilestoneNotFound", f"milestone {milestone_id} does not exist")
    return found[0]
