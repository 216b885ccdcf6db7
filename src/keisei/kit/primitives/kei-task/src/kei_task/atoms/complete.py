"""kei-task::complete."""

import apsw

from kei_task.context import Context, Data
from kei_task.dependency import refuse_open
from kei_task.task import now, task

UPDATE = "UPDATE tasks SET status = 'completed', completed_at = :now, updated_at = :now WHERE id = :id"
UNBLOCKED = """
SELECT id FROM task_pages
WHERE id IN (SELECT parent FROM task_deps WHERE child = ?)
  AND status NOT IN ('completed', 'cancelled') AND open_dependencies = '[]'
ORDER BY id
"""


def run(given: Data, context: Context) -> Data:
    """Complete a task; a completed one stays as it is. Raises TaskNotFound, OpenDependencies."""
    return context.once(lambda db: _complete(db, given["id"], context, force=given.get("force", False)))


def _complete(db: apsw.Connection, task_id: int, context: Context, *, force: bool) -> Data:
    before = task(context, db, task_id)
    unblocked: list[int] = []
    if before["status"] != "completed":
        if not force:
            refuse_open(context, before)
        db.execute(UPDATE, {"id": task_id, "now": now()})
        unblocked = [found for (found,) in db.execute(UNBLOCKED, (task_id,))]
    after = task(context, db, task_id)
    return {name: after[name] for name in ("id", "completed_at", "open_dependencies")} | {"unblocked": unblocked}
