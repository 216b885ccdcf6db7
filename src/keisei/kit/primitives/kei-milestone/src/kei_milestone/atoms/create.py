"""kei-milestone::create."""

import apsw

from kei_milestone.context import Context, Data
from kei_milestone.milestone import now

TAKEN = "SELECT id FROM milestones WHERE name = ?"
INSERT = """
INSERT INTO milestones (name, description, target_date, created_at) VALUES (:name, :description, :target_date, :now)
RETURNING id, created_at
"""


def run(given: Data, context: Context) -> Data:
    """Keep a new milestone. Raises DuplicateName."""
    wanted = {"description": "", "target_date": None} | given | {"name": given["name"].strip(), "now": now()}
    return context.once(lambda db: _create(db, wanted, context))


def _create(db: apsw.Connection, wanted: Data, context: Context) -> Data:
    for (taken,) in db.execute(TAKEN, (wanted["name"],)):
        raise context.error("DuplicateName", f"milestone {taken} already has the name {wanted['name']!r}")
    milestone_id, created_at = next(db.execute(INSERT, wanted))
    return {"id": milestone_id, "created_at": created_at}
