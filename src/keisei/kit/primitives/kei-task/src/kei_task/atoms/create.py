"""kei-task::create."""

import apsw

from kei_task.context import Context, Data
from kei_task.task import check, check_place, now

INSERT = """
INSERT INTO tasks
  (title, description, priority, task_type, assigned_to, due_date, milestone_id, created_at, updated_at)
VALUES
  (:title, :description, :priority, :task_type, :assigned_to, :due_date, :milestone_id, :now, :now)
RETURNING id, created_at
"""
EMPTY = {
    "description": "",
    "priority": "medium",
    "task_type": None,
    "assigned_to": None,
    "due_date": None,
    "milestone_id": None,
}


def run(given: Data, context: Context) -> Data:
    """Keep a new task. Raises DuplicateTitle, InvalidPriority, MilestoneNotFound."""
    check(context, given)
    wanted = EMPTY | given | {"title": given["title"].strip(), "now": now()}
    return context.once(lambda db: _create(db, wanted, context))


def _create(db: apsw.Connection, wanted: Data, context: Context) -> Data:
    check_place(context, db, wanted)
    task_id, created_at = next(db.execute(INSERT, wanted))
    return {"id": task_id, "created_at": created_at}
