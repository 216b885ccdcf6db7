"""kei-milestone::link."""

import apsw

from kei_milestone.context import Context, Data
from kei_milestone.milestone import milestone, now

TASK = "SELECT id, title, milestone_id FROM tasks WHERE id = ?"
TAKEN = "SELECT id FROM tasks WHERE milestone_id = ? AND title = ? AND id <> ?"
UPDATE = "UPDATE tasks SET milestone_id = :goal, updated_at = :now WHERE id = :task AND milestone_id IS NOT :goal"


def run(given: Data, context: Context) -> Data:
    """Move a task into a milestone. Raises TaskNotFound, MilestoneNotFound, DuplicateTitle."""
    return context.once(lambda db: _link(db, given["task_id"], given["milestone_id"], context))


def _link(db: apsw.Connection, wanted: int, goal: int, context: Context) -> Data:
    task_id, title, previous = _task(db, wanted, context)
    goal = milestone(context, db, goal)["id"]
    for (taken,) in db.execute(TAKEN, (goal, title, task_id)):
        raise context.error("DuplicateTitle", f"task {taken} in milestone {goal} already has the title {title!r}")
    db.execute(UPDATE, {"task": task_id, "goal": goal, "now": now()})
    return {"task_id": task_id, "milestone_id": goal, "previous": previous}


def _task(db: apsw.Connection, wanted: int, context: Context) -> tuple[int, str, int | None]:
    for task_id, title, previous in db.execute(TASK, (wanted,)):
        return task_id, title, previous
    raise context.error("TaskNotFound", f"task {wanted} does not exist")
