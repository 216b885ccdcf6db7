"""CloudEvents: our events in the form that other people's tools read (CloudEvents 1.0, JSON)."""

from typing import Any
from urllib.parse import quote

from keisei.records.event import RuntimeEvent
from keisei.records.problem import printable


def cloud_event(event: RuntimeEvent, project: str) -> dict[str, Any]:
    """One event. `source` and `id` together name it for ever: the project's path and the event's number."""
    told: dict[str, Any] = {
        "specversion": "1.0",
        "id": str(event.id),
        "source": f"/keisei/{quote(project, safe='')}",
        "type": f"keisei.{event.event_type}",
        "time": event.created_at.isoformat().replace("+00:00", "Z"),
        "datacontenttype": "application/json",
    }
    if event.task_id is not None:
        told["subject"] = printable(event.task_id)
    if event.attempt_id is not None:
        told["attemptid"] = printable(event.attempt_id)
    return told | {"data": event.detail}
