"""kei-task::remove-dependency."""

import apsw

from kei_task.context import Context, Data
from kei_task.task import task

DELETE = "DELETE FROM task_deps WHERE parent = :parent AND child = :child"


def run(given: Data, context: Context) -> Data:
    """Let the parent wait for the child no more. Raises TaskNotFound."""
    return context.once(lambda db: _remove(db, given, context))


def _remove(db: apsw.Connection, given: Data, context: Context) -> Data:
    pair = {name: task(context, db, given[name])["id"] for name in ("parent", "child")}
    db.execute(DELETE, pair)
    return pair | {"removed": db.changes() > 0}
