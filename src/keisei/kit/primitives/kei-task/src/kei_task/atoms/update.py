"""kei-task::update."""

import apsw

from kei_task.context import Context, Data
from kei_task.dependency import refuse_open
from kei_task.task import check, check_place, now, task

FIELDS = ("title", "description", "status", "priority", "task_type", "assigned_to", "due_date", "milestone_id")
UPDATE = """
UPDATE tasks SET
  title = :title, description = :description, status = :status, priority = :priority, task_type = :task_type,
  assigned_to = :assigned_to, due_date = :due_date, milestone_id = :milestone_id,
  completed_at = iif(:status = 'completed', coalesce(completed_at, :now), NULL), updated_at = :now
WHERE id = :id
"""


def run(given: Data, context: Context) -> Data:
    """Change what is given and nothing else; return the task.

    Raises TaskNotFound, DuplicateTitle, MilestoneNotFound, InvalidPriority, InvalidStatus, OpenDependencies.
    """
    check(context, given)
    wanted = {name: given[name] for name in FIELDS if name in given}
    if "title" in wanted:
        wanted["title"] = wanted["title"].strip()
    return context.once(lambda db: _update(db, given["id"], wanted, context))


def _update(db: apsw.Connection, task_id: int, wanted: Data, context: Context) -> Data:
    before = task(context, db, task_id)
    after = {name: wanted.get(name, before[name]) for name in FIELDS}
    if all(before[name] == value for name, value in after.items()):
        return before
    check_place(context, db, after | {"id": task_id})
    if after["status"] == "completed" != before["status"]:
        refuse_open(context, before)
    db.execute(UPDATE, after | {"id": task_id, "now": now()})
    return task(context, db, task_id)
