"""Reading events."""

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from keisei.records.event import EventType, RuntimeEvent
from keisei.records.id import AttemptId, TaskId
from keisei.records.move import EventQuery
from keisei.store.ask import bounded, known, whole
from keisei.store.clock import moment
from keisei.store.reader import Reader, Row

COLUMNS = "id, event_type, task_id, attempt_id, detail, created_at"


ROUTINE: Final[frozenset[EventType]] = frozenset(
    {"task_enqueued", "task_claimed", "bundle_compiled", "task_started", "task_attempt_finished", "task_finished"}
)
"""What every attempt leaves: met soon by walking along the numbers. The other types have an index."""
# Said in the text, in the words of the index: only then it is used.
INDEXED = """event_type NOT IN (
    'task_enqueued', 'task_claimed', 'bundle_compiled', 'task_started', 'task_attempt_finished', 'task_finished'
)"""


def read_events(reader: Reader, query: EventQuery) -> list[RuntimeEvent]:
    """A page of events, oldest first: the first ones after a place, or the newest of them."""
    asked: dict[str, Any] = {"after": whole(query.after), "limit": bounded(query.limit)}
    narrow = ["id > :after"]
    if query.before is not None:
        narrow.append("id < :before")
        asked["before"] = whole(query.before)
    if query.task_id is not None:
        narrow.append("task_id = :task_id")
        asked["task_id"] = known(query.task_id)
    if query.event_type is not None:
        narrow.append("event_type = :event_type")
        asked["event_type"] = known(query.event_type)
        if query.event_type not in ROUTINE and query.task_id is None:
            narrow.append(INDEXED)
    order = "DESC" if query.newest else "ASC"
    sql = f"SELECT {COLUMNS} FROM events WHERE {' AND '.join(narrow)} ORDER BY id {order} LIMIT :limit"  # noqa: S608
    found = list(map(_event, reader.read(sql, asked)))
    return found[::-1] if query.newest else found


def find_events(reader: Reader, query: EventQuery) -> list[RuntimeEvent]:
    """A page of events, newest first."""
    return read_events(reader, replace(query, newest=True))[::-1]


def _event(row: Row) -> RuntimeEvent:
    return RuntimeEvent(
        id=row[0],
        event_type=row[1],
        task_id=None if row[2] is None else TaskId(row[2]),
        attempt_id=None if row[3] is None else AttemptId(row[3]),
        detail=msgspec.json.decode(row[4]),
        created_at=moment(row[5]),
    )
