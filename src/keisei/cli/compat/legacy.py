"""`keisei compat import`: what an existing runtime.db holds, taken over."""

from pathlib import Path

import click

from keisei.cli.compat.opened import config_option, opened_runtime
from keisei.cli.desk import actor
from keisei.cli.output import emit_json
from keisei.records.error import OperatorError


@click.command("import")
@config_option
@click.option("--db", type=click.Path(path_type=Path), help="The database; by default the file's dbPath.")
def import_runtime(config: Path, db: Path | None) -> int:
    """Take over tasks, workflows, schedules and sensor events of the original; doing it twice adds nothing.

    The database is only read. What is left out is listed with its reason.
    """
    from keisei.store.foreign import read_foreign
    from keisei.wiring.import_runtime import take_over

    with opened_runtime(config) as opened:
        path = db or _default(opened.runtime.config.file.db_path)
        told = take_over(
            opened.store, opened.runtime, opened.registry(), opened.defaults(), read_foreign(path), actor()
        )
    emit_json({"database": str(path), **told})
    return 0


def _default(path: str | None) -> Path:
    if path is None:
        raise OperatorError("the configuration names no dbPath", "say --db state/runtime.db")
    return Path(path)
