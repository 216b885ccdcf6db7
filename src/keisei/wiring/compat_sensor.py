"""Sensor events of the original: recorded, and told in its shape."""

from typing import Any

from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.engine.sensor import observe
from keisei.records.observation import Seen, SeenQuery
from keisei.wiring.compat_shape import seen_shape


def observed(office: Office, data: Any, actor: str) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """What became of an event, as `sensor-event` prints it. Raises what `observe` raises; then nothing is kept."""
    done = observe(office, data, actor)
    seen = _seen(office.store, data)
    accepted = done.status == "recorded" and seen is not None and seen.status == "accepted"
    told: dict[str, Any] = {
        "accepted": accepted,
        "task_id": seen.task_id if accepted and seen else None,
        "workflow_id": seen.workflow_id if accepted and seen else None,
        "event": seen_shape(seen) if accepted and seen else None,
    }
    if not accepted:
        told["reason"] = done.reason or (seen.reason if seen else None)
    return told


def _seen(store: Store, data: dict[str, Any]) -> Seen | None:
    found = store.seen(
        SeenQuery(sensor_id=data["sensor_id"], event_id=data.get("event_id") or data["dedupe_key"], limit=1)
    )
    return found[0] if found else None
