"""`keisei compat sensor-event`: something was observed, in the original's shape."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.compat.opened import config_option, data_options, given, opened_runtime
from keisei.cli.desk import actor
from keisei.cli.output import emit_json

if TYPE_CHECKING:
    from keisei.engine.ports import Store
    from keisei.records.observation import Seen


@click.command("sensor-event")
@config_option
@data_options
def sensor_event(config: Path, text: str | None, file: str | None) -> int:
    """Record an event with the task or workflow it proposes: all of it, or, where anything is wrong, nothing."""
    from keisei.engine.sensor import observe
    from keisei.wiring.compat_shape import seen_shape

    data = given(text, file, "sensor-event")
    with opened_runtime(config) as opened:
        done = observe(opened.office(), data, actor())
        seen = _seen(opened.store, data)
    accepted = done.status == "recorded" and seen is not None and seen.status == "accepted"
    told: dict[str, Any] = {
        "accepted": accepted,
        "task_id": seen.task_id if accepted and seen else None,
        "workflow_id": seen.workflow_id if accepted and seen else None,
        "event": seen_shape(seen) if accepted and seen else None,
    }
    if not accepted:
        told["reason"] = done.reason or (seen.reason if seen else None)
    emit_json(told)
    return 0


def _seen(store: "Store", data: dict[str, Any]) -> "Seen | None":
    from keisei.records.observation import SeenQuery

    found = store.seen(
        SeenQuery(sensor_id=data["sensor_id"], event_id=data.get("event_id") or data["dedupe_key"], limit=1)
    )
    return found[0] if found else None
