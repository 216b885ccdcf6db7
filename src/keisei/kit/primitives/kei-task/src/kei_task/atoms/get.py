"""kei-task::get."""

from kei_task.context import Context, Data
from kei_task.task import task


def run(given: Data, context: Context) -> Data:
    """One task with what it waits for. Raises TaskNotFound."""
    return task(context, context.database(), given["id"])
