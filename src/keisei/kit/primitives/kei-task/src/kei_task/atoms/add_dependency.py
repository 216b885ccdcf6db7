"""kei-task::add-dependency."""

import apsw

from kei_task.context import Context, Data
from kei_task.dependency import way
from kei_task.task import now, task

KNOWN = "SELECT dep_type FROM task_deps WHERE parent = :parent AND child = :child"
INSERT = "INSERT INTO task_deps (parent, child, dep_type, created_at) VALUES (:parent, :child, :dep_type, :now)"


def run(given: Data, context: Context) -> Data:
    """Let the parent wait for the child. Raises TaskNotFound, CycleDetected, DuplicateDependency."""
    wanted = {"dep_type": "depends_on"} | given
    return context.once(lambda db: _add(db, wanted, context))


def _add(db: apsw.Connection, wanted: Data, context: Context) -> Data:
    parent, child = (task(context, db, wanted[name])["id"] for name in ("parent", "child"))
    pair = {"parent": parent, "child": child, "dep_type": wanted["dep_type"]}
    for (known,) in db.execute(KNOWN, {"parent": parent, "child": child}):
        if known != pair["dep_type"]:
            raise context.error("DuplicateDependency", f"task {parent} already waits for task {child}, as `{known}`")
        return pair | {"added": False}
    if around := way(db, child, parent):
        raise context.error("CycleDetected", f"a task cannot wait for itself: {_drawn(parent, around)}")
    db.execute(INSERT, pair | {"now": now()})
    return pair | {"added": True}


def _drawn(parent: int, around: list[int]) -> str:
    """The cycle as an arrow chain, its middle left out where it is long."""
    steps = list(map(str, [parent, *around]))
    return " -> ".join(steps if len(steps) <= 12 else [*steps[:6], "...", *steps[-5:]])  # noqa: PLR2004
