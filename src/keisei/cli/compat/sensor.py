"""`keisei compat sensor-event`: something was observed, in the original's shape."""

from pathlib import Path

import click

from keisei.cli.compat.opened import config_option, data_options, given, opened_runtime
from keisei.cli.desk import actor
from keisei.cli.output import emit_json


@click.command("sensor-event")
@config_option
@data_options
def sensor_event(config: Path, text: str | None, file: str | None) -> int:
    """Record an event with the task or workflow it proposes: all of it, or, where anything is wrong, nothing."""
    from keisei.wiring.compat_sensor import observed

    data = given(text, file, "sensor-event")
    with opened_runtime(config) as opened:
        told = observed(opened.office(), data, actor())
    emit_json(told)
    return 0
