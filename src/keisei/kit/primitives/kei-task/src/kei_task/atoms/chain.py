"""kei-task::chain."""

import json

from kei_task.context import Context, Data
from kei_task.dependency import depths
from kei_task.task import rows, task

SELECT = "SELECT id, title, status, priority FROM tasks WHERE id IN (SELECT value FROM json_each(:ids))"


def run(given: Data, context: Context) -> Data:
    """Everything a task waits for, first things first. Raises TaskNotFound."""
    db = context.database()
    with db:  # one view of the tables for all the queries
        asked = task(context, db, given["id"])["id"]
        depth, truncated = depths(db, asked, int(given.get("limit", 100)))
        found = rows(db, SELECT, {"ids": json.dumps(list(depth))})
    tasks = [each | {"depth": depth[each["id"]]} for each in found]
    tasks.sort(key=lambda each: (-each["depth"], each["id"]))
    return {"id": asked, "tasks": tasks, "truncated": truncated}
