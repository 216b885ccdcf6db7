"""kei-task::list."""

import json

from kei_task.context import Context, Data
from kei_task.task import pages

# `after` is an id and ids only grow: a page stays what it was, whatever is written meanwhile.
SELECT = """
SELECT * FROM task_pages
WHERE id > :after
  AND (:status IS NULL OR status IN (SELECT value FROM json_each(:status)))
  AND (:priority IS NULL OR priority IN (SELECT value FROM json_each(:priority)))
  AND (:milestone_id IS NULL OR milestone_id = :milestone_id)
  AND (:assigned_to IS NULL OR assigned_to = :assigned_to)
  AND (:task_type IS NULL OR task_type = :task_type)
  AND (:ready IS NULL OR :ready = (status = 'pending' AND open_dependencies = '[]'))
ORDER BY id
LIMIT :limit + 1
"""
FILTERS = ("milestone_id", "assigned_to", "task_type", "ready")


def run(given: Data, context: Context) -> Data:
    """A page of tasks by id, and where the next one begins."""
    limit = int(given.get("limit", 50))
    wanted = {name: given.get(name) for name in FILTERS} | {"limit": limit, "after": given.get("after", 0)}
    for name in ("status", "priority"):
        wanted[name] = json.dumps(given[name]) if name in given else None
    found = pages(context.database(), SELECT, wanted)
    return {"tasks": found[:limit], "next": found[limit - 1]["id"] if len(found) > limit else None}
