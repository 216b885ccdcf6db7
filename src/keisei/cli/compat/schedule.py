"""`keisei compat schedule-create`, `schedule-tick`: schedules, in the original's shapes."""

from pathlib import Path

import click

from keisei.cli.compat.opened import config_option, data_options, given, opened_runtime
from keisei.cli.desk import actor
from keisei.cli.output import emit_json


@click.command("schedule-create")
@config_option
@data_options
def schedule_create(config: Path, text: str | None, file: str | None) -> int:
    """Make a schedule, or change the one of that name. Saying the same twice fires nothing."""
    from keisei.engine.schedule import upsert
    from keisei.wiring.compat_shape import schedule_shape

    data = given(text, file, "schedule")
    with opened_runtime(config) as opened:
        schedule = upsert(opened.office(), data, actor())
    emit_json({"upserted": True, "schedule": None if schedule.record is None else schedule_shape(schedule.record)})
    return 0


@click.command("schedule-tick")
@config_option
@click.option("--at", help="As if it were then; an ISO 8601 time.")
def schedule_tick(config: Path, at: str | None) -> int:
    """Queue what is due. A moment in the future lets no schedule fire more than once, nor loses its slots."""
    from keisei.engine.schedule import look
    from keisei.wiring.compat_shape import moment_of, ticked_shape

    moment = None if at is None else moment_of(at, "--at")
    with opened_runtime(config) as opened:
        done = look(opened.office(), actor(), at=moment)
    emit_json(ticked_shape(done))
    return 0
