"""kei-milestone::progress."""

from kei_milestone.context import Context, Data
from kei_milestone.milestone import COUNTS, milestone


def run(given: Data, context: Context) -> Data:
    """How far a milestone is. Cancelled tasks count neither way. Raises MilestoneNotFound."""
    found = milestone(context, context.database(), given["id"])
    counted = found["total"] - found["cancelled"]
    percent = 100 * found["completed"] // counted if counted else 0
    kept = {name: found[name] for name in ("id", "name", "target_date", "total", *COUNTS)}
    return kept | {"percent": percent, "is_done": 0 < counted == found["completed"]}
