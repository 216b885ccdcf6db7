"""kei-milestone::list."""

from kei_milestone.context import Context, Data
from kei_milestone.milestone import milestones


def run(given: Data, context: Context) -> Data:
    """A page of milestones by id, and where the next one begins."""
    limit = int(given.get("limit", 50))
    found = milestones(context.database(), after=given.get("after", 0), limit=limit + 1)
    return {"milestones": found[:limit], "next": found[limit - 1]["id"] if len(found) > limit else None}
